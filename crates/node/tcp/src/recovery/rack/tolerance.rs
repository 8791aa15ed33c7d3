//! The tolerance for reordering grows when a peer reports duplicates (RFC 8985 §6.2, step 4).
//!
//! As in Linux, a round ends when data arrive that were sent after the last report that counted. The RFC
//! waits until all data sent by then are acknowledged. One late segment can delay that for long, while others
//! are retransmitted unnecessarily.

use shortflow_units::Instant;

/// The number of recoveries without a report after which the tolerance is reset.
const PERSISTENCE: u8 = 16;

/// The factor of the reordering window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tolerance {
    /// RACK.reo_wnd_mult.
    times: u8,
    /// RACK.reo_wnd_persist.
    persists: u8,
    /// A report waits for the next arrival.
    reported: bool,
    /// When a report last counted.
    counted: Instant,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { times: 1, persists: 0, reported: false, counted: Instant::START }
    }
}

impl Tolerance {
    /// RACK.reo_wnd_mult.
    pub(crate) fn times(self) -> u64 {
        self.times.into()
    }

    /// The peer reports a duplicate.
    pub(crate) fn on_duplicate(&mut self) {
        self.reported = true;
    }

    /// Data have arrived, the latest of which were sent at `sent`. If that is after the last report that
    /// counted, the waiting report counts.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Instant, sent: Instant) {
        if std::mem::take(&mut self.reported) && sent >= self.counted {
            self.times = self.times.saturating_add(1);
            self.persists = PERSISTENCE;
            self.counted = now;
        }
    }

    /// A reduction was undone because of such reports, which are remembered for longer.
    pub(crate) fn on_refuted(&mut self) {
        self.persists = (self.persists + 1).min(PERSISTENCE);
    }

    /// A recovery is over, and it was necessary as far as known.
    pub(crate) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.times = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Duration;

    use super::*;

    #[test]
    fn reports_count_once_in_a_round_trip_and_are_forgotten_after_sixteen_recoveries() {
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let mut tolerance = Tolerance::default();
        let mut reported_at = |now, sent| {
            tolerance.on_duplicate();
            tolerance.on_arrival(at(now), at(sent));
            tolerance.times()
        };
        assert_eq!(reported_at(100, 0), 2);
        assert_eq!(reported_at(150, 90), 2, "sent before the report that counted");
        assert_eq!(reported_at(200, 100), 3);
        tolerance.on_arrival(at(400), at(300));
        (0..15).for_each(|_| tolerance.on_recovered());
        assert_eq!(tolerance.times(), 3);
        tolerance.on_recovered();
        assert_eq!(tolerance.times(), 1);
    }

    #[test]
    fn a_report_with_which_nothing_else_arrives_waits_for_what_does() {
        let mut tolerance = Tolerance::default();
        tolerance.on_duplicate();
        assert_eq!(tolerance.times(), 1);
        tolerance.on_arrival(Instant::START, Instant::START);
        assert_eq!(tolerance.times(), 2);
    }
}
