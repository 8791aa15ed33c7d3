//! The windows of slow start, while nothing is lost.

use shortflow_tcp::{Algorithm, Config};

/// Windows of a message that are looked at one by one: more are alike.
const MAX_WINDOWS: usize = 64;

/// The windows of a message that is alone on its way: from which segment on, and how many. A round trip takes so many seconds,
/// and a full packet so many where it is slowest.
pub(crate) fn windows(segments: f64, tcp: &Config, trip: f64, slowest: f64) -> Vec<(f64, f64)> {
    let mut growing = Growing::new(tcp, f64::from(tcp.initial_window), trip);
    let (mut sent, mut found) = (0.0, Vec::new());
    while sent < segments && found.len() < MAX_WINDOWS {
        let now = growing.window().min(segments - sent);
        found.push((sent, now));
        sent += now;
        growing.pass(trip.max(growing.window() * slowest), slowest);
    }
    found
}

/// A window that grows from one round to the next, while nothing is lost.
#[derive(Debug, Clone)]
pub(crate) struct Growing {
    window: f64,
    /// By what slow start multiplies it, and what the receiver takes.
    growth: f64,
    max: f64,
    /// What a round trip may take longer than the shortest before HyStart ends slow start, where a sender has that; the shortest.
    patience: Option<f64>,
    shortest: f64,
    /// The segments that an acknowledgement covers while the window grows.
    answered: f64,
    /// Seconds since slow start ended, once it has.
    since: Option<f64>,
}

impl Growing {
    /// From this window on, over a way that takes so many seconds there and back without waits.
    pub(crate) fn new(tcp: &Config, window: f64, shortest: f64) -> Growing {
        let max = (tcp.receive_window.0 as f64 / f64::from(tcp.mss)).max(1.0);
        let has_hystart = tcp.hystart && tcp.congestion == Algorithm::Cubic;
        Growing {
            window: window.min(max),
            growth: slow_start_growth(tcp),
            max,
            patience: has_hystart.then(|| (shortest / 8.0).clamp(MIN_DELAY, MAX_DELAY)),
            shortest,
            answered: match tcp.right_sizing || tcp.quick_acks > 0 {
                true => 1.0,
                false => acknowledged_segments(tcp),
            },
            since: None,
        }
    }

    pub(crate) fn window(&self) -> f64 {
        self.window
    }

    /// Whether it is as large as the receiver lets it be.
    pub(crate) fn is_full(&self) -> bool {
        self.window >= self.max
    }

    /// A round passes that took so many seconds until the first packet of the next, whose packets leave the slowest line
    /// `spacing` seconds after one another. By HyStart (Ha and Rhee 2011) slow start ends in it when its acknowledgements come
    /// in a long train, and with the eighth acknowledgement of the next when its first packets are late; from then on CUBIC
    /// grows from that window on (RFC 9438 §4.2), or as Reno does where that is faster (§4.3).
    pub(crate) fn pass(&mut self, seconds: f64, spacing: f64) {
        let train = self.train(spacing);
        let next = match &mut self.since {
            Some(since) => {
                let cubed = |at: f64| CUBIC * at * at * at;
                let more = cubed(*since + seconds) - cubed(*since);
                *since += seconds;
                self.window + more.max(RENO_FRIENDLY)
            }
            None => match train {
                Some(segments) => self.window + (self.growth - 1.0) * segments,
                None => self.window * self.growth,
            },
        };
        let is_late = self.patience.is_some_and(|patience| seconds > self.shortest + patience);
        if self.since.is_none() && (train.is_some() || is_late && next >= MIN_WINDOW) {
            self.since = Some(0.0);
        }
        self.window = next.min(self.max);
    }

