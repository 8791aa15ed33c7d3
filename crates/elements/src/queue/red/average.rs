//! The average queue length.

use shortflow_units::{Duration, Instant};

/// An exponentially weighted average of a queue's length, in packets or bytes, with the length
/// that it follows (Floyd & Jacobson 1993, §4, Figure 2).
#[derive(Debug, Clone)]
pub(super) struct Average {
    /// w_q.
    weight: f64,
    /// ln(1 − w_q), for the decay over idle time; −∞ when w_q is 1.
    log_keep: f64,
    /// 1/s, where s is a mean packet's transmission time: packets per nanosecond.
    idle_packets_per_nano: f64,
    average: f64,
    length: u64,
    empty_since: Instant,
    /// The host tells when a packet has left the line.
    is_told: bool,
    /// What it counted last is being sent: it is empty, but not idle.
    is_sending: bool,
}

impl Average {
    pub(super) fn new(weight: f64, idle_packet_time: Duration) -> Self {
        Average {
            weight,
            log_keep: libm::log1p(-weight),
            idle_packets_per_nano: 1.0 / idle_packet_time.nanos() as f64,
            average: 0.0,
            length: 0,
            empty_since: Instant::START,
            is_told: false,
            is_sending: false,
        }
    }

    #[inline]
    pub(super) fn value(&self) -> f64 {
        self.average
    }

    /// Takes a sample, before the arriving packet is added.
    #[inline]
    pub(super) fn sample(&mut self, now: Instant) {
        if self.length > 0 || self.is_sending {
            self.average += self.weight * (self.length as f64 - self.average);
        } else if self.average > 0.0 {
            self.decay(now.since(self.empty_since));
        }
    }

    #[inline]
    pub(super) fn add(&mut self, amount: u64) {
        self.length += amount;
    }

    #[inline]
    pub(super) fn remove(&mut self, now: Instant, amount: u64) {
        self.length -= amount;
        if self.length == 0 {
            self.empty_since = now;
            self.is_sending = self.is_told;
        }
    }

    /// What was taken out has left the line: if nothing has come since, it is idle from now on
    /// (Floyd & Jacobson 1993, §4: `q_time` is the start of the queue's idle time).
    #[inline]
    pub(super) fn departed(&mut self, now: Instant) {
        self.is_told = true;
        if self.is_sending {
            self.is_sending = false;
            self.empty_since = self.empty_since.max(now);
        }
    }

    /// A mean packet takes this time from `now` on.
    pub(super) fn set_idle_packet_time(&mut self, now: Instant, packet_time: Duration) {
        if self.length == 0 && !self.is_sending {
            self.decay(now.since(self.empty_since));
        }
        self.idle_packets_per_nano = 1.0 / packet_time.nanos() as f64;
    }

    /// Lets the average fall as if m = idle/s small packets had arrived to the empty queue:
    /// avg ← (1 − w_q)^m · avg (Floyd & Jacobson 1993, §4, Figure 2).
    fn decay(&mut self, idle: Duration) {
        let packets = idle.nanos() as f64 * self.idle_packets_per_nano;
        if packets > 0.0 {
            self.average *= libm::exp(packets * self.log_keep);
        }
        // The same idle time must not count again at the next sample, when this packet is dropped.
        self.empty_since += idle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn the_average_follows_a_standing_queue_geometrically() {
        let mut average = Average::new(0.25, Duration::from_millis(1));
        average.add(16);
        let mut samples = Vec::new();
        for _ in 0..3 {
            average.sample(ms(0));
            samples.push(average.value());
        }
        assert_eq!(samples, [4.0, 7.0, 9.25]);
    }

    #[test]
    fn after_an_idle_time_the_average_has_fallen_as_if_small_packets_had_come() {
        let mut average = Average::new(0.25, Duration::from_millis(2));
        average.add(16);
        average.sample(ms(0));
        average.remove(ms(10), 16);

        average.sample(ms(16));

        // 6 ms idle are m = 3 packets of 2 ms: 4 · 0.75³ = 1.6875.
        assert!((average.value() - 1.6875).abs() < 1e-12, "{}", average.value());
    }

    #[test]
    fn idle_time_counts_once_however_often_it_is_sampled() {
        let sampled_at = |instants: &[u64]| {
            let mut average = Average::new(0.25, Duration::from_millis(2));
            average.add(16);
            average.sample(ms(0));
            average.remove(ms(10), 16);
            instants.iter().for_each(|&at| average.sample(ms(at)));
            average.value()
        };
        assert!((sampled_at(&[16]) - sampled_at(&[12, 13, 16])).abs() < 1e-12);
    }

    #[test]
    fn the_time_in_which_the_last_packet_is_sent_is_not_idle() {
        let mut average = Average::new(0.25, Duration::from_millis(2));
        average.departed(ms(0));
        average.add(16);
        average.sample(ms(0));
        average.remove(ms(10), 16);
        // One that comes while it is sent finds the length 0: 4 · 0.75 = 3.
        average.sample(ms(12));
        assert_eq!(average.value(), 3.0);
        average.departed(ms(20));
        // 6 ms idle are 3 packets: 3 · 0.75³.
        average.sample(ms(26));
        assert!((average.value() - 1.265_625).abs() < 1e-12, "{}", average.value());
    }

    #[test]
    fn idle_time_counts_at_the_rate_that_the_line_had() {
        let mut average = Average::new(0.25, Duration::from_millis(2));
        average.add(16);
        average.sample(ms(0));
        average.remove(ms(10), 16);
        average.set_idle_packet_time(ms(12), Duration::from_millis(4));
        average.sample(ms(20));
        // A packet of 2 ms and two of 4 ms: 4 · 0.75³.
        assert!((average.value() - 1.6875).abs() < 1e-12, "{}", average.value());
    }

    #[test]
    fn with_weight_one_the_average_is_the_length() {
        let mut average = Average::new(1.0, Duration::from_millis(1));
        average.add(5);
        average.sample(ms(0));
        assert_eq!(average.value(), 5.0);
        average.remove(ms(1), 5);
        average.sample(ms(2));
        assert_eq!(average.value(), 0.0);
    }
}
