//! Round-trip time and retransmission timeout (RFC 6298).

use shortflow_units::{Duration, Instant};

use crate::{Config, RtoFloor};

/// SRTT, RTTVAR and RTO of RFC 6298, fed by timing one segment at a time.
#[derive(Debug)]
pub(crate) struct RttEstimator {
    /// SRTT; zero before the first sample.
    smoothed: Duration,
    /// RTTVAR.
    variation: Duration,
    /// RTO, with its back-off.
    rto: Duration,
    /// The offset whose acknowledgement ends the current measurement; zero without a measurement.
    timed_end: u64,
    timed_at: Instant,
}

impl RttEstimator {
    pub(crate) fn new(config: &Config) -> Self {
        RttEstimator {
            smoothed: Duration::ZERO,
            variation: Duration::ZERO,
            rto: config.rto_initial,
            timed_end: 0,
            timed_at: Instant::START,
        }
    }

    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        (!self.smoothed.is_zero()).then_some(self.smoothed)
    }

    /// A segment that ends at `end` is sent for the first time. Returns whether it is timed.
    #[inline]
    pub(crate) fn on_send(&mut self, now: Instant, end: u64) -> bool {
        let begins = self.timed_end == 0;
        if begins {
            self.timed_end = end;
            self.timed_at = now;
        }
        begins
    }

    /// Data were retransmitted: an acknowledgement no longer shows which transmission it answers (Karn's
    /// algorithm, RFC 6298 §3).
    pub(crate) fn on_retransmit(&mut self) {
        self.timed_end = 0;
    }

    /// Everything before `acknowledged` has arrived. Returns the round-trip time if that ends a measurement.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        acknowledged: u64,
        config: &Config,
    ) -> Option<Duration> {
        let measured = self.end_timing(now, acknowledged)?;
        self.sample(measured, config);
        Some(measured)
    }

    /// The same, without updating the averages.
    #[inline]
    pub(crate) fn end_timing(&mut self, now: Instant, acknowledged: u64) -> Option<Duration> {
        if self.timed_end == 0 || acknowledged < self.timed_end {
            return None;
        }
        self.timed_end = 0;
        Some(now.since(self.timed_at))
    }

    /// RFC 6298 §5.5.
    pub(crate) fn back_off(&mut self, config: &Config) {
        self.rto = (self.rto * 2).min(config.rto_max);
    }

    /// RFC 6298 §5.7: data transmission begins after a handshake whose SYN timed out.
    pub(crate) fn fall_back(&mut self, config: &Config) {
        self.rto = config.rto_after_lost_syn();
    }

    /// A sample of every acknowledgement, with weight 1/8 in SRTT; `deviation` is their variation. Data up to
    /// `una` are acknowledged, up to `max` sent.
    pub(crate) fn sample_each(
        &mut self,
        measured: Duration,
        deviation: &mut PeakDeviation,
        (una, max): (u64, u64),
        config: &Config,
    ) {
        let rtt = in_ticks(measured, config);
        let variation = deviation.sample(rtt, self.smoothed.nanos(), self.variation.nanos());
        let variation = deviation.end_round(variation, (una, max), config.rto_min.nanos() / 4);
        let smoothed = match self.smoothed.nanos() {
            0 => rtt,
            smoothed => (7 * smoothed + rtt) / 8,
        };
        self.set(smoothed, variation, config);
    }

    fn sample(&mut self, measured: Duration, config: &Config) {
        let rtt = in_ticks(measured, config);
        let (smoothed, variation) = if self.smoothed.is_zero() {
            (rtt, rtt / 2) // RFC 6298 §2.2
        } else {
            // RFC 6298 §2.3: α = 1/8, β = 1/4, RTTVAR first.
            let smoothed = self.smoothed.nanos();
            let error = smoothed.abs_diff(rtt);
            ((7 * smoothed + rtt) / 8, (3 * self.variation.nanos() + error) / 4)
        };
        self.set(smoothed, variation, config);
    }

    fn set(&mut self, smoothed: u64, variation: u64, config: &Config) {
        let tick = config.clock_granularity.nanos().max(1);
        self.smoothed = Duration::from_nanos(smoothed);
        self.variation = Duration::from_nanos(variation);
        let margin = Duration::from_nanos(tick.max(4 * variation));
        let rto = match config.rto_floor {
            RtoFloor::Timeout => (self.smoothed + margin).max(config.rto_min), // RFC 6298 §2.4
            RtoFloor::Variation => self.smoothed + margin.max(config.rto_min),
        };
        self.rto = rto.min(config.rto_max); // RFC 6298 §2.5
    }
}

/// A sample in nanoseconds, rounded up to whole ticks.
fn in_ticks(measured: Duration, config: &Config) -> u64 {
    let tick = config.clock_granularity.nanos().max(1);
    measured.nanos().max(1).div_ceil(tick) * tick
}

/// The variation of round trips if every acknowledgement gives a sample, in nanoseconds, as in Linux
/// (Sarolahti & Kuznetsov, "Congestion control in Linux TCP", USENIX 2002, §4). The mean deviation falls
/// slowly when samples are short. RTTVAR follows its peak per round trip: upwards at once, downwards by a
/// quarter per round trip. With RFC 6298's formula and many samples, RTTVAR would forget within a round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PeakDeviation {
    mean: u64,
    peak: u64,
    /// The offset whose acknowledgement ends the round.
    round_end: u64,
}

