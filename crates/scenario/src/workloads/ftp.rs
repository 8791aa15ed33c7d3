//! `ftp`: files, one after another.

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

/// Files over TCP, one after another: a file over a connection of its own, a pause, the next file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FtpFile")]
pub(crate) struct Keys {
    /// The senders: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    from: OneOrList<String>,
    /// The receivers, likewise.
    to: OneOrList<String>,
    /// How many sessions; by default one for each pair.
    sessions: Option<u32>,
    /// Sizes of files.
    size: SizesFile,
    /// From the last byte of a file to the next file.
    pause: TimesFile,
    /// The receiver's port; 20 by default.
    port: Option<u16>,
    /// The earliest start; 0 s by default.
    #[serde(default)]
    start: Duration,
    /// Sessions start uniformly within this time after `start`; 0 s by default.
    #[serde(default)]
    start_window: Duration,
    /// No file is sent from here on; by default with the run.
    stop: Option<Duration>,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    label: Option<String>,
}

/// What an engine runs; each pair is (sender, receiver).
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
