//! A policy as it is written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use shortflow_units::{Bytes, Duration, Length, Probability, Rate};

use crate::text::Named;

/// A policy: what nodes do to packets, as a set of named roles. It knows no topology.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFile {
    /// The name in results; by default that of the file.
    pub(crate) name: Option<String>,
    /// What the policy does.
    #[serde(default)]
    pub(crate) description: String,
    /// Values that may stand for others as "$name", or in an expression "= 1 - name".
    #[serde(default)]
    #[serde(rename = "parameters")]
    pub(crate) _parameters: Named<Scalar>,
    /// The code point that each colour is written as.
    #[serde(default)]
    pub(crate) code_points: CodePointsFile,
    /// The roles, under names of their own.
    pub(crate) roles: Named<RoleFile>,
}

/// A number, a text, or a truth value.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, a text, or a truth value")]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Integer(number) => number.fmt(f),
            Scalar::Number(number) => number.fmt(f),
            Scalar::Text(text) => text.fmt(f),
        }
    }
}

/// The code point that each colour is written as; by default those of AF class 1 (RFC 2597).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodePointsFile {
    /// AF11 by default.
    pub(crate) green: Option<String>,
    /// AF12 by default.
    pub(crate) yellow: Option<String>,
    /// AF13 by default.
    pub(crate) red: Option<String>,
}

/// What a node does to the packets of a port: conditioning, and at an egress port a queue.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoleFile {
    /// Classes, tried in order; the first whose `match` fits takes the packet. A packet of no
    /// class passes as it is.
    #[serde(default)]
    pub(crate) classes: Vec<ClassFile>,
    /// The queue of an egress port.
    pub(crate) queue: Option<QueueFile>,
}

/// Packets that are treated alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassFile {
    /// The name in results.
    pub(crate) name: String,
    /// Which packets belong to the class; all by default.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchFile,
    /// What is written into the DS field.
    pub(crate) marker: Option<MarkerFile>,
    /// What becomes of packets of each colour.
    pub(crate) police: Option<PoliceFile>,
}

/// Conditions that a packet must all meet.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchFile {
    /// The transport protocol.
    pub(crate) protocol: Option<ProtocolFile>,
    /// Source addresses, such as "10.0.0.0/8".
    pub(crate) src: Option<String>,
    /// Destination addresses, such as "10.0.0.0/8".
    pub(crate) dst: Option<String>,
    /// A source port, or a range such as "1024-65535".
    pub(crate) src_port: Option<PortsFile>,
    /// A destination port, or a range such as "1024-65535".
    pub(crate) dst_port: Option<PortsFile>,
    /// Code points.
    pub(crate) dscp: Option<Vec<String>>,
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProtocolFile {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A port, or the first and the last of a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortsFile(pub(crate) u16, pub(crate) u16);

impl<'de> Deserialize<'de> for PortsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = PortsFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port from 0 to 65535, or a range such as \"1024-65535\"")
            }
            fn visit_i64<E: de::Error>(self, port: i64) -> Result<PortsFile, E> {
                let found = de::Unexpected::Signed(port);
                let port = u16::try_from(port).map_err(|_| E::invalid_value(found, &self))?;
                Ok(PortsFile(port, port))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PortsFile, E> {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                match (first.trim().parse(), last.trim().parse()) {
                    (Ok(first), Ok(last)) => Ok(PortsFile(first, last)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for PortsFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ports".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 65535 },
                { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" },
            ],
        })
    }
}

/// What becomes of packets of each colour; they pass by default.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoliceFile {
    /// Green packets.
    #[serde(default)]
    pub(crate) green: ActionFile,
    /// Yellow packets.
    #[serde(default)]
    pub(crate) yellow: ActionFile,
    /// Red packets.
    #[serde(default)]
    pub(crate) red: ActionFile,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ActionFile {
    /// It passes.
    #[default]
    Forward,
    /// It is dropped.
    Drop,
}

/// A marker, by its scheme.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MarkerFile {
    /// One code point for all.
    Fixed(FixedFile),
    /// In the bucket's profile green, else yellow.
    TokenBucket(TokenBucketFile),
    /// Single rate three colour marker (RFC 2697).
    Srtcm(SrTcmFile),
    /// Two rate three colour marker (RFC 2698).
    Trtcm(TrTcmFile),
    /// Time sliding window two colour marker (RFC 2859 with its peak rate at the committed rate).
    Tsw2cm(Tsw2CmFile),
    /// Time sliding window three colour marker (RFC 2859).
    Tsw3cm(Tsw3CmFile),
    /// Marks the first packets of each flow green, the rest by what is left of the profile
    /// (Casetti & Mellia 2005).
    FairMarker(FairMarkerFile),
}

