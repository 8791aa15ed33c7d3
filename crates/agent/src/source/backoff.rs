//! When one that could not be reached is asked again.

use std::time::{Duration, Instant};

/// How long one waits after the first failure; each further one doubles it, up to the most.
const FIRST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(30);

/// When one that could not be reached is asked again, and why it could not.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    later: Option<(Instant, String)>,
}

impl Backoff {
    /// Why it is not to be asked at `now`; none where it may be.
    pub(super) fn holds(&self, now: Instant) -> Option<&str> {
        self.later.as_ref().filter(|(at, _)| *at > now).map(|(_, why)| why.as_str())
    }

    /// How long one has to wait until it may be asked again; none where nothing has failed.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.later.as_ref().map(|(at, _)| at.saturating_duration_since(now))
    }

    /// It could not be reached at `now`.
    pub(super) fn failed(&mut self, now: Instant, why: &str) {
        let wait = (FIRST * 2u32.pow(self.failures.min(5))).min(MOST);
        self.failures += 1;
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
        backoff.done();
        backoff.failed(now, "gone");
        assert_eq!(backoff.left(now), Some(FIRST));
    }
}
