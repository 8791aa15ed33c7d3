//! Variants of Reno whose congestion avoidance grows by other amounts than one segment per round trip:
//! Constant-Rate (Floyd, "Connections with multiple congested gateways", CCR 21, 1991), Increase-by-K
//! (Henderson, Sahouria, McCanne & Katz, "On improving the fairness of TCP congestion avoidance", GLOBECOM
//! 1998), and aggregate-fair (Mehra, Tewari & Kandlur 1999, §5).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shortflow_units::{Bytes, Duration, Instant};

use super::{Ack, Aimd, Congestion, CongestionControl};

/// Grows by g segments per round trip in congestion avoidance, and by at most one segment per
/// acknowledgement, so it is never more bursty than slow start (Henderson et al. 1998). Otherwise it is Reno.
/// Without a round-trip time, g is 1.
#[derive(Debug)]
pub struct Growth {
    reno: Aimd,
    mss: u16,
    rule: Rule,
    /// Accumulated growth below one byte, in bytes.
    fraction: f64,
}

/// The growth g in segments per round trip, for a window with the round-trip time `rtt`.
#[derive(Debug)]
enum Rule {
    /// rtt²/reference², so a connection with the reference time grows as Reno's.
    ConstantRate { reference: Duration },
    /// K where `rtt` is above the reference, else 1.
    By { segments: u32, above: Duration },
    /// rtt²/rtt_av².
    AggregateFair(Member),
}

impl Growth {
    /// Throughput independent of the round-trip time: g = rtt²/`reference`². A connection with the round-trip
    /// time `reference` is as aggressive as Reno.
    pub fn constant_rate(reno: Aimd, mss: u16, reference: Duration) -> Self {
        Growth::new(reno, mss, Rule::ConstantRate { reference })
    }

    /// g = `segments` for connections with a round-trip time `above` this, else 1.
    pub fn by(reno: Aimd, mss: u16, segments: u32, above: Duration) -> Self {
        Growth::new(reno, mss, Rule::By { segments, above })
    }

    /// g = rtt²/rtt_av², where rtt_av is the mean round-trip time of all connections of `aggregate`. Their
    /// throughput does not depend on round-trip times. Together they are as aggressive as the same number of
    /// Reno connections with the mean round-trip time.
    pub fn aggregate_fair(reno: Aimd, mss: u16, aggregate: &AggregateRtts) -> Self {
        Growth::new(reno, mss, Rule::AggregateFair(aggregate.join()))
    }

    fn new(reno: Aimd, mss: u16, rule: Rule) -> Self {
        Growth { reno, mss, rule, fraction: 0.0 }
    }

    /// g for a connection whose smoothed round-trip time is `rtt`.
    fn segments(&mut self, rtt: Duration) -> f64 {
        let squared = |reference: Duration| {
            let ratio = rtt.nanos() as f64 / reference.nanos() as f64;
            ratio * ratio
        };
        match &mut self.rule {
            Rule::ConstantRate { reference } => squared(*reference),
            Rule::By { segments, above } if rtt > *above => f64::from(*segments),
            Rule::By { .. } => 1.0,
            Rule::AggregateFair(member) => squared(member.mean_with(rtt)),
        }
    }
}

impl CongestionControl for Growth {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        // A connection counts in its aggregate during slow start too.
        let segments = ack.smoothed_rtt.map_or(1.0, |rtt| self.segments(rtt));
        if self.reno.is_slow_start() || !ack.opens_window() {
            return self.reno.on_ack(now, ack);
        }
        let segment = f64::from(self.mss);
        let share = ack.acknowledged.0 as f64 / self.reno.window().0 as f64;
        let more = (segments * segment * share).min(segment) + self.fraction;
        self.fraction = more - libm::floor(more);
        self.reno.widen(Bytes(more as u64));
    }

    fn on_congestion(&mut self, now: Instant, event: Congestion, in_flight: Bytes) {
        self.fraction = 0.0;
        self.reno.on_congestion(now, event, in_flight);
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.reno.cap_window(limit);
    }

    fn window(&self) -> Bytes {
        self.reno.window()
    }

    fn is_slow_start(&self) -> bool {
        self.reno.is_slow_start()
    }
}

/// The round-trip times of the connections of an aggregate, for example those of a server. The connections
/// share it.
#[derive(Debug, Clone, Default)]
pub struct AggregateRtts(Arc<Sums>);

#[derive(Debug, Default)]
struct Sums {
    /// Nanoseconds.
    sum: AtomicU64,
    connections: AtomicU64,
}

impl AggregateRtts {
    /// A connection without a round-trip time.
    fn join(&self) -> Member {
        Member { aggregate: self.clone(), rtt: Duration::ZERO }
    }
}

/// A connection of an aggregate, until it is dropped.
#[derive(Debug)]
struct Member {
    aggregate: AggregateRtts,
    /// The value that counts; zero before the first sample.
    rtt: Duration,
}

