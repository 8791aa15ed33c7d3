//! Lengths of queues (packets or bytes) and sizes of messages (bytes or full segments).

use std::fmt;
use std::str::FromStr;

use crate::quantity::{ParseQuantityError, text_quantity};
use crate::{Bytes, Duration, Rate};

/// The size of a queue: packets, or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// A number of packets, whatever their size.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
}

impl Length {
    /// A full packet of Ethernet, by which packets of a length are counted here.
    pub const FULL_PACKET: Bytes = Bytes(1500);

    /// How long a full queue of this length takes to drain at `rate`, where that is doubtful: more than 5 s. Above an hour the
    /// length stands for one without a limit.
    ///
    /// ```
    /// use shortflow_units::{Duration, Length, Rate};
    /// let rate: Rate = "12 Mbit/s".parse()?;
    /// assert_eq!(Length::Packets(9000).long_drain(rate), Some(Duration::from_secs(9)));
    /// assert_eq!(Length::Packets(1000).long_drain(rate), None);
    /// # Ok::<(), shortflow_units::ParseQuantityError>(())
    /// ```
    pub fn long_drain(self, rate: Rate) -> Option<Duration> {
        const DOUBTFUL: Duration = Duration::from_secs(5);
        const UNLIMITED: Duration = Duration::from_secs(3600);
        let bytes = match self {
            Length::Packets(packets) => packets.saturating_mul(Self::FULL_PACKET.0),
            Length::Bytes(bytes) => bytes.0,
        };
        let time = Duration::from_secs_f64(bytes as f64 * 8.0 / rate.bits_per_sec() as f64);
        (time > DOUBTFUL && time <= UNLIMITED).then_some(time)
    }
}

impl FromStr for Length {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match counted(text, "pkt", "a queue length", "200 pkt")? {
            Some(packets) => Length::Packets(packets),
            None => Length::Bytes(text.parse().map_err(or_packets)?),
        })
    }
}

/// Adds `pkt` to the units that an error about a size lists.
fn or_packets(error: ParseQuantityError) -> ParseQuantityError {
    let expected = "a queue length";
    match error {
        ParseQuantityError::NoUnit { units, found, .. } => {
            let (example, units) = ("200 pkt", format!("pkt, {units}"));
            ParseQuantityError::NoUnit { expected, example, units, found }
        }
        ParseQuantityError::UnknownUnit { units, unit, meant, found, .. } => {
            let is_packets = ["p", "packet", "packets", "pkts"].contains(&unit.as_str());
            let number = found.trim().trim_end_matches(&unit).trim_end();
            let meant = if is_packets { Some(format!("{number} pkt")) } else { meant };
            let units = format!("pkt, {units}");
            ParseQuantityError::UnknownUnit { expected, units, unit, meant, found }
        }
        other => other,
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Length::Packets(packets) => write!(f, "{packets} pkt"),
            Length::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

text_quantity!(
    Length,
    "Length",
    "a queue length in packets or bytes",
    "200 pkt",
    "pkt|B|KB|kB|MB|GB|TB|KiB|MiB|GiB"
);

/// The length of a message: bytes, or full segments of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A number of bytes.
    Bytes(Bytes),
    /// A number of full segments.
    Segments(u64),
}

impl Size {
    /// The size in bytes over a connection whose full segments carry `mss` bytes.
    pub fn bytes(self, mss: u64) -> Bytes {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Segments(segments) => Bytes(segments.saturating_mul(mss)),
        }
    }
}

impl FromStr for Size {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match counted(text, "seg", "a message size", "3 seg")? {
            Some(segments) => Size::Segments(segments),
            None => Size::Bytes(text.parse()?),
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Segments(segments) => write!(f, "{segments} seg"),
            Size::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

text_quantity!(
    Size,
    "Size",
    "a message size in bytes or full segments",
    "3 seg",
    "seg|B|KB|kB|MB|GB|TB|KiB|MiB|GiB"
);

/// `text` as a whole number of `unit`, or `None` if it has another unit.
fn counted(
    text: &str,
    unit: &'static str,
    expected: &'static str,
    example: &'static str,
) -> Result<Option<u64>, ParseQuantityError> {
    let Some(number) = text.trim().strip_suffix(unit) else { return Ok(None) };
    number.trim().replace('_', "").parse().map(Some).map_err(|_| ParseQuantityError::NotANumber {
        expected,
        example,
        found: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_in_packets_or_in_bytes() {
        assert_eq!("200 pkt".parse(), Ok(Length::Packets(200)));
        assert_eq!("64 KB".parse(), Ok(Length::Bytes(Bytes(64_000))));
        assert!("1.5 pkt".parse::<Length>().is_err());
    }

    #[test]
    fn a_segment_is_as_long_as_the_connection_makes_it() {
        let size: Size = "3 seg".parse().unwrap();
        assert_eq!(size.bytes(1000), Bytes(3000));
    }
}
