//! Discrete Smallest Transmitted Flow first (Guo, Zhu, Zhang & Zhang 2005, §2.2, Figure 1): the
//! less a flow has sent, the better its priority. No size need be known.
//!
//! **Splitting.** A sender gains by cutting a transfer into n flows, of which each has the best
//! priority for its first bytes (§2.4). The paper detects HTTP byte ranges; the general form is to
//! account for what is beyond a user's control. A transfer that one host takes from another is cut
//! by either of them, so the count is kept per pair of hosts ([`Aggregate::HostPair`]): per source
//! alone, a server's many clients would share one count. Since a pair lives longer than a flow, its
//! count decays: `decay` bytes per second are forgotten. Then, however many flows a pair opens, in
//! any time t at most thresh_{i+1} + decay·t bytes and one packet have priority i or better, for
//! every priority i but the last.
//!
//! **What is forgotten.** Packets of the last priority do not count: a pair that has fetched a
//! gigabyte is no further from the better priorities than one that has just passed the last
//! threshold. So a count has decayed after (last threshold + a packet)/decay of silence, and no idle
//! timeout may be shorter. In a full table a new pair takes over the count of the least recently
//! seen one: all pairs together, however many, get no more of a priority than so many counts allow.
//! Without decay, as in the paper, nothing is ever made good, and the law above holds for the time
//! that a flow is remembered: it starts anew after its silence, or after it was displaced.
//!
//! **Floods.** Whoever gives each packet another source has the best priority for all of them, and under strict priority
//! takes the line from everybody. But the table then turns over: so a new flow that displaces one which was seen not long
//! ago, less than the time in which as many new ones as are [believed](DstfParams::believing) fill the table, begins with the
//! last priority, and has it until it is silent or `decay` makes it good.

use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};

use super::size_levels::{LevelCounts, SizeLevels};
use crate::aggregate::Per;
use crate::meter::bucket::{Tokens, time_to_earn};
use crate::table::LruTable;
use crate::{Color, FlowKey, Marker, Packet, ParamsError, SenderView};

/// Which bytes of a packet count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counted {
    /// The packet's length, headers included: `length(p_f)` of Figure 1.
    #[default]
    Packet,
    /// The payload alone.
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

impl DstfParams {
    /// Levels of bytes sent; whose bytes count together, and how many such counts are kept; which
    /// bytes count; and the rate at which bytes sent are forgotten, zero in the paper.
    pub fn new(
        levels: SizeLevels,
        per: Per,
        counted: Counted,
        decay: Rate,
    ) -> Result<Self, ParamsError> {
        let per = per.settling_in(Self::settled_after(&levels, decay))?;
        Ok(DstfParams { levels, per, counted, decay, crowded: Duration::ZERO })
    }

    /// The same, where more new flows than `most_new` a second, in a full table, are a flood; at zero none are.
    #[must_use]
    pub fn believing(self, most_new: u32) -> Self {
        let second = 1_000_000_000_u64;
        let nanos = (self.per.table_size() as u64).saturating_mul(second);
        let crowded = nanos.checked_div(most_new.into()).unwrap_or(0);
        DstfParams { crowded: Duration::from_nanos(crowded), ..self }
    }

    /// A flow that displaces one which was seen less than this ago is one of a flood.
    pub fn crowded(&self) -> Duration {
        self.crowded
    }

    /// The levels.
    pub fn levels(&self) -> &SizeLevels {
        &self.levels
    }

    /// Whose bytes count together, and how many such counts are kept.
    pub fn per(&self) -> Per {
        self.per
    }

    /// Which bytes count.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// The rate at which bytes sent are forgotten.
    pub fn decay(&self) -> Rate {
        self.decay
    }

    /// The silence in which a count decays, however much it was; none without decay.
    pub fn settled_after(levels: &SizeLevels, decay: Rate) -> Duration {
        if decay.is_zero() { Duration::ZERO } else { time_to_earn(decay, largest(levels)) }
    }
}

/// No count is greater: the last threshold and a packet.
fn largest(levels: &SizeLevels) -> Tokens {
    levels.last_threshold().plus(Tokens::from_bytes(LARGEST_PACKET))
}

/// An IP packet is no longer (RFC 791 §3.1).
const LARGEST_PACKET: Bytes = Bytes(65_535);

/// Marks by how much a packet's flow (or pair of hosts) has sent before: priority i while that is at
/// most thresh_{i+1}. The packet itself is counted afterwards, unless its priority is the last. O(1)
/// per packet, but for the bisection of at most 63
/// thresholds.
#[derive(Debug)]
pub struct DstfMarker {
    levels: SizeLevels,
    per: Per,
    counted: Counted,
    decay: Rate,
    crowded: Duration,
    max: Tokens,
    /// What each has sent and is not forgotten.
    sent: LruTable<FlowKey, Tokens>,
    counts: LevelCounts,
}

impl DstfMarker {
    /// A marker that has seen nothing yet; its table hashes under a seed from `rng`.
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
    fn mark(&mut self, now: Instant, packet: &mut Packet, _sender: Option<&SenderView>) -> Color {
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
