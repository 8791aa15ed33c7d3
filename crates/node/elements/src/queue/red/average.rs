//! The average queue length.

use shortflow_units::{Duration, Instant};

/// The weight of a new sample in an average.
#[derive(Debug, Clone)]
pub(super) struct Weight {
    /// w_q.
    weight: f64,
    /// ln(1 − w_q), for the decay over idle time; −∞ when w_q is 1.
    log_keep: f64,
}

impl Weight {
    /// Of w_q, above 0 and at most 1.
    pub(super) fn new(weight: f64) -> Self {
        Weight { weight, log_keep: libm::log1p(-weight) }
    }
}

/// How fast the averages of a queue fall in idle time.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// s: a mean packet's transmission time.
    packet_time: Duration,
    /// 1/s: packets per nanosecond.
    packets_per_nano: f64,
}

impl Pace {
    /// For this transmission time of a mean packet.
    pub(super) fn from_packet_time(packet_time: Duration) -> Self {
        Pace { packet_time, packets_per_nano: 1.0 / packet_time.nanos() as f64 }
    }

    /// (1 − w_q)^m, where m = `empty`/s small packets could have been sent. Not inlined, because it is rare
    /// for its callers.
    #[inline(never)]
    fn keep(&self, empty: Duration, weight: &Weight) -> f64 {
        libm::exp(empty.nanos() as f64 * self.packets_per_nano * weight.log_keep)
    }
}

/// An exponentially weighted average of a queue's length in packets or bytes, with the current length (Floyd
/// & Jacobson 1993, §4, Figure 2).
///
/// It falls over idle time, and at a sample of an empty queue by the time of one packet. The fall is computed
/// when the next sample finds packets, or when the value is read. Until then only the time is added up.
#[derive(Debug, Clone, Default)]
pub(super) struct Average {
    /// Without the fall over `empty`.
    average: f64,
    /// A whole number.
    length: f64,
    /// If the queue is empty, the line becomes or became idle at this instant; `NEVER` if it is not known
    /// yet. Until then the queue is empty but not idle.
    idle_since: Instant,
    /// The time over which the average has not fallen yet: idle time until `idle_since`, and the time of one
    /// packet per sample of an empty queue.
    empty: Duration,
}

impl Average {
    /// An upper limit: the value before the pending fall.
    #[inline]
    pub(super) fn at_most(&self) -> f64 {
        self.average
    }

    /// Its value at the last sample.
    pub(super) fn value(&self, pace: &Pace, weight: &Weight) -> f64 {
        let mut fallen = self.clone();
        fallen.fall(pace, weight);
        fallen.average
    }

    /// Falls over the time so far, as if m = time/s small packets had arrived at the empty queue: avg ← (1 −
    /// w_q)^m · avg (Floyd & Jacobson 1993, §4, Figure 2).
    #[inline]
    pub(super) fn fall(&mut self, pace: &Pace, weight: &Weight) {
        let empty = std::mem::take(&mut self.empty);
        if self.average > 0.0 && empty > Duration::ZERO {
            self.average *= pace.keep(empty, weight);
        }
    }

    /// Takes a sample at `now`, before the arriving packet is added.
    #[inline]
    pub(super) fn sample(&mut self, now: Instant, pace: &Pace, weight: &Weight) {
        if self.length > 0.0 {
            self.fall(pace, weight);
            self.average += weight.weight * (self.length - self.average);
        } else if self.idle_since > now {
            self.empty += pace.packet_time;
        } else {
            self.sample_idle(now);
        }
    }

    /// Takes a sample at `now`, when no packet waits and none is being sent.
    #[inline]
    pub(super) fn sample_idle(&mut self, now: Instant) {
        self.empty += now.since(self.idle_since);
        // The same idle time must not count again at the next sample if this packet is dropped.
        self.idle_since = now;
    }

    #[inline]
    pub(super) fn add(&mut self, amount: u32) {
        self.length += f64::from(amount);
    }

    /// This amount, which was added, does not join the queue.
    #[inline]
    pub(super) fn take_back(&mut self, amount: u32) {
        self.length -= f64::from(amount);
    }

    /// The transmission of this amount begins, and ends at `left_at`. If the queue is now empty, it is idle
    /// from then on (Floyd & Jacobson 1993, §4: `q_time` is the start of the queue's idle time).
    #[inline]
    pub(super) fn remove(&mut self, amount: u32, left_at: Instant) {
        self.length -= f64::from(amount);
        self.idle_since = left_at;
    }

    /// A packet arrived, and its transmission began at once.
    #[inline]
    pub(super) fn pass(&mut self, left_at: Instant) {
        self.idle_since = left_at;
    }

    /// A transmission has ended.
    #[inline]
    pub(super) fn departed(&mut self, now: Instant) {
        if self.idle_since == Instant::NEVER {
            self.idle_since = now;
        }
    }

