//! Dropped packets, with reasons.

use shortflow_packet::Packet;

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    Overlimit,
    /// An AQM dropped it early: at random, or because packets waited too long (CoDel).
    Early,
    /// An AQM dropped it because the average exceeded its threshold.
    Forced,
    /// A policer dropped it.
    Policed,
    /// It was lost on the link.
    LinkLoss,
    /// It was pushed out of a full buffer by a better protected packet.
    PushedOut,
}

impl DropReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [DropReason; 6] = [
        DropReason::Overlimit,
        DropReason::Early,
        DropReason::Forced,
        DropReason::Policed,
        DropReason::LinkLoss,
        DropReason::PushedOut,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Overlimit => "overlimit",
            DropReason::Early => "early",
            DropReason::Forced => "forced",
            DropReason::Policed => "policed",
            DropReason::LinkLoss => "link loss",
            DropReason::PushedOut => "pushed out",
        }
    }
}

/// A dropped packet, with the reason.
#[derive(Debug, PartialEq)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// The reason.
    pub reason: DropReason,
}

/// Collects dropped packets. The host owns it, counts the reasons, and drains it. It is reused, so that no
/// drop allocates.
#[derive(Debug, Default)]
pub struct Drops(Vec<Dropped>);

impl Drops {
    /// With memory for this many packets between two calls of `drain`.
    pub fn with_room_for(packets: usize) -> Self {
        Drops(Vec::with_capacity(packets))
    }

    /// Adds a packet.
    pub fn push(&mut self, packet: Packet, reason: DropReason) {
        self.0.push(Dropped { packet, reason });
    }

    /// Removes all packets added so far, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Dropped> + '_ {
        self.0.drain(..)
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet;

    #[test]
    fn what_is_handed_in_is_counted_until_it_is_taken_out_first_come_first() {
        let mut drops = Drops::default();
        assert!(drops.is_empty());
        for (number, reason) in DropReason::ALL.into_iter().enumerate() {
            drops.push(Packet { size: number as u32, ..test_packet() }, reason);
            assert_eq!((drops.len(), drops.is_empty()), (number + 1, false));
        }
        let taken: Vec<_> = drops.drain().map(|one| (one.packet.size, one.reason)).collect();
        assert!(taken.into_iter().eq((0..).zip(DropReason::ALL)));
        assert_eq!((drops.len(), drops.is_empty()), (0, true));
    }

    /// Results of before are compared by these names.
    #[test]
    fn reasons_have_the_names_of_results_and_the_numbers_of_their_order() {
        assert_eq!(
            DropReason::ALL.map(DropReason::name),
            ["overlimit", "early", "forced", "policed", "link loss", "pushed out"]
        );
        assert_eq!(DropReason::ALL.map(|reason| reason as usize), [0, 1, 2, 3, 4, 5]);
    }
}
