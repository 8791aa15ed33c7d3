//! Queues for flows and hosts as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::{Bytes, Duration, Length};

/// Queues for flows, served in turn, with CoDel on each (RFC 8290).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FqCodelFile {
    /// What all queues hold together; 10240 pkt by default.
    pub(crate) limit: Option<Length>,
    /// How many queues flows are hashed to; 1024 by default.
    pub(crate) queues: Option<u32>,
    /// Bytes per turn; 1514 B by default.
    pub(crate) quantum: Option<Bytes>,
    /// The time in the queue that is still good; 5 ms by default.
    pub(crate) target: Option<Duration>,
    /// How long it may be above `target`: a usual round-trip time; 100 ms by default.
    pub(crate) interval: Option<Duration>,
    /// A queue with no more than this behind its head is left alone; 1514 B by default.
    pub(crate) mtu: Option<Bytes>,
    /// Whether ECN-capable packets are marked instead of dropped; true by default.
    pub(crate) ecn: Option<bool>,
}

/// Fair to hosts, then to their flows, with an AQM on each flow, in the manner of CAKE
/// (Høiland-Jørgensen et al. 2018).
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostFairFile {
    /// Between which hosts there is fairness.
    pub(crate) by: FairnessFile,
    /// What all queues hold together; 10240 pkt by default.
    pub(crate) limit: Option<Length>,
    /// How many queues there are, a multiple of 8; 1024 by default.
    pub(crate) queues: Option<u32>,
    /// Bytes per turn; 1514 B by default.
    pub(crate) quantum: Option<Bytes>,
    /// The time in the queue that is still good; 5 ms by default.
    pub(crate) target: Option<Duration>,
    /// How long it may be above `target`: a usual round-trip time; 100 ms by default.
    pub(crate) interval: Option<Duration>,
    /// A queue with no more than this behind its head is left alone; 1514 B by default.
    pub(crate) mtu: Option<Bytes>,
    /// Whether ECN-capable packets are marked instead of dropped; true by default.
    pub(crate) ecn: Option<bool>,
}

/// Between which hosts there is fairness.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FairnessFile {
    /// Those that send.
    Source,
    /// Those that receive.
    Destination,
    /// Both (triple isolation).
    Both,
}
