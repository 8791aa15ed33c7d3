//! Link layers: how many bytes a packet takes on the wire.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use crate::Bytes;
use crate::access_lines::link_layers_of;

/// How a link frames packets: bytes added to each IP packet, the smallest frame, and cells.
///
/// It is written as in tc-cake(8): the name of a [preset](LinkLayer::PRESETS), or `overhead`, `mpu` and `atm` or `ptm`, or
/// a preset with some of them changed.
///
/// ```
/// use shortflow_units::{Bytes, LinkLayer};
///
/// // A TCP acknowledgement over PPPoE and LLC/SNAP on ADSL: 40 + 40 bytes are two cells.
/// let adsl: LinkLayer = "pppoe-llcsnap".parse()?;
/// assert_eq!(adsl, "overhead 40 atm".parse()?);
/// assert_eq!(adsl.wire_size(Bytes(40)), Bytes(106));
/// # Ok::<(), shortflow_units::ParseLinkLayerError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkLayer {
    overhead: i32,
    mpu: u32,
    framing: Framing,
}

/// How a frame is encoded on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// Unchanged.
    #[default]
    Plain,
    /// ATM cells of 53 bytes that carry 48 bytes each. The last cell is padded (ITU-T I.361; AAL5 of ITU-T
    /// I.363.5).
    Atm,
    /// One extra byte for each 64 bytes, and for a shorter rest: 64b/65b of VDSL2's packet transfer mode
    /// (IEEE 802.3-2022, 61.3.3; ITU-T G.993.2, annex K).
    Ptm,
}

/// A link layer with a name.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Its overhead, minimum size and framing.
    pub layer: LinkLayer,
}

/// Bytes of a VLAN tag (IEEE 802.1Q).
const VLAN_TAG: i32 = 4;

impl LinkLayer {
    /// No overhead.
    pub const RAW: LinkLayer = LinkLayer { overhead: 0, mpu: 0, framing: Framing::Plain };
    /// The smallest overhead. It is negative, because the kernel may count headers that the link does not
    /// send; these have at most 64 bytes.
    pub const MIN_OVERHEAD: i64 = -64;
    /// The largest overhead and the largest `mpu`: those of tc-cake(8), more than any link has.
    pub const MAX_BYTES: i64 = 256;

    /// Link layers with names: those of tc-cake(8) with its numbers, and `lte`.
    pub const PRESETS: &[Preset] = &[
        preset("raw", "no overhead", LinkLayer::RAW),
        preset("ethernet", "Ethernet with preamble and gap", plain(38, 84)),
        preset(
            "ether-vlan",
            "Ethernet with a VLAN tag; after another name, the tag only",
            plain(42, 84),
        ),
        preset("docsis", "DOCSIS cable", plain(18, 64)),
        preset("bridged-ptm", "VDSL2, Ethernet", LinkLayer::new(22, 0, Framing::Ptm)),
        preset("pppoe-ptm", "VDSL2, PPPoE", LinkLayer::new(30, 0, Framing::Ptm)),
        preset("ipoa-vcmux", "ADSL, IP, VC-Mux", atm(8)),
        preset("ipoa-llcsnap", "ADSL, IP, LLC/SNAP", atm(16)),
        preset("pppoa-vcmux", "ADSL, PPP, VC-Mux", atm(10)),
        preset("pppoa-llc", "ADSL, PPP, LLC", atm(14)),
        preset("bridged-vcmux", "ADSL, Ethernet, VC-Mux", atm(24)),
        preset("bridged-llcsnap", "ADSL, Ethernet, LLC/SNAP", atm(32)),
        preset("pppoe-vcmux", "ADSL, PPPoE, VC-Mux", atm(32)),
        preset("pppoe-llcsnap", "ADSL, PPPoE, LLC/SNAP", atm(40)),
        preset("conservative", "at least as much as any other preset", atm(48)),
        preset("lte", "estimate for PDCP, RLC and MAC of a mobile network", plain(20, 0)),
    ];

    /// Adds `overhead` bytes to each packet, pads to at least `mpu` bytes, then applies `framing`.
    ///
    /// # Panics
    /// If the overhead is outside [`MIN_OVERHEAD`](Self::MIN_OVERHEAD) to [`MAX_BYTES`](Self::MAX_BYTES), or
    /// `mpu` is above `MAX_BYTES`.
    pub const fn new(overhead: i32, mpu: u32, framing: Framing) -> LinkLayer {
        let fits = overhead as i64 >= Self::MIN_OVERHEAD && overhead as i64 <= Self::MAX_BYTES;
        assert!(fits && mpu as i64 <= Self::MAX_BYTES, "a link layer out of range");
        LinkLayer { overhead, mpu, framing }
    }

