//! CoDel's control law (Nichols & Jacobson 2012; RFC 8289).

use shortflow_units::{Bytes, Duration, Instant};

use crate::params::above_zero;
use crate::{ParamsError, Queued};

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy)]
pub struct CoDelParams {
    target: Duration,
    interval: Duration,
    mtu: Bytes,
}

impl CoDelParams {
    /// Signals congestion to a queue that stays above `target` for `interval`, except while no more than
    /// `mtu` waits behind the head. RFC 8289 §4.2 and §4.3: 5 ms and 100 ms.
    pub fn new(target: Duration, interval: Duration, mtu: Bytes) -> Result<Self, ParamsError> {
        above_zero("target", target)?;
        if interval <= target {
            let message = format!("interval {interval} must be above target {target}");
            return Err(ParamsError::new("interval", message));
        }
        Ok(CoDelParams { target, interval, mtu })
    }

    /// The acceptable queueing delay.
    pub fn target(&self) -> Duration {
        self.target
    }

    /// The time of the next signal after `from`, for signal number `count`. The rate of signals grows with
    /// the square root of their number, which makes the rate of TCP fall linearly (RFC 8289 §3.3).
    fn next_signal(&self, from: Instant, count: u64) -> Instant {
        from + over_root(self.interval, count)
    }

    /// How long a queue may be above the target.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// CoDel drops nothing while no more than this waits behind the head.
    pub fn mtu(&self) -> Bytes {
        self.mtu
    }
}

/// `interval` over the square root of `count`, rounded to the nearest nanosecond. Whole numbers, so that a kernel's
/// program decides alike.
fn over_root(interval: Duration, count: u64) -> Duration {
    // In half nanoseconds. More than 146 years count as 146 years, so that the square fits.
    let doubled = 2 * u128::from(interval.nanos().min(1 << 62));
    let halves = (doubled * doubled / u128::from(count)).isqrt();
    Duration::from_nanos(halves.div_ceil(2) as u64)
}

/// The state of CoDel for one queue (RFC 8289 §5.3).
#[derive(Debug, Clone, Default)]
pub(super) struct CoDel {
    /// When the sojourn time will have been above the target for an interval.
    late_at: Option<Instant>,
    is_dropping: bool,
    next_signal: Instant,
    /// Signals since dropping began.
    count: u64,
    /// `count` when dropping last began.
    count_before: u64,
}

impl CoDel {
    /// The next packet of a queue (RFC 8289 §5.5). `pop` removes the head and returns what is left behind it.
    /// `signal` signals congestion to the sender of a packet: by a drop, and then it keeps the packet, or by
    /// a mark, and then it returns the packet to send.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        params: &CoDelParams,
        now: Instant,
        mut pop: impl FnMut() -> Option<(Queued, Bytes)>,
        mut signal: impl FnMut(Queued) -> Option<Queued>,
    ) -> Option<Queued> {
        let (mut queued, mut is_late) = self.judge(params, now, pop());
        if self.is_dropping {
            self.is_dropping = is_late;
            while self.is_dropping && now >= self.next_signal {
                self.count += 1;
                let marked = queued.and_then(&mut signal);
                if marked.is_some() {
                    self.next_signal = params.next_signal(self.next_signal, self.count);
                    return marked;
                }
                (queued, is_late) = self.judge(params, now, pop());
                self.is_dropping = is_late;
                if is_late {
                    self.next_signal = params.next_signal(self.next_signal, self.count);
                }
            }
        } else if is_late {
            self.begin_dropping(params, now);
            let marked = queued.and_then(&mut signal);
            if marked.is_some() {
                return marked;
            }
            (queued, _) = self.judge(params, now, pop());
        }
        queued
    }

    /// Whether the sojourn time has been above the target for an interval (RFC 8289 §5.6).
    #[inline]
    fn judge(
        &mut self,
        params: &CoDelParams,
        now: Instant,
        popped: Option<(Queued, Bytes)>,
    ) -> (Option<Queued>, bool) {
        let Some((queued, left)) = popped else {
            self.late_at = None;
            return (None, false);
        };
        let is_late = if now.since(queued.since) < params.target || left <= params.mtu {
            self.late_at = None;
            false
        } else {
            now >= *self.late_at.get_or_insert(now + params.interval)
        };
        (Some(queued), is_late)
    }

    /// If the queue was good only for a short time, the rate of signals continues where it ended.
    fn begin_dropping(&mut self, params: &CoDelParams, now: Instant) {
        let last_time = self.count - self.count_before;
        let is_recent = now.since(self.next_signal) < params.interval * 16;
        self.count = if last_time > 1 && is_recent { last_time } else { 1 };
        self.count_before = self.count;
        self.is_dropping = true;
        self.next_signal = params.next_signal(now, self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_over_square_roots_are_the_nearest_nanoseconds() {
        let cases = [(100, 1, 100), (100, 4, 50), (101, 4, 51), (100, 2, 71), (100, 3, 58)];
        for (interval, count, expected) in cases {
            let found = over_root(Duration::from_nanos(interval), count);
            assert_eq!(found.nanos(), expected, "{interval} over the root of {count}");
        }
    }

    #[test]
    fn intervals_over_square_roots_are_those_of_floating_point() {
        for count in 1..100_000_u64 {
            let found = over_root(Duration::from_millis(100), count).nanos() as f64;
            let expected = 1e8 / (count as f64).sqrt();
            assert!((found - expected).abs() < 0.500_001, "{count}: {found} and {expected}");
        }
    }
}
