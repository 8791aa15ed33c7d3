//! Schedulers as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::{Bytes, Duration, Length, Rate};

use super::{MatchFile, QueueFile};

/// Several queues in turn, each with a weight in packets (weighted round robin).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrrFile {
    /// The classes, in the order of their turns. A packet goes to the first whose `match` fits,
    /// else to the last.
    pub(crate) classes: Vec<WrrClassFile>,
}

/// A class of a weighted round robin.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrrClassFile {
    /// Which packets belong to the class; all by default.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchFile,
    /// Packets per turn; 1 by default.
    pub(crate) weight: Option<u32>,
    /// Its queue.
    pub(crate) queue: QueueFile,
}

/// Several queues in turn, each with a quantum in bytes (deficit round robin).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrrFile {
    /// The classes, in the order of their turns. A packet goes to the first whose `match` fits,
    /// else to the last.
    pub(crate) classes: Vec<DrrClassFile>,
}

/// A class of a deficit round robin.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrrClassFile {
    /// Which packets belong to the class; all by default.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchFile,
    /// Bytes per turn; best not below the largest packet. 1500 B by default.
    pub(crate) quantum: Option<Bytes>,
    /// Its queue.
    pub(crate) queue: QueueFile,
}

/// A source host's scheduler and shaper over connections (Noureddine & Tobagi 2002, §6.2). The
/// code points of green, yellow and red are the priorities HIGH, MED and LOW; others are LOW.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceSchedulerFile {
    /// What all connections hold together.
    pub(crate) limit: Length,
    /// What each connection holds; not limited by default.
    pub(crate) limit_per_connection: Option<Length>,
    /// How many connections may wait at once; 256 by default.
    pub(crate) connections: Option<u32>,
    /// The tokens that HIGH packets wait for.
    pub(crate) high: RegulatorFile,
    /// The tokens that MED packets wait for.
    pub(crate) medium: RegulatorFile,
    /// The time in the queue after which the head of a connection is remarked one priority down;
    /// 200 ms by default.
    pub(crate) remark_after: Option<Duration>,
    /// How connections are served: the first rule whose `match` fits. A connection that fits none
    /// has weight 1 in the last class.
    #[serde(default)]
    pub(crate) rules: Vec<ConnectionRuleFile>,
}

/// A token bucket that packets wait for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegulatorFile {
    /// The rate at which tokens come.
    pub(crate) rate: Rate,
    /// The greatest burst.
    pub(crate) depth: Bytes,
}

/// How some connections are served.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectionRuleFile {
    /// Which connections are meant, by their first waiting packet; all by default.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchFile,
    /// The class, from 1 (highly interactive, served first) to 8.
    pub(crate) class: u8,
    /// Packets per turn beside other connections of the class; 1 by default.
    pub(crate) weight: Option<u32>,
}
