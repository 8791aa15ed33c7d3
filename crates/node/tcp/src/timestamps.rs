//! Timestamps (RFC 7323): their clock, and TS.Recent.
//!
//! Both ends read the same clock, and the host knows when a packet was sent. A segment therefore needs no
//! TSval, and only two bytes of TSecr.

use shortflow_units::{Duration, Instant};

/// A tick of the timestamp clock, as in Linux. RFC 7323 §5.4 allows 1 ms to 1 s.
const TICK: Duration = Duration::from_millis(1);

/// TSval of a segment that is sent `at` this time: 32 bits, which wrap after 49 days. Never 0.
#[inline]
pub(crate) fn tsval(at: Instant) -> u32 {
    (ticks(at) as u32).wrapping_add(1).max(1)
}

#[inline]
fn ticks(at: Instant) -> u64 {
    at.nanos() / TICK.nanos()
}

/// A round trip that ends `now`, measured by the timestamp clock: at least one tick.
#[cold]
pub(crate) fn in_ticks(now: Instant, rtt: Duration) -> Duration {
    let passed = ticks(now) - ticks(Instant::from_nanos(now.nanos() - rtt.nanos()));
    Duration::from_nanos(passed.max(1) * TICK.nanos())
}

/// TS.Recent (RFC 7323 §4.3): the TSval that segments echo. 0 without timestamps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TsRecent(u32);

impl TsRecent {
    /// The TSval of a segment that was sent at `sent_at`.
    #[inline]
    pub(crate) fn new(sent_at: Instant) -> TsRecent {
        TsRecent(tsval(sent_at))
    }

    /// Whether the connection uses timestamps.
    #[inline]
    pub(crate) fn is_enabled(self) -> bool {
        self.0 != 0
    }

    /// Whether the TSval of a segment that arrives `now` is old (PAWS, RFC 7323 §5.3, R1).
    #[inline]
    pub(crate) fn rejects(self, now: Instant, sent_at: Instant) -> bool {
        self.is_enabled() && self.age(now) < tsval(now).wrapping_sub(tsval(sent_at))
    }

    /// Its age in ticks.
    #[inline]
    pub(crate) fn age(self, now: Instant) -> u32 {
        tsval(now).wrapping_sub(self.0)
    }
}

/// TSecr (RFC 7323 §3.2), if a segment has one: its tick modulo 65,535, from 1. It is unambiguous for 65 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tsecr(u16);

const TSECR_VALUES: u64 = 65_535;

/// The age limit of a TSecr in ticks. Older ones are omitted, so that the segment's own delay may be as long.
const MAX_TSECR_AGE: u32 = 30_000;

impl Tsecr {
    /// For a segment that is sent `now`: the TSval of one that was sent at `sent_at`.
    pub fn new(now: Instant, sent_at: Instant) -> Tsecr {
        Tsecr::echo(now, TsRecent::new(sent_at))
    }

    /// For a segment that is sent `now`. Not inlined: the compiler would compute the tick, a division, for
    /// every call of the sender, with timestamps or without.
    #[inline(never)]
    pub(crate) fn echo(now: Instant, recent: TsRecent) -> Tsecr {
        let age = recent.age(now);
        if age > MAX_TSECR_AGE {
            return Tsecr::default();
        }
        let tick = ticks(now).saturating_sub(age.into());
        Tsecr((tick % TSECR_VALUES + 1) as u16)
    }

    /// For a segment that arrives `now`: the last instant of the tick, so that later instants are in later
    /// ticks.
    #[inline]
    pub fn end_of_tick(self, now: Instant) -> Option<Instant> {
        let value = u64::from(self.0.checked_sub(1)?);
        let now = ticks(now);
        let age = (now % TSECR_VALUES + TSECR_VALUES - value) % TSECR_VALUES;
        let end = (now.saturating_sub(age) + 1) * TICK.nanos() - 1;
        Some(Instant::from_nanos(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn what_left_in_the_same_tick_is_not_late() {
        let recent = TsRecent::new(at(190));
        assert!(recent.rejects(at(200), at(189)));
        assert!(!recent.rejects(at(200), Instant::from_nanos(190_000_001)));
        assert!(!recent.rejects(at(200), at(191)));
        assert!(!TsRecent::default().rejects(at(200), at(0)), "without timestamps nothing is");
    }

    /// RFC 7323 §5.5: after 24 days TS.Recent no longer counts, for half of the clock's circle has passed.
    #[test]
    fn after_a_month_of_silence_nothing_is_late() {
        const DAY: u64 = 24 * 3600 * 1000;
        let recent = TsRecent::new(at(190));
        assert!(!recent.rejects(at(30 * DAY), at(30 * DAY - 100)));
        assert!(!recent.rejects(at(60 * DAY), at(60 * DAY - 100)));
    }

    #[test]
    fn two_bytes_of_tsecr_give_the_tick_for_half_a_minute() {
        for sent in [0, 65_533, 65_534, 65_535, 131_071, 5_000_000_000] {
            for age in [0, 1, 29_999, 30_000] {
                let tsecr = Tsecr::new(at(sent + age), at(sent));
                let end = Instant::from_nanos((sent + 1) * 1_000_000 - 1);
                assert_eq!(tsecr.end_of_tick(at(sent + age)), Some(end));
                assert_eq!(tsecr.end_of_tick(at(sent + age + 35_000)), Some(end));
            }
            assert_eq!(Tsecr::new(at(sent + 30_001), at(sent)), Tsecr::default());
        }
        assert_eq!(Tsecr::default().end_of_tick(at(1)), None);
    }

    #[test]
    fn a_round_trip_counts_the_ticks_that_have_begun_and_at_least_one() {
        let rtt =
            |from: u64, to: u64| in_ticks(Instant::from_nanos(to), Duration::from_nanos(to - from));
        assert_eq!(rtt(1_900_000, 2_100_000), Duration::from_millis(1));
        assert_eq!(rtt(2_000_000, 23_999_999), Duration::from_millis(21));
        assert_eq!(rtt(2_000_000, 2_100_000), Duration::from_millis(1));
    }
}
