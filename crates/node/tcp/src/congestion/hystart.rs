//! HyStart: leaves slow start before it overfills the path (Ha & Rhee, "Taming the elephants: new TCP slow
//! start", Computer Networks 55, 2011), with the limits of Linux's CUBIC. HyStart++ (RFC 9406) keeps only the
//! delay test and then continues more slowly; Linux does not have it.

use shortflow_units::{Duration, Instant};

use super::Ack;

/// Slow start continues below this window, in segments (§4.3 of the paper).
const MIN_WINDOW: f64 = 16.0;

/// The largest gap between acknowledgements of a train.
const TRAIN_GAP: Duration = Duration::from_millis(2);

/// Allowance on the length of a train, for data that wait in the sender's host.
const TRAIN_ALLOWANCE: Duration = Duration::from_millis(1);

/// The number of round trips sampled at the beginning of a round. Later ones are compared with their minimum.
const SAMPLES: u8 = 8;

/// Limits of the delay threshold, which is an eighth of the smallest round trip.
const MIN_DELAY: Duration = Duration::from_millis(4);
const MAX_DELAY: Duration = Duration::from_millis(16);

/// The state of the current round of slow start.
#[derive(Debug, Default)]
pub(super) struct HyStart {
    /// Bytes acknowledged so far, and the count at which the round ends: what was in flight at its start.
    acknowledged: u64,
    round_end: u64,
    began: Instant,
    /// The last acknowledgement of the round's first train.
    train: Instant,
    /// The smallest round trip of this round, and the number of samples.
    in_round: Option<Duration>,
    samples: u8,
    /// Slow start has ended. HyStart is inactive until a timeout.
    is_found: bool,
}

