//! The average queue length.

use shortflow_units::{Duration, Instant};

/// How much a new sample counts in an average.
#[derive(Debug, Clone)]
pub(super) struct Weight {
    /// w_q.
    weight: f64,
    /// ln(1 − w_q), for the decay over idle time; −∞ when w_q is 1.
    log_keep: f64,
    /// An average below this is lost in the rounding of the first sample that finds a packet.
    negligible: f64,
}

impl Weight {
    /// Of w_q, above 0 and at most 1.
    pub(super) fn new(weight: f64) -> Self {
        let negligible = weight * (f64::EPSILON / 4.0);
        Weight { weight, log_keep: libm::log1p(-weight), negligible }
    }
}

/// How fast the averages of a queue fall in idle time.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// 1/s, where s is a mean packet's transmission time: packets per nanosecond.
    idle_packets_per_nano: f64,
}

impl Pace {
    /// A mean packet takes this time.
    pub(super) fn of(idle_packet_time: Duration) -> Self {
        Pace { idle_packets_per_nano: 1.0 / idle_packet_time.nanos() as f64 }
    }

    /// How long no packet has come: each average with the same idle time falls by the same share.
    #[inline]
    pub(super) fn at<'p>(&'p self, now: Instant, weight: &'p Weight) -> Idle<'p> {
        Idle { pace: self, weight, now, since: Instant::NEVER, keep: 1.0 }
    }
}

/// The shares that are left of averages after idle times that end now.
pub(super) struct Idle<'p> {
    pace: &'p Pace,
    weight: &'p Weight,
    now: Instant,
    /// The idle time that was asked for last began here,
    since: Instant,
    /// and leaves this share.
    keep: f64,
}

impl Idle<'_> {
    /// (1 − w_q)^m, where m = idle/s small packets could have been sent `since` then.
    #[inline]
    fn keep(&mut self, since: Instant) -> f64 {
        if since != self.since {
            self.since = since;
            self.keep = keep_after(self.now.since(since), self.pace, self.weight);
        }
        self.keep
    }
}

/// Apart from those who ask, for whom it is rare.
#[inline(never)]
fn keep_after(idle: Duration, pace: &Pace, weight: &Weight) -> f64 {
    let packets = idle.nanos() as f64 * pace.idle_packets_per_nano;
    if packets > 0.0 { libm::exp(packets * weight.log_keep) } else { 1.0 }
}

/// An exponentially weighted average of a queue's length, in packets or bytes, with the length
/// that it follows (Floyd & Jacobson 1993, §4, Figure 2).
#[derive(Debug, Clone, Default)]
pub(super) struct Average {
    average: f64,
    /// A whole number.
    length: f64,
    /// When nothing is left, the line falls idle, or has fallen idle, at this instant; at none that is
    /// known yet, when it is never. Until then the queue is empty, but not idle.
    idle_since: Instant,
}

impl Average {
    #[inline]
    pub(super) fn value(&self) -> f64 {
        self.average
    }

    /// Takes a sample, before the arriving packet is added.
    #[inline]
    pub(super) fn sample(&mut self, idle: &mut Idle<'_>) {
        if self.length > 0.0 || self.idle_since > idle.now {
            self.average += idle.weight.weight * (self.length - self.average);
        } else {
            self.sample_idle(idle);
        }
    }

    /// Takes a sample where nothing waits and nothing is being sent.
    #[inline]
    pub(super) fn sample_idle(&mut self, idle: &mut Idle<'_>) {
        if self.average > 0.0 {
            self.decay(idle);
        }
    }

    #[inline]
    pub(super) fn add(&mut self, amount: u32) {
        self.length += f64::from(amount);
    }

    /// So much that was added does not join the queue.
    #[inline]
    pub(super) fn take_back(&mut self, amount: u32) {
        self.length -= f64::from(amount);
    }

    /// So much begins to be sent, and has left the line at `left_at`: when nothing is left here, the
    /// queue is idle from then on (Floyd & Jacobson 1993, §4: `q_time` is the start of the queue's
    /// idle time).
    #[inline]
    pub(super) fn remove(&mut self, amount: u32, left_at: Instant) {
        self.length -= f64::from(amount);
        self.idle_since = left_at;
    }

    /// Something came and began to be sent at once.
    #[inline]
    pub(super) fn pass(&mut self, left_at: Instant) {
        self.idle_since = left_at;
    }

    /// What began to be sent has left the line.
    #[inline]
    pub(super) fn departed(&mut self, now: Instant) {
        if self.idle_since == Instant::NEVER {
            self.idle_since = now;
        }
    }

    /// Falls by the idle time so far, as if a sample was taken.
    pub(super) fn settle(&mut self, idle: &mut Idle<'_>) {
        if self.length == 0.0 && self.idle_since <= idle.now {
            self.decay(idle);
        }
    }

    /// Lets the average fall as if m = idle/s small packets had arrived to the empty queue:
    /// avg ← (1 − w_q)^m · avg (Floyd & Jacobson 1993, §4, Figure 2). What no later sample would notice is
    /// forgotten, so that a queue that stays empty has nothing to work out.
    #[inline]
    fn decay(&mut self, idle: &mut Idle<'_>) {
        self.average *= idle.keep(self.idle_since);
        if self.average < idle.weight.negligible {
            self.average = 0.0;
        }
        // The same idle time must not count again at the next sample, when this packet is dropped.
        self.idle_since = idle.now;
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
            let pace = Pace::of(Duration::from_millis(millis));
            Queue { weight: Weight::new(weight), pace, average: Average::default() }
        }

        /// Takes a sample: what the average is then.
        fn sample(&mut self, millis: u64) -> f64 {
            self.average.sample(&mut self.pace.at(ms(millis), &self.weight));
            self.average.value()
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
            queue.average.value()
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
        queue.average.settle(&mut queue.pace.at(ms(12), &queue.weight));
        queue.pace = Pace::of(Duration::from_millis(4));
        let average = queue.sample(20);
        // A packet of 2 ms and two of 4 ms: 4 · 0.75³.
        assert!((average - 1.6875).abs() < 1e-12, "{average}");
    }

    #[test]
    fn averages_that_were_idle_for_different_times_fall_by_different_shares() {
        let (weight, pace) = (Weight::new(0.25), Pace::of(Duration::from_millis(2)));
        let mut averages = [10, 12, 10].map(|emptied| {
            let mut average = Average::default();
            average.add(16);
            average.sample(&mut pace.at(ms(0), &weight));
            average.remove(16, ms(emptied));
            average
        });
        let mut idle = pace.at(ms(16), &weight);
        averages.iter_mut().for_each(|average| average.sample(&mut idle));
        // 6 ms are 3 packets, 4 ms are 2: 4 · 0.75³, 4 · 0.75².
        for (average, expected) in averages.iter().zip([1.6875, 2.25, 1.6875]) {
            assert!((average.value() - expected).abs() < 1e-12, "{averages:?}");
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