    /// Falls by the idle time until `now`, as at a sample.
    pub(super) fn settle(&mut self, now: Instant, pace: &Pace, weight: &Weight) {
        if self.length == 0.0 && self.idle_since <= now {
            self.sample_idle(now);
        }
        self.fall(pace, weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue of one average.
    struct Queue {
        weight: Weight,
        pace: Pace,
        average: Average,
    }

    impl Queue {
        /// In which w_q is `weight`, and a mean packet takes so many ms.
        fn new(weight: f64, millis: u64) -> Self {
            let pace = Pace::from_packet_time(Duration::from_millis(millis));
            Queue { weight: Weight::new(weight), pace, average: Average::default() }
        }

        /// Takes a sample: what the average is then.
        fn sample(&mut self, millis: u64) -> f64 {
            self.average.sample(ms(millis), &self.pace, &self.weight);
            self.average.value(&self.pace, &self.weight)
        }

        fn remove(&mut self, amount: u32, left_at: u64) {
            self.average.remove(amount, ms(left_at));
        }
    }

    fn ms(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn the_average_follows_a_standing_queue_geometrically() {
        let mut queue = Queue::new(0.25, 1);
        queue.average.add(16);
        let samples = [0, 0, 0].map(|at| queue.sample(at));
        assert_eq!(samples, [4.0, 7.0, 9.25]);
    }

    #[test]
    fn after_an_idle_time_the_average_has_fallen_as_if_small_packets_had_come() {
        let mut queue = Queue::new(0.25, 2);
        queue.average.add(16);
        queue.sample(0);
        queue.remove(16, 10);

        let average = queue.sample(16);

        // 6 ms idle are m = 3 packets of 2 ms: 4 · 0.75³ = 1.6875.
        assert!((average - 1.6875).abs() < 1e-12, "{average}");
    }

    #[test]
    fn idle_time_counts_once_however_often_it_is_sampled() {
        let sampled_at = |instants: &[u64]| {
            let mut queue = Queue::new(0.25, 2);
            queue.average.add(16);
            queue.sample(0);
            queue.remove(16, 10);
            instants.iter().for_each(|&at| _ = queue.sample(at));
            queue.average.value(&queue.pace, &queue.weight)
        };
        assert!((sampled_at(&[16]) - sampled_at(&[12, 13, 16])).abs() < 1e-12);
    }

    #[test]
    fn the_time_in_which_the_last_packet_is_sent_is_not_idle() {
        let told_later = |queue: &mut Queue| {
            queue.average.remove(16, Instant::NEVER);
            let average = queue.sample(12);
            queue.average.departed(ms(20));
            average
        };
        let told_ahead = |queue: &mut Queue| {
            queue.remove(16, 20);
            queue.sample(12)
        };
        for send in [told_later, told_ahead] {
            let mut queue = Queue::new(0.25, 2);
            queue.average.add(16);
            queue.sample(0);
            // One that comes while it is sent finds the length 0: 4 · 0.75 = 3.
            assert_eq!(send(&mut queue), 3.0);
            // 6 ms idle are 3 packets: 3 · 0.75³.
            let average = queue.sample(26);
            assert!((average - 1.265_625).abs() < 1e-12, "{average}");
        }
    }

    #[test]
    fn idle_time_counts_at_the_rate_that_the_line_had() {
        let mut queue = Queue::new(0.25, 2);
        queue.average.add(16);
        queue.sample(0);
        queue.remove(16, 10);
        queue.average.settle(ms(12), &queue.pace, &queue.weight);
        queue.pace = Pace::from_packet_time(Duration::from_millis(4));
        let average = queue.sample(20);
        // A packet of 2 ms and two of 4 ms: 4 · 0.75³.
        assert!((average - 1.6875).abs() < 1e-12, "{average}");
    }

    #[test]
    fn averages_that_were_idle_for_different_times_fall_by_different_shares() {
        let (weight, pace) = (Weight::new(0.25), Pace::from_packet_time(Duration::from_millis(2)));
        let mut averages = [10, 12, 10].map(|emptied| {
            let mut average = Average::default();
            average.add(16);
            average.sample(ms(0), &pace, &weight);
            average.remove(16, ms(emptied));
            average
        });
        averages.iter_mut().for_each(|average| average.sample(ms(16), &pace, &weight));
        // 6 ms are 3 packets, 4 ms are 2: 4 · 0.75³, 4 · 0.75².
        for (average, expected) in averages.iter().zip([1.6875, 2.25, 1.6875]) {
            let average = average.value(&pace, &weight);
            assert!((average - expected).abs() < 1e-12, "{averages:?}");
        }
    }

    #[test]
    fn with_weight_one_the_average_is_the_length() {
        let mut queue = Queue::new(1.0, 1);
        queue.average.add(5);
        assert_eq!(queue.sample(0), 5.0);
        queue.remove(5, 1);
        assert_eq!(queue.sample(2), 0.0);
    }
}
