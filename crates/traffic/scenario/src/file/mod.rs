//! The text form of scenarios.

mod distribution;
mod link;
mod list;
mod sizes;
mod tcp;

use std::collections::BTreeMap;

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

/// A scenario: topology, workloads, and the bindings of the policy's roles to ports.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioFile {
    /// Name in results, at most 200 characters. Default: the file's name.
    #[schemars(length(max = 200))]
    pub(crate) name: Option<String>,
    /// Description of the scenario.
    #[serde(default)]
    pub(crate) description: String,
    /// The policy file with the roles, relative to this file.
    pub(crate) policy: Option<String>,
    /// Seed of the first replica. Default: 1.
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// Number of independent runs. Default: 8.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) replicas: i64,
    /// For how long traffic is generated.
    pub(crate) duration: Duration,
    /// Traffic that starts before this is not in the results. Default: 0 s.
    #[serde(default)]
    pub(crate) warm_up: Duration,
    /// Extra time after `duration` for open transfers to finish. Default: 0 s.
    #[serde(default)]
    pub(crate) drain: Duration,
    /// Named values. Other keys use them as "$name", or in an expression such as "= 1 - name".
    #[serde(default, rename = "parameters")]
    pub(crate) _parameters: Named<Scalar>,
    /// TCP settings of all hosts.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// Hosts, single or in groups.
    #[serde(default)]
    pub(crate) hosts: Named<HostGroup>,
    /// Routers, single or in groups.
    #[serde(default)]
    pub(crate) routers: Named<RouterGroup>,
    /// Duplex links, single or in groups.
    #[serde(default)]
    pub(crate) links: Named<LinkFile>,
    /// Bindings of roles to ports.
    #[serde(default)]
    pub(crate) bind: Vec<BindFile>,
    /// Workloads, which generate traffic.
    #[serde(default)]
    pub(crate) workloads: Named<WorkloadFile>,
    /// What is measured.
    #[serde(default)]
    pub(crate) measure: MeasureFile,
    /// A key and its values, one run each. Several `[[sweep]]` tables run all combinations.
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

/// A host, or several identical ones.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostGroup {
    /// Number of hosts. Default: 1.
    #[serde(default = "one_node")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) count: i64,
    /// IP address: one IPv4 address, one IPv6 address, or a list of one of each. For several hosts the first
    /// address of a sequence, or a prefix such as "100.64.0.0/24". Default: 10.0.0.n and fd00::a00:n for the
    /// nth node.
    pub(crate) address: Option<OneOrList<String>>,
}

/// A router, or several identical ones.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RouterGroup {
    /// Number of routers. Default: 1.
    #[serde(default = "one_node")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) count: i64,
}

fn one_node() -> i64 {
    1
}

/// Binds a role of the policy to a port.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["from"] }, { "required": ["to"] }]))]
pub(crate) struct BindFile {
    /// Role, by its name in the policy.
    pub(crate) role: String,
    /// The node or group with the port, or a list of them.
    pub(crate) at: OneOrList<String>,
    /// The neighbour, or neighbours, whose incoming packets are conditioned.
    pub(crate) from: Option<OneOrList<String>>,
    /// The neighbour, or neighbours, to whom outgoing packets are conditioned and queued.
    pub(crate) to: Option<OneOrList<String>>,
    /// Parameters of the policy that have other values at these ports.
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, Scalar>,
}

/// What is measured, besides every transfer and every datagram stream.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureFile {
    /// Interval of queue and utilisation series. Without it there are no series.
    pub(crate) series_interval: Option<Duration>,
    /// Interval of throughput samples of each long flow, which show how much it varies. Without it there are
    /// no samples.
    pub(crate) flow_samples: Option<Duration>,
    /// The ports with series, as "node->neighbour". Default: ports with a bound queue.
    pub(crate) ports: Option<Vec<String>>,
    /// The largest reply of each size class of transfers. Default: one class per size if sizes are listed,
    /// else one per power of ten.
    pub(crate) size_classes: Option<Vec<Size>>,
    /// Completion times. Results have the share of transfers, pages and echoes that took longer than each.
    #[serde(default)]
    pub(crate) limits: Vec<Duration>,
    /// Whether the page requests of web workloads are logged, in files next to the results. `replay` reads
    /// such files.
    #[serde(default)]
    pub(crate) accesses: bool,
}

/// A key, or several keys with the same value, and its values.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["key"] }, { "required": ["keys"] }]))]
pub(crate) struct AxisFile {
    /// Name in results. Default: the last part of the key.
    pub(crate) name: Option<String>,
    /// The key: a key of this file, or "policy." and a key of the policy.
    pub(crate) key: Option<String>,
    /// Several keys that get the same value.
    pub(crate) keys: Option<Vec<String>>,
    /// The values.
    #[schemars(length(min = 1))]
    pub(crate) values: Vec<Scalar>,
}
