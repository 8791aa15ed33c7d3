//! Converts sequence numbers of one end of a connection to bytes of its application.

use shortflow_packet::{SenderEvent, TcpFlags};

use super::frames::Numbers;

/// How far an end has come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sequences {
    /// The sequence number of the first byte, once a segment was sent.
    first: Option<u32>,
    /// Bytes that were sent once at least.
    sent: u64,
    is_finished: bool,
    /// It was this end that began the connection.
    has_opened: bool,
    acknowledged: u64,
    /// The window that the peer offered last.
    offered: u16,
}

impl Sequences {
    /// Bytes that were sent once at least.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether a segment that is sent is the first of another connection.
    pub(crate) fn is_new_connection(&self, flags: TcpFlags, numbers: Numbers) -> bool {
        let first = numbers.sequence.wrapping_add(1);
        flags.has(TcpFlags::SYN) && self.first.is_some_and(|known| known != first)
    }

    /// Counts a segment that is sent; whether it was sent before.
    pub(crate) fn send(&mut self, flags: TcpFlags, numbers: Numbers, payload: u32) -> bool {
        let Numbers { sequence, .. } = numbers;
        if flags.has(TcpFlags::SYN) {
            self.has_opened = !flags.has(TcpFlags::ACK);
            return self.first.replace(sequence.wrapping_add(1)).is_some();
        }
        let first = *self.first.get_or_insert(sequence);
        let begin = near(self.sent, first, sequence);
        let end = begin + u64::from(payload);
        let has_fin = flags.has(TcpFlags::FIN);
        let is_again = payload > 0 && begin < self.sent || has_fin && self.is_finished;
        self.sent = self.sent.max(end);
        self.is_finished |= has_fin;
        is_again
    }

    /// Whether TCP had nothing to send when it sent a segment without data. With nothing under way and a window that is
    /// open it would have sent what it had instead. The third segment of a handshake goes before any data.
    pub(crate) fn has_seen_nothing(&self) -> bool {
        let is_handshake = self.has_opened && self.sent == 0;
        !is_handshake && self.sent == self.acknowledged && self.offered > 0
    }

    /// What a segment that came is to the sender.
    pub(crate) fn hear(
        &mut self,
        flags: TcpFlags,
        numbers: Numbers,
        is_bare: bool,
    ) -> Option<SenderEvent> {
        let is_offer_new = std::mem::replace(&mut self.offered, numbers.window) != numbers.window;
        let first = self.first.filter(|_| flags.has(TcpFlags::ACK))?;
        // A FIN takes a number beyond the bytes.
        let upto = near(self.acknowledged, first, numbers.acknowledgement).min(self.sent);
        if upto > self.acknowledged {
            self.acknowledged = upto;
            return Some(SenderEvent::Acknowledgement);
        }
        // RFC 5681 §2.
        let is_duplicate = is_bare && !is_offer_new && self.sent > self.acknowledged;
        is_duplicate.then_some(SenderEvent::DuplicateAcknowledgement)
    }
}

/// The place in bytes of a sequence number, which is within 2 GB of `place`.
fn near(place: u64, first: u32, number: u32) -> u64 {
    let ahead = number.wrapping_sub(first.wrapping_add(place as u32)).cast_signed();
    place.saturating_add_signed(i64::from(ahead))
}
