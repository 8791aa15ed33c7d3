//! The byte of the IP header that routers may change: the code point and the ECN field.

use std::fmt;
use std::str::FromStr;

/// A DiffServ code point (RFC 2474): 6 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dscp(u8);

impl Dscp {
    /// The default code point: best effort.
    pub const BEST_EFFORT: Dscp = Dscp(0);
    /// Assured Forwarding class 1, low drop precedence (RFC 2597 §6): green.
    pub const AF11: Dscp = Dscp(10);
    /// Assured Forwarding class 1, medium drop precedence: yellow.
    pub const AF12: Dscp = Dscp(12);
    /// Assured Forwarding class 1, high drop precedence: red.
    pub const AF13: Dscp = Dscp(14);
    /// Expedited Forwarding (RFC 3246).
    pub const EF: Dscp = Dscp(46);
    /// The number of code points.
    pub const COUNT: usize = 64;

    /// The code point of this value, or `None` above 63.
    pub const fn new(value: u8) -> Option<Dscp> {
        if value < 64 { Some(Dscp(value)) } else { None }
    }

    /// The 6-bit value, below [`Dscp::COUNT`].
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// Names as IANA registers them: `BE` (also `CS0`, `DF`), `CS1`–`CS7`, `AF11`–`AF43`, `EF`, `LE`;
/// or the number from 0 to 63.
impl FromStr for Dscp {
    type Err = ParseDscpError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |c: u8, low: u8, high: u8| {
            (low..=high).contains(&c.wrapping_sub(b'0')).then(|| c - b'0')
        };
        let value = match text.as_bytes() {
            b"BE" | b"DF" => Some(0),
            b"EF" => Some(46),
            b"LE" => Some(1),
            [b'C', b'S', n] => digit(*n, 0, 7).map(|n| 8 * n),
            [b'A', b'F', class, drop] => digit(*class, 1, 4)
                .zip(digit(*drop, 1, 3))
                .map(|(class, drop)| 8 * class + 2 * drop),
            _ => text.parse().ok(),
        };
        value.and_then(Dscp::new).ok_or_else(|| ParseDscpError { found: text.to_owned() })
    }
}

/// An invalid code point. The default form is `message; help`. The alternate form (`{:#}`) puts the help on
/// its own line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDscpError {
    found: String,
}

impl ParseDscpError {
    /// The error.
    pub fn message(&self) -> String {
        format!("unknown code point \"{}\"", self.found)
    }

    /// What to write instead.
    pub fn help(&self) -> &'static str {
        "allowed: BE, LE, EF, CS1 to CS7, AF11 to AF43, 0 to 63"
    }
}

impl fmt::Display for ParseDscpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if f.alternate() { "\n" } else { "; " };
        write!(f, "{}{joint}{}", self.message(), self.help())
    }
}

impl std::error::Error for ParseDscpError {}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("BE"),
            1 => f.write_str("LE"),
            46 => f.write_str("EF"),
            n if n % 8 == 0 => write!(f, "CS{}", n / 8),
            n if (8..40).contains(&n) && n % 2 == 0 => write!(f, "AF{}{}", n / 8, n % 8 / 2),
            n => write!(f, "{n}"),
        }
    }
}

/// The ECN field (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by a drop.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// All values, in the order of their bits.
    pub const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    /// Whether congestion may be signalled by a mark instead of a drop.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// The byte of the IP header with the code point in its upper six bits (RFC 2474 §3) and the ECN field in the
/// lower two (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// Bits of the byte.
    pub const BITS: u32 = u8::BITS;
    const ECN_BITS: u32 = Ecn::ALL.len().trailing_zeros();

    /// The byte of a packet with this code point and this ECN field.
    #[inline]
    pub const fn new(dscp: Dscp, ecn: Ecn) -> Self {
        TrafficClass(dscp.value() << Self::ECN_BITS | ecn as u8)
    }

    /// The code point.
    #[inline]
    pub const fn dscp(self) -> Dscp {
        Dscp(self.0 >> Self::ECN_BITS)
    }

    /// The ECN field.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        Ecn::ALL[self.0 as usize % Ecn::ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_point_reads_back_from_its_name() {
        for value in 0..64 {
            let dscp = Dscp::new(value).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
        }
    }

    #[test]
    fn the_assured_forwarding_names_are_those_of_rfc_2597() {
        assert_eq!("AF11".parse(), Ok(Dscp::AF11));
        assert_eq!("AF43".parse(), Ok(Dscp(38)));
        assert_eq!("EF".parse(), Ok(Dscp::EF));
        assert!("AF44".parse::<Dscp>().is_err());
        assert!("64".parse::<Dscp>().is_err());
    }
}
