//! Queues as they are written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use shortflow_units::{Bytes, Length, Probability};

use super::{
    DrrFile, FqCodelFile, HostFairFile, MatchFile, SharedPriorityFile, SourceSchedulerFile,
    StfFile, ThresholdFile, WfqFile, WrrFile,
};

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
    /// Strict priority over bands that share one buffer (HARP: Guo, Zhu, Zhang & Zhang 2005).
    SharedPriority(SharedPriorityFile),
    /// Smallest Transmitted Flow first: least attained service (Guo, Zhu, Zhang & Zhang 2005).
    Stf(StfFile),
    /// Weighted fair queueing, packet by packet (Parekh & Gallager 1993).
    Wfq(WfqFile),
    /// Several queues in turn, each with a weight in packets (weighted round robin).
    Wrr(WrrFile),
    /// Several queues in turn, each with a quantum in bytes (deficit round robin).
    Drr(DrrFile),
    /// A source host's scheduler and shaper over connections (Noureddine & Tobagi 2002, §6.2).
    SourceScheduler(SourceSchedulerFile),
    /// Queues for flows, served in turn, with CoDel on each (RFC 8290).
    FqCodel(FqCodelFile),
    /// Fair to hosts, then to their flows, with an AQM on each flow, in the manner of CAKE.
    HostFair(HostFairFile),
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
    pub(crate) min_threshold: ThresholdFile,
    /// The average queue at which the drop probability reaches `max_probability`.
    pub(crate) max_threshold: ThresholdFile,
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
    pub(crate) min_threshold: ThresholdFile,
    /// The average queue at which the drop probability reaches `max_probability`.
    pub(crate) max_threshold: ThresholdFile,
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
