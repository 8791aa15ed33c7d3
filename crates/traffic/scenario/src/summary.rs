//! A one-line summary of a scenario.

use crate::load::Loaded;
use crate::model::{NodeKind, Scenario};

impl Loaded {
    /// The summary.
    pub fn summary(&self) -> String {
        let points = self.points();
        let scenario = &points[0].scenario;
        let Scenario { nodes, links, workloads, .. } = scenario;
        let of_kind = |kind| nodes.iter().filter(|node| node.kind == kind).count();
        let mut what = format!(
            "scenario {:?}: {}, {}, {}, {}",
            self.name,
            count(of_kind(NodeKind::Host), "host"),
            count(of_kind(NodeKind::Router), "router"),
            count(links.len(), "link"),
            count(workloads.len(), "workload"),
        );
        if let Some(policy) = &scenario.policy {
            let bindings = count(scenario.bindings.len(), "place");
            what += &format!("; policy {:?} in {bindings}", policy.name);
        }
        if !self.axes.is_empty() {
            what += &format!("; {} over {}", count(points.len(), "point"), self.axes.join(", "));
        }
        let replicas = count(scenario.replicas as usize, "replica");
        what + &format!("; {replicas} of {}", scenario.duration)
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
