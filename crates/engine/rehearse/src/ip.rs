//! The IP version of a rehearsal's workloads.

use shortflow_run::Refusal;
use shortflow_scenario::{IpVersion, Scenario, Workload};

/// The version that a workload speaks: IPv6 where the rehearsal asks for that of all, else the scenario's.
pub(crate) fn spoken(asked: IpVersion, workload: &Workload) -> IpVersion {
    asked.max(workload.ip)
}

/// Refuses workloads with a host that has no address of the version that is asked for.
pub(crate) fn refuse(scenario: &Scenario, asked: IpVersion) -> Result<(), Refusal> {
    for workload in &scenario.workloads {
        let ip = spoken(asked, workload);
        let nodes = workload.kind.pairs().iter().flat_map(|&(a, b)| [a, b]);
        let lacks = |node: &_| scenario.addresses.get(*node, ip).is_none();
        if let Some(node) = nodes.into_iter().find(lacks) {
            return Err(Refusal(format!(
                "{}: {} has no {} address\nadd one to its `address`, such as [\"100.64.0.1\", \
                    \"2001:db8::1\"], or rehearse without --ipv6",
                workload.name,
                scenario.nodes[node.index()].name,
                ip.name()
            )));
        }
    }
    Ok(())
}

/// The versions that workloads speak, in words; empty where all speak IPv4, or none is there.
pub(crate) fn describe<'w>(
    asked: IpVersion,
    workloads: impl Iterator<Item = &'w Workload>,
) -> &'static str {
    let [mut v4, mut v6] = [false; 2];
    for workload in workloads {
        match spoken(asked, workload) {
            IpVersion::V4 => v4 = true,
            IpVersion::V6 => v6 = true,
        }
    }
    match (v4, v6) {
        (_, false) => "",
        (false, true) => ", over IPv6",
        (true, true) => ", over IPv4 and IPv6",
    }
}