    /// Bytes added to each packet. Negative if the packet's size includes headers that the link does not
    /// send.
    pub const fn overhead(self) -> i32 {
        self.overhead
    }

    /// The minimum size of a frame: with the overhead, before framing.
    pub const fn mpu(self) -> Bytes {
        Bytes(self.mpu as u64)
    }

    /// How a frame is encoded on the wire.
    pub const fn framing(self) -> Framing {
        self.framing
    }

    /// The same with another overhead; `None` out of range.
    #[must_use]
    pub fn with_overhead(self, bytes: i64) -> Option<LinkLayer> {
        let fits = (Self::MIN_OVERHEAD..=Self::MAX_BYTES).contains(&bytes);
        fits.then_some(LinkLayer { overhead: bytes as i32, ..self })
    }

    /// The same with another smallest frame; `None` out of range.
    #[must_use]
    pub fn with_mpu(self, bytes: i64) -> Option<LinkLayer> {
        (0..=Self::MAX_BYTES).contains(&bytes).then_some(LinkLayer { mpu: bytes as u32, ..self })
    }

    /// The bytes that an IP packet of so many bytes takes on the wire.
    #[inline(always)]
    pub const fn wire_size(self, packet: Bytes) -> Bytes {
        let framed = packet.0 as i64 + self.overhead as i64;
        let min = if self.mpu == 0 { 1 } else { self.mpu as i64 };
        let framed = if framed < min { min as u64 } else { framed as u64 };
        Bytes(match self.framing {
            Framing::Plain => framed,
            Framing::Atm => framed.div_ceil(CELL_PAYLOAD) * CELL,
            Framing::Ptm => framed + framed.div_ceil(64),
        })
    }

    /// The wire size of packets with this mean size: exact if all packets have the same size, else an
    /// estimate.
    pub fn mean_wire_size(self, packet: f64) -> f64 {
        let framed = (packet + f64::from(self.overhead)).max(f64::from(self.mpu.max(1)));
        // Rounding can put a mean slightly above a whole number.
        let parts = |bytes: f64| libm::ceil(framed / bytes - 1e-9);
        match self.framing {
            Framing::Plain => framed,
            Framing::Atm => parts(CELL_PAYLOAD as f64) * CELL as f64,
            Framing::Ptm => framed + parts(64.0),
        }
    }

    /// The name of the preset that equals this link layer.
    pub fn name(self) -> Option<&'static str> {
        let mut alike = Self::PRESETS.iter().filter(|preset| preset.layer == self);
        alike.next().filter(|_| alike.next().is_none()).map(|preset| preset.name)
    }
}

const fn preset(name: &'static str, about: &'static str, layer: LinkLayer) -> Preset {
    Preset { name, about, layer }
}

const fn plain(overhead: i32, mpu: u32) -> LinkLayer {
    LinkLayer::new(overhead, mpu, Framing::Plain)
}

const fn atm(overhead: i32) -> LinkLayer {
    LinkLayer::new(overhead, 0, Framing::Atm)
}

/// Bytes of an ATM cell.
const CELL: u64 = 53;
/// Bytes that an ATM cell carries.
const CELL_PAYLOAD: u64 = 48;

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            return f.write_str(name);
        }
        write!(f, "overhead {}", self.overhead)?;
        if self.mpu > 0 {
            write!(f, " mpu {}", self.mpu)?;
        }
        f.write_str(match self.framing {
            Framing::Plain => "",
            Framing::Atm => " atm",
            Framing::Ptm => " ptm",
        })
    }
}

/// An error in the text of a link layer, with help.
///
/// The default form is `message; help`. The alternate form (`{:#}`) puts the help on its own line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ParseLinkLayerError {
    /// The error.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl fmt::Display for ParseLinkLayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if f.alternate() { "\n" } else { "; " };
        write!(f, "{}{joint}{}", self.message, self.help)
    }
}

fn error(message: String) -> ParseLinkLayerError {
    let names: Vec<&str> = LinkLayer::PRESETS.iter().map(|preset| preset.name).collect();
    let help = format!(
        "write \"overhead 30 mpu 64 atm\", or one of {}; `shortflow explain link_layer` describes them",
        names.join(", ")
    );
    ParseLinkLayerError { message, help }
}

fn unknown(name: &str) -> ParseLinkLayerError {
    let found = error(format!("unknown link layer \"{name}\""));
    match link_layers_of(name) {
        Some(meant) => {
            ParseLinkLayerError { help: format!("did you mean {meant}? {}", found.help), ..found }
        }
        None => found,
    }
}

