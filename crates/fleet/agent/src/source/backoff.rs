//! The delay before the next attempt to reach a source.

use std::time::{Duration, Instant};

/// How long one waits after the first failure; each further one doubles it, up to the most.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(30);

/// When one that could not be reached is asked again, and why it could not.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    later: Option<(Instant, String)>,
    /// Whether that time has come, and was reported.
    has_rung: bool,
}

impl Backoff {
    /// Why the source may not be asked at `now`; `None` if it may.
    pub(super) fn holds(&self, now: Instant) -> Option<&str> {
        self.later.as_ref().filter(|(at, _)| *at > now).map(|(_, why)| why.as_str())
    }

    /// Waits until the next attempt is allowed, at most for this time, and returns whether it has become allowed,
    /// once; `None` without a failure.
    pub(super) fn wait(&mut self, patience: Duration) -> Option<bool> {
        let left = self.left(Instant::now())?;
        let rings = left <= patience && !self.has_rung;
        std::thread::sleep(if rings { left } else { patience });
        self.has_rung |= rings;
        Some(rings)
    }

    /// Allows the next attempt at once. If it fails, the delay continues as before.
    pub(super) fn hurry(&mut self) {
        if let Some((at, _)) = &mut self.later {
            *at = Instant::now();
        }
    }

    /// The time until the next attempt; `None` without a failure.
    fn left(&self, now: Instant) -> Option<Duration> {
        self.later.as_ref().map(|(at, _)| at.saturating_duration_since(now))
    }

    /// It could not be reached at `now`.
    pub(super) fn failed(&mut self, now: Instant, why: &str) {
        let wait = (FIRST_DELAY * 2u32.pow(self.failures.min(5))).min(MAX_DELAY);
        self.failures += 1;
        self.has_rung = false;
        self.later = Some((now + wait, why.to_owned()));
    }

    /// It was reached.
    pub(super) fn done(&mut self) {
        *self = Backoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_thirty_seconds_and_begin_anew_once_it_was_reached() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        assert_eq!((backoff.holds(now), backoff.left(now)), (None, None));
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            backoff.failed(now, "gone");
            let wait = Duration::from_secs(seconds);
            assert_eq!(backoff.left(now), Some(wait));
            assert_eq!(backoff.holds(now), Some("gone"));
            assert_eq!(backoff.holds(now + wait), None);
        }
        backoff.hurry();
        let now = Instant::now();
        assert_eq!(backoff.holds(now), None, "somebody asks for it");
        backoff.failed(now, "gone");
        assert_eq!(backoff.left(now), Some(MAX_DELAY), "and it is not asked more often by that");
        backoff.done();
        backoff.failed(now, "gone");
        assert_eq!(backoff.left(now), Some(FIRST_DELAY));
    }

    #[test]
    fn when_the_time_has_come_it_rings_once_so_that_nobody_waits_in_a_loop() {
        let (mut backoff, patience) = (Backoff::default(), Duration::from_millis(20));
        assert_eq!(backoff.wait(patience), None);
        for _ in 0..2 {
            backoff.failures = 0;
            backoff.failed(Instant::now() - FIRST_DELAY, "gone");
            assert_eq!(backoff.wait(patience), Some(true));
            let began = Instant::now();
            assert_eq!(backoff.wait(patience), Some(false));
            assert!(began.elapsed() >= patience);
        }
        backoff.failed(Instant::now(), "gone");
        assert_eq!(backoff.wait(patience), Some(false), "it is too early");
    }
}
