//! CUBIC (RFC 9438): the window grows as a cubic function of the time since its last reduction.

mod curve;
mod steps;

use shortflow_units::{Bytes, Duration, Instant};

use self::curve::Curve;
use self::steps::Steps;
use super::hystart::HyStart;
use super::{Ack, Congestion, CongestionControl};
use crate::CubicForm;

/// C of RFC 9438 §5, in segments per second cubed.
const SCALE: f64 = 0.4;
/// β of RFC 9438 §4.6: the factor of a reduction.
const DECREASE: f64 = 0.7;

/// For how long round trips do not count after a loss, in Linux.
const UNBELIEVED: Duration = Duration::from_secs(1);

/// CUBIC with fast convergence and its Reno-friendly region. Slow start is that of RFC 5681, or HyStart.
/// Spurious congestion events (RFC 9438 §4.9) are not handled here.
#[derive(Debug)]
pub struct Cubic {
    /// Segment size in bytes. Windows are in segments, as in the RFC.
    mss: f64,
    /// cwnd.
    window: f64,
    /// ssthresh; at first "arbitrarily high".
    threshold: f64,
    /// W_max: the window at the last reduction, or a little below; zero after a timeout.
    plateau: f64,
    /// cwnd_prior: the window just before the last reduction.
    prior: f64,
    /// The current stage of congestion avoidance.
    stage: Option<Stage>,
    /// The smallest round trip since the connection began, or since a timeout.
    min: Option<Duration>,
    form: CubicForm,
    /// Whether a reduced window is a whole number of segments.
    in_whole_segments: bool,
    /// Ends slow start before a loss.
    hystart: Option<HyStart>,
}

/// A stage of congestion avoidance.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// [`CubicForm::Rfc9438`].
    Curve(Curve),
    /// [`CubicForm::Linux`].
    Steps(Steps),
}

impl Cubic {
    /// Starts with `initial_window`, in slow start.
    pub fn new(mss: u16, initial_window: Bytes) -> Self {
        let mss = f64::from(mss);
        let window = initial_window.0 as f64 / mss;
        let threshold = f64::INFINITY;
        Cubic {
            mss,
            window,
            threshold,
            plateau: 0.0,
            prior: 0.0,
            stage: None,
            min: None,
            form: CubicForm::Rfc9438,
            in_whole_segments: false,
            hystart: None,
        }
    }

    /// Uses this form.
    #[must_use]
    pub fn in_form(self, form: CubicForm) -> Self {
        Cubic { form, ..self }
    }

    /// Leaves slow start when acknowledgements arrive in a long train, or later than before (HyStart).
    #[must_use]
    pub fn with_hystart(self) -> Self {
        Cubic { hystart: Some(HyStart::default()), ..self }
    }

    /// Rounds reduced windows down to whole segments.
    #[must_use]
    pub fn in_whole_segments(self) -> Self {
        Cubic { in_whole_segments: true, ..self }
    }

    /// β. Linux has it in units of 1/1024, which determines the rounding to whole segments.
    fn decrease(&self) -> f64 {
        match self.form {
            CubicForm::Rfc9438 => DECREASE,
            CubicForm::Linux => 717.0 / 1024.0,
        }
    }

    /// The reduced window of this many segments.
    fn left_of(&self, segments: f64) -> f64 {
        if self.in_whole_segments { segments.floor() } else { segments }
    }

    /// After a timeout nothing is known about the path, and slow start searches for its limit again.
    fn begin_search(&mut self) {
        (self.plateau, self.min) = (0.0, None);
        if let Some(hystart) = &mut self.hystart {
            *hystart = HyStart::default();
        }
    }

    /// Linux ignores round trips in the first second of a stage.
    fn is_after_recovery(&self, now: Instant) -> bool {
        match &self.stage {
            Some(Stage::Steps(steps)) => steps.age(now) < UNBELIEVED,
            Some(Stage::Curve(_)) | None => false,
        }
    }

