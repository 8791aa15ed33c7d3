//! By how much more segments may overtake each other where a peer got them twice (RFC 8985 §6.2, step 4).

/// Recoveries without a report after which it is forgotten.
const PERSISTENCE: u8 = 16;

/// What the reordering window is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tolerance {
    /// RACK.reo_wnd_mult.
    times: u8,
    /// RACK.reo_wnd_persist.
    persists: u8,
    /// RACK.dsack_round: reports count again when this is acknowledged.
    round_ends: u64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { times: 1, persists: 0, round_ends: 0 }
    }
}

impl Tolerance {
    /// RACK.reo_wnd_mult.
    pub(crate) fn times(self) -> u64 {
        self.times.into()
    }

    /// The peer reports that it got something twice, when `una` is acknowledged and data up to `max` were sent: once in a
    /// round trip the window grows.
    pub(crate) fn on_duplicate(&mut self, una: u64, max: u64) {
        if una >= self.round_ends {
            *self = Tolerance {
                times: self.times.saturating_add(1),
                persists: PERSISTENCE,
                round_ends: max,
            };
        }
    }

    /// A reduction was taken back for such reports, which are remembered for longer.
    pub(crate) fn on_refuted(&mut self) {
        self.persists = (self.persists + 1).min(PERSISTENCE);
    }

    /// A recovery is over, and there was cause for it as far as is known.
    pub(crate) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.times = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_count_once_in_a_round_trip_and_are_forgotten_after_sixteen_recoveries() {
        let mut tolerance = Tolerance::default();
        tolerance.on_duplicate(10, 30);
        tolerance.on_duplicate(20, 40);
        assert_eq!(tolerance.times(), 2);
        tolerance.on_duplicate(30, 50);
        assert_eq!(tolerance.times(), 3);
        (0..15).for_each(|_| tolerance.on_recovered());
        assert_eq!(tolerance.times(), 3);
        tolerance.on_recovered();
        assert_eq!(tolerance.times(), 1);
    }
}
