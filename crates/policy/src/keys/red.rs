//! What RED with one level and RED with several have in common.

use shortflow_elements::classifier::DscpTable;
use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, EcnMode, RedParams, RedSettings, Spacing,
};
use shortflow_elements::{Dscp, ParamsError};
use shortflow_units::{Bytes, Length, Probability, Rate};

use super::{ThresholdKey, choices};
use crate::check::Checker;

choices!(Spacing as "Spacing" {
    /// Uniformly 1 to 1/p packets apart (Floyd & Jacobson 1993).
    "uniform" => Spacing::Uniform,
    /// Uniformly 1/p to 2/p packets apart, as ns-2's Queue/RED with `wait_`.
    "wait" => Spacing::Wait,
    /// As "uniform", but when p has risen so far that a drop is overdue, none comes until the
    /// average leaves the thresholds, as in ns-2's dsRED.
    "unclamped" => Spacing::Unclamped,
});

/// A table of keys that holds RED's common ones beside its own.
macro_rules! red_keys {
    ($(#[$attribute:meta])* struct $Name:ident { $($own:tt)* }) => {
        crate::keys::key_table! {
            $(#[$attribute])*
            struct $Name {
                /// What the queue holds.
                #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
                limit: shortflow_units::Length,
                /// The weight w_q of a new sample in the average (Floyd & Jacobson 1993, §6).
                #[serde(default = "crate::keys::RedCommon::weight")]
                #[schemars(extend("x-range" = "above 0, at most 1"))]
                weight: f64,
                /// Whether the drop probability rises on to 1 at twice `max_threshold`, instead of
                /// jumping.
                #[serde(default)]
                gentle: bool,
                /// Whether ECN-capable packets are marked instead of dropped below
                /// `max_threshold`.
                #[serde(default)]
                ecn: bool,
                /// Whether they are marked above `max_threshold` too, as ns-2's dsRED does; needs
                /// `ecn = true`.
                #[serde(default)]
                ecn_above_max: bool,
                /// The mean packet of the link, for the average's decay in idle times.
                #[serde(default = "crate::keys::RedCommon::mean_packet")]
                #[schemars(extend("x-range" = "above zero"))]
                mean_packet: shortflow_units::Bytes,
                /// Whether the drop probability is in proportion to a packet's size over
                /// `mean_packet`.
                #[serde(default)]
                byte_mode: bool,
                /// How drops are spaced, when the drop probability is p.
                #[serde(default = "crate::keys::RedCommon::spacing")]
                spacing: crate::keys::OneOf<shortflow_elements::queue::Spacing>,
                /// A packet that finds fewer packets waiting is spared, whatever the average; 0 as
                /// published, 2 in ns-2 and ns-3.
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

/// A table of keys that holds those of a drop curve beside its own. `$table` makes it: `key_table`,
/// or `red_keys` for the common keys too.
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
            /// The curve of the keys, which stand at `path`; none when there is a mistake.
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

    /// The mean packet for which RED's idle correction counts.
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

/// The parameters of a RED queue with one or several levels, but for the rate of its link.
#[derive(Debug, Clone)]
pub struct RedPlan {
    byte_mode: bool,
    /// For a link of some rate: it only scales the idle time.
    params: RedParams,
}

impl RedPlan {
    /// The plan of the keys at `path`; none when there is a mistake.
    pub(crate) fn new(
        checker: &mut Checker<'_>,
        path: &str,
        common: &RedCommon,
        curves: Vec<DropCurve>,
        level_of: DscpTable<u8>,
        averages: Averages,
    ) -> Option<RedPlan> {
        checker.limit(path, common.limit);
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

    /// The parameters for a link of this rate, above zero, which settles how fast the average falls
    /// when the queue is idle.
    pub fn params(&self, rate: Rate) -> RedParams {
        self.params.at_rate(rate).expect("a link has a rate above zero")
    }

    /// All settings, as for a link of 1 bit/s.
    pub fn settings(&self) -> &RedSettings {
        self.params.settings()
    }

    /// What the queue holds.
    pub fn limit(&self) -> Length {
        self.params.settings().limit
    }

    /// Whether it marks packets of who understands that (RFC 3168) instead of dropping them.
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

    /// Whether the drop probability is in proportion to a packet's size over the mean packet.
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

    /// A packet that finds fewer packets waiting is spared.
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