    fn take_round_trip(&mut self, now: Instant, ack: &Ack, rtt: Duration) {
        let min = self.min.map_or(rtt, |min| min.min(rtt));
        self.min = Some(min);
        let (is_slow_start, window) = (self.is_slow_start(), self.window);
        if let Some(hystart) = &mut self.hystart
            && is_slow_start
            && hystart.ends_slow_start(now, ack, (rtt, min), window)
        {
            self.threshold = window;
        }
    }

    /// A new stage that starts at the current window.
    fn begin(&mut self, now: Instant) -> Stage {
        match self.form {
            CubicForm::Rfc9438 => {
                self.plateau = self.plateau.max(self.window);
                Stage::Curve(Curve::begin(now, self.window, self.plateau, self.prior))
            }
            CubicForm::Linux => {
                Stage::Steps(Steps::begin(now, self.window as u32, self.plateau as u32))
            }
        }
    }

    fn avoid_congestion(&mut self, now: Instant, acknowledged: f64, rtt: Duration) {
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin(now),
        };
        self.window = match &mut stage {
            Stage::Curve(curve) => curve.grow(now, self.window, acknowledged, rtt),
            Stage::Steps(steps) => {
                let (window, acknowledged) = (self.window as u32, libm::ceil(acknowledged) as u32);
                let min = self.min.unwrap_or(rtt);
                f64::from(steps.grow(now, window, acknowledged, rtt, min))
            }
        };
        self.stage = Some(stage);
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if let Some(hystart) = &mut self.hystart {
            hystart.on_ack(ack);
        }
        if let Some(rtt) = ack.rtt
            && !self.is_after_recovery(now)
        {
            self.take_round_trip(now, ack, rtt);
        }
        if !ack.opens_window() {
            return;
        }
        let acknowledged = ack.acknowledged.0 as f64 / self.mss;
        if self.is_slow_start() {
            self.window += ack.slow_start_increase.0 as f64 / self.mss;
        } else {
            self.avoid_congestion(now, acknowledged, ack.smoothed_rtt.unwrap_or_default());
        }
    }

    fn on_congestion(&mut self, _now: Instant, event: Congestion, in_flight: Bytes) {
        self.stage = None;
        if event == Congestion::RepeatedTimeout {
            // RFC 5681 §3.1: "the value of ssthresh is held constant".
            self.window = 1.0;
            self.begin_search();
            return;
        }
        self.window = self.left_of(self.window);
        self.prior = self.window;
        // RFC 9438 §4.7, fast convergence: a flow below its former plateau makes room for others.
        let is_short_of = self.window < self.plateau;
        let share = if is_short_of { (1.0 + self.decrease()) / 2.0 } else { 1.0 };
        self.plateau = self.left_of(self.window * share);
        // §4.6.
        let left = self.left_of(self.left_of(in_flight.0 as f64 / self.mss) * self.decrease());
        self.threshold = left.max(2.0);
        self.window = match event {
            Congestion::Loss => self.threshold,
            Congestion::Ecn => left.max(1.0),
            Congestion::Timeout | Congestion::RepeatedTimeout => {
                // §4.8: the first stage after a timeout starts at its plateau.
                self.begin_search();
                1.0
            }
        };
    }

    fn cap_window(&mut self, limit: Bytes) {
        let limit = limit.0 as f64 / self.mss;
        if limit < self.window {
            self.window = limit;
            self.stage = None;
        }
    }

    fn threshold(&self) -> Option<Bytes> {
        Some(Bytes((self.threshold * self.mss) as u64)) // "arbitrarily high" becomes the greatest number
    }

    fn restore(&mut self, window: Bytes, threshold: Bytes) {
        self.window = self.window.max(window.0 as f64 / self.mss);
        let is_open = threshold.0 == u64::MAX;
        self.threshold = if is_open { f64::INFINITY } else { threshold.0 as f64 / self.mss };
        self.stage = None;
    }

    fn window(&self) -> Bytes {
        Bytes((self.window * self.mss) as u64)
    }

    fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u16 = 1000;
    const RTT: Duration = Duration::from_millis(100);

    fn segments(count: f64) -> Bytes {
        Bytes((count * f64::from(MSS)) as u64)
    }

    /// A flow that has just been reduced from `window` segments, and its clock.
    fn reduced_from(window: f64) -> (Cubic, Instant) {
        let mut cubic = Cubic::new(MSS, segments(window));
        cubic.on_congestion(Instant::START, Congestion::Loss, segments(window));
        (cubic, Instant::START)
    }

    /// One round trip: every segment of the window is acknowledged, evenly spaced.
    fn round_trip(cubic: &mut Cubic, now: &mut Instant, rtt: Duration) {
        let acknowledgements = cubic.window as u64;
        for _ in 0..acknowledgements {
            *now += rtt / acknowledgements;
            let plain = Ack::plain(segments(1.0), cubic.window());
            let ack = Ack { smoothed_rtt: Some(rtt), ..plain };
            cubic.on_ack(*now, &ack);
        }
    }

    #[test]
    fn slow_start_doubles_the_window_in_a_round_trip() {
        let mut cubic = Cubic::new(MSS, segments(10.0));
        round_trip(&mut cubic, &mut Instant::START.clone(), RTT);
        assert_eq!(cubic.window(), segments(20.0));
    }

    /// RFC 9438 §4.6: seven tenths are left.
    #[test]
    fn a_loss_leaves_seven_tenths_of_the_window() {
        let (cubic, _) = reduced_from(100.0);
        assert_eq!(cubic.window(), segments(70.0));
        assert!(!cubic.is_slow_start());
    }

    /// RFC 9438 §4.2: K = cbrt((100 − 70) / 0.4) = 4.217 s.
    #[test]
    fn the_window_is_back_at_its_plateau_after_k_and_flat_there() {
        let (mut cubic, mut now) = reduced_from(100.0);
        let mut before_plateau = 0.0;
        while now < Instant::START + Duration::from_secs_f64(4.217) {
            before_plateau = cubic.window;
            round_trip(&mut cubic, &mut now, RTT);
        }
        assert!((cubic.window - 100.0).abs() < 0.5, "{} at the plateau", cubic.window);
        assert!(cubic.window - before_plateau < 0.1, "flat at the plateau");
    }

    /// RFC 9438 §4.3: at 10 ms the cubic curve hardly moves in a round trip, and Reno's α does:
    /// 0.53 segments a round trip up to the former window, one from there on.
    #[test]
    fn with_a_short_round_trip_the_window_grows_as_renos_would() {
        let rtt = Duration::from_millis(10);
        let (mut cubic, mut now) = reduced_from(20.0);
        for _ in 0..10 {
            round_trip(&mut cubic, &mut now, rtt);
        }
        assert!((cubic.window - (14.0 + 10.0 * 0.529)).abs() < 0.3, "{}", cubic.window);
        for _ in 0..10 {
            round_trip(&mut cubic, &mut now, rtt);
        }
        assert!(cubic.window > 26.0 && cubic.window < 29.5, "{}", cubic.window);
    }

    /// RFC 9438 §4.7: W_max is set to 0.85 of the window at the second loss.
    #[test]
    fn a_flow_that_loses_below_its_plateau_makes_room() {
        let (mut cubic, now) = reduced_from(100.0);
        cubic.on_congestion(now, Congestion::Loss, segments(70.0));
        assert!((cubic.plateau - 59.5).abs() < 1e-9);
        assert_eq!(cubic.window(), segments(49.0));
    }

    /// RFC 9438 §4.8 and RFC 5681 §3.1.
    #[test]
    fn a_timeout_leaves_one_segment_and_slow_start_ends_at_seven_tenths() {
        let mut cubic = Cubic::new(MSS, segments(100.0));
        cubic.on_congestion(Instant::START, Congestion::Timeout, segments(100.0));
        assert_eq!(cubic.window(), segments(1.0));
        assert!((cubic.threshold - 70.0).abs() < 1e-9);
        cubic.on_congestion(Instant::START, Congestion::RepeatedTimeout, segments(1.0));
        assert!((cubic.threshold - 70.0).abs() < 1e-9, "held constant");
        // The first stage after it begins at its own plateau: the curve is convex from there.
        let mut now = Instant::START;
        while cubic.is_slow_start() {
            round_trip(&mut cubic, &mut now, RTT);
        }
        let Stage::Curve(stage) = cubic.begin(now) else { unreachable!("the form of the RFC") };
        assert!(stage.until_plateau.abs() < 1e-9);
    }

    /// RFC 9438 §5.8: ten seconds of silence are no time of growth.
    #[test]
    fn silence_of_the_application_does_not_grow_the_window() {
        let (mut cubic, mut now) = reduced_from(100.0);
        round_trip(&mut cubic, &mut now, RTT);
        let before = cubic.window;
        now += Duration::from_secs(10);
        round_trip(&mut cubic, &mut now, RTT);
        assert!(cubic.window - before < 4.0, "{} after {before}", cubic.window);
    }

    /// A cap, as after an idle time, is no detour: the window grows on a curve that begins there.
    #[test]
    fn growth_begins_anew_where_the_window_was_capped() {
        let (mut cubic, mut now) = reduced_from(100.0);
        while cubic.window < 95.0 {
            round_trip(&mut cubic, &mut now, RTT);
        }
        cubic.cap_window(segments(80.0));
        round_trip(&mut cubic, &mut now, RTT);
        // From 80 the plateau of 100 is cbrt(20 / 0.4) = 3.68 s away, and two round trips of 0.1 s bring
        // 0.4 · (3.68³ − 3.48³) = 3.1 segments. The old curve would lead back to 95 in one.
        assert!((80.0..83.5).contains(&cubic.window), "{}", cubic.window);
    }

    /// RFC 9438 §4.2: the window is never more than a round trip beside the curve.
    #[test]
    fn the_window_follows_the_curve_concave_and_convex() {
        let (mut cubic, mut now) = reduced_from(200.0);
        let from_plateau = |now: Instant| {
            now.since(Instant::START).as_secs_f64() - libm::cbrt(200.0 * 0.3 / 0.4) - 0.1 / 140.0
        };
        let curve = |from: f64| 0.4 * from * from * from + 200.0;
        while now < Instant::START + Duration::from_secs(10) {
            round_trip(&mut cubic, &mut now, RTT);
            let from = from_plateau(now);
            let (behind, ahead) = (curve(from - 0.1), curve(from + 0.1));
            assert!(cubic.window > behind - 0.5 && cubic.window < ahead + 0.5, "at {now:?}");
        }
        assert!(cubic.window > 240.0, "convex by then");
    }

    /// RFC 9438 §5.1: with one loss every 10,000 segments and 100 ms the average window is 187
    /// segments. That is of a fluid that is always on the curve; a window that follows it comes near.
    #[test]
    fn the_average_window_under_regular_loss_is_near_that_of_the_rfc() {
        let (mut cubic, mut now) = reduced_from(187.0);
        let (mut sent, mut since_loss, mut rounds) = (0.0, 0.0, 0.0);
        for round in 0..20_000 {
            let window = cubic.window;
            round_trip(&mut cubic, &mut now, RTT);
            since_loss += window;
            if since_loss >= 1e4 {
                since_loss -= 1e4;
                let in_flight = cubic.window();
                cubic.on_congestion(now, Congestion::Loss, in_flight);
            }
            if round >= 2_000 {
                (sent, rounds) = (sent + window, rounds + 1.0);
            }
        }
        let average: f64 = sent / rounds;
        assert!((average / 187.0 - 1.0).abs() < 0.1, "{average}");
    }

    /// Nothing was lost yet: slow start ended by itself at 60 segments, and the curve is flat there. A twentieth of
    /// the window comes with each round trip all the same.
    #[test]
    fn linux_looks_for_the_end_of_the_path_by_a_twentieth_in_a_round_trip() {
        let grown = |form| {
            let mut cubic = Cubic::new(MSS, segments(60.0)).in_form(form);
            cubic.threshold = 60.0;
            round_trip(&mut cubic, &mut Instant::START.clone(), RTT);
            cubic.window - 60.0
        };
        assert!((grown(CubicForm::Linux) - 3.0).abs() < 0.1, "{}", grown(CubicForm::Linux));
        assert!((grown(CubicForm::Rfc9438) - 1.0).abs() < 0.1, "{}", grown(CubicForm::Rfc9438));
    }

    /// RFC 9438 §4.3: from the former window on by a segment in a round trip; Linux stays at α = 0.53.
    #[test]
    fn linux_grows_no_faster_above_the_former_window_than_below() {
        let rtt = Duration::from_millis(10);
        let grown = |form| {
            let (cubic, mut now) = reduced_from(20.0);
            let mut cubic = cubic.in_form(form);
            while cubic.window < 20.5 {
                round_trip(&mut cubic, &mut now, rtt);
            }
            let before = cubic.window;
            (0..6).for_each(|_| round_trip(&mut cubic, &mut now, rtt));
            cubic.window - before
        };
        assert!((grown(CubicForm::Rfc9438) - 6.0).abs() < 0.4, "{}", grown(CubicForm::Rfc9438));
        assert!((grown(CubicForm::Linux) - 6.0 * 0.529).abs() < 0.4, "{}", grown(CubicForm::Linux));
    }

    /// As many acknowledgements as segments, 3 ms apart, with this round trip in milliseconds; a longer one is a later round.
    fn a_round(cubic: &mut Cubic, rtt: u64) {
        let acknowledgements = cubic.window as u64;
        for number in 0..acknowledgements {
            let now = Instant::START + Duration::from_millis(10 * rtt + 3 * number);
            let plain = Ack::plain(segments(1.0), segments(acknowledgements as f64));
            cubic.on_ack(now, &Ack { rtt: Some(Duration::from_millis(rtt)), ..plain });
        }
    }

    /// As many acknowledgements as segments, each ten milliseconds later than those of the round before: slow start
    /// ends with the ninth of them, at the window of that moment.
    #[test]
    fn slow_start_ends_with_hystart_where_round_trips_grow() {
        let mut cubic = Cubic::new(MSS, segments(20.0)).with_hystart();
        a_round(&mut cubic, 50);
        assert!(cubic.is_slow_start());
        assert_eq!(cubic.window(), segments(40.0));
        a_round(&mut cubic, 60);
        assert!(!cubic.is_slow_start());
        assert!((cubic.threshold - 48.0).abs() < 1e-9, "{}", cubic.threshold);
    }

    /// Round trips that grew in congestion avoidance, which cannot end slow start, do not keep it from ending when a
    /// quiet connection has begun anew.
    #[test]
    fn slow_start_after_congestion_avoidance_ends_with_hystart_too() {
        let mut cubic = Cubic::new(MSS, segments(40.0)).with_hystart();
        cubic.on_congestion(Instant::START, Congestion::Loss, segments(40.0));
        a_round(&mut cubic, 50);
        a_round(&mut cubic, 60);
        cubic.restore(segments(40.0), Bytes(u64::MAX));
        assert!(cubic.is_slow_start());
        a_round(&mut cubic, 60);
        a_round(&mut cubic, 70);
        assert!(!cubic.is_slow_start());
    }

    /// As Linux has it; an acknowledgement each 50 ms.
    #[test]
    fn round_trips_of_the_first_second_after_a_loss_do_not_count() {
        let apart = Duration::from_millis(50);
        let (cubic, mut now) = reduced_from(40.0);
        let mut cubic = cubic.in_form(CubicForm::Linux);
        let mut hear = |now: Instant, rtt: Duration| {
            let plain = Ack::plain(segments(1.0), cubic.window());
            cubic.on_ack(now, &Ack { rtt: Some(rtt), smoothed_rtt: Some(apart), ..plain });
            cubic.min
        };
        for _ in 0..20 {
            assert_eq!(hear(now, apart), Some(apart));
            now += apart;
        }
        assert_eq!(hear(now - apart / 5, apart / 2), Some(apart));
        assert_eq!(hear(now, apart / 2), Some(apart / 2));
    }
}
