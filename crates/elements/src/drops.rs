//! Where packets that go no further are handed in.

use crate::Packet;

/// Why a packet went no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    Overlimit,
    /// An AQM dropped it early: by chance, or because packets waited too long (CoDel).
    Early,
    /// An AQM dropped it because the average was above its threshold.
    Forced,
    /// A policer refused it.
    Policed,
    /// It was lost on the link.
    LinkLoss,
    /// It was pushed out of a full buffer by a packet that is better protected.
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

/// A packet that goes no further, and why.
#[derive(Debug, PartialEq)]
pub struct Dropped {
    /// The packet.
    pub packet: Packet,
    /// The reason.
    pub reason: DropReason,
}

/// Owned and drained by the host, which counts each reason. Reused, so that no drop allocates.
#[derive(Debug, Default)]
pub struct Drops(Vec<Dropped>);

impl Drops {
    /// Hands in a packet.
    pub fn push(&mut self, packet: Packet, reason: DropReason) {
        self.0.push(Dropped { packet, reason });
    }

    /// Takes out all packets handed in so far, first come first.
    pub fn drain(&mut self) -> impl Iterator<Item = Dropped> + '_ {
        self.0.drain(..)
    }

    /// Whether nothing was handed in.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many packets were handed in.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
