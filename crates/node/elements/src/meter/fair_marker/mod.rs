//! The Fair Marker (Casetti & Mellia 2005, §4): green packets go to short flows first.
//!
//! ```text
//!            flow table      count < t_ft ── green rate estimator ── green random marker ──┐
//! packet ──▶ (per flow:  ──▶ pre-marker                                                    ├─▶ colour
//!            packets sent)   otherwise ──── yellow rate estimator ── yellow random marker ─┘
//! ```
//!
//! The green random marker keeps packets green while their rate is within the CIR; above it, the excess
//! becomes yellow. The yellow random marker promotes packets to green with probability P = min(1, (CIR −
//! green rate)/yellow rate), which fills the rest of the CIR. (The paper's Figure 9 with the exact rule is
//! lost; this implementation follows its text.)
//!
//! **Which green rate?** Both rates are those at the *ingress* of the random markers (§4.3), at the time of
//! the packet: the rates of pre-marked packets, before re-marking. Then
//!
//! - the green packets that leave keep to the CIR: when g is the green and y the yellow rate, the
//!   green branch lets min(g, CIR) stay, and the yellow one adds y·P = min(y, max(0, CIR − g));
//! - both branches are the same rule as TSW2CM: deny green with probability
//!   (rate − allowance)/rate, the allowance being the CIR, or what the green branch leaves of it;
//! - when all packets take one branch (a table of size 0, or t_ft without end: the green one;
//!   t_ft = 0: the yellow one), the other's rate is zero and the Fair Marker *is* TSW2CM, draw for
//!   draw.
//!
//! If the green rate included promoted packets, promotion would limit itself: in the steady state half of the
//! rest of the CIR would be unused.

mod flow_table;
mod integer;

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Duration, Instant, Rng};

pub use self::integer::IntegerFairMarker;

use self::flow_table::FlowTable;
use super::tsw::{InitialRate, RateEstimator, TswParams, TswSettings, excess};
use crate::flow_hash::FlowHash;
use crate::params::above_zero;
use crate::{Color, Meter, ParamsError};

/// The size of the Short-Range Flow Table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowTableSize {
    /// At most this many flows: a new flow replaces the least recently seen one. With 0, every packet is the
    /// first of a flow, and the marker is TSW2CM.
    AtMost(usize),
    /// All flows, each until it has been idle for longer than `idle_timeout`.
    Unlimited {
        /// For how long an idle flow is remembered.
        idle_timeout: Duration,
    },
}

/// Parameters of a [`FairMarker`].
#[derive(Debug, Clone)]
pub struct FairMarkerParams {
    tsw: TswParams,
    threshold: u64,
    table: FlowTableSize,
}

/// The settings of a [`FairMarkerParams`], as [`FairMarkerParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct FairMarkerSettings {
    /// The CIR and the estimators.
    pub tsw: TswSettings,
    /// t_ft: the number of packets of a flow that are green first.
    pub threshold: u64,
    /// The size of the flow table.
    pub table: FlowTableSize,
}

