//! The text form of a policy.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::{Acknowledgements, ThresholdSource};
use shortflow_text::{Named, ScalarOrList};

use crate::keys::{CodePoint, MatchKeys, OneOf, choices};
use crate::schemes::markers::MarkerKeys;
use crate::schemes::queues::QueueKeys;

/// A policy: what nodes do to packets, as a set of named roles. It does not depend on a topology.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policy")]
pub(crate) struct PolicyFile {
    /// Name in results, at most 200 characters. Default: the file's name.
    #[schemars(length(max = 200))]
    pub(crate) name: Option<String>,
    /// Description of the policy.
    #[serde(default)]
    pub(crate) description: String,
    /// Named values. Other keys use them as "$name", or in an expression such as "= 1 - name".
    #[serde(default)]
    pub(crate) parameters: Named<ScalarOrList>,
    /// The code point of each colour.
    #[serde(default)]
    pub(crate) code_points: CodePointsFile,
    /// The roles, by name.
    pub(crate) roles: Named<RoleFile>,
}

/// The code point of each colour. Default: those of AF class 1 (RFC 2597).
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ColorCodePoints")]
pub(crate) struct CodePointsFile {
    /// Code point of green packets. Default: AF11.
    pub(crate) green: Option<CodePoint>,
    /// Code point of yellow packets. Default: AF12.
    pub(crate) yellow: Option<CodePoint>,
    /// Code point of red packets. Default: AF13.
    pub(crate) red: Option<CodePoint>,
}

/// What a node does to the packets of a port: it conditions them, and queues them at an egress port.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Role")]
pub(crate) struct RoleFile {
    /// Classes, tried in order. A packet belongs to the first class whose `match` fits. A packet that fits no
    /// class passes unchanged.
    #[serde(default)]
    pub(crate) classes: Vec<ClassFile>,
    /// The queue of an egress port.
    pub(crate) queue: Option<QueueKeys>,
    /// How a host treats its acknowledgements without data.
    #[serde(default = "acks")]
    pub(crate) acks: OneOf<Acknowledgements>,
    /// Who sets thresholds of bytes sent: of the marker `dstf`, and of `match.sent_up_to`.
    #[serde(default = "thresholds")]
    pub(crate) thresholds: OneOf<ThresholdSource>,
}

choices!(Acknowledgements as "Acknowledgements" {
    /// As any other packet.
    "mark" => Acknowledgements::Marked,
    /// They carry the code point of the data that they acknowledge, and belong to no class (Noureddine &
    /// Tobagi 2002).
    "echo" => Acknowledgements::Echoed,
});

fn acks() -> OneOf<Acknowledgements> {
    OneOf(Acknowledgements::Marked)
}

choices!(ThresholdSource as "ThresholdSource" {
    /// The policy. The bytes of a connection count from its beginning.
    "policy" => ThresholdSource::Policy,
    /// An application may set its own for its connection, and say where an object starts, from which the bytes then
    /// count (Noureddine & Tobagi 2002, §6.1.2). In a simulation each request and each reply is an object. Known only at
    /// the sending host.
    "application" => ThresholdSource::Application,
});

fn thresholds() -> OneOf<ThresholdSource> {
    OneOf(ThresholdSource::Policy)
}

/// Packets that are treated alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Class")]
pub(crate) struct ClassFile {
    /// Name in results.
    pub(crate) name: String,
    /// Which packets belong to the class. Default: all.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchKeys,
    /// The marker, which writes the DS field.
    pub(crate) marker: Option<MarkerKeys>,
    /// The action for packets of each colour.
    pub(crate) police: Option<PoliceFile>,
}

/// The action for packets of each colour. Default: forward.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Police")]
pub(crate) struct PoliceFile {
    /// Action for green packets.
    pub(crate) green: Option<ActionFile>,
    /// Action for yellow packets.
    pub(crate) yellow: Option<ActionFile>,
    /// Action for red packets.
    pub(crate) red: Option<ActionFile>,
}

/// An action for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Action")]
pub(crate) enum ActionFile {
    /// Forward the packet.
    Forward,
    /// Drop the packet.
    Drop,
    /// Forward the packet with this code point.
    Remark(CodePoint),
    /// Drop a packet with data and reset its connection. Only at the sending host.
    End,
}