impl FromStr for LinkLayer {
    type Err = ParseLinkLayerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace().peekable();
        let mut layer = LinkLayer::RAW;
        let mut is_first = true;
        if words.peek().is_none() {
            return Err(error(
                "expected a link layer, such as \"docsis\"; found an empty string".to_owned(),
            ));
        }
        while let Some(word) = words.next() {
            layer = match word {
                "overhead" => layer.with_overhead(number("overhead", &mut words)?),
                "mpu" => layer.with_mpu(number("mpu", &mut words)?),
                "atm" => Some(LinkLayer { framing: Framing::Atm, ..layer }),
                "ptm" => Some(LinkLayer { framing: Framing::Ptm, ..layer }),
                "noatm" => Some(LinkLayer { framing: Framing::Plain, ..layer }),
                "ether-vlan" if !is_first => {
                    layer.with_overhead(i64::from(layer.overhead + VLAN_TAG))
                }
                name => match Self::PRESETS.iter().find(|preset| preset.name == name) {
                    Some(preset) if is_first => Some(preset.layer),
                    Some(_) => {
                        return Err(error(format!("`{name}` must come first in \"{text}\"")));
                    }
                    None => return Err(unknown(name)),
                },
            }
            .ok_or_else(|| out_of_range(text))?;
            is_first = false;
        }
        Ok(layer)
    }
}

/// The number of bytes after a keyword, with or without a unit.
fn number<'t>(
    of: &str,
    words: &mut std::iter::Peekable<impl Iterator<Item = &'t str>>,
) -> Result<i64, ParseLinkLayerError> {
    let word = words.next().unwrap_or_default();
    let digits = word.strip_suffix('B').unwrap_or(word);
    words.next_if_eq(&"B");
    digits
        .parse()
        .map_err(|_| error(format!("`{of}` requires a number of bytes; found \"{word}\"")))
}

fn out_of_range(text: &str) -> ParseLinkLayerError {
    let help = format!(
        "an overhead must be {} to {} bytes, an mpu 0 to {1}",
        LinkLayer::MIN_OVERHEAD,
        LinkLayer::MAX_BYTES
    );
    ParseLinkLayerError { message: format!("\"{text}\" is out of range"), help }
}

/// A number of bytes that may be negative: `"18 B"`, `"-4 B"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedBytes(pub i64);

impl FromStr for SignedBytes {
    type Err = crate::ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        match text.strip_prefix('-') {
            Some(rest) => rest.parse::<Bytes>().map(|bytes| SignedBytes(-(bytes.0 as i64))),
            None => text.parse::<Bytes>().map(|bytes| SignedBytes(bytes.0 as i64)),
        }
    }
}

impl serde::Serialize for LinkLayer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A link layer as a table.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    overhead: Option<String>,
    #[serde(default)]
    mpu: Option<Bytes>,
    #[serde(default)]
    framing: Option<FramingName>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FramingName {
    Plain,
    Atm,
    Ptm,
}

impl Table {
    fn layer(self) -> Result<LinkLayer, String> {
        let overhead = self.overhead.map(|text| text.parse::<SignedBytes>());
        let overhead = overhead.transpose().map_err(|error| format!("{error:#}"))?;
        let framing = match self.framing {
            None | Some(FramingName::Plain) => Framing::Plain,
            Some(FramingName::Atm) => Framing::Atm,
            Some(FramingName::Ptm) => Framing::Ptm,
        };
        let layer = LinkLayer { framing, ..LinkLayer::RAW };
        let layer = layer.with_overhead(overhead.map_or(0, |bytes| bytes.0));
        let mpu = self.mpu.map_or(0, |bytes| bytes.0 as i64);
        let layer = layer.and_then(|layer| layer.with_mpu(mpu));
        layer.ok_or_else(|| format!("{:#}", out_of_range("link_layer")))
    }
}