impl FairMarkerParams {
    /// The CIR and the window of both rate estimators; t_ft, the number of packets of a flow that are
    /// pre-marked green; and the size of the flow table (SRFT_size). Before the first packet, the branch of a
    /// flow's first packet has the initial rate, the other one zero.
    pub fn new(tsw: TswParams, threshold: u64, table: FlowTableSize) -> Result<Self, ParamsError> {
        match table {
            FlowTableSize::AtMost(flows) if flows > MAX_FLOWS => {
                return Err(ParamsError::new(
                    "table_size",
                    format!("table_size must be at most {MAX_FLOWS} flows; found {flows}"),
                ));
            }
            FlowTableSize::AtMost(_) => {}
            FlowTableSize::Unlimited { idle_timeout } => {
                above_zero("idle_timeout", idle_timeout)?;
            }
        }
        Ok(FairMarkerParams { tsw, threshold, table })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> FairMarkerSettings {
        let FairMarkerParams { tsw, threshold, table } = self;
        FairMarkerSettings { tsw: tsw.settings(), threshold: *threshold, table: *table }
    }

    /// The CIR and the estimators.
    pub fn tsw(&self) -> &TswParams {
        &self.tsw
    }

    /// t_ft: the number of packets of a flow that are green first.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// The size of the flow table.
    pub fn table(&self) -> FlowTableSize {
        self.table
    }
}

/// The whole table is allocated at the start.
const MAX_FLOWS: usize = 1 << 24;

/// Counters of a [`FairMarker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FairMarkerStats {
    /// Packets that were pre-marked green: early packets of their flows.
    pub pre_marked_packets: u64,
    /// Bytes that were pre-marked green.
    pub pre_marked_bytes: Bytes,
    /// Bytes that were pre-marked green.
    pub green_packets: u64,
    /// Bytes that left green.
    pub green_bytes: Bytes,
    /// Packets that were pre-marked yellow and left green.
    pub promoted_packets: u64,
    /// Bytes that were pre-marked yellow and left green.
    pub promoted_bytes: Bytes,
    /// Packets whose flow was in the table.
    pub hits: u64,
    /// Packets whose flow was not.
    pub misses: u64,
    /// Flows that were replaced by a new one.
    pub evictions: u64,
    /// Flows in the table now.
    pub flows: u64,
}

/// The Fair Marker's meter: green or yellow. O(1) per packet; amortised if flows time out.
#[derive(Debug)]
pub struct FairMarker {
    committed: f64,
    threshold: u64,
    table: FlowTable,
    green: RateEstimator,
    yellow: RateEstimator,
    stats: FairMarkerStats,
    rng: Rng,
}

impl FairMarker {
    /// A marker without flows, which draws from `rng`.
    pub fn new(params: FairMarkerParams, rng: Rng) -> Self {
        let FairMarkerParams { tsw, threshold, table } = params;
        let first_branch = tsw.estimator();
        let other_branch = TswParams { initial: InitialRate::Zero, ..tsw.clone() }.estimator();
        let (green, yellow) = match threshold {
            0 => (other_branch, first_branch),
            _ => (first_branch, other_branch),
        };
        FairMarker {
            committed: tsw.committed_rate.bytes_per_sec(),
            threshold,
            table: FlowTable::new(table, FlowHash::seeded(&mut rng.beside("flow table"))),
            green,
            yellow,
            stats: FairMarkerStats::default(),
            rng,
        }
    }

    /// Counters since the start.
    pub fn stats(&self) -> FairMarkerStats {
        let table = self.table.stats();
        FairMarkerStats {
            hits: table.hits,
            misses: table.misses,
            evictions: table.evictions,
            flows: self.table.len() as u64,
            ..self.stats
        }
    }
}

impl Meter for FairMarker {
    fn reserve(&mut self, flows: usize) {
        self.table.reserve(flows);
    }

    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let pre_marked = self.table.count(now, packet.key) < self.threshold;
        let denied = if pre_marked {
            self.stats.pre_marked_packets += 1;
            self.stats.pre_marked_bytes += packet.bytes();
            excess(self.green.update(now, packet.size), self.committed)
        } else {
            // 1 − P with P = min(1, (CIR − green rate)/yellow rate).
            let left = self.committed - self.green.rate(now);
            excess(self.yellow.update(now, packet.size), left)
        };
        if self.rng.bernoulli(denied) {
            return Color::Yellow;
        }
        self.stats.green_packets += 1;
        self.stats.green_bytes += packet.bytes();
        if !pre_marked {
            self.stats.promoted_packets += 1;
            self.stats.promoted_bytes += packet.bytes();
        }
        Color::Green
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let stats = self.stats();
        visit("pre-marked packets", stats.pre_marked_packets);
        visit("pre-marked bytes", stats.pre_marked_bytes.0);
        visit("green packets", stats.green_packets);
        visit("green bytes", stats.green_bytes.0);
        visit("promoted packets", stats.promoted_packets);
        visit("promoted bytes", stats.promoted_bytes.0);
        visit("flow table hits", stats.hits);
        visit("flow table misses", stats.misses);
        visit("flow table evictions", stats.evictions);
    }
}
