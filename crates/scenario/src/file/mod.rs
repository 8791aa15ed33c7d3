//! A scenario as it is written.

mod distribution;
mod link;
mod list;
mod sizes;
mod tcp;

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_text::{Named, Scalar};
use shortflow_units::{Duration, Size};

use crate::workloads::WorkloadFile;

pub(crate) use distribution::{ChoiceOfCountsFile, CountsFile, TimesFile};
pub(crate) use link::{LinkFile, PerLink};
pub(crate) use list::OneOrList;
pub(crate) use sizes::{ChoiceFile, ParetoFile, SizesFile};
pub(crate) use tcp::{
    CubicFile, DelayedAckFile, EcnCapableFile, EraFile, RecoveryFile, RtoFloorFile, TcpFile,
};

/// A scenario: topology, workloads, and which role of the policy is played at which port.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioFile {
    /// The name in results, of at most 200 characters; by default that of the file.
    #[schemars(length(max = 200))]
    pub(crate) name: Option<String>,
    /// What the scenario shows.
    #[serde(default)]
    pub(crate) description: String,
    /// The policy file behind all roles, relative to this file.
    pub(crate) policy: Option<String>,
    /// The seed of the first replica; 1 by default.
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// How many independent runs; 8 by default.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) replicas: i64,
    /// How long traffic is generated.
    pub(crate) duration: Duration,
    /// What starts before this is left out of the results; 0 s by default.
    #[serde(default)]
    pub(crate) warm_up: Duration,
    /// Extra time after `duration` in which open transfers may finish; 0 s by default.
    #[serde(default)]
    pub(crate) drain: Duration,
    /// Values that may stand for others as "$name", or in an expression "= 1 - name".
    #[serde(default, rename = "parameters")]
    pub(crate) _parameters: Named<Scalar>,
    /// The TCP of all hosts.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// Hosts, alone or in groups.
    #[serde(default)]
    pub(crate) hosts: Named<HostGroup>,
    /// Routers, alone or in groups.
    #[serde(default)]
    pub(crate) routers: Named<RouterGroup>,
    /// Duplex links, alone or in groups.
    #[serde(default)]
    pub(crate) links: Named<LinkFile>,
    /// Which role is played where.
    #[serde(default)]
    pub(crate) bind: Vec<BindFile>,
    /// What loads the network.
    #[serde(default)]
    pub(crate) workloads: Named<WorkloadFile>,
    /// What to measure.
    #[serde(default)]
    pub(crate) measure: MeasureFile,
    /// A key and the values that it takes in turn; `[[sweep]]` several times for all combinations.
    #[serde(default)]
    #[schemars(schema_with = "one_or_more::<AxisFile>")]
    pub(crate) sweep: Vec<AxisFile>,
}

fn one() -> u64 {
    1
}

fn eight() -> i64 {
    8
}

fn one_or_more<T: JsonSchema>(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let one = generator.subschema_for::<T>();
    schemars::json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// A host, or several alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostGroup {
    /// How many; 1 by default.
    #[serde(default = "one_node")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) count: i64,
    /// Its address: one of IPv4, one of IPv6, or a list of one of each; 10.0.0.n and fd00::a00:n for the nth node by
    /// default. For several hosts the first address, from which they count up, or a prefix such as
    /// "100.64.0.0/24", whose addresses they get in order.
    pub(crate) address: Option<OneOrList<String>>,
}

/// A router, or several alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouterGroup {
    /// How many; 1 by default.
    #[serde(default = "one_node")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) count: i64,
}

fn one_node() -> i64 {
    1
}

/// A role of the policy, played at a port.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["from"] }, { "required": ["to"] }]))]
pub(crate) struct BindFile {
    /// The role, as the policy names it.
    pub(crate) role: String,
    /// The node or group that plays it, or a list of them.
    pub(crate) at: OneOrList<String>,
    /// Packets that come in from this neighbour, or from these, are conditioned.
    pub(crate) from: Option<OneOrList<String>>,
    /// Packets that go out to this neighbour, or to these, are conditioned and queued.
    pub(crate) to: Option<OneOrList<String>>,
}

/// What to measure besides every transfer and every datagram stream.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureFile {
    /// The interval of queue and utilisation series; none are kept without it.
    pub(crate) series_interval: Option<Duration>,
    /// The interval over which the throughput of each long flow is sampled, to tell how it varies; it
    /// is not sampled without it.
    pub(crate) flow_samples: Option<Duration>,
    /// The ports whose series are kept, as "node->neighbour"; by default those with a bound queue.
    pub(crate) ports: Option<Vec<String>>,
    /// The greatest reply of each class of transfers; by default one class per size where sizes
    /// are listed, else one per power of ten.
    pub(crate) size_classes: Option<Vec<Size>>,
    /// Completion times for which the share of transfers, pages and echoes that took longer is told.
    #[serde(default)]
    pub(crate) limits: Vec<Duration>,
    /// Whether each page that a client of a web workload asks for is logged, in files beside the
    /// results that `replay` reads.
    #[serde(default)]
    pub(crate) accesses: bool,
}

/// A key, or several that change together, and the values that it takes in turn.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["key"] }, { "required": ["keys"] }]))]
pub(crate) struct AxisFile {
    /// The name in results; by default the last part of the key.
    pub(crate) name: Option<String>,
    /// The key: one of this file, or of the policy after "policy.".
    pub(crate) key: Option<String>,
    /// Several keys that all take the same value.
    pub(crate) keys: Option<Vec<String>>,
    /// The values.
    #[schemars(length(min = 1))]
    pub(crate) values: Vec<Scalar>,
}
