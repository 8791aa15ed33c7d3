//! The packets of one queue, first in, first out, under a hard limit.

use std::collections::VecDeque;

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Instant, Length};

use crate::{Backlog, ParamsError, Queued};

/// A ring buffer of packets with totals. It grows to its maximum size and then allocates no more.
#[derive(Debug)]
pub(super) struct Ring {
    packets: VecDeque<Queued>,
    backlog: Backlog,
    limit: Length,
}

impl Ring {
    pub(super) fn new(limit: Length) -> Self {
        Ring { packets: VecDeque::new(), backlog: Backlog::default(), limit }
    }

    /// Reserves memory for `packets` in total, up to the limit.
    pub(super) fn reserve(&mut self, packets: usize) {
        let packets = match self.limit {
            Length::Packets(limit) => packets.min(usize::try_from(limit).unwrap_or(usize::MAX)),
            Length::Bytes(_) => packets,
        };
        self.packets.reserve(packets.saturating_sub(self.packets.len()));
    }

    /// Whether `packet` fits under the limit.
    #[inline]
    pub(super) fn has_room_for(&self, packet: &Packet) -> bool {
        fits(self.limit, self.backlog, packet)
    }

    #[inline]
    pub(super) fn push(&mut self, now: Instant, packet: Packet) {
        debug_assert!(self.has_room_for(&packet), "a packet must fit before it is pushed");
        self.backlog.add(&packet);
        self.packets.push_back(Queued { packet, since: now });
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let queued = self.packets.pop_front()?;
        self.backlog.remove(&queued.packet);
        Some(queued)
    }

    /// When the last head was removed: the next may leave at once.
    #[inline]
    pub(super) fn ready_at(&self) -> Option<Instant> {
        self.packets.front().map(|head| head.since)
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }
}

/// Whether `packet` fits under `limit` in addition to `backlog`.
#[inline]
pub(crate) fn fits(limit: Length, backlog: Backlog, packet: &Packet) -> bool {
    fits_sized(limit, backlog, packet.bytes())
}

/// Whether a packet of this size fits under `limit` in addition to `backlog`.
#[inline]
pub(super) fn fits_sized(limit: Length, backlog: Backlog, size: Bytes) -> bool {
    match limit {
        Length::Packets(limit) => backlog.packets < limit,
        Length::Bytes(limit) => backlog.bytes + size <= limit,
    }
}

/// Checks `limit` as the limit of a queue, which must be above zero.
pub(crate) fn checked_limit(limit: Length) -> Result<Length, ParamsError> {
    if matches!(limit, Length::Packets(0) | Length::Bytes(Bytes::ZERO)) {
        return Err(ParamsError::new("limit", format!("limit must be above zero; found {limit}")));
    }
    Ok(limit)
}