impl PeakDeviation {
    /// Processes a sample. Returns RTTVAR after it; `variation` is the value before.
    fn sample(&mut self, rtt: u64, smoothed: u64, variation: u64) -> u64 {
        if smoothed == 0 {
            self.mean = rtt / 2; // RFC 6298 §2.2
        } else {
            if self.round_end == 0 {
                self.mean = variation; // of the handshake
            }
            let error = smoothed.abs_diff(rtt);
            if error <= self.mean {
                self.mean -= (self.mean - error) / 4;
            } else {
                let share = if rtt < smoothed { 32 } else { 4 };
                self.mean += (error - self.mean) / share;
            }
        }
        self.peak = self.peak.max(self.mean);
        variation.max(self.peak)
    }

    /// Once per round trip RTTVAR falls towards the peak, which restarts at `min`.
    fn end_round(&mut self, variation: u64, (una, max): (u64, u64), min: u64) -> u64 {
        if una <= self.round_end {
            return variation;
        }
        let lower = variation - variation.saturating_sub(self.peak) / 4;
        self.round_end = max;
        self.peak = min;
        lower
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Era;

    fn config() -> Config {
        Config {
            clock_granularity: Duration::from_millis(1),
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_millis(200),
            ..Era::Ns2In2005.config()
        }
    }

    fn measure(estimator: &mut RttEstimator, millis: u64) {
        estimator.on_send(Instant::START, 10);
        estimator.on_ack(Instant::START + Duration::from_millis(millis), 10, &config());
    }

    #[test]
    fn the_first_sample_sets_both_averages() {
        let mut estimator = RttEstimator::new(&config());
        assert_eq!(estimator.smoothed(), None);
        assert_eq!(estimator.rto(), Duration::from_secs(3));
        measure(&mut estimator, 100);
        assert_eq!(estimator.smoothed(), Some(Duration::from_millis(100)));
        assert_eq!(estimator.rto(), Duration::from_millis(100 + 4 * 50));
    }

    #[test]
    fn a_later_sample_moves_them_by_an_eighth_and_a_quarter() {
        let mut estimator = RttEstimator::new(&config());
        measure(&mut estimator, 100);
        measure(&mut estimator, 180);
        // SRTT = 100 + 80/8; RTTVAR = (3·50 + 80)/4 = 57.5.
        assert_eq!(estimator.smoothed(), Some(Duration::from_millis(110)));
        assert_eq!(estimator.rto(), Duration::from_millis(110 + 230));
    }

    #[test]
    fn samples_round_up_to_ticks_and_the_timeout_has_bounds() {
        let config = Config { clock_granularity: Duration::from_millis(10), ..config() };
        let mut estimator = RttEstimator::new(&config);
        estimator.on_send(Instant::START, 10);
        estimator.on_ack(Instant::from_nanos(1), 10, &config);
        assert_eq!(estimator.smoothed(), Some(Duration::from_millis(10)));
        assert_eq!(estimator.rto(), Duration::from_millis(200));
        for _ in 0..20 {
            estimator.back_off(&config);
        }
        assert_eq!(estimator.rto(), config.rto_max);
    }

    #[test]
    fn the_floor_bounds_the_timeout_or_its_margin_over_the_round_trip() {
        let rto = |rto_floor| {
            let config = Config { rto_floor, ..config() };
            let mut estimator = RttEstimator::new(&config);
            estimator.on_send(Instant::START, 10);
            estimator.on_ack(Instant::from_nanos(40_000_000), 10, &config);
            estimator.rto()
        };
        // 40 ms + 4 · 20 ms is below the floor of 200 ms.
        assert_eq!(rto(RtoFloor::Timeout), Duration::from_millis(200));
        assert_eq!(rto(RtoFloor::Variation), Duration::from_millis(240));
    }

    #[test]
    fn a_retransmission_voids_the_measurement_under_way() {
        let mut estimator = RttEstimator::new(&config());
        estimator.on_send(Instant::START, 10);
        estimator.on_retransmit();
        estimator.on_ack(Instant::from_nanos(5_000_000), 10, &config());
        assert_eq!(estimator.smoothed(), None);
    }

    /// Sixteen samples in a round trip, one of which is 40 ms late: the formula for each of them alone would leave
    /// of 40/4 ms a hundredth; the peak of the round is kept, and taken back by a quarter in each round to come.
    // Sarolahti & Kuznetsov 2002, §4.
    #[test]
    fn with_many_samples_the_variation_follows_the_peak_of_a_round() {
        let config = Config { rto_min: Duration::ZERO, rto_floor: RtoFloor::Variation, ..config() };
        let mut estimator = RttEstimator::new(&config);
        let mut deviation = PeakDeviation::default();
        let mut round = |estimator: &mut RttEstimator, number: u64, late: u64| {
            for sample in 0..16 {
                let millis = 100 + if sample == 0 { late } else { 0 };
                let place = (16 * number + sample + 1, 16 * (number + 1));
                estimator.sample_each(
                    Duration::from_millis(millis),
                    &mut deviation,
                    place,
                    &config,
                );
            }
            estimator.variation
        };
        for number in 0..40 {
            round(&mut estimator, number, 0);
        }
        let calm = round(&mut estimator, 40, 0);
        let after = round(&mut estimator, 41, 40);
        assert!(calm < Duration::from_millis(1), "{calm}");
        assert!(after >= Duration::from_millis(10), "{after}");
        let later = round(&mut estimator, 42, 0);
        assert!(later >= after * 3 / 4 - calm && later < after, "{later} after {after}");
    }
}
