//! `bulk`: flows that send as much as TCP allows.

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

/// Flows over TCP that send as much as TCP allows.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BulkFile")]
pub(crate) struct Keys {
    /// Senders: a node, a group, a slice such as "user[2::5]", or a list of these.
    from: OneOrList<String>,
    /// Receivers, in the same form.
    to: OneOrList<String>,
    /// Number of flows. Default: 1. Flow i runs between the i-th pair of nodes, modulo the number of pairs.
    #[schemars(range(min = 1, max = 1_000_000))]
    flows: Option<u32>,
    /// Amount of data that each flow sends. Default: endless.
    size: Option<Size>,
    /// Port of the receiver. Default: 20.
    port: Option<u16>,
    /// Earliest start. Default: 0 s.
    #[serde(default)]
    start: Duration,
    /// Flows start uniformly within this time after `start`. Default: 0 s.
    #[serde(default)]
    start_window: Duration,
    /// Differences from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// Label of its packets in policies at hosts. Default: the workload's name.
    label: Option<String>,
}

/// The checked workload; each pair is (sender, receiver).
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
            let message = format!("start_window {} ends after the run", self.start_window);
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
