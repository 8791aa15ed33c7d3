//! The drop probability as a function of the average queue length.

use shortflow_units::{Length, Probability};

use crate::ParamsError;

/// What happens to a packet that finds the average at or above the maximum threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AboveMax {
    /// It is dropped (Floyd & Jacobson 1993).
    Forced,
    /// The probability rises from max_p to 1 between max_th and 2·max_th, where dropping is
    /// forced ("gentle", Floyd, *Recommendation on using the gentle variant of RED*, 2000).
    Gentle,
}

/// Two thresholds and the probability between them: one level of [`Red`](super::Red).
#[derive(Debug, Clone)]
pub struct DropCurve {
    min_threshold: Length,
    max_threshold: Length,
    max_probability: f64,
    above_max: AboveMax,
}

impl DropCurve {
    /// A curve that is zero below `min_threshold` (min_th), rises linearly to `max_probability` (max_p) at
    /// `max_threshold` (max_th), and continues as `above_max` says.
    pub fn new(
        min_threshold: Length,
        max_threshold: Length,
        max_probability: Probability,
        above_max: AboveMax,
    ) -> Result<Self, ParamsError> {
        if unit(min_threshold) != unit(max_threshold) {
            return Err(ParamsError::new(
                "max_threshold",
                format!(
                    "min_threshold {min_threshold} and max_threshold {max_threshold} must both be \
                     in packets or both in bytes"
                ),
            ));
        }
        if amount(min_threshold) >= amount(max_threshold) {
            return Err(ParamsError::new(
                "min_threshold",
                format!(
                    "min_threshold {min_threshold} must be below max_threshold {max_threshold}"
                ),
            ));
        }
        let max_probability = max_probability.value();
        Ok(DropCurve { min_threshold, max_threshold, max_probability, above_max })
    }

    /// min_th.
    pub fn min_threshold(&self) -> Length {
        self.min_threshold
    }

    /// max_th.
    pub fn max_threshold(&self) -> Length {
        self.max_threshold
    }

    /// The unit of the thresholds and of the average.
    pub(super) fn unit(&self) -> Unit {
        unit(self.max_threshold)
    }

    /// The curve with its slopes.
    pub(super) fn slopes(&self) -> Slopes {
        let (min, max) = (amount(self.min_threshold) as f64, amount(self.max_threshold) as f64);
        let forced_from = match self.above_max {
            AboveMax::Forced => max,
            AboveMax::Gentle => 2.0 * max,
        };
        Slopes {
            min,
            max,
            forced_from,
            max_probability: self.max_probability,
            early_slope: self.max_probability / (max - min),
            gentle_slope: (1.0 - self.max_probability) / max,
        }
    }

    /// max_p, from 0 to 1.
    pub fn max_probability(&self) -> f64 {
        self.max_probability
    }

    /// What happens above max_th.
    pub fn above_max(&self) -> AboveMax {
        self.above_max
    }
}

/// The unit of queue lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Packets,
    Bytes,
}

pub(super) fn unit(length: Length) -> Unit {
    match length {
        Length::Packets(_) => Unit::Packets,
        Length::Bytes(_) => Unit::Bytes,
    }
}

pub(super) fn amount(length: Length) -> u64 {
    match length {
        Length::Packets(packets) => packets,
        Length::Bytes(bytes) => bytes.0,
    }
}

/// The region of the curve for an average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Region {
    /// Below min_th.
    Pass,
    /// Between min_th and max_th: p_b.
    Early(f64),
    /// Between max_th and 2·max_th of a gentle curve: p_b.
    Gentle(f64),
    /// Where every packet is dropped.
    Forced,
}

/// A [`DropCurve`] in a form for fast evaluation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slopes {
    min: f64,
    max: f64,
    forced_from: f64,
    max_probability: f64,
    early_slope: f64,
    gentle_slope: f64,
}

impl Slopes {
    /// Whether the average is below min_th.
    #[inline]
    pub(super) fn is_below(&self, average: f64) -> bool {
        average < self.min
    }

    #[inline]
    pub(super) fn at(&self, average: f64) -> Region {
        if self.is_below(average) {
            Region::Pass
        } else if average < self.max {
            // p_b = max_p · (avg − min_th)/(max_th − min_th) (Floyd & Jacobson 1993, §4).
            Region::Early(self.early_slope * (average - self.min))
        } else if average < self.forced_from {
            Region::Gentle(self.max_probability + self.gentle_slope * (average - self.max))
        } else {
            Region::Forced
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(min: u64, max: u64, max_probability: f64, above_max: AboveMax) -> Slopes {
        let max_probability = Probability::new(max_probability).unwrap();
        DropCurve::new(Length::Packets(min), Length::Packets(max), max_probability, above_max)
            .unwrap()
            .slopes()
    }

    #[test]
    fn the_curve_rises_between_the_thresholds_and_then_jumps_or_is_gentle() {
        let (forced, gentle) =
            (curve(5, 15, 0.1, AboveMax::Forced), curve(5, 15, 0.1, AboveMax::Gentle));
        let table: String = [0.0, 4.9, 5.0, 10.0, 14.9, 15.0, 22.5, 29.9, 30.0]
            .map(|average| {
                format!("{average:>4}  {:<13} {}\n", show(&forced, average), show(&gentle, average))
            })
            .concat();
        assert_eq!(
            table,
            "   0  pass          pass
 4.9  pass          pass
   5  early 0.000   early 0.000
  10  early 0.050   early 0.050
14.9  early 0.099   early 0.099
  15  forced        gentle 0.100
22.5  forced        gentle 0.550
29.9  forced        gentle 0.994
  30  forced        forced
"
        );
    }

    fn show(curve: &Slopes, average: f64) -> String {
        match curve.at(average) {
            Region::Pass => "pass".to_owned(),
            Region::Early(p) => format!("early {p:.3}"),
            Region::Gentle(p) => format!("gentle {p:.3}"),
            Region::Forced => "forced".to_owned(),
        }
    }

    #[test]
    fn thresholds_in_the_wrong_order_are_refused_by_name() {
        let refused = |min, max| {
            DropCurve::new(min, max, Probability::ONE, AboveMax::Forced).unwrap_err().to_string()
        };
        assert_eq!(
            refused(Length::Packets(90), Length::Packets(60)),
            "min_threshold 90 pkt must be below max_threshold 60 pkt"
        );
        assert_eq!(
            refused(Length::Packets(5), Length::Bytes(shortflow_units::Bytes(60_000))),
            "min_threshold 5 pkt and max_threshold 60 KB must both be in packets or both in bytes"
        );
    }
}