impl<'de> Deserialize<'de> for LinkLayer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = LinkLayer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a link layer, such as \"docsis\" or { overhead = \"30 B\", mpu = \"64 B\", framing = \"atm\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LinkLayer, E> {
                text.parse().map_err(|error| E::custom(format_args!("{error:#}")))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LinkLayer, A::Error> {
                let table = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                table.layer().map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl schemars::JsonSchema for LinkLayer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkLayer".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mpu = generator.subschema_for::<Bytes>();
        schemars::json_schema!({
            "description": "a link layer: a name as in tc-cake(8), or its parts",
            "examples": ["docsis", "overhead 30 mpu 64 atm"],
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "overhead": { "type": "string", "examples": ["30 B", "-4 B"] },
                        "mpu": mpu,
                        "framing": { "enum": ["plain", "atm", "ptm"] },
                    },
                    "additionalProperties": false,
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(layer: &str, packet: u64) -> u64 {
        layer.parse::<LinkLayer>().unwrap().wire_size(Bytes(packet)).0
    }

    fn table(text: &str) -> Result<LinkLayer, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn a_packet_takes_what_is_computed_by_hand() {
        for (layer, packet, expected) in [
            ("raw", 40, 40),
            // 1500 + 14 of the header, 4 of the check sum, 8 of the preamble, 12 of the gap.
            ("ethernet", 1500, 1538),
            // The smallest frame of 64 bytes, 8 of the preamble, 12 of the gap.
            ("ethernet", 40, 84),
            ("ethernet ether-vlan", 1500, 1542),
            ("ether-vlan", 1500, 1542),
            ("docsis", 40, 64),
            ("docsis", 46, 64),
            ("docsis", 200, 218),
            // 40 + 40 bytes are two cells.
            ("pppoe-llcsnap", 40, 106),
            // 40 + 32 likewise.
            ("pppoe-vcmux", 40, 106),
            // 40 + 8 are exactly one.
            ("ipoa-vcmux", 40, 53),
            ("ipoa-vcmux", 41, 106),
            // 1540 / 48 = 32.1: 33 cells.
            ("pppoe-llcsnap", 1500, 1749),
            // 200 + 40 = 240: five cells, none padded.
            ("pppoe-llcsnap", 200, 265),
            // 1530 / 64 = 23.9: 24 bytes more.
            ("pppoe-ptm", 1500, 1554),
            // 34 + 30 = 64: one byte more.
            ("pppoe-ptm", 34, 65),
            ("pppoe-ptm", 35, 67),
            ("overhead -14 mpu 60", 100, 86),
            ("overhead -14 mpu 60", 60, 60),
            // The smallest frame is cut into cells, too: 64 bytes are two.
            ("overhead 0 mpu 64 atm", 40, 106),
            ("overhead -64", 40, 1),
        ] {
            assert_eq!(wire(layer, packet), expected, "{packet} B over {layer}");
            let mean = layer.parse::<LinkLayer>().unwrap().mean_wire_size(packet as f64);
            assert_eq!(mean, expected as f64, "{packet} B over {layer}");
        }
    }

    #[test]
    fn every_preset_is_read_as_it_is_shown_and_tables_say_the_same() {
        for preset in LinkLayer::PRESETS {
            assert_eq!(preset.name.parse(), Ok(preset.layer));
            assert_eq!(preset.layer.to_string().parse(), Ok(preset.layer));
        }
        assert_eq!("pppoe-vcmux".parse::<LinkLayer>().unwrap().to_string(), "overhead 32 atm");
        assert_eq!("docsis mpu 0".parse::<LinkLayer>().unwrap().to_string(), "overhead 18");
        let table = table(r#"{ "overhead": "-4 B", "mpu": "64 B", "framing": "atm" }"#).unwrap();
        assert_eq!(Ok(table), "overhead -4B mpu 64 B atm".parse());
        assert_eq!(table.to_string(), "overhead -4 mpu 64 atm");
    }

    #[test]
    fn what_is_no_link_layer_is_refused_with_what_is_one() {
        for (wrong, message) in [
            ("", "expected a link layer, such as \"docsis\"; found an empty string"),
            ("token-ring", "unknown link layer \"token-ring\""),
            ("overhead", "`overhead` requires a number of bytes; found \"\""),
            ("mpu x", "`mpu` requires a number of bytes; found \"x\""),
            ("overhead 18 docsis", "`docsis` must come first in \"overhead 18 docsis\""),
            ("overhead -65", "\"overhead -65\" is out of range"),
            ("mpu 257", "\"mpu 257\" is out of range"),
            ("mpu -1", "\"mpu -1\" is out of range"),
            ("overhead 253 ether-vlan", "\"overhead 253 ether-vlan\" is out of range"),
        ] {
            let error = wrong.parse::<LinkLayer>().unwrap_err();
            assert_eq!(error.message, message);
            assert!(!error.help.is_empty());
        }
        for wrong in [("cells", "atm"), ("framing", "cells"), ("overhead", "18"), ("mpu", "70 KB")]
        {
            let (key, value) = wrong;
            let text = format!("{{ \"{key}\": \"{value}\" }}");
            assert!(table(&text).is_err(), "{text}");
        }
    }
}
