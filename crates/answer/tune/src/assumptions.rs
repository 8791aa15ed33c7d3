//! The assumptions of an answer about the hosts.

use std::collections::BTreeSet;

use shortflow_scenario::Scenario;

/// The congestion control of the senders in a scenario, in a sentence; `None` without TCP senders.
pub fn assumed_congestion_control(scenario: &Scenario) -> Option<String> {
    let over_tcp = scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
    let titles: BTreeSet<&str> = over_tcp.map(|workload| workload.tcp.congestion.title()).collect();
    let titles: Vec<&str> = titles.into_iter().collect();
    (!titles.is_empty()).then(|| {
        format!(
            "This assumes that all senders use {}; BBR is not simulated, and with BBR another policy may be better.",
            titles.join(" or ")
        )
    })
}
