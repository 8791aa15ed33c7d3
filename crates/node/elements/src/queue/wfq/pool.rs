//! A limit that flows share, and the flow that holds most under it.

use std::cmp::Reverse;

use shortflow_packet::Packet;
use shortflow_units::Length;

use crate::Backlog;
use crate::queue::ranking::Ranking;
use crate::queue::ring::fits;

/// The totals of flows under a limit, and the flow that holds most relative to its weight.
#[derive(Debug)]
pub(super) struct Pool {
    limit: Length,
    held: Backlog,
    /// Upper limits of the flows' lengths, for pushing out packets. A limit rises with its flow and falls
    /// only when it is read. A full buffer whose flows vary around the same length therefore moves nothing:
    /// O(log n) per packet for n flows, amortised.
    bounds: Option<Ranking<Reverse<u128>>>,
}

/// The length of a flow behind its first packet relative to its weight: in packets or bytes, as the limit.
pub(super) type RelativeLength = u128;

impl Pool {
    /// An empty pool. `pushes_out` is true if several flows share it and the longest loses.
    pub(super) fn new(limit: Length, pushes_out: bool) -> Self {
        let bounds = pushes_out.then(Ranking::new);
        Pool { limit, held: Backlog::default(), bounds }
    }

    /// Reserves memory for flows with numbers below `flows`.
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

    /// Whether `packet` fits after others are pushed out.
    pub(super) fn could_hold(&self, packet: &Packet) -> bool {
        fits(self.limit, Backlog::default(), packet)
    }

    /// The relative length of a flow with `weight` that holds `backlog` behind its first packet, to 2⁻⁶⁴.
    #[inline]
    pub(super) fn relative_length(&self, backlog: Backlog, weight: u64) -> RelativeLength {
        let length = match self.limit {
            Length::Packets(_) => backlog.packets,
            Length::Bytes(_) => backlog.bytes.0,
        };
        u128::from(length) * ((1 << 64) / u128::from(weight))
    }

    /// `flow` has one packet more, and the length `length`.
    #[inline]
    pub(super) fn grew(&mut self, flow: u32, length: RelativeLength) {
        if let Some(bounds) = &mut self.bounds
            && bounds.key(flow).is_none_or(|Reverse(bound)| bound < length)
        {
            bounds.set(flow, Reverse(length));
        }
    }

    /// Removes `flow`, whose number may be reused.
    #[inline]
    pub(super) fn forget(&mut self, flow: u32) {
        if let Some(bounds) = &mut self.bounds
            && bounds.contains(flow)
        {
            bounds.remove(flow);
        }
    }

    /// The flow that holds most relative to its weight, if packets are pushed out.
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
