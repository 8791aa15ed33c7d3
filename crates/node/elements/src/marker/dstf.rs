//! Discrete Smallest Transmitted Flow first (Guo, Zhu, Zhang & Zhang 2005, §2.2, Figure 1): the less a flow
//! has sent, the better its priority. Sizes of transfers need not be known.
//!
//! **Splitting.** A sender gains by splitting a transfer into n flows, because the first bytes of each have
//! the best priority (§2.4). The paper detects HTTP byte ranges. The general solution is to account for what
//! a user cannot choose. Either host of a transfer can split it, so the count is per pair of hosts
//! ([`Aggregate::HostPair`]). With a count per source, all clients of a server would share one. A pair lives
//! longer than a flow, so its count decays: `decay` bytes per second are forgotten. Then, for any number of
//! flows of a pair, at most thresh_{i+1} + decay·t bytes and one packet have priority i or better in any time
//! t, for every priority i but the last.
//!
//! **Idle time.** Packets of the last priority do not count: a pair that has fetched a gigabyte is as close
//! to the better priorities as one that has just passed the last threshold. A count has therefore decayed
//! after an idle time of (last threshold + a packet)/decay, and the idle timeout must not be shorter. In a
//! full table a new pair takes over the count of the least recently seen one. All pairs together, whatever
//! their number, get at most what so many counts allow. Without decay, as in the paper, a count never falls.
//! The law above then holds while the flow is remembered: it starts again after its idle timeout, or after it
//! was replaced.
//!
//! **Objects.** If the application at the sending host reports where an object starts in what its connection sends
//! ([`ObjectView`]), the bytes of the object count for its packets instead of those of the flow, with the thresholds of the
//! application if it sets any (Noureddine & Tobagi 2002, §6.1.2). The flow is counted nevertheless.
//!
//! **Floods.** A sender that uses a new source address for each packet has the best priority for all of them,
//! and under strict priority it takes the whole line. But the table then turns over. Let T be the time in
//! which the [allowed](DstfParams::believing) number of new flows fills the table. A new flow that replaces
//! one seen less than T ago starts with the last priority. It keeps that until it is idle or `decay` clears
//! its count.

use shortflow_packet::{FlowKey, Packet, SenderView};
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};

use super::size_levels::{LevelCounts, SizeLevels};
use crate::aggregate::Per;
use crate::meter::bucket::{Tokens, time_to_earn};
use crate::table::LruTable;
use crate::{Color, Marker, ParamsError};

/// Which bytes of a packet count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counted {
    /// The packet's length with headers: `length(p_f)` of Figure 1.
    #[default]
    Packet,
    /// The payload only.
    Payload,
}

/// Parameters of a [`DstfMarker`].
#[derive(Debug, Clone)]
pub struct DstfParams {
    levels: SizeLevels,
    per: Per,
    counted: Counted,
    decay: Rate,
    crowded: Duration,
}

/// The settings of a [`DstfParams`], as [`DstfParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct DstfSettings<'p> {
    /// The levels.
    pub levels: &'p SizeLevels,
    /// Which packets share a count, and how many counts are kept.
    pub per: Per,
    /// Which bytes count.
    pub counted: Counted,
    /// The rate at which sent bytes are forgotten.
    pub decay: Rate,
    /// A new flow is part of a flood if it replaces one that was seen less than this ago.
    pub crowded: Duration,
}

impl DstfParams {
    /// Levels of bytes sent; which packets share a count, and how many counts are kept; which bytes count;
    /// and the rate at which sent bytes are forgotten, zero in the paper.
    pub fn new(
        levels: SizeLevels,
        per: Per,
        counted: Counted,
        decay: Rate,
    ) -> Result<Self, ParamsError> {
        let per = per.settling_in(Self::settled_after(&levels, decay))?;
        Ok(DstfParams { levels, per, counted, decay, crowded: Duration::ZERO })
    }

