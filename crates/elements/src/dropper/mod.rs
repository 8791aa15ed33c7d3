//! Droppers: packets refused by colour, packets lost on a link. A dropper holds nothing: a packet
//! passes, or ends in [`Drops`].

use shortflow_units::{Probability, Rng};

use crate::classifier::DscpTable;
use crate::{Color, DropReason, Drops, Dscp, Packet};

/// What a policer does with packets of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicerAction {
    /// Lets them pass.
    Forward,
    /// Drops them.
    Drop,
    /// Lets them pass with this code point (RFC 2475 §2.3.3.2: re-marking).
    Remark(Dscp),
}

impl PolicerAction {
    /// Does it to `packet`; the reason, when it goes no further.
    #[inline]
    pub fn apply(self, packet: &mut Packet) -> Option<DropReason> {
        match self {
            PolicerAction::Forward => None,
            PolicerAction::Drop => Some(DropReason::Policed),
            PolicerAction::Remark(dscp) => {
                packet.dscp = dscp;
                None
            }
        }
    }
}

/// Refuses packets by the colour that a meter found (RFC 2475 §2.3.3.4).
#[derive(Debug, Clone)]
pub struct ColorPolicer {
    actions: [PolicerAction; 3],
}

impl ColorPolicer {
    /// `actions` are those for green, yellow and red.
    pub fn new(actions: [PolicerAction; 3]) -> Self {
        ColorPolicer { actions }
    }

    /// Gives `packet` back when its `color` may pass; else drops it as [`DropReason::Policed`].
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

/// Loss on a link: each packet is lost independently, with the probability of its code point.
#[derive(Debug, Clone)]
pub struct LinkLoss {
    loss: DscpTable<Probability>,
    rng: Rng,
}

impl LinkLoss {
    /// Loses packets with the probabilities in `loss`; draws from `rng`.
    pub fn new(loss: DscpTable<Probability>, rng: Rng) -> Self {
        LinkLoss { loss, rng }
    }

    /// Gives `packet` back when it gets through; else drops it as [`DropReason::LinkLoss`].
    #[inline]
    pub fn pass(&mut self, packet: Packet, drops: &mut Drops) -> Option<Packet> {
        if self.rng.chance(self.loss.get(packet.dscp)) {
            drops.push(packet, DropReason::LinkLoss);
            None
        } else {
            Some(packet)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::test_packet;

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

    #[test]
    fn a_link_loses_the_share_that_each_code_point_is_given() {
        let percent = |p| Probability::new(p).unwrap();
        let loss = DscpTable::filled(Probability::ZERO).with(Dscp::AF12, percent(0.02));
        let mut link = LinkLoss::new(loss, Rng::stream(1, "link"));
        let mut drops = Drops::default();
        let mut lost = |dscp| {
            (0..100_000).for_each(|_| {
                let _ = link.pass(Packet { dscp, ..test_packet() }, &mut drops);
            });
            drops.drain().filter(|dropped| dropped.reason == DropReason::LinkLoss).count()
        };
        assert_eq!(lost(Dscp::AF11), 0);
        // 2000 expected; five standard deviations are 221.
        let yellow = lost(Dscp::AF12);
        assert!(yellow.abs_diff(2000) < 221, "{yellow}");
    }
}
