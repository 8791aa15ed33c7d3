//! Which replicas of a scenario run: all, one of several shards, or those that another run lacks.

use shortflow_measure::{Replica, Run};
use shortflow_scenario::Loaded;

/// The numbers of the replicas that run, for each point of a sweep.
pub type ReplicaNumbers = Vec<Vec<u32>>;

/// One of several parts, to which replicas are dealt out in turn. All parts together are one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The number of the first replica of all parts.
    first: u32,
    /// Which part, from 0.
    part: u32,
    parts: u32,
}

/// All replicas, from number 0.
impl Default for Shard {
    fn default() -> Self {
        Shard { first: 0, part: 0, parts: 1 }
    }
}

impl Shard {
    /// Part `part` (from 1) of `parts`, where the first replica of all has the number `first`; `None` where there is no such
    /// part.
    pub fn new(first: u32, part: u32, parts: u32) -> Option<Shard> {
        (1..=parts).contains(&part).then(|| Shard { first, part: part - 1, parts })
    }

    /// The numbers of its replicas, where all parts together have so many.
    pub fn numbers(self, replicas: u32) -> impl Iterator<Item = u32> {
        let all = self.first..self.first.saturating_add(replicas);
        all.skip(self.part as usize).step_by(self.parts as usize)
    }
}

/// The numbers of the replicas in a shard of a scenario, for each point.
pub fn numbers_in(shard: Shard, loaded: &Loaded) -> ReplicaNumbers {
    let points = loaded.points().iter();
    points.map(|point| shard.numbers(point.scenario.replicas).collect()).collect()
}

/// The numbers of those in `wanted` that some of these runs, of one scenario, lack. A point that failed would fail again, and
/// what a model computed has no replicas.
pub fn lacking(wanted: ReplicaNumbers, runs: &[Run]) -> ReplicaNumbers {
    let has = |run: &Run, point: usize, number: u32| {
        let point = &run.points[point];
        let is_number = |replica: &Replica| replica.number == number;
        point.has_failed() || point.is_of_model() || point.replicas.iter().any(is_number)
    };
    let lacks = |(point, mut numbers): (usize, Vec<u32>)| {
        numbers.retain(|number| !runs.iter().all(|run| has(run, point, *number)));
        numbers
    };
    wanted.into_iter().enumerate().map(lacks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_together_have_each_replica_once() {
        let mut all: Vec<u32> =
            (1..=3).flat_map(|part| Shard::new(5, part, 3).unwrap().numbers(8)).collect();
        all.sort_unstable();
        assert_eq!(all, (5..13).collect::<Vec<_>>());
        assert_eq!(Shard::new(0, 2, 3).unwrap().numbers(8).collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!((Shard::new(0, 0, 3), Shard::new(0, 4, 3)), (None, None));
    }
}
