//! A policy as it is written.

mod admission;
mod flow_queues;
mod markers;
mod matching;
mod per;
mod priorities;
mod queues;
mod schedulers;
mod size_levels;
mod tcp_state;
mod threshold;
mod wfq;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::admission::*;
pub(crate) use self::flow_queues::*;
pub(crate) use self::markers::*;
pub(crate) use self::matching::*;
pub(crate) use self::per::*;
pub(crate) use self::priorities::*;
pub(crate) use self::queues::*;
pub(crate) use self::schedulers::*;
pub(crate) use self::size_levels::*;
pub(crate) use self::tcp_state::*;
pub(crate) use self::threshold::*;
pub(crate) use self::wfq::*;
use shortflow_text::{Named, Scalar};

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
    /// What becomes of a host's acknowledgements without data: "mark" (the default) or "echo".
    #[serde(default)]
    pub(crate) acks: AcksFile,
}

/// What becomes of a host's acknowledgements without data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AcksFile {
    /// They are packets as any other.
    #[default]
    Mark,
    /// They have the code point of the data that they acknowledge, and belong to no class
    /// (Noureddine & Tobagi 2002).
    Echo,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ActionFile {
    /// It passes.
    #[default]
    Forward,
    /// It is dropped.
    Drop,
    /// It passes with this code point.
    Remark(String),
}
