//! Kernel timers, which expire on a grid. The longer the wait, the coarser the grid.

use shortflow_units::{Duration, Instant};

use crate::Config;

/// A timer wheel with levels (Varghese & Lauck 1987, scheme 7, without migration between levels). Waits of up
/// to 62 ticks use a grid of 1 tick, up to 503 ticks a grid of 8, and so on by factors of 8. A timer expires
/// at the next point of its grid after it is due, never early. Linux has this since 4.8.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimerWheel {
    /// The tick. Zero means exact timers.
    tick: Duration,
}

/// Each level's grid is coarser than the previous one by this many bits.
const LEVEL_BITS: u32 = 3;

/// The shortest wait, in ticks, that does not use the first level.
const FIRST_LEVEL: u64 = 63;

/// The number of levels. Longer waits use the last one.
const LEVELS: u32 = 9;

impl TimerWheel {
    pub(crate) fn new(config: &Config) -> Self {
        TimerWheel { tick: config.timer_tick }
    }

    /// When a timer that is set now for `wait` expires.
    #[inline]
    pub(crate) fn expiry(self, now: Instant, wait: Duration) -> Instant {
        if self.tick.is_zero() { now + wait } else { self.on_grid(now, wait) }
    }

    #[cold]
    fn on_grid(self, now: Instant, wait: Duration) -> Instant {
        let tick = self.tick.nanos();
        let ticks = wait.nanos().div_ceil(tick);
        let level = (1..LEVELS)
            .take_while(|above| ticks >= FIRST_LEVEL << (LEVEL_BITS * (above - 1)))
            .count();
        let shift = LEVEL_BITS * level as u32;
        let place = ((now.nanos() / tick + ticks) >> shift) + 1;
        Instant::from_nanos((place << shift).saturating_mul(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Era;

    fn wheel(tick: Duration) -> TimerWheel {
        TimerWheel::new(&Config { timer_tick: tick, ..Era::LinuxToday.config() })
    }

    /// After how long a timer of `wait` milliseconds expires that is set after `now` ones, with 250 ticks in a second.
    fn waited(now: u64, wait: u64) -> u64 {
        let set = Instant::from_nanos(now * 1_000_000);
        let expiry = wheel(Duration::from_millis(4)).expiry(set, Duration::from_millis(wait));
        expiry.since(set).nanos() / 1_000_000
    }

    #[test]
    fn without_a_tick_a_timer_expires_when_it_is_due() {
        let set = Instant::from_nanos(12_345);
        let wait = Duration::from_nanos(678_901);
        assert_eq!(wheel(Duration::ZERO).expiry(set, wait), set + wait);
    }

    #[test]
    fn short_waits_end_with_the_tick_after_they_are_due() {
        assert_eq!(waited(0, 40), 44);
        assert_eq!(waited(0, 41), 48);
        assert_eq!(waited(3, 40), 41);
        assert_eq!(waited(0, 248), 252);
    }

    /// As Linux 6.18 with 250 ticks in a second sends a SYN again that nobody answers.
    #[test]
    fn a_second_ends_on_a_grid_of_32_ms_and_three_seconds_on_one_of_256() {
        assert_eq!(waited(1024, 1000), 1024);
        assert_eq!(waited(1000, 1000), 1016);
        assert_eq!(waited(1030, 1000), 1018);
        assert_eq!(waited(2048, 2000), 2016);
        assert_eq!(waited(0, 3000), 3072);
    }

    #[test]
    fn no_wait_is_cut_short_nor_longer_by_more_than_a_seventh_and_two_ticks() {
        for tick in [1_000_000, 4_000_000, 10_000_000] {
            for exponent in 0..36 {
                for now in [0, 1, tick - 1, tick, 987_654_321_012] {
                    let (set, wait) =
                        (Instant::from_nanos(now), Duration::from_nanos(1 << exponent));
                    let over = wheel(Duration::from_nanos(tick))
                        .expiry(set, wait)
                        .since(set + wait)
                        .nanos();
                    assert!(wheel(Duration::from_nanos(tick)).expiry(set, wait) >= set + wait);
                    assert!(over <= wait.nanos() / 7 + 2 * tick, "{tick} {exponent} {now}: {over}");
                }
            }
        }
    }

    #[test]
    fn the_longest_waits_have_a_place() {
        let far = Duration::from_nanos(u64::MAX / 4);
        assert!(wheel(Duration::from_micros(10)).expiry(Instant::START, far) > Instant::START);
        assert!(wheel(Duration::from_millis(500)).expiry(Instant::START, far) > Instant::START);
    }
}
