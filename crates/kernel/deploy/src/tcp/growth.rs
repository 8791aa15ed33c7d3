//! How windows grow, from the parts that people write.

use shortflow_ebpf::profile::TcpGrowth;
use shortflow_units::Duration;

/// A rule by its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TcpGrowthRule {
    /// One segment per round trip.
    #[default]
    Reno,
    /// By rtt²/rtt_av², where rtt_av is the mean of the profile's connections.
    AggregateFair,
    /// By rtt²/reference².
    ConstantRate,
    /// By some segments where the round-trip time is above the reference.
    IncreaseByK,
}

/// Why these parts are no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TcpGrowthMistake {
    /// It has a reference or a number of segments, which the rule does not use.
    #[error("this growth rule has no reference")]
    Superfluous,
    /// Constant-rate has a reference alone.
    #[error("constant-rate requires a reference round-trip time, and no increase")]
    ConstantRate,
    /// Increase-by-k has both.
    #[error("increase-by-k requires a reference round-trip time and an increase")]
    IncreaseByK,
}

impl TcpGrowthRule {
    /// The rule with its reference and its segments.
    ///
    /// # Errors
    /// When it lacks one of them, or does not use it.
    pub fn with(
        self,
        reference: Option<Duration>,
        segments: Option<u32>,
    ) -> Result<TcpGrowth, TcpGrowthMistake> {
        match (self, reference, segments) {
            (TcpGrowthRule::Reno, None, None) => Ok(TcpGrowth::Reno),
            (TcpGrowthRule::AggregateFair, None, None) => Ok(TcpGrowth::AggregateFair),
            (TcpGrowthRule::ConstantRate, Some(reference), None) => {
                Ok(TcpGrowth::ConstantRate { reference })
            }
            (TcpGrowthRule::IncreaseByK, Some(above), Some(segments)) => {
                Ok(TcpGrowth::IncreaseByK { segments, above })
            }
            (TcpGrowthRule::Reno | TcpGrowthRule::AggregateFair, ..) => {
                Err(TcpGrowthMistake::Superfluous)
            }
            (TcpGrowthRule::ConstantRate, ..) => Err(TcpGrowthMistake::ConstantRate),
            (TcpGrowthRule::IncreaseByK, ..) => Err(TcpGrowthMistake::IncreaseByK),
        }
    }
}
