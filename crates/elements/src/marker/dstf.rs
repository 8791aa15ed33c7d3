//! Discrete Smallest Transmitted Flow first (Guo, Zhu, Zhang & Zhang 2005, §2.2, Figure 1): the
//! less a flow has sent, the better its priority. No size need be known.
//!
//! **Splitting.** A sender gains by cutting a transfer into n flows, of which each has the best
//! priority for its first bytes (§2.4). The paper detects HTTP byte ranges; the general form is to
//! account for what is beyond a user's control. A transfer that one host takes from another is cut
//! by either of them, so the count is kept per pair of hosts ([`Aggregate::HostPair`]): per source
//! alone, a server's many clients would share one count. Since a pair lives longer than a flow, its
//! count decays: `decay` bytes per second are forgotten. Then, however many flows a pair opens, in
//! any time t at most thresh_{i+1} + decay·t bytes and one packet have priority i or better.

use shortflow_units::{Bytes, Instant, Rate};

use super::size_levels::{LevelCounts, SizeLevels};
use crate::aggregate::{Aggregate, Per};
use crate::meter::bucket::Tokens;
use crate::table::LruTable;
use crate::{Color, FlowKey, Marker, Packet, SenderView};

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
    /// Thresholds of bytes sent, and code points.
    pub levels: SizeLevels,
    /// Whose bytes count together, and how many such counts are kept.
    pub per: Per,
    /// Which bytes count.
    pub counted: Counted,
    /// The rate at which bytes sent are forgotten; zero in the paper.
    pub decay: Rate,
}

/// Marks by how much a packet's flow (or pair of hosts) has sent before: priority i while that is at
/// most thresh_{i+1}. The packet itself is counted afterwards. A flow that has left the table starts
/// anew: see [`Per::new`] for when that may be. O(1) per packet, but for the bisection of at most 63
/// thresholds.
#[derive(Debug)]
pub struct DstfMarker {
    levels: SizeLevels,
    aggregate: Aggregate,
    counted: Counted,
    decay: Rate,
    /// What each has sent and is not forgotten.
    sent: LruTable<FlowKey, Tokens>,
    counts: LevelCounts,
}

impl DstfMarker {
    /// A marker that has seen nothing yet.
    pub fn new(params: DstfParams) -> Self {
        let DstfParams { levels, per, counted, decay } = params;
        DstfMarker {
            levels,
            aggregate: per.aggregate,
            counted,
            decay,
            sent: LruTable::new(per.bounds),
            counts: LevelCounts::default(),
        }
    }
}

impl Marker for DstfMarker {
    #[inline]
    fn mark(&mut self, now: Instant, packet: &mut Packet, _sender: Option<&SenderView>) -> Color {
        let seen = self.sent.see(now, self.aggregate.of(packet.key), Tokens::default);
        let forgotten = Tokens::earned(self.decay, now.since(seen.before));
        let sent = seen.value.minus(forgotten);
        let bytes = match self.counted {
            Counted::Packet => packet.bytes(),
            Counted::Payload => Bytes(u64::from(packet.payload)),
        };
        *seen.value = sent.plus(Tokens::of(bytes));
        let level = self.levels.level(sent);
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
