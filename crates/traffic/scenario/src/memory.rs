//! Estimates the memory of a run from the scenario.

use shortflow_units::Bytes;

use crate::model::Scenario;

/// An estimate of the memory of one replica, within a factor of two. It shows whether a scenario fits a
/// machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Nodes, links and ports.
    pub network: Bytes,
    /// The table of routes.
    pub routes: Bytes,
    /// Connections and streams that are open at the same time.
    pub connections: Bytes,
    /// Samples of time series, which are kept until all results are written.
    pub samples: Bytes,
}

impl Memory {
    /// The memory of a running replica, without its samples.
    pub fn running(&self) -> Bytes {
        let parts = [self.network, self.routes, self.connections];
        Bytes(parts.iter().fold(0, |sum, part| sum.saturating_add(part.0)))
    }
}

impl Scenario {
    /// The memory of one replica.
    pub fn memory(&self) -> Memory {
        let routed = self.routed_nodes() as f64;
        let samples = match self.measure.series_interval {
            Some(interval) if !interval.is_zero() => {
                let times = self.duration.as_secs_f64() / interval.as_secs_f64();
                times * self.measure.ports.len() as f64
            }
            _ => 0.0,
        };
        let bytes = |bytes: f64| Bytes(bytes as u64);
        Memory {
            network: bytes(self.nodes.len() as f64 * PER_NODE),
            routes: bytes(routed * routed * PER_ROUTE),
            connections: bytes(self.connections() * PER_CONNECTION),
            samples: bytes(samples * PER_SAMPLE),
        }
    }

    /// The number of nodes with several links. Each has a row in the table of routes.
    fn routed_nodes(&self) -> usize {
        let mut links = vec![0_u32; self.nodes.len()];
        for link in &self.links {
            links[link.a.index()] += 1;
            links[link.b.index()] += 1;
        }
        links.into_iter().filter(|links| *links > 1).count()
    }

    /// The number of connections and streams that are open at the same time: all permanent ones, and
    /// transfers that exceed a link's rate, which accumulate until the end.
    fn connections(&self) -> f64 {
        let offered = self.offered_load();
        let mut overload = vec![1.0_f64; self.workloads.len()];
        for line in &offered.lines {
            let share = line.share();
            for workload in line.workloads.keys() {
                overload[*workload] = overload[*workload].max(share);
            }
        }
        let each = self.workloads.iter().zip(overload);
        let open = each.map(|(workload, overload)| workload.kind.traffic().open(overload));
        open.sum()
    }
}

/// Bytes per node with its link, measured with 1,000 to 10,000 nodes.
const PER_NODE: f64 = 2500.0;
/// Bytes per entry in the table of routes.
const PER_ROUTE: f64 = 4.0;
/// Bytes per open connection, for both ends, with a window of some packets.
const PER_CONNECTION: f64 = 2000.0;
/// Bytes per row of a time series.
const PER_SAMPLE: f64 = 60.0;