/// One code point for all packets.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedFile {
    /// The code point.
    pub(crate) dscp: String,
}

/// A token bucket: packets that find tokens are green, the others yellow.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenBucketFile {
    /// The rate at which tokens come.
    pub(crate) rate: Rate,
    /// The greatest burst.
    pub(crate) depth: Bytes,
}

/// Single rate three colour marker (RFC 2697).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SrTcmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// Committed burst size.
    pub(crate) cbs: Bytes,
    /// Excess burst size.
    pub(crate) ebs: Bytes,
    /// Whether the colour that a packet comes with counts; false by default.
    #[serde(default)]
    pub(crate) color_aware: bool,
}

/// Two rate three colour marker (RFC 2698).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrTcmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// Committed burst size.
    pub(crate) cbs: Bytes,
    /// Peak information rate.
    pub(crate) pir: Rate,
    /// Peak burst size.
    pub(crate) pbs: Bytes,
    /// Whether the colour that a packet comes with counts; false by default.
    #[serde(default)]
    pub(crate) color_aware: bool,
}

/// Time sliding window two colour marker (RFC 2859).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tsw2CmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// The window of the rate estimator; 1 s by default.
    pub(crate) window: Option<Duration>,
    /// Where the rate estimate starts: "committed" (the default, RFC 2859 Figure 2) or "zero".
    pub(crate) initial_rate: Option<InitialRateFile>,
}

/// Time sliding window three colour marker (RFC 2859).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tsw3CmFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// Peak information rate.
    pub(crate) pir: Rate,
    /// The window of the rate estimator; 1 s by default.
    pub(crate) window: Option<Duration>,
    /// Where the rate estimate starts: "committed" (the default, RFC 2859 Figure 2) or "zero".
    pub(crate) initial_rate: Option<InitialRateFile>,
}

/// Where a rate estimate starts.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InitialRateFile {
    /// At the committed rate (RFC 2859, Figure 2).
    #[default]
    Committed,
    /// At zero.
    Zero,
}

/// The Fair Marker (Casetti & Mellia 2005).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FairMarkerFile {
    /// Committed information rate.
    pub(crate) cir: Rate,
    /// The window of the rate estimators; 1 s by default.
    pub(crate) window: Option<Duration>,
    /// Where the rate estimates start: "committed" (the default) or "zero".
    pub(crate) initial_rate: Option<InitialRateFile>,
    /// How many packets of a flow are marked green first (t_ft); 7 by default.
    pub(crate) threshold: Option<u64>,
    /// How many flows the Short-Range Flow Table holds, 0 for TSW2CM, or "unlimited"; 30 by
    /// default.
    pub(crate) table_size: Option<TableSizeFile>,
    /// After which silence a flow leaves an unlimited table.
    pub(crate) idle_timeout: Option<Duration>,
}

/// A number of flows, or no limit to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableSizeFile {
    AtMost(usize),
    Unlimited,
}

impl<'de> Deserialize<'de> for TableSizeFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = TableSizeFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of flows from 0 to 10000000, or \"unlimited\"")
            }
            fn visit_i64<E: de::Error>(self, flows: i64) -> Result<TableSizeFile, E> {
                match usize::try_from(flows) {
                    Ok(size) if size <= 10_000_000 => Ok(TableSizeFile::AtMost(size)),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(flows), &self)),
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<TableSizeFile, E> {
                match text {
                    "unlimited" => Ok(TableSizeFile::Unlimited),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for TableSizeFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TableSize".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "unlimited" }],
        })
    }
}

/// A queue, by its kind.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum QueueFile {
    /// First in, first out; what no longer fits is dropped.
    Fifo(FifoFile),
    /// Random Early Detection (Floyd & Jacobson 1993).
    Red(RedFile),
    /// RED with a drop curve for each level of drop precedence (RIO, WRED).
    MultiRed(MultiRedFile),
    /// Several queues, each served only when those before it are empty.
    StrictPriority(StrictPriorityFile),
}

/// First in, first out; what no longer fits is dropped.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FifoFile {
    /// What the queue holds.
    pub(crate) limit: Length,
}

