//! Workloads as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::{Bytes, Duration, Rate, Size};

use super::list::OneOrList;
use super::{FtpFile, TcpFile, TelnetFile, WebFile};
use crate::frequency::Frequency;

/// A workload, by its kind.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkloadFile {
    /// Open-loop request/reply transfers over TCP.
    Transfers(Box<TransfersFile>),
    /// Bulk flows over TCP.
    Bulk(Box<BulkFile>),
    /// Browsing sessions over TCP.
    Web(Box<WebFile>),
    /// Typing sessions over TCP.
    Telnet(Box<TelnetFile>),
    /// Sessions that send files over TCP.
    Ftp(Box<FtpFile>),
    /// UDP datagrams at a constant bit rate.
    Cbr(CbrFile),
    /// UDP datagrams as a Poisson process.
    Poisson(PoissonFile),
}

impl WorkloadFile {
    /// The label that the workload states.
    pub(crate) fn label(&self) -> Option<&String> {
        match self {
            WorkloadFile::Transfers(file) => file.label.as_ref(),
            WorkloadFile::Bulk(file) => file.label.as_ref(),
            WorkloadFile::Web(file) => file.label.as_ref(),
            WorkloadFile::Telnet(file) => file.label.as_ref(),
            WorkloadFile::Ftp(file) => file.label.as_ref(),
            WorkloadFile::Cbr(file) => file.label.as_ref(),
            WorkloadFile::Poisson(file) => file.label.as_ref(),
        }
    }
}

/// Transfers that arrive as a Poisson process: the client opens a connection and sends a request,
/// the server replies, both close. Say one of `load`, `rate` and `interval`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransfersFile {
    /// The clients: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    pub(crate) client: OneOrList<String>,
    /// The servers, likewise.
    pub(crate) server: OneOrList<String>,
    /// The load that the replies offer, headers of their segments included.
    pub(crate) load: Option<Rate>,
    /// Transfers per second.
    pub(crate) rate: Option<Frequency>,
    /// The mean interval between transfers.
    pub(crate) interval: Option<Duration>,
    /// The share of the load, rate or interval that is this workload's, from 0 to 1; 1 by
    /// default.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) share: Option<f64>,
    /// Sizes of requests.
    pub(crate) request: SizesFile,
    /// Sizes of replies.
    pub(crate) reply: SizesFile,
    /// The server's port; 80 by default.
    pub(crate) port: Option<u16>,
    /// When arrivals begin; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// When arrivals end; by default with the run.
    pub(crate) stop: Option<Duration>,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    pub(crate) label: Option<String>,
}

/// Flows over TCP that send as much as they may.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BulkFile {
    /// The senders: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    pub(crate) from: OneOrList<String>,
    /// The receivers, likewise.
    pub(crate) to: OneOrList<String>,
    /// How many flows; 1 by default. Over groups, flow i runs between the i-th pair, round and
    /// round.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) flows: Option<u32>,
    /// What each flow sends; endless by default.
    pub(crate) size: Option<Size>,
    /// The receiver's port; 20 by default.
    pub(crate) port: Option<u16>,
    /// The earliest start; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// Flows start uniformly within this time after `start`; 0 s by default.
    #[serde(default)]
    pub(crate) start_window: Duration,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    pub(crate) label: Option<String>,
}

/// UDP datagrams at a constant bit rate. Over groups, each pair has a stream.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CbrFile {
    /// The senders: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    pub(crate) from: OneOrList<String>,
    /// The receivers, likewise.
    pub(crate) to: OneOrList<String>,
    /// The rate of each stream in bits on the wire. A list goes round over the pairs, and the pairs
    /// over a list that is longer; with a list, each stream has its own results.
    pub(crate) rate: OneOrList<Rate>,
    /// The size of a packet on the wire, headers included.
    pub(crate) packet: Bytes,
    /// The code point that the sender writes; BE by default.
    #[schemars(extend("pattern" = CODE_POINT))]
    pub(crate) dscp: Option<String>,
    /// The receiver's port; 5004 by default.
    pub(crate) port: Option<u16>,
    /// The first packet leaves at random within one interval from here; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// When the streams end; by default with the run.
    pub(crate) stop: Option<Duration>,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    pub(crate) label: Option<String>,
}

/// UDP datagrams at independent exponential intervals. Over groups, each pair has a stream of this
/// rate. Say one of `rate` and `load`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoissonFile {
    /// The senders: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    pub(crate) from: OneOrList<String>,
    /// The receivers, likewise.
    pub(crate) to: OneOrList<String>,
    /// Packets per second of each stream.
    pub(crate) rate: Option<Frequency>,
    /// The rate of each stream in bits on the wire.
    pub(crate) load: Option<Rate>,
    /// The sizes of packets on the wire, headers included.
    pub(crate) size: SizesFile,
    /// The code point that the sender writes; BE by default.
    #[schemars(extend("pattern" = CODE_POINT))]
    pub(crate) dscp: Option<String>,
    /// The receiver's port; 7 by default.
    pub(crate) port: Option<u16>,
    /// When the streams begin; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// When the streams end; by default with the run.
    pub(crate) stop: Option<Duration>,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    pub(crate) label: Option<String>,
}

/// A distribution of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SizesFile {
    /// Always the same.
    Constant(Size),
    /// One of a list.
    Choice(ChoiceFile),
    /// Exponential.
    Exponential(ExponentialFile),
    /// Pareto.
    Pareto(ParetoFile),
    /// All sizes of a range equally likely.
    Uniform(UniformFile),
}

/// One of a list of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceFile {
    /// The sizes.
    #[schemars(length(min = 1))]
    pub(crate) sizes: Vec<Size>,
    /// How often each is drawn, in any unit; all alike by default.
    pub(crate) weights: Option<Vec<f64>>,
}

/// An exponential distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExponentialFile {
    /// The mean.
    pub(crate) mean: Size,
}

/// A Pareto distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParetoFile {
    /// The mean, before sizes above `max` are cut. Say this or `min`.
    pub(crate) mean: Option<Size>,
    /// The smallest size: k in P(X > x) = (k/x)^shape.
    pub(crate) min: Option<Size>,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Greater sizes are cut to this one.
    pub(crate) max: Option<Size>,
}

/// A uniform distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformFile {
    /// The smallest size.
    pub(crate) min: Size,
    /// The greatest size.
    pub(crate) max: Size,
}

/// The code points that have names, and the numbers of all.
const CODE_POINT: &str = "^(BE|DF|LE|EF|CS[0-7]|AF[1-4][1-3]|[0-9]{1,2})$";
