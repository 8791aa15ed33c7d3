//! Strict priority over bands that share one buffer.
//!
//! The scheduler is non-preemptive strict priority (Bertsekas & Gallager 1992, §3.5.3). The buffer is that of
//! HARP (Guo, Zhu, Zhang & Zhang 2005, §4.1): "the packets with the lowest priority will be dropped if buffer
//! overflows". The paper does not say which of them. Here it is the newest, so that the lowest band in a full
//! buffer behaves like drop-tail.

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Instant, Length};

use super::ring::checked_limit;
use crate::classifier::{Classifier, DscpTable};
use crate::slab::{List, Slab};
use crate::{Backlog, DropReason, Drops, ParamsError, QueueDiscipline, Queued};

/// Parameters of a [`SharedPriority`].
#[derive(Debug, Clone)]
pub struct SharedPriorityParams {
    limit: Length,
    band_of: BandOf,
    bands: usize,
}

/// How packets are assigned to bands; 0 is served first.
#[derive(Debug, Clone)]
pub enum BandOf {
    /// By its code point.
    CodePoint(DscpTable<u8>),
    /// By rules.
    Rules {
        /// The band of a packet.
        classifier: Classifier,
        /// The band of a packet that no rule matches.
        otherwise: usize,
    },
}

impl SharedPriorityParams {
    /// The limit on bands: one for each code point.
    pub const MAX_BANDS: usize = 64;

    /// Bands by code point: `band_of[dscp]` is the band of a packet, 0 is served first. All bands together
    /// hold at most `limit`, not counting the packet in transmission.
    pub fn by_code_point(limit: Length, band_of: DscpTable<u8>) -> Result<Self, ParamsError> {
        let greatest = band_of.values().max().unwrap_or(0);
        Self::new(limit, BandOf::CodePoint(band_of), usize::from(greatest) + 1)
    }

    /// Bands by rule: `classifier` returns the band of a packet, 0 is served first. Packets that match no
    /// rule belong to the band `otherwise`.
    pub fn by_rules(
        limit: Length,
        classifier: Classifier,
        otherwise: usize,
    ) -> Result<Self, ParamsError> {
        let greatest = classifier.greatest_class().unwrap_or(0).max(otherwise);
        Self::new(limit, BandOf::Rules { classifier, otherwise }, greatest + 1)
    }

    fn new(limit: Length, band_of: BandOf, bands: usize) -> Result<Self, ParamsError> {
        let limit = checked_limit(limit)?;
        if bands > Self::MAX_BANDS {
            return Err(ParamsError::new(
                "bands",
                format!("too many bands: {bands}; the maximum is {}", Self::MAX_BANDS),
            ));
        }
        Ok(SharedPriorityParams { limit, band_of, bands })
    }

    /// The limit of all bands together.
    pub fn limit(&self) -> Length {
        self.limit
    }

    /// How packets are assigned to bands.
    pub fn band_of(&self) -> &BandOf {
        &self.band_of
    }

    /// The number of bands.
    pub fn bands(&self) -> usize {
        self.bands
    }
}

/// Strict priority over up to 64 bands, first in, first out within a band. The packet in transmission is not
/// interrupted.
///
/// When the buffer is full, an arrival pushes out the newest packet of the last non-empty band
/// ([`DropReason::PushedOut`]). If no packet is in a later band than its own, the arrival is dropped
/// ([`DropReason::Overlimit`]). Under a limit in bytes it pushes out as many packets as needed. If all
/// packets of later bands would not be enough, none is pushed out.
///
/// O(1) per packet with bands by code point, one step per rule otherwise. One step per band for an arrival at
/// a buffer that is full in bytes.
#[derive(Debug)]
pub struct SharedPriority {
    params: SharedPriorityParams,
    slab: Slab<Queued>,
    bands: Vec<Band>,
    /// A bit for each band with packets.
    occupied: u64,
    backlog: Backlog,
}

#[derive(Debug, Clone)]
struct Band {
    list: List,
    bytes: Bytes,
    /// Packets that arrived.
    came: u64,
}

impl SharedPriority {
    /// An empty queue.
    pub fn new(params: SharedPriorityParams) -> Self {
        let bands = vec![Band { list: List::EMPTY, bytes: Bytes::ZERO, came: 0 }; params.bands];
        let slab = Slab::new();
        SharedPriority { params, slab, bands, occupied: 0, backlog: Backlog::default() }
    }

    #[inline]
    fn band(&self, packet: &Packet) -> usize {
        match &self.params.band_of {
            BandOf::CodePoint(table) => usize::from(table.get(packet.dscp)),
            BandOf::Rules { classifier, otherwise } => {
                classifier.classify(packet).unwrap_or(*otherwise)
            }
        }
    }

    #[inline]
    fn has_room_for(&self, packet: &Packet) -> bool {
        match self.params.limit {
            Length::Packets(limit) => self.backlog.packets < limit,
            Length::Bytes(limit) => self.backlog.bytes + packet.bytes() <= limit,
        }
    }

    /// Pushes out packets of bands after `band` until `packet` fits. If it cannot fit, returns false and
    /// pushes out nothing.
    fn make_room(&mut self, band: usize, packet: &Packet, drops: &mut Drops) -> bool {
        // Two shifts, because a shift by 64 overflows for a `u64`.
        let later = self.occupied & (u64::MAX << band) << 1;
        if later == 0 {
            return false;
        }
        if let Length::Bytes(limit) = self.params.limit {
            let worse = self.bands[band + 1..].iter().map(|band| band.bytes).sum();
            if self.backlog.bytes - worse + packet.bytes() > limit {
                return false;
            }
        }
        while !self.has_room_for(packet) {
            let last = 63 - self.occupied.leading_zeros() as usize;
            let queued = self.slab.pop_back(&mut self.bands[last].list);
            let queued = queued.expect("an occupied band has a packet");
            self.count_out(last, &queued.packet);
            drops.push(queued.packet, DropReason::PushedOut);
        }
        true
    }

    #[inline]
    fn count_out(&mut self, band: usize, packet: &Packet) {
        self.backlog.remove(packet);
        let held = &mut self.bands[band];
        held.bytes -= packet.bytes();
        if held.list.is_empty() {
            self.occupied &= !(1 << band);
        }
    }

    /// The first band with packets.
    #[inline]
    fn first(&self) -> Option<usize> {
        (self.occupied != 0).then(|| self.occupied.trailing_zeros() as usize)
    }
}

impl QueueDiscipline for SharedPriority {
    fn class_counts(&self, around: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize], u64)) {
        for (number, band) in self.bands.iter().enumerate() {
            around.push(number);
            visit(around, band.came);
            around.pop();
        }
    }

    fn reserve(&mut self, packets: usize, _flows: usize) {
        self.slab.reserve(packets);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let band = self.band(&packet);
        self.bands[band].came += 1;
        if !self.has_room_for(&packet) && !self.make_room(band, &packet, drops) {
            return drops.push(packet, DropReason::Overlimit);
        }
        self.backlog.add(&packet);
        self.occupied |= 1 << band;
        let held = &mut self.bands[band];
        held.bytes += packet.bytes();
        self.slab.push_back(&mut held.list, Queued { packet, since: now });
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops) -> Option<Queued> {
        let first = self.first()?;
        let queued = self.slab.pop_front(&mut self.bands[first].list)?;
        self.count_out(first, &queued.packet);
        Some(queued)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.slab.front(self.bands[self.first()?].list).map(|head| head.since)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
