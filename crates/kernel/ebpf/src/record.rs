//! The record before a packet, as `programs/sender.bpf.c` writes it.

use std::time::Duration;

/// What the kernel knows of the sender of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Nothing: it was not sent by TCP, or has no socket, as resets.
    Nothing,
    /// A connection that a listener is about to open: the packet is a SYN-ACK, and there is no socket yet.
    Request,
    /// A connection's socket.
    Connection(ConnectionState),
}

/// How a connection's sender stands at the moment of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionState {
    /// Whether the connection is being opened: what the peer offers is not known then.
    pub is_opening: bool,
    /// What its congestion control is at.
    pub recovery: Recovery,
    /// The congestion window, in segments.
    pub congestion_window: u32,
    /// Above this congestion window it is no slow start, in segments.
    pub threshold: u32,
    /// The window that the peer offers, in bytes.
    pub peer_window: u32,
    /// Bytes of a segment's data.
    pub mss: u32,
    /// The smoothed round-trip time, once there is a sample.
    pub smoothed_rtt: Option<Duration>,
}

/// What Linux' congestion control is at (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing is wrong.
    Open,
    /// There were duplicate acknowledgements.
    Disorder,
    /// The window is being reduced for something other than a loss.
    Reduced,
    /// Fast recovery.
    Fast,
    /// After a timeout.
    Loss,
}

/// The first bytes of a record. No version of IP has 0 in the upper half of its first byte.
const MAGIC: [u8; 4] = [0, b'S', b'F', 1];

/// The offsets of the fields, in the machine's byte order.
mod at {
    pub(super) const KIND: usize = 4;
    pub(super) const STATE: usize = 5;
    pub(super) const RECOVERY: usize = 6;
    pub(super) const CONGESTION_WINDOW: usize = 8;
    pub(super) const THRESHOLD: usize = 12;
    pub(super) const PEER_WINDOW: usize = 16;
    pub(super) const MSS: usize = 20;
    pub(super) const SMOOTHED_RTT: usize = 24;
}

/// `TCP_SYN_SENT` and `TCP_SYN_RECV` of include/net/tcp_states.h.
const OPENING: [u8; 2] = [2, 3];

impl Record {
    /// Bytes of a record.
    pub const LENGTH: usize = 28;

    /// The record before a packet, and the packet; `None` without a record.
    pub fn split(bytes: &[u8]) -> Option<(Record, &[u8])> {
        let (record, packet) = bytes.split_at_checked(Record::LENGTH)?;
        let record = record.strip_prefix(&MAGIC).map(|_| Record::read(record))?;
        Some((record, packet))
    }

    fn read(bytes: &[u8]) -> Record {
        let four = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|place| bytes[at + place]));
        match bytes[at::KIND] {
            1 => Record::Request,
            2 => Record::Connection(ConnectionState {
                is_opening: OPENING.contains(&bytes[at::STATE]),
                recovery: Recovery::from_number(bytes[at::RECOVERY]),
                congestion_window: four(at::CONGESTION_WINDOW),
                threshold: four(at::THRESHOLD),
                peer_window: four(at::PEER_WINDOW),
                mss: four(at::MSS),
                smoothed_rtt: smoothed(four(at::SMOOTHED_RTT)),
            }),
            _ => Record::Nothing,
        }
    }
}

impl Recovery {
    /// By the kernel's number.
    fn from_number(number: u8) -> Recovery {
        match number {
            1 => Recovery::Disorder,
            2 => Recovery::Reduced,
            3 => Recovery::Fast,
            4 => Recovery::Loss,
            _ => Recovery::Open,
        }
    }
}

impl ConnectionState {
    /// The window by which the sender is bound, in whole segments: the smaller of its own and the peer's.
    pub fn window_segments(&self) -> u32 {
        // A connection that is being opened does not know yet what the peer offers.
        if self.is_opening || self.mss == 0 {
            return self.congestion_window;
        }
        self.congestion_window.min(self.peer_window / self.mss)
    }
}

/// The kernel keeps eighths of microseconds, and 0 until there is a sample.
fn smoothed(eighths: u32) -> Option<Duration> {
    (eighths > 0).then(|| Duration::from_nanos(u64::from(eighths) * 125))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: u8, state: u8, recovery: u8, words: [u32; 5]) -> Vec<u8> {
        let mut bytes = vec![0, b'S', b'F', 1, kind, state, recovery, 0];
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(*b"packet");
        bytes
    }

    #[test]
    fn a_record_reads_back_and_leaves_the_packet() {
        let bytes = written(2, 1, 3, [12, 8, 100_000, 1448, 8 * 20_500]);
        let (record, packet) = Record::split(&bytes).unwrap();
        let state = ConnectionState {
            is_opening: false,
            recovery: Recovery::Fast,
            congestion_window: 12,
            threshold: 8,
            peer_window: 100_000,
            mss: 1448,
            smoothed_rtt: Some(Duration::from_micros(20_500)),
        };
        assert_eq!((record, packet), (Record::Connection(state), &b"packet"[..]));
        assert_eq!(state.window_segments(), 12);
        let narrow = ConnectionState { peer_window: 3 * 1448 - 1, ..state };
        assert_eq!(narrow.window_segments(), 2, "what the peer offers");
    }

    #[test]
    fn a_connection_that_is_being_opened_has_its_own_window_and_no_round_trip() {
        let bytes = written(2, 2, 0, [10, u32::MAX, 0, 536, 0]);
        let Some((Record::Connection(state), _)) = Record::split(&bytes) else { panic!() };
        assert_eq!((state.window_segments(), state.smoothed_rtt), (10, None));
    }

    #[test]
    fn a_request_has_no_socket_and_a_datagram_no_tcp() {
        let of = |kind| Record::split(&written(kind, 0, 0, [0; 5])).unwrap().0;
        assert_eq!([of(0), of(1), of(99)], [Record::Nothing, Record::Request, Record::Nothing]);
    }

    #[test]
    fn packets_without_a_record_are_left_alone() {
        let packet = [0x45; 60];
        assert_eq!(Record::split(&packet), None);
        assert_eq!(Record::split(&written(2, 1, 0, [1; 5])[..27]), None, "cut off");
        assert_eq!(Record::split(&[]), None);
    }
}
