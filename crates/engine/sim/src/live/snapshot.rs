//! A snapshot of a running network, for display.

use shortflow_elements::Backlog;
use shortflow_run::ports;
use shortflow_scenario::{NodeId, Scenario};
use shortflow_units::{Duration, Instant};

use super::LiveNetwork;
use crate::network::index::PortId;

/// A snapshot of a network. Its counters grow from one snapshot to the next, except that those of ports
/// restart at the end of the warm-up.
#[derive(Debug, Clone, Default)]
pub struct NetworkSnapshot {
    /// The time.
    pub at: Instant,
    /// The requested ports.
    pub ports: Vec<PortSnapshot>,
    /// Packets that reached their host since the start.
    pub delivered: u64,
    /// The sum of these packets' times from host to host.
    pub took: Duration,
}

/// A snapshot of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortSnapshot {
    /// The queue, without the packet that is being sent.
    pub queue: Backlog,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Time spent sending.
    pub busy: Duration,
}

/// The times of packets from host to host.
#[derive(Debug, Default)]
pub(super) struct Delays {
    delivered: u64,
    took: Duration,
}

impl Delays {
    #[inline]
    pub(super) fn add(&mut self, took: Duration) {
        self.delivered += 1;
        self.took += took;
    }
}

impl LiveNetwork {
    /// A snapshot of the network and of these ports, given by their numbers in [`ports`], at the current
    /// time.
    pub fn snapshot(&mut self, ports: &[usize]) -> NetworkSnapshot {
        let now = self.fabric.now;
        let look = |&number: &usize| {
            let port = &mut self.fabric.network.ports[PortId(number as u32)].port;
            PortSnapshot {
                queue: port.backlog(now),
                arrived: port.counters.all_arrived(),
                dropped: port.counters.all_dropped(),
                busy: port.busy(now),
            }
        };
        let ports = ports.iter().map(look).collect();
        NetworkSnapshot { at: now, ports, delivered: self.delays.delivered, took: self.delays.took }
    }

    /// The numbers of the ports to display: the reported ports of the scenario, else those with a policy's
    /// queue, else the slowest ones.
    pub fn ports_to_watch(scenario: &Scenario) -> Vec<usize> {
        let all: Vec<(NodeId, NodeId, u64)> =
            ports(scenario).map(|(from, to, line)| (from, to, line.rate.bits_per_sec())).collect();
        let those = |is_one: &dyn Fn(&(NodeId, NodeId, u64)) -> bool| -> Vec<usize> {
            (0..).zip(&all).filter(|(_, port)| is_one(port)).map(|(number, _)| number).collect()
        };
        let slowest = all.iter().map(|(_, _, rate)| *rate).min().unwrap_or(0);
        let queues = |&(from, to, _): &(NodeId, NodeId, u64)| {
            let direction = shortflow_scenario::Direction::To(to);
            shortflow_run::role_at(scenario, from, direction).is_some_and(|role| role.queues())
        };
        [
            those(&|(from, to, _)| scenario.measure.ports.contains(&(*from, *to))),
            those(&queues),
            those(&|(_, _, rate)| *rate == slowest),
        ]
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
    }
}
