//! A policy as it is written.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::Acknowledgements;
use shortflow_text::{Named, ScalarOrList};

use crate::keys::{CodePoint, MatchKeys, OneOf, choices};
use crate::schemes::markers::MarkerKeys;
use crate::schemes::queues::QueueKeys;

/// A policy: what nodes do to packets, as a set of named roles. It knows no topology.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policy")]
pub(crate) struct PolicyFile {
    /// The name in results, of at most 200 characters; by default that of the file.
    #[schemars(length(max = 200))]
    pub(crate) name: Option<String>,
    /// What the policy does.
    #[serde(default)]
    pub(crate) description: String,
    /// Values that may stand for others as "$name", or in an expression "= 1 - name".
    #[serde(default)]
    #[serde(rename = "parameters")]
    pub(crate) _parameters: Named<ScalarOrList>,
    /// The code point that each colour is written as.
    #[serde(default)]
    pub(crate) code_points: CodePointsFile,
    /// The roles, under names of their own.
    pub(crate) roles: Named<RoleFile>,
}

/// The code point that each colour is written as; by default those of AF class 1 (RFC 2597).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ColorCodePoints")]
pub(crate) struct CodePointsFile {
    /// AF11 by default.
    pub(crate) green: Option<CodePoint>,
    /// AF12 by default.
    pub(crate) yellow: Option<CodePoint>,
    /// AF13 by default.
    pub(crate) red: Option<CodePoint>,
}

/// What a node does to the packets of a port: conditioning, and at an egress port a queue.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Role")]
pub(crate) struct RoleFile {
    /// Classes, tried in order; the first whose `match` fits takes the packet. A packet of no
    /// class passes as it is.
    #[serde(default)]
    pub(crate) classes: Vec<ClassFile>,
    /// The queue of an egress port.
    pub(crate) queue: Option<QueueKeys>,
    /// What becomes of a host's acknowledgements without data.
    #[serde(default = "acks")]
    pub(crate) acks: OneOf<Acknowledgements>,
}

choices!(Acknowledgements as "Acknowledgements" {
    /// They are packets as any other.
    "mark" => Acknowledgements::Marked,
    /// They have the code point of the data that they acknowledge, and belong to no class
    /// (Noureddine & Tobagi 2002).
    "echo" => Acknowledgements::Echoed,
});

fn acks() -> OneOf<Acknowledgements> {
    OneOf(Acknowledgements::Marked)
}

/// Packets that are treated alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Class")]
pub(crate) struct ClassFile {
    /// The name in results.
    pub(crate) name: String,
    /// Which packets belong to the class; all by default.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchKeys,
    /// What is written into the DS field.
    pub(crate) marker: Option<MarkerKeys>,
    /// What becomes of packets of each colour.
    pub(crate) police: Option<PoliceFile>,
}

/// What becomes of packets of each colour; they pass by default.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Police")]
pub(crate) struct PoliceFile {
    /// Green packets.
    pub(crate) green: Option<ActionFile>,
    /// Yellow packets.
    pub(crate) yellow: Option<ActionFile>,
    /// Red packets.
    pub(crate) red: Option<ActionFile>,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Action")]
pub(crate) enum ActionFile {
    /// It passes.
    Forward,
    /// It is dropped.
    Drop,
    /// It passes with this code point.
    Remark(CodePoint),
}