    /// Treats more than `most_new` new flows per second in a full table as a flood. At zero there are no
    /// floods.
    #[must_use]
    pub fn believing(self, most_new: u32) -> Self {
        let second = 1_000_000_000_u64;
        let nanos = (self.per.table_size() as u64).saturating_mul(second);
        let crowded = nanos.checked_div(most_new.into()).unwrap_or(0);
        DstfParams { crowded: Duration::from_nanos(crowded), ..self }
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> DstfSettings<'_> {
        let DstfParams { levels, per, counted, decay, crowded } = self;
        DstfSettings { levels, per: *per, counted: *counted, decay: *decay, crowded: *crowded }
    }

    /// A new flow is part of a flood if it replaces one that was seen less than this ago.
    pub fn crowded(&self) -> Duration {
        self.crowded
    }

    /// The levels.
    pub fn levels(&self) -> &SizeLevels {
        &self.levels
    }

    /// Which packets share a count, and how many counts are kept.
    pub fn per(&self) -> Per {
        self.per
    }

    /// Which bytes count.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// The rate at which sent bytes are forgotten.
    pub fn decay(&self) -> Rate {
        self.decay
    }

    /// The idle time after which any count has decayed; `None` without decay.
    pub fn settled_after(levels: &SizeLevels, decay: Rate) -> Duration {
        if decay.is_zero() { Duration::ZERO } else { time_to_earn(decay, largest(levels)) }
    }
}

/// The largest count: the last threshold and a packet.
fn largest(levels: &SizeLevels) -> Tokens {
    levels.last_threshold().plus(Tokens::from_bytes(LARGEST_PACKET))
}

/// The largest IP packet (RFC 791 §3.1).
const LARGEST_PACKET: Bytes = Bytes(65_535);

/// Marks a packet by the bytes that its flow (or pair of hosts) has sent before: priority i up to
/// thresh_{i+1}. The packet itself is counted afterwards, unless its priority is the last. O(1) per packet,
/// except for the bisection of at most 63 thresholds.
/// thresholds.
#[derive(Debug)]
pub struct DstfMarker {
    levels: SizeLevels,
    per: Per,
    counted: Counted,
    decay: Rate,
    crowded: Duration,
    max: Tokens,
    /// The bytes sent by each flow that are not forgotten.
    sent: LruTable<FlowKey, Tokens>,
    counts: LevelCounts,
}

impl DstfMarker {
    /// A marker without flows. The hash of its table has a seed from `rng`.
    pub fn new(params: DstfParams, rng: Rng) -> Self {
        let DstfParams { levels, per, counted, decay, crowded } = params;
        DstfMarker {
            max: largest(&levels),
            levels,
            per,
            counted,
            decay,
            crowded,
            sent: per.table(rng),
            counts: LevelCounts::default(),
        }
    }
}

impl Marker for DstfMarker {
    fn reserve(&mut self, flows: usize) {
        self.sent.reserve(flows);
    }

    #[inline]
    fn mark(&mut self, now: Instant, packet: &mut Packet, sender: Option<&SenderView>) -> Color {
        let (decay, crowded, max) = (self.decay, self.crowded, self.max);
        let left = |sent: Tokens, since| sent.minus(Tokens::earned(decay, now.since(since)));
        let seen = self.sent.see(now, self.per.name(packet.key), |displaced| match displaced {
            Some(displaced) if now.since(displaced.seen_at) < crowded => max,
            Some(displaced) if !decay.is_zero() => left(*displaced.value, displaced.seen_at),
            _ => Tokens::default(),
        });
        let sent = left(*seen.value, seen.before);
        let level = self.levels.level(sent);
        let bytes = match self.counted {
            _ if level == self.levels.last() => Bytes::ZERO,
            Counted::Packet => packet.bytes(),
            Counted::Payload => Bytes(u64::from(packet.payload)),
        };
        *seen.value = sent.plus(Tokens::from_bytes(bytes)).min(self.max);
        let object = sender.and_then(|sender| sender.object);
        let level = object.map_or(level, |object| self.levels.level_in(object));
        self.counts.count(level, packet);
        self.levels.mark(level, packet)
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.counts.show(self.levels.last() + 1, visit);
        let stats = self.sent.stats();
        visit("aggregates seen", stats.misses);
        visit("aggregates evicted", stats.evictions);
    }
}
