//! Data rates, and transmission times without rounding errors.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{ParseQuantityError, QuantityKind, text_quantity, write_in_units};
use crate::{Bytes, Duration};

/// A data rate in bits per second; `k`, `M`, `G` are powers of 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// No rate at all.
    pub const ZERO: Rate = Rate(0);

    /// A rate of `bits` bits per second.
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Rate(bits)
    }

    /// Bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Bytes per second, as an estimate.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Whether the rate is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The transmission time of `bytes` at this rate, rounded up to a whole nanosecond.
    ///
    /// # Panics
    /// If the rate is zero.
    pub fn time_for(self, bytes: Bytes) -> Duration {
        let bits = u128::from(bytes.0) * 8 * 1_000_000_000;
        Duration::from_nanos(bits.div_ceil(u128::from(self.0)) as u64)
    }

    /// Whole bytes transmitted in `elapsed`.
    pub fn volume(self, elapsed: Duration) -> Bytes {
        Bytes((u128::from(self.0) * u128::from(elapsed.nanos()) / 8_000_000_000) as u64)
    }
}

const RATE: QuantityKind = QuantityKind {
    name: "a rate",
    example: "10 Mbit/s",
    allowed: "from 0 to 9000000 Gbit/s",
    units: &[
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
        ("B/s", 8.0),
        ("KB/s", 8e3),
        ("MB/s", 8e6),
    ],
    slips: &[
        ("KB", "KB/s"),
        ("kB", "KB/s"),
        ("kB/s", "KB/s"),
        ("KBps", "KB/s"),
        ("kBps", "KB/s"),
        ("MB", "MB/s"),
        ("MBps", "MB/s"),
        ("b", "bit/s"),
        ("bit", "bit/s"),
        ("bps", "bit/s"),
        ("b/s", "bit/s"),
        ("bits/s", "bit/s"),
        ("k", "kbit/s"),
        ("kb", "kbit/s"),
        ("kbit", "kbit/s"),
        ("kbps", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("kbits/s", "kbit/s"),
        ("m", "Mbit/s"),
        ("mb", "Mbit/s"),
        ("mbit", "Mbit/s"),
        ("mbps", "Mbit/s"),
        ("mb/s", "Mbit/s"),
        ("mbits/s", "Mbit/s"),
        ("g", "Gbit/s"),
        ("gb", "Gbit/s"),
        ("gbit", "Gbit/s"),
        ("gbps", "Gbit/s"),
        ("gb/s", "Gbit/s"),
        ("gbits/s", "Gbit/s"),
    ],
};

impl FromStr for Rate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Rate(libm::round(RATE.parse(text)?) as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_units(
            f,
            self.0,
            &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)],
        )
    }
}

text_quantity!(Rate, "Rate", "a rate", "10 Mbit/s", "bit/s|kbit/s|Mbit/s|Gbit/s|B/s|KB/s|MB/s");

/// The clock of one transmitter. Each packet takes whole nanoseconds, and the remainder carries over to the
/// next packet. The total time of a packet train is therefore exact.
#[derive(Debug, Clone)]
pub struct Transmission {
    rate: u64,
    remainder: u64,
    /// Nanoseconds per byte if that is a whole number, else 0.
    whole: u64,
}

impl Transmission {
    /// A transmitter at `rate`, which must be above zero.
    pub fn at(rate: Rate) -> Self {
        assert!(!rate.is_zero(), "a transmitter needs a rate above zero");
        let whole = if NANOBITS.is_multiple_of(rate.0) { NANOBITS / rate.0 } else { 0 };
        Transmission { rate: rate.0, remainder: 0, whole }
    }

    /// The transmission time of the next `bytes`, which follow the previous bytes without a gap.
    #[inline]
    pub fn time(&mut self, bytes: u32) -> Duration {
        let (time, remainder) = self.time_after(self.remainder(), bytes);
        self.set_remainder(remainder);
        time
    }

    /// The remainder that carries over to the next bytes.
    #[inline]
    pub fn remainder(&self) -> Remainder {
        Remainder(self.remainder)
    }

    /// Replaces the remainder that carries over to the next bytes.
    #[inline]
    pub fn set_remainder(&mut self, remainder: Remainder) {
        self.remainder = remainder.0;
    }

    /// The transmission time of `bytes` after this `remainder`, and the new remainder.
    #[inline]
    pub fn time_after(&self, remainder: Remainder, bytes: u32) -> (Duration, Remainder) {
        if self.whole > 0 {
            return (Duration::from_nanos(u64::from(bytes) * self.whole), remainder);
        }
        let numerator = u64::from(bytes) * NANOBITS + remainder.0;
        let nanos = numerator / self.rate;
        (Duration::from_nanos(nanos), Remainder(numerator - nanos * self.rate))
    }
}

/// The part of a nanosecond that one packet of a [`Transmission`] carries over to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remainder(u64);

impl Remainder {
    /// The remainder after an idle time.
    pub const NONE: Remainder = Remainder(0);
}

/// Bits per byte times nanoseconds per second.
const NANOBITS: u64 = 8_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_instead_is_told_in_our_words() {
        let help = |text: &str| text.parse::<Rate>().unwrap_err().help().unwrap();
        for (written, meant) in [
            ("10 Gbps", "10 Gbit/s"),
            ("20Mb", "20 Mbit/s"),
            ("5 mbit/s", "5 Mbit/s"),
            ("5 Kbps", "5 kbit/s"),
            ("10 MBps", "10 MB/s"),
            ("10 kB/s", "10 KB/s"),
        ] {
            let message = help(written);
            assert!(
                message.starts_with(&format!("write \"{meant}\"; units of a rate: ")),
                "{message}"
            );
        }
        assert!(help("5 apples").starts_with("units of a rate: "));
        assert_eq!("10 MB/s".parse(), Ok(Rate::from_bits_per_sec(80_000_000)));
    }

    #[test]
    fn a_packet_of_1040_bytes_takes_832_microseconds_at_10_mbit() {
        let rate: Rate = "10 Mbit/s".parse().unwrap();
        assert_eq!(rate.time_for(Bytes(1040)), Duration::from_micros(832));
    }

    #[test]
    fn a_train_of_packets_loses_no_fraction_of_a_nanosecond() {
        // 1 byte at 3 Gbit/s lasts 2 2/3 ns.
        let mut line = Transmission::at("3 Gbit/s".parse().unwrap());
        let times: Vec<_> = (0..3).map(|_| line.time(1).nanos()).collect();
        assert_eq!(times, [2, 3, 3]);
    }

    #[test]
    fn volume_and_time_are_inverse() {
        let rate: Rate = "6.4 Mbit/s".parse().unwrap();
        assert_eq!(rate.volume(rate.time_for(Bytes(123_456))), Bytes(123_456));
    }
}