/// Random Early Detection (Floyd & Jacobson 1993).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedFile {
    /// What the queue holds.
    pub(crate) limit: Length,
    /// The average queue below which nothing is dropped.
    pub(crate) min_threshold: Length,
    /// The average queue at which the drop probability reaches `max_probability`.
    pub(crate) max_threshold: Length,
    /// The drop probability at `max_threshold`.
    pub(crate) max_probability: Probability,
    /// The weight w_q of a new sample in the average; 0.002 by default.
    pub(crate) weight: Option<f64>,
    /// Whether the drop probability rises on to 1 at twice `max_threshold`, instead of jumping.
    #[serde(default)]
    pub(crate) gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped below `max_threshold`.
    #[serde(default)]
    pub(crate) ecn: bool,
    /// The mean packet of the link, for the average's decay in idle times; 500 B by default.
    pub(crate) mean_packet: Option<Bytes>,
    /// Whether the drop probability is in proportion to a packet's size over `mean_packet`.
    #[serde(default)]
    pub(crate) byte_mode: bool,
    /// How drops are spaced: "uniform" (the default, Floyd & Jacobson), or "wait" or "unclamped", as
    /// ns-2 does.
    #[serde(default)]
    pub(crate) spacing: SpacingFile,
    /// A packet that finds fewer packets waiting is spared, whatever the average; 0 by default, as
    /// published; 2 in ns-2 and ns-3.
    #[serde(default)]
    pub(crate) spare_below: u32,
}

/// How drops are spaced, when the drop probability is p.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpacingFile {
    /// Uniformly 1 to 1/p packets apart (Floyd & Jacobson 1993).
    #[default]
    Uniform,
    /// Uniformly 1/p to 2/p packets apart, as ns-2's Queue/RED with `wait_`.
    Wait,
    /// As "uniform", but when p has risen so far that a drop is overdue, none comes until the average
    /// leaves the thresholds, as in ns-2's dsRED.
    Unclamped,
}

/// RED with a drop curve for each level of drop precedence.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MultiRedFile {
    /// What the queue holds.
    pub(crate) limit: Length,
    /// Which packets a level's average queue counts; "shared" by default.
    #[serde(default)]
    pub(crate) average: AverageFile,
    /// The levels, the best protected first. Code points that no level names belong to the one
    /// with `code_points = "rest"`, else to the last.
    pub(crate) levels: Vec<LevelFile>,
    /// The weight w_q of a new sample in the average; 0.002 by default.
    pub(crate) weight: Option<f64>,
    /// Whether the drop probability rises on to 1 at twice `max_threshold`, instead of jumping.
    #[serde(default)]
    pub(crate) gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped below `max_threshold`.
    #[serde(default)]
    pub(crate) ecn: bool,
    /// The mean packet of the link, for the average's decay in idle times; 500 B by default.
    pub(crate) mean_packet: Option<Bytes>,
    /// Whether the drop probability is in proportion to a packet's size over `mean_packet`.
    #[serde(default)]
    pub(crate) byte_mode: bool,
    /// How drops are spaced: "uniform" (the default, Floyd & Jacobson), or "wait" or "unclamped", as
    /// ns-2 does.
    #[serde(default)]
    pub(crate) spacing: SpacingFile,
    /// A packet that finds fewer packets waiting is spared, whatever the average; 0 by default, as
    /// published; 2 in ns-2 and ns-3.
    #[serde(default)]
    pub(crate) spare_below: u32,
}

/// Which packets a level's average queue counts.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AverageFile {
    /// All packets: one average for all levels (WRED).
    #[default]
    Shared,
    /// Those of its own level (RIO-D).
    PerLevel,
    /// Those of its own level and of all better protected ones (RIO-C).
    Cumulative,
}

/// A level of drop precedence.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LevelFile {
    /// The code points of the level, or "rest" for all that no level names.
    pub(crate) code_points: LevelPointsFile,
    /// The average queue below which nothing is dropped.
    pub(crate) min_threshold: Length,
    /// The average queue at which the drop probability reaches `max_probability`.
    pub(crate) max_threshold: Length,
    /// The drop probability at `max_threshold`.
    pub(crate) max_probability: Probability,
}

/// Code points, or all that no level names.
#[derive(Debug, Clone)]
pub(crate) enum LevelPointsFile {
    Named(Vec<String>),
    Rest,
}

impl<'de> Deserialize<'de> for LevelPointsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = LevelPointsFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of code points such as [\"AF11\"], or \"rest\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LevelPointsFile, E> {
                match text {
                    "rest" => Ok(LevelPointsFile::Rest),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<LevelPointsFile, A::Error> {
                let seq = de::value::SeqAccessDeserializer::new(seq);
                Vec::deserialize(seq).map(LevelPointsFile::Named)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for LevelPointsFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LevelCodePoints".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "const": "rest" }],
        })
    }
}

/// Several queues, each served only when those before it are empty.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StrictPriorityFile {
    /// The bands, the first served first. A packet goes to the first whose `match` fits, else to
    /// the last.
    pub(crate) bands: Vec<BandFile>,
}

/// A band of a strict-priority queue.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BandFile {
    /// Which packets belong to the band; all by default.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchFile,
    /// Its queue.
    pub(crate) queue: QueueFile,
}
