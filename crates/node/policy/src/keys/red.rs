//! Keys that `red` and `multi-red` share.

use shortflow_elements::ParamsError;
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, EcnMode, RedParams, RedSettings, Spacing,
};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Length, Probability, Rate};

use super::{ThresholdKey, choices};
use crate::check::Checker;

choices!(Spacing as "Spacing" {
    /// The number of packets between drops is uniform from 1 to 1/p (Floyd & Jacobson 1993).
    "uniform" => Spacing::Uniform,
    /// The number of packets between drops is uniform from 1/p to 2/p, as in ns-2's Queue/RED with `wait_`.
    "wait" => Spacing::Wait,
    /// As "uniform". But if p rises until a drop is overdue, no packet is dropped before the average leaves
    /// the thresholds, as in ns-2's dsRED.
    "unclamped" => Spacing::Unclamped,
    /// Each packet is dropped with probability p, whatever happened to the ones before it; so are those of ns-2's
    /// dsRED, if each accepted packet resets its count.
    "geometric" => Spacing::Geometric,
});

/// Defines a table of keys: RED's common keys, and more.
macro_rules! red_keys {
    ($(#[$attribute:meta])* struct $Name:ident { $($own:tt)* }) => {
        crate::keys::key_table! {
            $(#[$attribute])*
            struct $Name {
                /// Limit of the queue.
                #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
                limit: shortflow_units::Length,
                /// The weight w_q of a new sample in the average (Floyd & Jacobson 1993, §6).
                #[serde(default = "crate::keys::RedCommon::weight")]
                #[schemars(extend("x-range" = "above 0, at most 1"))]
                weight: f64,
                /// Whether the drop probability rises gradually to 1 at twice `max_threshold`, instead of
                /// jumping to 1.
                #[serde(default)]
                gentle: bool,
                /// Whether ECN-capable packets are marked instead of dropped below `max_threshold`.
                #[serde(default)]
                ecn: bool,
                /// Whether ECN-capable packets are marked above `max_threshold` too, as in ns-2's dsRED.
                /// Requires `ecn = true`.
                #[serde(default)]
                ecn_above_max: bool,
                /// Mean packet size of the link. It scales how the average falls while the queue is idle.
                #[serde(default = "crate::keys::RedCommon::mean_packet")]
                #[schemars(extend("x-range" = "above zero"))]
                mean_packet: shortflow_units::Bytes,
                /// Whether the drop probability is proportional to a packet's size divided by `mean_packet`.
                #[serde(default)]
                byte_mode: bool,
                /// Spacing of drops, if the drop probability is p.
                #[serde(default = "crate::keys::RedCommon::spacing")]
                spacing: crate::keys::OneOf<shortflow_elements::queue::Spacing>,
                /// A packet that finds fewer packets in the queue is not dropped, whatever the average. The
                /// paper has 0, ns-2 and ns-3 have 2.
                #[serde(default)]
                spare_below: u32,
                $($own)*
            }
        }

        impl $Name {
            fn common(&self) -> crate::keys::RedCommon {
                crate::keys::RedCommon {
                    limit: self.limit,
                    weight: self.weight,
                    gentle: self.gentle,
                    ecn: self.ecn,
                    ecn_above_max: self.ecn_above_max,
                    mean_packet: self.mean_packet,
                    byte_mode: self.byte_mode,
                    spacing: self.spacing.0,
                    spare_below: self.spare_below,
                }
            }
        }
    };
}
pub(crate) use red_keys;

/// Defines a table of keys: those of a drop curve, and more. `$table` is the macro that defines it:
/// `key_table`, or `red_keys` for the common keys too.
macro_rules! curve_keys {
    ($table:ident! { $(#[$attribute:meta])* struct $Name:ident { $($own:tt)* } }) => {
        crate::keys::$table! {
            $(#[$attribute])*
            struct $Name {
                $($own)*
                /// The average queue below which nothing is dropped.
                #[schemars(extend("x-range" = "below `max_threshold`"))]
                min_threshold: crate::keys::ThresholdKey,
                /// The average queue at which the drop probability reaches `max_probability`.
                #[schemars(extend("x-range" = "at most `limit`"))]
                max_threshold: crate::keys::ThresholdKey,
                /// The drop probability at `max_threshold`.
                max_probability: shortflow_units::Probability,
            }
        }

        impl $Name {
            /// The curve of the keys at `path`, or `None` after a mistake.
            fn curve(
                &self,
                checker: &mut crate::check::Checker<'_>,
                path: &str,
                common: &crate::keys::RedCommon,
            ) -> Option<shortflow_elements::queue::DropCurve> {
                let thresholds = [self.min_threshold, self.max_threshold];
                checker.accept(path, common.curve(thresholds, self.max_probability))
            }
        }
    };
}
pub(crate) use curve_keys;

/// The common keys.
#[derive(Debug, Clone)]
pub(crate) struct RedCommon {
    pub(crate) limit: Length,
    pub(crate) weight: f64,
    pub(crate) gentle: bool,
    pub(crate) ecn: bool,
    pub(crate) ecn_above_max: bool,
    pub(crate) mean_packet: Bytes,
    pub(crate) byte_mode: bool,
    pub(crate) spacing: Spacing,
    pub(crate) spare_below: u32,
}

impl RedCommon {
    /// Floyd & Jacobson 1993, §6: w_q = 0.002.
    pub(crate) fn weight() -> f64 {
        0.002
    }

    /// The mean packet for RED's idle correction.
    pub(crate) fn mean_packet() -> Bytes {
        Bytes(500)
    }

    /// As published.
    pub(crate) fn spacing() -> super::OneOf<Spacing> {
        super::OneOf(Spacing::Uniform)
    }

    /// The curve between two thresholds, the lower first.
    pub(crate) fn curve(
        &self,
        [min, max]: [ThresholdKey; 2],
        max_probability: Probability,
    ) -> Result<DropCurve, ParamsError> {
        let above_max = if self.gentle { AboveMax::Gentle } else { AboveMax::Forced };
        DropCurve::new(min.under(self.limit), max.under(self.limit), max_probability, above_max)
    }
}

/// The parameters of a RED queue with one or several levels, without the rate of its link.
#[derive(Debug, Clone)]
pub struct RedPlan {
    byte_mode: bool,
    /// For a link of any rate: the rate only scales the idle time.
    params: RedParams,
}

impl RedPlan {
    /// The plan of the keys at `path`, or `None` after a mistake.
    pub(crate) fn new(
        checker: &mut Checker<'_>,
        path: &str,
        common: &RedCommon,
        curves: Vec<DropCurve>,
        level_of: DscpTable<u8>,
        averages: Averages,
    ) -> Option<RedPlan> {
        checker.managed_limit(path, common.limit);
        if common.mean_packet == Bytes::ZERO {
            let message = "mean_packet must be above zero; found 0 B";
            checker.document.mistake(&format!("{path}.mean_packet"), message, "500 B is usual");
            return None;
        }
        let ecn = match (common.ecn, common.ecn_above_max) {
            (false, false) => EcnMode::Drop,
            (true, false) => EcnMode::Mark,
            (true, true) => EcnMode::MarkAboveMax,
            (false, true) => {
                let message = "ecn_above_max has no effect unless ecn is true";
                let place = format!("{path}.ecn_above_max");
                checker.document.mistake(&place, message, "set ecn = true");
                return None;
            }
        };
        let settings = RedSettings {
            limit: common.limit,
            weight: common.weight,
            idle_packet: common.mean_packet,
            rate: Rate::from_bits_per_sec(1),
            mean_packet: common.byte_mode.then_some(common.mean_packet),
            spacing: common.spacing,
            ecn,
            spare_below: u64::from(common.spare_below),
        };
        let params = RedParams::with_levels(settings, curves, level_of, averages);
        Some(RedPlan { byte_mode: common.byte_mode, params: checker.accept(path, params)? })
    }

    /// The parameters for a link of this rate, which must be above zero. The rate determines how fast the
    /// average falls while the queue is idle.
    pub fn params(&self, rate: Rate) -> RedParams {
        self.params.at_rate(rate).expect("a link has a rate above zero")
    }

    /// All settings, as for a link of 1 bit/s.
    pub fn settings(&self) -> &RedSettings {
        self.params.settings()
    }

    /// The limit of the queue.
    pub fn limit(&self) -> Length {
        self.params.settings().limit
    }

    /// Whether the queue marks ECN-capable packets (RFC 3168) instead of dropping them.
    pub fn marks(&self) -> bool {
        self.params.settings().ecn.marks()
    }

    /// w_q: the weight of a new sample in the average, above 0 and at most 1.
    pub fn weight(&self) -> f64 {
        self.params.settings().weight
    }

    /// The mean packet of the link.
    pub fn mean_packet(&self) -> Bytes {
        self.params.settings().idle_packet
    }

    /// Whether the drop probability is proportional to a packet's size divided by the mean packet.
    pub fn byte_mode(&self) -> bool {
        self.byte_mode
    }

    /// How drops are spaced.
    pub fn spacing(&self) -> Spacing {
        self.params.settings().spacing
    }

    /// Whether ECN-capable packets are marked.
    pub fn ecn(&self) -> EcnMode {
        self.params.settings().ecn
    }

    /// A packet that finds fewer packets in the queue is not dropped.
    pub fn spare_below(&self) -> u64 {
        self.params.settings().spare_below
    }

    /// The drop curve of each level, the best protected first; one in plain RED.
    pub fn curves(&self) -> &[DropCurve] {
        self.params.curves()
    }

    /// The level of a packet with this code point, from 0.
    pub fn level_of(&self, dscp: Dscp) -> usize {
        self.params.level_of(dscp)
    }

    /// Which packets the average of a level counts.
    pub fn averages(&self) -> Averages {
        self.params.averages()
    }
}
