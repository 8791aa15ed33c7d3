//! Amounts of data.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

use crate::quantity::{ParseQuantityError, QuantityKind, text_quantity, write_in_units};

/// A number of bytes. As in the field's papers, `KB` is 1000 bytes and `KiB` is 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// The difference, or zero when `other` is more.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

const BYTES: QuantityKind = QuantityKind {
    name: "a size",
    example: "64 KB",
    allowed: "from 0 to 9 PB",
    units: &[
        ("B", 1.0),
        ("KB", 1e3),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
    slips: &[
        ("byte", "B"),
        ("bytes", "B"),
        ("k", "KB"),
        ("m", "MB"),
        ("g", "GB"),
        ("ki", "KiB"),
        ("mi", "MiB"),
        ("gi", "GiB"),
    ],
};

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Bytes(libm::round(BYTES.parse(text)?) as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_units(
            f,
            self.0,
            &[("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1)],
        )
    }
}

text_quantity!(Bytes, "Bytes", "a size", "64 KB", "B|KB|kB|MB|GB|TB|KiB|MiB|GiB");

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_prefixes_differ() {
        assert_eq!("64 KB".parse(), Ok(Bytes(64_000)));
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
    }

    #[test]
    fn a_rate_is_no_size() {
        let error = "5 Mbit/s".parse::<Bytes>().unwrap_err();
        assert!(error.to_string().starts_with("unknown unit \"Mbit/s\"; units of a size: B, KB"));
    }
}