impl HyStart {
    /// Processes an acknowledgement, in any phase.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.acknowledged += ack.acknowledged.0;
    }

    /// Whether this acknowledgement ends slow start, from its round trip and the window in segments before
    /// it. `min` includes this round trip. Called only in slow start.
    pub(super) fn ends_slow_start(
        &mut self,
        now: Instant,
        ack: &Ack,
        (rtt, min): (Duration, Duration),
        window: f64,
    ) -> bool {
        if self.is_found {
            return false;
        }
        if self.acknowledged > self.round_end {
            let in_flight = ack.in_flight.0.saturating_sub(ack.acknowledged.0);
            self.round_end = self.acknowledged + in_flight;
            (self.began, self.train) = (now, now);
            (self.in_round, self.samples) = (None, 0);
        }
        self.is_found =
            window >= MIN_WINDOW && (self.is_long_train(now, min) | self.is_late(rtt, min));
        self.is_found
    }

    /// Whether acknowledgements arrived without a gap for half of the smallest round trip. Their data then
    /// fill the path in both directions (§4.1: a train as long as the one-way delay).
    fn is_long_train(&mut self, now: Instant, min: Duration) -> bool {
        if now.since(self.train) > TRAIN_GAP {
            return false;
        }
        self.train = now;
        now.since(self.began) > (min + TRAIN_ALLOWANCE) / 2
    }

    /// Whether the round's smallest round trip exceeds the smallest of all by the threshold, which shows a
    /// growing queue (§4.2).
    fn is_late(&mut self, rtt: Duration, min: Duration) -> bool {
        let in_round = self.in_round.map_or(rtt, |in_round| in_round.min(rtt));
        self.in_round = Some(in_round);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        in_round > min + (min / 8).clamp(MIN_DELAY, MAX_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Bytes;

    use super::*;

    const MSS: u64 = 1000;

    fn micros(micros: u64) -> Duration {
        Duration::from_nanos(micros * 1000)
    }

    /// What a flow knows.
    struct Flow {
        hystart: HyStart,
        min: Duration,
    }

    impl Flow {
        fn new() -> Self {
            Flow { hystart: HyStart::default(), min: Duration::MAX }
        }
    }

    /// A round trip of `count` segments in flight: the first is acknowledged at `start`, the next each `gap`
    /// later, with the round trips that `rtt` gives. At which of them slow start ends.
    fn round(
        flow: &mut Flow,
        start: Instant,
        count: u64,
        gap: Duration,
        rtt: impl Fn(u64) -> Duration,
    ) -> Option<u64> {
        (0..count).find(|&number| {
            let ack = Ack::plain(Bytes(MSS), Bytes(count * MSS));
            flow.hystart.on_ack(&ack);
            let (now, rtt) = (start + gap * number, rtt(number));
            flow.min = flow.min.min(rtt);
            flow.hystart.ends_slow_start(now, &ack, (rtt, flow.min), count as f64)
        })
    }

    const RTT: Duration = Duration::from_millis(100);

    /// At 100 ms the delay that counts is an eighth, 12.5 ms. Each of the first eight round trips of a round
    /// only counts for its least; the ninth decides.
    #[test]
    fn slow_start_ends_at_the_ninth_round_trip_when_all_of_a_round_are_late() {
        let ended_after = |late: Duration| {
            let mut flow = Flow::new();
            let gap = Duration::from_millis(3);
            assert_eq!(round(&mut flow, Instant::START, 20, gap, |_| RTT), None);
            let second = Instant::START + RTT;
            round(&mut flow, second, 20, gap, |_| RTT + late)
        };
        assert_eq!(ended_after(micros(12_400)), None);
        // The first acknowledgement of this round still belongs to the round before.
        assert_eq!(ended_after(micros(12_600)), Some(8));
    }

    #[test]
    fn one_early_round_trip_among_the_first_eight_clears_the_round() {
        let mut flow = Flow::new();
        let gap = Duration::from_millis(3);
        round(&mut flow, Instant::START, 20, gap, |_| RTT);
        let rtt = |number| if number == 5 { RTT } else { RTT + micros(20_000) };
        assert_eq!(round(&mut flow, Instant::START + RTT, 20, gap, rtt), None);
    }

    /// The bounds of 4 ms and 16 ms, at round trips of 8 ms and of 400 ms.
    #[test]
    fn the_delay_that_counts_has_bounds() {
        let ends = |rtt: Duration, late: Duration| {
            let mut flow = Flow::new();
            let gap = Duration::from_millis(3);
            round(&mut flow, Instant::START, 20, gap, |_| rtt);
            round(&mut flow, Instant::START + rtt * 10, 20, gap, |_| rtt + late).is_some()
        };
        assert!(!ends(Duration::from_millis(8), micros(3_900)));
        assert!(ends(Duration::from_millis(8), micros(4_100)));
        assert!(!ends(Duration::from_millis(400), micros(15_900)));
        assert!(ends(Duration::from_millis(400), micros(16_100)));
    }

    /// Acknowledgements a millisecond apart, at a round trip of 100 ms: the train is longer than 50.5 ms with
    /// the fifty-second of them.
    #[test]
    fn slow_start_ends_when_a_train_is_longer_than_half_a_round_trip() {
        let mut flow = Flow::new();
        let gap = Duration::from_millis(1);
        assert_eq!(round(&mut flow, Instant::START, 80, gap, |_| RTT), Some(51));
    }

    #[test]
    fn a_gap_of_more_than_two_milliseconds_ends_the_train_for_its_round() {
        let mut flow = Flow::new();
        let gap = micros(2_100);
        assert_eq!(round(&mut flow, Instant::START, 80, gap, |_| RTT), None);
    }

    #[test]
    fn a_small_window_goes_on_in_slow_start() {
        let mut flow = Flow::new();
        let gap = Duration::from_millis(3);
        round(&mut flow, Instant::START, 15, gap, |_| RTT);
        assert_eq!(round(&mut flow, Instant::START + RTT, 15, gap, |_| RTT * 2), None);
    }
}
