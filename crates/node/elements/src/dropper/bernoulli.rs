//! Independent loss of packets.

use shortflow_packet::Packet;
use shortflow_units::{Probability, Rng};

use super::LossModel;
use crate::classifier::DscpTable;

/// Each packet is lost independently, with the probability of its code point.
#[derive(Debug, Clone, PartialEq)]
pub struct Bernoulli {
    /// The probability of loss.
    pub loss: DscpTable<Probability>,
}

impl LossModel for Bernoulli {
    #[inline]
    fn loses(&mut self, packet: &Packet, rng: &mut Rng) -> bool {
        rng.chance(self.loss.get(packet.dscp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dropper::{LinkLoss, LossParams};
    use crate::test_packet;
    use crate::{DropReason, Drops};
    use shortflow_packet::Dscp;

    #[test]
    fn a_link_loses_the_share_that_each_code_point_is_given() {
        let percent = |p| Probability::new(p).unwrap();
        let loss = DscpTable::filled(Probability::ZERO).with(Dscp::AF12, percent(0.02));
        let mut link = LinkLoss::new(
            LossParams::Bernoulli(Box::new(Bernoulli { loss })),
            Rng::stream(1, "link"),
        );
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
