//! `bulk`: flows that send as much as they may.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::{Duration, Size};
use shortflow_workloads::Bulk;

use super::{PairEnd, Traffic, WorkloadKeys};
use crate::check::{Checker, MAX_FLOWS, sizes, tcp};
use crate::file::{OneOrList, TcpFile};
use crate::model::{NodeId, Part};

/// Flows over TCP that send as much as they may.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BulkFile")]
pub(crate) struct Keys {
    /// The senders: a node, a group, a slice of one such as "user[2::5]", or a list of these.
    from: OneOrList<String>,
    /// The receivers, likewise.
    to: OneOrList<String>,
    /// How many flows; 1 by default. Over groups, flow i runs between the i-th pair, round and
    /// round.
    #[schemars(range(min = 1, max = 1_000_000))]
    flows: Option<u32>,
    /// What each flow sends; endless by default.
    size: Option<Size>,
    /// The receiver's port; 20 by default.
    port: Option<u16>,
    /// The earliest start; 0 s by default.
    #[serde(default)]
    start: Duration,
    /// Flows start uniformly within this time after `start`; 0 s by default.
    #[serde(default)]
    start_window: Duration,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// The label by which a policy at a host knows its packets; by default the workload's name.
    label: Option<String>,
}

/// What an engine runs; each pair is (sender, receiver).
pub(super) type Plan = Bulk<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let config = tcp::check(checker.document, &format!("{path}.tcp"), &self.tcp, &checker.base);
        let pairs = checker.pairs(path, ("from", &self.from), ("to", &self.to));
        let flows = self.flows.unwrap_or(1);
        if flows == 0 || flows > MAX_FLOWS {
            let message = format!("flows must be 1 to {MAX_FLOWS}; found {flows}");
            checker.document.mistake(&format!("{path}.flows"), message, "");
        }
        let size = match self.size {
            Some(size) => {
                let mss = u64::from(config.mss);
                Some(sizes::bytes(checker.document, &format!("{path}.size"), size, mss)?)
            }
            None => None,
        };
        let (start, stop) = checker.span(path, self.start, None)?;
        if start + self.start_window > stop {
            let message =
                format!("start_window {} reaches beyond the end of the run", self.start_window);
            let help = "shorten it: some flows might never start";
            checker.document.mistake(&format!("{path}.start_window"), message, help);
        }
        let bulk = Bulk {
            pairs: pairs?,
            flows,
            size,
            port: self.port.unwrap_or(20),
            start,
            start_window: self.start_window,
        };
        Some((bulk, config))
    }
}

impl Traffic for Plan {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Transfer
    }

    fn sender(&self) -> PairEnd {
        PairEnd::First
    }

    fn endless_flows(&self) -> u32 {
        if self.size.is_none() { self.flows } else { 0 }
    }

    fn open(&self, _: f64) -> f64 {
        f64::from(self.flows)
    }
}
