//! Counts packets per class of a policy.

use shortflow_run::{ClassCounts, ports, role_at};
use shortflow_scenario::{Direction, Scenario};

use crate::network::layout::Network;

/// The roles bound to a port, and where its link enters the next node.
#[derive(Debug, Clone, Default)]
pub(crate) struct BoundRoles {
    egress: Option<String>,
    ingress: Option<String>,
}

impl BoundRoles {
    /// The roles of all ports of a scenario, in order.
    pub(crate) fn of_ports(scenario: &Scenario) -> Vec<BoundRoles> {
        if scenario.bindings.is_empty() {
            return Vec::new();
        }
        let role =
            |node, direction| role_at(scenario, node, direction).map(|role| role.name.clone());
        let of_port = |(from, to, _)| BoundRoles {
            egress: role(from, Direction::To(to)),
            ingress: role(to, Direction::From(from)),
        };
        ports(scenario).map(of_port).collect()
    }
}

/// Packets per class since the start; `roles` are those of all ports.
pub(crate) fn class_counts(network: &Network, roles: &[BoundRoles]) -> ClassCounts {
    let mut counts = ClassCounts::default();
    for (hop, BoundRoles { egress, ingress }) in network.ports.iter().zip(roles) {
        let near = hop.near.as_ref().and_then(|end| end.conditioner.as_ref());
        let far = hop.far.as_ref().and_then(|end| end.conditioner.as_ref());
        for (role, conditioner) in [(egress, near), (ingress, far)] {
            if let Some((role, conditioner)) = role.as_ref().zip(conditioner) {
                counts.add_conditioner(role, conditioner);
            }
        }
        if let Some((role, queue)) = egress.as_ref().zip(hop.port.policy_queue()) {
            counts.add_queue(role, queue);
        }
    }
    counts
}