    /// The segments of this round that are acknowledged when HyStart finds a train as long as half of the shortest round trip,
    /// if it does: the path is full (Ha and Rhee 2011, §4.1). A long gap between acknowledgements ends a train.
    fn train(&self, spacing: f64) -> Option<f64> {
        self.patience?;
        let segments = (self.shortest + TRAIN_ALLOWANCE) / 2.0 / spacing;
        let window = self.window + (self.growth - 1.0) * segments;
        let is_train = spacing * self.answered <= TRAIN_GAP && segments < self.window;
        (is_train && window >= MIN_WINDOW).then_some(segments)
    }
}

/// HyStart's bounds of the delay that counts, in seconds, and the window below which slow start goes on.
const MIN_DELAY: f64 = 0.004;
const MAX_DELAY: f64 = 0.016;
const MIN_WINDOW: f64 = 16.0;

/// What its train of acknowledgements may be longer, and the gap in seconds that ends one, as Linux has them.
const TRAIN_ALLOWANCE: f64 = 0.001;
const TRAIN_GAP: f64 = 0.002;

/// CUBIC's C in segments per cubic second, and what it grows at least in a round (RFC 9438 §4.3, §5).
pub(crate) const CUBIC: f64 = 0.4;
const RENO_FRIENDLY: f64 = 0.53;

/// By what slow start multiplies a window in a round.
pub(crate) fn slow_start_growth(tcp: &Config) -> f64 {
    if tcp.quick_acks > 0 { 2.0 } else { 1.0 + 1.0 / acknowledged_segments(tcp) }
}

/// The windows of slow start.
pub(crate) struct Windows;

impl Windows {
    /// How many round trips pass before the last window of so many segments leaves, when each is `growth` times the one before,
    /// up to what the receiver takes.
    pub(crate) fn rounds(segments: f64, tcp: &Config, growth: f64) -> f64 {
        let max = Windows::max_window(tcp);
        let mut window = f64::from(tcp.initial_window).clamp(1.0, max);
        let (mut sent, mut rounds) = (window, 0.0);
        while sent < segments && window < max {
            window = (window * growth).min(max);
            sent += window;
            rounds += 1.0;
        }
        rounds + ((segments - sent) / max).ceil().max(0.0)
    }

    /// The segments that a receiver takes at a time.
    pub(crate) fn max_window(tcp: &Config) -> f64 {
        (tcp.receive_window.0 as f64 / f64::from(tcp.mss)).ceil().max(1.0)
    }
}

/// How many segments an acknowledgement covers.
pub(crate) fn acknowledged_segments(tcp: &Config) -> f64 {
    tcp.delayed_ack.as_ref().map_or(1.0, |delayed| f64::from(delayed.segments))
}

/// The same, as far as the window grows by it in congestion avoidance: not where bytes are counted (RFC 3465).
pub(crate) fn growing(tcp: &Config) -> f64 {
    if tcp.byte_counting { 1.0 } else { acknowledged_segments(tcp) }
}

#[cfg(test)]
mod tests {
    use shortflow_tcp::Era;

    use super::*;

    /// At 100 ms a train is long with 50.5 ms: with packets 1 ms after one another, of a window of 80 with the fifty-first segment.
    #[test]
    fn a_long_train_of_acknowledgements_ends_slow_start_within_its_round() {
        let tcp = Era::LinuxToday.config();
        let mut growing = Growing::new(&tcp, 80.0, 0.1);
        growing.pass(0.1, 0.001);
        assert_eq!(growing.since, Some(0.0));
        assert!((growing.window() - (80.0 + 50.5 * (growing.growth - 1.0))).abs() < 1e-9);
        let before = growing.window();
        growing.pass(0.1, 0.001);
        assert!(growing.window() < before + 1.0, "{}", growing.window());
    }

    #[test]
    fn short_trains_and_long_gaps_leave_slow_start_as_it_is() {
        let tcp = Era::LinuxToday.config();
        for (window, spacing) in [(40.0, 0.001), (80.0, 0.0021)] {
            let mut growing = Growing::new(&tcp, window, 0.1);
            growing.pass(0.1, spacing);
            assert_eq!(growing.since, None);
            assert_eq!(growing.window(), window * growing.growth);
        }
    }
}
