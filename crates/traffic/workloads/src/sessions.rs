//! Sessions: users whose actions follow each other, each after the previous one is complete.

use shortflow_units::{Duration, Instant, Rng};

/// The number of sessions, their ends and their times. A closed loop: what a session does next waits for the
/// network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions<N> {
    /// The two ends of each pair; session `i` runs over pair `i` modulo their number.
    pub pairs: Vec<(N, N)>,
    /// How many sessions.
    pub count: u32,
    /// The port of the end that accepts connections.
    pub port: u16,
    /// The earliest start.
    pub start: Instant,
    /// Sessions start uniformly within this time after `start`.
    pub start_window: Duration,
    /// No new action begins after this.
    pub stop: Instant,
}

impl<N> Sessions<N> {
    /// When each session of the workload `name` starts, in a run with this seed.
    pub fn starts(&self, seed: u64, name: &str) -> Vec<Instant> {
        let mut rng = Rng::stream(seed, &format!("workload/{name}"));
        let window = self.start_window.as_secs_f64();
        let start = |_| self.start + Duration::from_secs_f64(rng.uniform() * window);
        (0..self.count).map(start).collect()
    }

    /// The pair of a session, an index into [`pairs`](Self::pairs).
    pub fn pair(&self, session: u32) -> usize {
        session as usize % self.pairs.len()
    }

    /// The random stream of one session. It does not depend on the other sessions.
    pub fn rng(seed: u64, name: &str, session: u32) -> Rng {
        Rng::stream(seed, &format!("workload/{name}/{session}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_start_within_their_window_and_take_turns_over_the_pairs() {
        let sessions = Sessions {
            pairs: vec![(0, 9), (1, 9)],
            count: 5,
            port: 80,
            start: Instant::START + Duration::from_secs(3),
            start_window: Duration::from_secs(2),
            stop: Instant::START + Duration::from_secs(10),
        };
        let starts = sessions.starts(1, "web");
        assert_eq!(starts.len(), 5);
        assert!(starts.iter().all(|at| (3.0..5.0).contains(&at.as_secs_f64())), "{starts:?}");
        assert_ne!(starts[0], starts[1]);
        assert_eq!((0..5).map(|s| sessions.pair(s)).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn each_session_has_a_stream_of_its_own() {
        let draw = |session| Sessions::<u32>::rng(1, "web", session).uniform().to_bits();
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
