//! How much memory a run needs, as far as a scenario tells.

use shortflow_units::Bytes;

use crate::model::Scenario;

/// An estimate of the memory of one replica. It is meant to tell what fits a machine from what does
/// not, within a factor of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Of nodes, links and ports.
    pub network: Bytes,
    /// Of the table of routes.
    pub routes: Bytes,
    /// Of connections and streams that are open at a time.
    pub connections: Bytes,
    /// Of samples of time series, which are kept until all results are written.
    pub samples: Bytes,
}

impl Memory {
    /// What the replica needs while it runs, but for its samples.
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

    /// How many nodes have several links: those have a row in the table of routes.
    fn routed_nodes(&self) -> usize {
        let mut links = vec![0_u32; self.nodes.len()];
        for link in &self.links {
            links[link.a.index()] += 1;
            links[link.b.index()] += 1;
        }
        links.into_iter().filter(|links| *links > 1).count()
    }

    /// How many connections and streams are open at a time: all that stay, and of transfers those
    /// that a link cannot carry, which pile up to the end.
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

/// Bytes of a node with its link, measured from 1,000 to 10,000 nodes.
const PER_NODE: f64 = 2500.0;
/// Bytes of a place in the table of routes.
const PER_ROUTE: f64 = 4.0;
/// Bytes of an open connection, both ends counted, with a window of some packets.
const PER_CONNECTION: f64 = 2000.0;
/// Bytes of a row of a time series.
const PER_SAMPLE: f64 = 60.0;
