//! Makes snapshots from passing packets.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use shortflow_measure::results;
use shortflow_packet::{FlowKey, Protocol};
use shortflow_run::{Sight, Tap, port_name, ports};
use shortflow_scenario::{Addresses, NodeId, Scenario};
use shortflow_units::{Duration, Instant};

use crate::model::{Place, Snapshot};
use crate::port::Port;

/// What a delay is where packets are seen.
pub const DELAY: &str = "from the moment its host sends a packet until the packet has left this \
    port's line";

/// Looks at the packets that pass some ports of a run, and tells a snapshot for each interval of the scenario's time.
pub struct PortTap {
    watched: Watched,
    ports: BTreeMap<(NodeId, NodeId), Port>,
    /// When the interval ends.
    next: Instant,
    tell: Box<dyn FnMut(Snapshot) + Send>,
}

/// What is looked at of a scenario.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Each port with its name and the rate of its line, in bits per second.
    ports: Vec<((NodeId, NodeId), String, f64)>,
    nodes: Vec<String>,
    addresses: Arc<Addresses>,
    interval: Duration,
    end: Instant,
}

/// The least time between two snapshots.
const MIN_INTERVAL: Duration = Duration::from_millis(500);
/// The maximum number of snapshots of a run.
const MAX_SNAPSHOTS: u64 = 1200;

impl Watched {
    /// These ports of a scenario, each given by its number among [`ports`].
    pub fn new(scenario: &Scenario, numbers: &[usize]) -> Watched {
        let all: Vec<_> = ports(scenario).collect();
        let port = |&number: &usize| {
            let (from, to, line) = all[number];
            ((from, to), port_name(scenario, from, to), line.rate.bits_per_sec() as f64)
        };
        let long = Duration::from_nanos(scenario.duration.nanos() / MAX_SNAPSHOTS);
        Watched {
            ports: numbers.iter().map(port).collect(),
            nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
            addresses: Arc::clone(&scenario.addresses),
            interval: MIN_INTERVAL.max(long),
            end: Instant::START + scenario.duration,
        }
    }

    /// Seconds from one snapshot to the next.
    pub fn interval_s(&self) -> f64 {
        self.interval.as_secs_f64()
    }

    /// The end of the run in seconds.
    pub fn end_s(&self) -> f64 {
        self.end.as_secs_f64()
    }

    /// What a flow is called: its ends by the names of hosts, where they are hosts.
    fn flow(&self, key: &FlowKey) -> String {
        let end = |address, port| {
            let node = self.addresses.node(address).map(|id| &self.nodes[id.index()]);
            format!("{}:{port}", node.map_or_else(|| address.to_string(), Clone::clone))
        };
        let protocol = match key.protocol {
            Protocol::TCP => "TCP".to_owned(),
            Protocol::UDP => "UDP".to_owned(),
            Protocol(number) => format!("protocol {number}"),
        };
        let [src, dst] = [end(key.src, key.src_port), end(key.dst, key.dst_port)];
        format!("{src} → {dst}, {protocol}")
    }
}

impl PortTap {
    /// Observes the `watched` places of a run. The hub's owner decides which policy is active.
    pub fn new(watched: Watched, tell: Box<dyn FnMut(Snapshot) + Send>) -> PortTap {
        let ports = watched.ports.iter().map(|(port, ..)| (*port, Port::default())).collect();
        let next = Instant::START + watched.interval;
        PortTap { watched, ports, next, tell }
    }

    fn close(&mut self) {
        let seconds = self.watched.interval.as_secs_f64();
        let place = |(at, name, rate): &((NodeId, NodeId), String, f64)| {
            let port = self.ports.get_mut(at).expect("each port is looked at");
            let (streams, flows) = port.close(self.next, seconds, &|key| self.watched.flow(key));
            Place {
                name: name.clone(),
                rate_bit_per_s: Some(*rate),
                streams,
                flows,
                ..Place::default()
            }
        };
        let places = self.watched.ports.iter().map(place).collect();
        (self.tell)(Snapshot { at_s: self.next.as_secs_f64(), places });
        self.next += self.watched.interval;
    }
}

impl Tap for PortTap {
    fn watches(&self, from: NodeId, to: NodeId) -> bool {
        self.ports.contains_key(&(from, to))
    }

    fn see(&mut self, sight: &Sight<'_>) {
        // Packets that drain after the end are not shown.
        while self.next <= sight.now && self.next <= self.watched.end {
            self.close();
        }
        if let Some(port) = self.ports.get_mut(&(sight.from, sight.to)) {
            port.see(sight);
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), results::Error> {
        while self.next <= self.watched.end {
            self.close();
        }
        Ok(())
    }
}

impl fmt::Debug for PortTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looker").field("watched", &self.watched).finish_non_exhaustive()
    }
}
