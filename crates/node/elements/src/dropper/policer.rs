//! Policers, which drop packets by colour.

use shortflow_packet::{Dscp, Packet};

use crate::{Color, DropReason, Drops};

/// What a policer does with packets of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicerAction {
    /// Forward.
    Forward,
    /// Drop.
    Drop,
    /// Forward with this code point (RFC 2475 §2.3.3.2: re-marking).
    Remark(Dscp),
    /// End the connection of a packet with data, and drop the packet (Guo, Zhu, Zhang & Zhang 2005, §2.4).
    End,
}

impl PolicerAction {
    /// Applies the action to `packet`. Returns the reason if the packet is dropped.
    #[inline]
    pub fn apply(self, packet: &mut Packet) -> Option<DropReason> {
        match self {
            PolicerAction::Forward => None,
            PolicerAction::Drop => Some(DropReason::Policed),
            PolicerAction::End => (packet.payload > 0).then_some(DropReason::Policed),
            PolicerAction::Remark(dscp) => {
                packet.dscp = dscp;
                None
            }
        }
    }
}

/// Polices packets by the colour of a meter (RFC 2475 §2.3.3.4).
#[derive(Debug, Clone)]
pub struct ColorPolicer {
    actions: [PolicerAction; 3],
}

impl ColorPolicer {
    /// `actions` are those for green, yellow and red.
    pub fn new(actions: [PolicerAction; 3]) -> Self {
        ColorPolicer { actions }
    }

    /// Returns `packet` if its `color` may pass. Otherwise drops it as [`DropReason::Policed`].
    #[inline]
    pub fn pass(&self, color: Color, mut packet: Packet, drops: &mut Drops) -> Option<Packet> {
        match self.actions[color as usize].apply(&mut packet) {
            None => Some(packet),
            Some(reason) => {
                drops.push(packet, reason);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet;

    #[test]
    fn a_policer_that_ends_connections_forwards_packets_without_data() {
        let apply = |payload| PolicerAction::End.apply(&mut Packet { payload, ..test_packet() });
        assert_eq!([apply(0), apply(1)], [None, Some(DropReason::Policed)]);
    }

    #[test]
    fn a_policer_refuses_exactly_the_colours_it_is_told_to() {
        use PolicerAction::{Drop, Forward};
        let policer = ColorPolicer::new([Forward, Forward, Drop]);
        let mut drops = Drops::default();
        let passed = Color::ALL.map(|color| policer.pass(color, test_packet(), &mut drops));
        assert_eq!(passed.map(|packet| packet.is_some()), [true, true, false]);
        assert!(drops.drain().all(|dropped| dropped.reason == DropReason::Policed));
    }

    #[test]
    fn a_policer_remarks_where_it_is_told_to() {
        use PolicerAction::{Forward, Remark};
        let policer = ColorPolicer::new([Forward, Remark(Dscp::AF13), Forward]);
        let mut drops = Drops::default();
        let passed = Color::ALL.map(|color| policer.pass(color, test_packet(), &mut drops));
        let dscps = passed.map(|packet| packet.unwrap().dscp);
        assert_eq!(dscps, [Dscp::BEST_EFFORT, Dscp::AF13, Dscp::BEST_EFFORT]);
    }
}
