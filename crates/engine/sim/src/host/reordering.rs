//! Detects packets that arrive after packets of their connection that were sent later.

use shortflow_units::Instant;

use crate::network::pool::Resident;

/// The data packet that was sent last, among those that arrived at an end of a connection.
///
/// Packed, because every connection has two.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub(crate) struct LatestSent {
    at: Instant,
    seq: u32,
}

impl LatestSent {
    /// Whether `packet`, which arrives now, is reordered (RFC 4737 §3.3): a data packet that was sent later
    /// has arrived before it. Packets count in the order of sending, so a retransmission is not late. Packets
    /// sent at the same instant are in the order of sequence numbers. Packets without data are never
    /// reordered.
    #[inline]
    pub(crate) fn is_before(&mut self, packet: &Resident) -> bool {
        if packet.payload == 0 {
            return false;
        }
        let LatestSent { at, seq } = *self;
        let ahead = packet.tcp.seq.wrapping_sub(seq) as i32;
        if packet.sent_at < at || packet.sent_at == at && ahead < 0 {
            return true;
        }
        *self = LatestSent { at: packet.sent_at, seq: packet.tcp.seq };
        false
    }
}

#[cfg(test)]
mod tests {
    use shortflow_tcp::TcpHeader;
    use shortflow_units::Duration;

    use super::*;

    fn packet(sent_ms: u64, seq: u32) -> Resident {
        Resident {
            sent_at: Instant::START + Duration::from_millis(sent_ms),
            payload: 1000,
            tcp: TcpHeader { seq, ..TcpHeader::default() },
            ..Resident::default()
        }
    }

    #[test]
    fn a_packet_is_reordered_when_one_that_was_sent_later_came_first() {
        let mut latest = LatestSent::default();
        let came = [(1, 1), (1, 2001), (1, 1001), (2, 4001), (1, 3001), (2, 5001)];
        let reordered = came.map(|(ms, seq)| latest.is_before(&packet(ms, seq)));
        assert_eq!(reordered, [false, false, true, false, true, false]);
    }

    #[test]
    fn a_retransmission_is_sent_late_not_reordered() {
        let mut latest = LatestSent::default();
        let came = [(1, 1), (1, 2001), (9, 1001), (9, 3001)];
        assert_eq!(came.map(|(ms, seq)| latest.is_before(&packet(ms, seq))), [false; 4]);
    }

    #[test]
    fn sequence_numbers_go_round() {
        let mut latest = LatestSent { at: Instant::START, seq: u32::MAX - 99 };
        assert!(!latest.is_before(&packet(0, 900)));
        assert!(latest.is_before(&packet(0, u32::MAX - 99)));
    }

    #[test]
    fn acknowledgements_count_for_nothing() {
        let mut latest = LatestSent::default();
        let bare = Resident { payload: 0, ..packet(7, 1) };
        assert!(!latest.is_before(&bare) && !latest.is_before(&packet(1, 1)));
    }
}