impl Member {
    /// The mean over the aggregate after this connection's round-trip time becomes `rtt`.
    fn mean_with(&mut self, rtt: Duration) -> Duration {
        let Sums { sum, connections } = &*self.aggregate.0;
        let is_new = u64::from(self.rtt.is_zero());
        let count = connections.fetch_add(is_new, Ordering::Relaxed) + is_new;
        let before = self.rtt.nanos();
        // Wrapping, because intermediate sums of differences may be negative.
        let difference = rtt.nanos().wrapping_sub(before);
        let all = sum.fetch_add(difference, Ordering::Relaxed).wrapping_add(difference);
        self.rtt = rtt;
        Duration::from_nanos((all / count).max(1))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if !self.rtt.is_zero() {
            self.aggregate.0.sum.fetch_sub(self.rtt.nanos(), Ordering::Relaxed);
            self.aggregate.0.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn reno() -> Aimd {
        Aimd::new(1000, Bytes(40 * MSS))
    }

    fn acknowledge(control: &mut Growth, bytes: u64, rtt: Duration) {
        let plain = Ack::plain(Bytes(bytes), control.window());
        control.on_ack(Instant::START, &Ack { smoothed_rtt: Some(rtt), ..plain });
    }

    /// By how many bytes the window of twenty segments grows in a round trip.
    fn growth(control: &mut Growth, rtt: Duration) -> u64 {
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(40 * MSS));
        let before = control.window().0;
        assert_eq!(before, 20 * MSS);
        for _ in 0..20 {
            acknowledge(control, MSS, rtt);
        }
        control.window().0 - before
    }

    /// Floyd 1991: a·rtt², here with a = 1/(100 ms)². The window grows a little meanwhile, so that twenty
    /// segments are not quite a round trip any more.
    #[test]
    fn constant_rate_grows_by_the_square_of_the_round_trip_time() {
        let mut control = Growth::constant_rate(reno(), 1000, ms(100));
        for (rtt, low, high) in [(50, 240, 250), (100, 970, 1000), (200, 3600, 4000)] {
            let grown = growth(&mut control, ms(rtt));
            assert!((low..=high).contains(&grown), "{rtt} ms: {grown}");
        }
    }

    /// Henderson et al. 1998: g = K for long round-trip times.
    #[test]
    fn increase_by_k_is_renos_up_to_the_reference() {
        let mut control = Growth::by(reno(), 1000, 3, ms(100));
        for (rtt, low, high) in [(50, 970, 1000), (100, 970, 1000), (101, 2750, 3000)] {
            let grown = growth(&mut control, ms(rtt));
            assert!((low..=high).contains(&grown), "{rtt} ms: {grown}");
        }
    }

    /// Mehra, Tewari & Kandlur 1999, §5: g = rtt²/rtt_av².
    #[test]
    fn an_aggregate_grows_by_the_squares_of_round_trip_times_over_that_of_their_mean() {
        let aggregate = AggregateRtts::default();
        let mut each = [(); 3].map(|()| Growth::aggregate_fair(reno(), 1000, &aggregate));
        let rtts = [50, 300, 600].map(ms);
        for (control, rtt) in each.iter_mut().zip(rtts) {
            acknowledge(control, MSS, rtt);
        }
        // The mean is 950/3 ms.
        let mean = 950.0 / 3.0;
        for (control, rtt) in each.iter_mut().zip(rtts) {
            let ratio = rtt.nanos() as f64 / 1e6 / mean;
            assert!((control.segments(rtt) - ratio * ratio).abs() < 1e-6);
        }
        // The farthest leaves.
        let [mut near, mut middle, far] = each;
        drop(far);
        assert!((near.segments(ms(50)) - 50.0 * 50.0 / (175.0 * 175.0)).abs() < 1e-6);
        assert!((middle.segments(ms(300)) - 300.0 * 300.0 / (175.0 * 175.0)).abs() < 1e-6);
    }

    #[test]
    fn alone_an_aggregate_is_reno() {
        let mut control = Growth::aggregate_fair(reno(), 1000, &AggregateRtts::default());
        for rtt in [10, 1000] {
            let grown = growth(&mut control, ms(rtt));
            assert!((970..=1000).contains(&grown), "{grown}");
        }
    }

    /// The bound of Henderson et al. 1998, which the paper takes over.
    #[test]
    fn an_acknowledgement_opens_the_window_by_a_segment_at_most() {
        let mut control = Growth::constant_rate(reno(), 1000, ms(1));
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(40 * MSS));
        acknowledge(&mut control, 2 * MSS, ms(1000));
        assert_eq!(control.window(), Bytes(21 * MSS));
    }

    #[test]
    fn slow_start_losses_and_what_does_not_open_the_window_are_renos() {
        let mut control = Growth::constant_rate(reno(), 1000, ms(1));
        acknowledge(&mut control, MSS, ms(1000));
        assert_eq!(control.window(), Bytes(41 * MSS));
        control.on_congestion(Instant::START, Congestion::Timeout, Bytes(40 * MSS));
        assert_eq!(control.window(), Bytes(MSS));
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(40 * MSS));
        let marked = Ack { marked: Bytes(MSS), ..Ack::plain(Bytes(MSS), Bytes(20 * MSS)) };
        control.on_ack(Instant::START, &marked);
        assert_eq!(control.window(), Bytes(20 * MSS));
    }
}
