//! A limit that flows share, and who holds the most under it.

use std::cmp::Reverse;

use shortflow_units::Length;

use crate::queue::ranking::Ranking;
use crate::queue::ring::fits;
use crate::{Backlog, Packet};

/// What flows hold together, and which of them holds the most for its weight.
#[derive(Debug)]
pub(super) struct Pool {
    limit: Length,
    held: Backlog,
    /// Upper bounds of the flows' lengths, where packets are pushed out. A bound rises with its flow
    /// and falls only when it is looked at, so that a full buffer whose flows come and go around the
    /// same length moves nothing: O(log n) per packet for n flows, over all packets.
    bounds: Option<Ranking<Reverse<u128>>>,
}

/// What a flow holds behind its first packet for its weight: in packets or bytes, as the limit counts.
pub(super) type RelativeLength = u128;

impl Pool {
    /// An empty pool; `pushes_out` when several flows share it and the longest loses.
    pub(super) fn new(limit: Length, pushes_out: bool) -> Self {
        let bounds = pushes_out.then(Ranking::new);
        Pool { limit, held: Backlog::default(), bounds }
    }

    /// Makes room for flows with numbers below `flows`.
    pub(super) fn reserve(&mut self, flows: usize) {
        if let Some(bounds) = &mut self.bounds {
            bounds.reserve(flows);
        }
    }

    /// Whether several flows share it, of which the longest loses.
    #[inline]
    pub(super) fn pushes_out(&self) -> bool {
        self.bounds.is_some()
    }

    pub(super) fn held(&mut self) -> &mut Backlog {
        &mut self.held
    }

    #[inline]
    pub(super) fn has_room_for(&self, packet: &Packet) -> bool {
        fits(self.limit, self.held, packet)
    }

    /// Whether `packet` fits once enough others are pushed out.
    pub(super) fn could_hold(&self, packet: &Packet) -> bool {
        fits(self.limit, Backlog::default(), packet)
    }

    /// The length of a flow that holds `backlog` behind its first packet and has `weight`, to 2⁻⁶⁴.
    #[inline]
    pub(super) fn relative_length(&self, backlog: Backlog, weight: u64) -> RelativeLength {
        let length = match self.limit {
            Length::Packets(_) => backlog.packets,
            Length::Bytes(_) => backlog.bytes.0,
        };
        u128::from(length) * ((1 << 64) / u128::from(weight))
    }

    /// `flow` holds a packet more, and `length` now.
    #[inline]
    pub(super) fn grew(&mut self, flow: u32, length: RelativeLength) {
        if let Some(bounds) = &mut self.bounds
            && bounds.key(flow).is_none_or(|Reverse(bound)| bound < length)
        {
            bounds.set(flow, Reverse(length));
        }
    }

    /// Forgets `flow`, whose number another flow may have next.
    #[inline]
    pub(super) fn forget(&mut self, flow: u32) {
        if let Some(bounds) = &mut self.bounds
            && bounds.contains(flow)
        {
            bounds.remove(flow);
        }
    }

    /// The flow that holds the most for its weight, if anything is pushed out at all.
    pub(super) fn longest(
        &mut self,
        length_of: impl Fn(&Pool, u32) -> RelativeLength,
    ) -> Option<(RelativeLength, u32)> {
        loop {
            let (Reverse(bound), flow) = self.bounds.as_ref()?.first()?;
            let length = length_of(self, flow);
            if length == bound {
                return Some((length, flow));
            }
            self.bounds.as_mut()?.set(flow, Reverse(length));
        }
    }
}
