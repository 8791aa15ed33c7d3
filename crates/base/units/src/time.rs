//! Instants and durations, in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::quantity::{ParseQuantityError, QuantityKind, text_quantity, write_in_units};

/// A point in time: nanoseconds since the start of the run.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const START: Instant = Instant(0);
    /// Later than any instant of a run.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to `self`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Duration {
    /// Zero.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A duration of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }

    /// A duration of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros * 1_000)
    }

    /// A duration of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis * 1_000_000)
    }

    /// A duration of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs * 1_000_000_000)
    }

    /// The nearest duration to `secs` seconds. Zero if the number is negative or NaN.
    pub fn from_secs_f64(secs: f64) -> Self {
        // A float to integer cast saturates, and turns NaN into zero.
        Duration(libm::round(secs * 1e9) as u64)
    }

    /// Whole nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds, as an estimate.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

const DURATION: QuantityKind = QuantityKind {
    name: "a duration",
    example: "20 ms",
    allowed: "from 0 to 100 days",
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3600e9),
    ],
    slips: &[
        ("msec", "ms"),
        ("usec", "us"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("m", "min"),
        ("mins", "min"),
        ("minute", "min"),
        ("minutes", "min"),
        ("hour", "h"),
        ("hours", "h"),
    ],
};

impl FromStr for Duration {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Duration(libm::round(DURATION.parse(text)?) as u64))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_units(
            f,
            self.0,
            &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
        )
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

text_quantity!(Duration, "Duration", "a duration", "20 ms", "ns|us|µs|ms|s|min|h");

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(duration.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    /// The instant `duration` earlier, which must not be before the start.
    #[inline]
    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0 - duration.0)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        assert_eq!("20 ms".parse(), Ok(Duration::from_millis(20)));
        assert_eq!("1.5s".parse(), Ok(Duration::from_millis(1500)));
        assert_eq!("0".parse(), Ok(Duration::ZERO));
        assert_eq!("1e-3 s".parse(), Ok(Duration::from_millis(1)));
        assert_eq!("2E3ms".parse(), Ok(Duration::from_secs(2)));
    }

    #[test]
    fn a_duration_without_unit_is_refused_with_the_units_named() {
        let error = "20".parse::<Duration>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"20\" has no unit; add one, as in \"20 ms\"; units of a duration: ns, us, µs, ms, s, min, h"
        );
    }

    #[test]
    fn a_negative_duration_is_out_of_range() {
        let error = "-1 s".parse::<Duration>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"-1 s\" is out of range; a duration must be from 0 to 100 days"
        );
        let error = "1e30 s".parse::<Duration>().unwrap_err();
        assert!(error.to_string().starts_with("\"1e30 s\" is out of range"), "{error}");
    }

    #[test]
    fn a_duration_prints_in_its_greatest_unit_and_reads_back() {
        for text in ["20 ms", "1.5 s", "3 us", "7 ns", "0 ns"] {
            let duration: Duration = text.parse().unwrap();
            assert_eq!(duration.to_string(), text);
        }
    }
}
