//! `ftp`: files, one after the other.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::Duration;
use shortflow_workloads::Ftp;

use super::sessions::SessionKeys;
use super::{PairEnd, ResultSizes, Traffic, WorkloadKeys};
use crate::check::{Checker, sizes, tcp, times};
use crate::file::{OneOrList, SizesFile, TcpFile, TimesFile};
use crate::model::{NodeId, Part};

/// Files over TCP, one after the other. Each file has its own connection, followed by a pause.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FtpFile")]
pub(crate) struct Keys {
    /// Senders: a node, a group, a slice such as "user[2::5]", or a list of these.
    from: OneOrList<String>,
    /// Receivers, in the same form.
    to: OneOrList<String>,
    /// Number of sessions. Default: one for each pair of nodes.
    sessions: Option<u32>,
    /// Sizes of files.
    size: SizesFile,
    /// Pause from the last byte of a file to the next file.
    pause: TimesFile,
    /// Port of the receiver. Default: 20.
    port: Option<u16>,
    /// Earliest start. Default: 0 s.
    #[serde(default)]
    start: Duration,
    /// Sessions start uniformly within this time after `start`. Default: 0 s.
    #[serde(default)]
    start_window: Duration,
    /// No file starts after this. Default: the end of the run.
    stop: Option<Duration>,
    /// Differences from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// Label of its packets in policies at hosts. Default: the workload's name.
    label: Option<String>,
}

/// The checked workload; each pair is (sender, receiver).
pub(super) type Plan = Ftp<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn sizes_in_segments(&self) -> bool {
        false
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let config = tcp::check(checker.document, &format!("{path}.tcp"), &self.tcp, &checker.base);
        let keys = SessionKeys {
            pair: [("from", &self.from), ("to", &self.to)],
            sessions: self.sessions,
            port: self.port.unwrap_or(20),
            start: self.start,
            start_window: self.start_window,
            stop: self.stop,
        };
        let sessions = checker.sessions(path, &keys);
        let mss = u64::from(config.mss);
        let size = sizes::check(checker.document, &format!("{path}.size"), &self.size, mss);
        let pause = times::check(checker.document, &format!("{path}.pause"), &self.pause);
        let ftp = Ftp { sessions: sessions?, size: size?, pause: pause? };
        Some((ftp, config))
    }
}

impl Traffic for Plan {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.sessions.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::File
    }

    fn sender(&self) -> PairEnd {
        PairEnd::First
    }

    fn sizes(&self) -> Option<ResultSizes> {
        ResultSizes::from_distinct(self.size.distinct())
    }

    fn open(&self, _: f64) -> f64 {
        f64::from(self.sessions.count)
    }
}
