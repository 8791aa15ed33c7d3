//! Max–min fair rates of endless flows.

use std::collections::BTreeMap;

use crate::model::{Direction, Line, NodeId, Scenario};

impl Scenario {
    /// The max–min fair rate in bit/s of an endless flow between each pair of sender and receiver, over all
    /// workloads. No flow can get more without taking from a flow that has no more. Only links and shapers
    /// limit the rates; other workloads are ignored. Computed by water-filling (Bertsekas & Gallager, "Data
    /// networks", §6.5.2).
    pub fn max_min_rates(&self) -> BTreeMap<(NodeId, NodeId), f64> {
        let mut flows: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
        for workload in &self.workloads {
            let traffic = workload.kind.traffic();
            let pairs = traffic.pairs().iter().cycle();
            for &pair in pairs.take(traffic.endless_flows() as usize) {
                *flows.entry(pair).or_default() += 1;
            }
        }
        let pairs: Vec<(NodeId, NodeId)> = flows.keys().copied().collect();
        let counts: Vec<u64> = flows.into_values().collect();
        let ways = self.ways(&pairs);
        let capacities: Vec<f64> = self.ends().map(|(from, to)| self.capacity(from, to)).collect();
        let rates = fill(&ways, &counts, &capacities);
        pairs.into_iter().zip(rates).collect()
    }

    /// The ends of each direction of each link, forward then back.
    fn ends(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)])
    }

    /// The rate of the port from a node to its neighbour, in bit/s.
    fn capacity(&self, from: NodeId, to: NodeId) -> f64 {
        let lines = self.links.iter().flat_map(|link| {
            let mean = |line: &Line| line.mean_rate(self.duration);
            [(link.a, link.b, mean(&link.forward)), (link.b, link.a, mean(&link.back))]
        });
        let line = lines.filter(|&(a, b, _)| (a, b) == (from, to)).map(|(.., rate)| rate).next();
        let bound = |binding: &&crate::Binding| {
            binding.at == from && binding.direction == Direction::To(to)
        };
        let role = self.bindings.iter().find(bound).zip(self.policy.as_ref());
        let role = role.and_then(|(binding, policy)| policy.role(&binding.role));
        let shaped = role.and_then(|role| role.queue.as_ref()?.shaped_to());
        let rates = line.into_iter().chain(shaped).map(|rate| rate.bits_per_sec() as f64);
        rates.fold(f64::INFINITY, f64::min)
    }
}

/// The rate of each of `counts` flows on each of `ways` (line numbers), with these line capacities.
fn fill(ways: &[Vec<usize>], counts: &[u64], capacities: &[f64]) -> Vec<f64> {
    let mut left = capacities.to_vec();
    let mut rates: Vec<Option<f64>> = vec![None; ways.len()];
    loop {
        let mut waiting = vec![0; left.len()];
        for ((way, count), _) in
            ways.iter().zip(counts).zip(&rates).filter(|(_, rate)| rate.is_none())
        {
            way.iter().for_each(|&line| waiting[line] += count);
        }
        // The line with the least capacity per waiting flow fills first.
        let shares = (0..left.len()).filter(|&line| waiting[line] > 0);
        let share = |line: usize| left[line] / waiting[line] as f64;
        let Some(full) = shares.min_by(|&a, &b| share(a).total_cmp(&share(b))) else { break };
        let rate = share(full);
        for (index, way) in ways.iter().enumerate() {
            if rates[index].is_none() && way.contains(&full) {
                rates[index] = Some(rate);
                way.iter().for_each(|&line| left[line] -= rate * counts[index] as f64);
            }
        }
    }
    rates.into_iter().map(|rate| rate.unwrap_or(f64::INFINITY)).collect()
}

#[cfg(test)]
mod tests {
    use super::fill;

    /// Three flows over one line, of which one goes on over a slow one: it has what that gives, and the others
    /// share the rest.
    #[test]
    fn what_a_flow_cannot_use_is_shared_by_the_others() {
        let ways = [vec![0, 1], vec![0, 2], vec![0, 3]];
        assert_eq!(fill(&ways, &[1, 1, 1], &[500.0, 1000.0, 500.0, 100.0]), [200.0, 200.0, 100.0]);
        assert_eq!(fill(&ways, &[1, 1, 1], &[600.0, 1000.0, 500.0, 300.0]), [200.0; 3]);
        // Two of them from the first pair.
        assert_eq!(fill(&ways, &[2, 1, 1], &[700.0, 1000.0, 500.0, 100.0]), [200.0, 200.0, 100.0]);
    }

    /// The parking lot: a long flow over both lines beside a short one on each.
    #[test]
    fn a_flow_over_two_lines_has_what_the_fuller_one_leaves() {
        let ways = [vec![0, 1], vec![0], vec![1]];
        assert_eq!(fill(&ways, &[1, 1, 1], &[10.0, 6.0]), [3.0, 7.0, 3.0]);
    }
}
