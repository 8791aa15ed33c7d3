//! Bulk transfers over TCP: flows that send as much as TCP allows.

use shortflow_units::{Bytes, Duration, Instant, Rng};

/// Flows that send from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulk<N> {
    /// Sender and receiver of each pair; flow `i` runs over pair `i` modulo their number.
    pub pairs: Vec<(N, N)>,
    /// How many flows.
    pub flows: u32,
    /// What each flow sends, or `None` for endless flows.
    pub size: Option<Bytes>,
    /// The receiver's port.
    pub port: u16,
    /// The earliest start.
    pub start: Instant,
    /// Flows start uniformly within this time after `start`.
    pub start_window: Duration,
}

/// When and where one flow of [`Bulk`] starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowStart {
    /// When the sender opens the connection.
    pub at: Instant,
    /// Which pair, an index into [`Bulk::pairs`].
    pub pair: usize,
}

impl<N> Bulk<N> {
    /// The starts of all flows of the workload `name` in a run with this seed, flow by flow, not
    /// in the order of time.
    pub fn starts(&self, seed: u64, name: &str) -> Vec<FlowStart> {
        let mut rng = Rng::stream(seed, &format!("workload/{name}"));
        (0..self.flows as usize)
            .map(|flow| {
                let wait = Duration::from_secs_f64(rng.uniform() * self.start_window.as_secs_f64());
                FlowStart { at: self.start + wait, pair: flow % self.pairs.len() }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_start_within_their_window_and_take_turns_over_the_pairs() {
        let bulk = Bulk {
            pairs: vec![(0, 2), (1, 2)],
            flows: 1000,
            size: None,
            port: 20,
            start: Instant::START + Duration::from_secs(5),
            start_window: Duration::from_secs(1),
        };
        let starts = bulk.starts(1, "ftp");
        assert!(starts.iter().all(|flow| (5.0..6.0).contains(&flow.at.as_secs_f64())));
        let mean = starts.iter().map(|flow| flow.at.as_secs_f64()).sum::<f64>() / 1000.0;
        assert!((mean - 5.5).abs() < 0.05, "mean {mean}");
        assert_eq!(starts.iter().filter(|flow| flow.pair == 1).count(), 500);
    }
}
