//! Parameters of RED.

use std::ops::Range;
use std::sync::Arc;

use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Length, Rate};

use super::DropCurve;
use super::average::Weight;
use super::drop_curve::{Slopes, Unit, amount, unit};
use super::spacing::Spacing;
use crate::ParamsError;
use crate::classifier::DscpTable;
use crate::params::above_zero;
use crate::queue::ring::checked_limit;

/// How congestion is signalled to ECN-capable packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMode {
    /// By a drop, as for all others.
    Drop,
    /// By a mark while the average is below max_th, above it by a drop (RFC 3168 §7). The gentle region is
    /// above max_th, so its packets are dropped.
    Mark,
    /// By a mark also above max_th, whatever the average. RFC 3168 §7 allows it, and ns-2's RED with several
    /// levels (dsRED) does it. In queues without such a threshold, the same as `Mark`.
    MarkAboveMax,
}

impl EcnMode {
    /// Whether packets are marked.
    #[inline]
    pub fn marks(self) -> bool {
        self != EcnMode::Drop
    }
}

/// The common settings of all levels of a RED queue.
#[derive(Debug, Clone)]
pub struct RedSettings {
    /// The limit of the queue; packets that do not fit are dropped.
    pub limit: Length,
    /// w_q: the weight of a new sample in the average, above 0 and at most 1.
    pub weight: f64,
    /// The mean packet. Its transmission time s determines how the average falls in idle time.
    pub idle_packet: Bytes,
    /// The rate of the link, until the host sets another.
    pub rate: Rate,
    /// The mean packet. If it is set, the drop probability is proportional to the packet's size divided by it
    /// (Floyd & Jacobson 1993, §4, where it is the maximum packet).
    pub mean_packet: Option<Bytes>,
    /// How drops are spread.
    pub spacing: Spacing,
    /// Whether ECN-capable packets are marked.
    pub ecn: EcnMode,
    /// A packet that finds fewer packets than this in the queue is not dropped, whatever the average. 0 is
    /// RED as published; ns-2 and ns-3 have 2.
    pub spare_below: u64,
}

/// Which packets the average of a level counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Averages {
    /// All packets: one average for all levels (WRED).
    Shared,
    /// Packets of the level (RIO-D).
    PerLevel,
    /// Packets of the level and of all that are better protected (RIO-C; Clark & Fang 1998).
    Coupled,
}

/// Parameters of [`Red`](super::Red). Clones share everything except the settings, so that the common part of
/// many ports stays in the cache.
#[derive(Debug, Clone)]
pub struct RedParams {
    pub(super) settings: RedSettings,
    pub(super) rules: Arc<Rules>,
}

/// Constants that a gate reads for each packet.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) limit: Length,
    pub(super) unit: Unit,
    pub(super) averages: Averages,
    pub(super) weight: Weight,
    pub(super) spacing: Spacing,
    pub(super) ecn: EcnMode,
    pub(super) spare_below: u64,
    /// 1 divided by the size of a mean packet; zero if sizes do not matter.
    pub(super) per_mean_packet: f64,
    curves: Vec<DropCurve>,
    pub(super) place_of: DscpTable<Place>,
}

/// The level and the averages of a code point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) slopes: Slopes,
    pub(super) level: usize,
    /// The averages that count these packets, from this number; the first is used for decisions,
    first: usize,
    /// up to this number, excluded.
    end: usize,
}

impl Rules {
    /// The number of levels.
    pub(super) fn levels(&self) -> usize {
        self.curves.len()
    }
}

impl Place {
    /// For this level, among levels with these `curves`.
    fn new(level: usize, curves: &[DropCurve], averages: Averages) -> Self {
        let (first, end) = match averages {
            Averages::Shared => (0, 1),
            Averages::PerLevel => (level, level + 1),
            Averages::Coupled => (level, curves.len()),
        };
        Place { slopes: curves[level].slopes(), level, first, end }
    }

    /// The numbers of the averages that count these packets; the first is used for decisions.
    #[inline]
    pub(super) fn counting(&self) -> Range<usize> {
        self.first..self.end
    }
}

impl RedParams {
    /// Plain RED: one level for all packets.
    pub fn new(settings: RedSettings, curve: DropCurve) -> Result<Self, ParamsError> {
        RedParams::with_levels(settings, vec![curve], DscpTable::filled(0), Averages::Shared)
    }

    /// Multi-level RED: `curves[level_of[dscp]]` is the level of a packet, 0 the best protected.
    /// Thresholds may be staggered or overlap.
    pub fn with_levels(
        settings: RedSettings,
        curves: Vec<DropCurve>,
        level_of: DscpTable<u8>,
        averages: Averages,
    ) -> Result<Self, ParamsError> {
        checked_limit(settings.limit)?;
        above_zero("idle_packet", settings.idle_packet)?;
        above_zero("rate", settings.rate)?;
        if let Some(mean_packet) = settings.mean_packet {
            above_zero("mean_packet", mean_packet)?;
        }
        if !(settings.weight > 0.0 && settings.weight <= 1.0) {
            return Err(ParamsError::new(
                "weight",
                format!("weight must be above 0 and at most 1; found {}", settings.weight),
            ));
        }
        let Some(first) = curves.first() else {
            return Err(ParamsError::new("levels", "RED requires at least one level; found 0"));
        };
        for curve in &curves {
            check_beside(first, curve, settings.limit)?;
        }
        if let Some(level) = level_of.values().find(|&level| usize::from(level) >= curves.len()) {
            return Err(ParamsError::new(
                "levels",
                format!("level {level} is used but there are only {} levels", curves.len()),
            ));
        }
        let rules = Rules {
            limit: settings.limit,
            unit: first.unit(),
            place_of: level_of.map(|level| Place::new(usize::from(level), &curves, averages)),
            averages,
            weight: Weight::new(settings.weight),
            spacing: settings.spacing,
            ecn: settings.ecn,
            spare_below: settings.spare_below,
            per_mean_packet: settings.mean_packet.map_or(0.0, |mean| 1.0 / mean.0 as f64),
            curves,
        };
        Ok(RedParams { settings, rules: Arc::new(rules) })
    }

    /// The same for a link of another rate, above zero.
    pub fn at_rate(&self, rate: Rate) -> Result<Self, ParamsError> {
        above_zero("rate", rate)?;
        Ok(RedParams { settings: RedSettings { rate, ..self.settings.clone() }, ..self.clone() })
    }

    /// The common settings of all levels.
    pub fn settings(&self) -> &RedSettings {
        &self.settings
    }

    /// The drop curve of each level, the best protected first.
    pub fn curves(&self) -> &[DropCurve] {
        &self.rules.curves
    }

    /// The level of packets with this code point, 0 the best protected.
    pub fn level_of(&self, dscp: Dscp) -> usize {
        self.rules.place_of.at(dscp).level
    }

    /// Which packets the average of a level counts.
    pub fn averages(&self) -> Averages {
        self.rules.averages
    }
}

/// Checks `curve` against the first one and against the limit.
fn check_beside(first: &DropCurve, curve: &DropCurve, limit: Length) -> Result<(), ParamsError> {
    let max = curve.max_threshold();
    if curve.unit() != first.unit() {
        return Err(ParamsError::new(
            "max_threshold",
            format!(
                "max_threshold {} of one level and {max} of another must both be in packets or \
                 both in bytes",
                first.max_threshold(),
            ),
        ));
    }
    if curve.unit() == unit(limit) && amount(max) > amount(limit) {
        return Err(ParamsError::new(
            "max_threshold",
            format!("max_threshold {max} must not be above limit {limit}"),
        ));
    }
    Ok(())
}
