//! Marking by the state of the sending TCP (Noureddine & Tobagi 2002, §6.1, Algorithm 1): packets whose loss
//! would delay their connection most are marked best. Only for source hosts.

use shortflow_packet::{Dscp, Packet, Phase, Protocol, SenderView, TcpFlags};
use shortflow_units::{Instant, Rng};

use super::adaptation::{Adaptation, Controller};
use crate::{Color, Marker, ParamsError};

/// How the priority falls when the window exceeds a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Crossing {
    /// At once.
    #[default]
    Sharp,
    /// Above a threshold, a packet keeps the better priority with probability threshold/window, so that about
    /// as many such packets stay outstanding as before (§6.1.1, in italics).
    Randomized,
}

/// Which segments of fast recovery are marked best, whatever the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecoverySegments {
    /// All segments, as in the paper for NewReno (footnote 5).
    #[default]
    All,
    /// Retransmitted segments, as in the paper for Reno.
    Retransmissions,
}

/// Parameters of a [`TcpStateMarker`].
#[derive(Debug, Clone)]
pub struct TcpStateParams {
    high: u32,
    medium: u32,
    crossing: Crossing,
    recovery: RecoverySegments,
    adaptation: Option<Adaptation>,
}

/// The settings of a [`TcpStateParams`], as [`TcpStateParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct TcpStateSettings {
    /// HIGH_thresh, in segments.
    pub high: u32,
    /// MED_thresh, in segments.
    pub medium: u32,
    /// What happens above a threshold.
    pub crossing: Crossing,
    /// Which segments of fast recovery are green.
    pub recovery: RecoverySegments,
    /// How the thresholds follow measured performance; `None` if they stay.
    pub adaptation: Option<Adaptation>,
}

impl TcpStateParams {
    /// HIGH_thresh and MED_thresh in segments. The paper has 4 and 8, and for Telnet the largest window for
    /// both.
    pub fn new(
        high: u32,
        medium: u32,
        crossing: Crossing,
        recovery: RecoverySegments,
    ) -> Result<Self, ParamsError> {
        if medium < high {
            let message = format!("medium {medium} must not be below high {high}");
            return Err(ParamsError::new("medium", message));
        }
        Ok(TcpStateParams { high, medium, crossing, recovery, adaptation: None })
    }

    /// Lets the thresholds follow measured performance, from these on.
    pub fn adapting(self, adaptation: Adaptation) -> Result<Self, ParamsError> {
        if !(1..=adaptation.settings().highest).contains(&self.high) {
            let message = format!(
                "high {} must be 1 to `highest`, {}",
                self.high,
                adaptation.settings().highest
            );
            return Err(ParamsError::new("high", message));
        }
        Ok(TcpStateParams { adaptation: Some(adaptation), ..self })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> TcpStateSettings {
        let TcpStateParams { high, medium, crossing, recovery, adaptation } = self;
        TcpStateSettings {
            high: *high,
            medium: *medium,
            crossing: *crossing,
            recovery: *recovery,
            adaptation: *adaptation,
        }
    }

    /// HIGH_thresh, in segments.
    pub fn high(&self) -> u32 {
        self.high
    }

    /// MED_thresh, in segments.
    pub fn medium(&self) -> u32 {
        self.medium
    }

    /// What happens above a threshold.
    pub fn crossing(&self) -> Crossing {
        self.crossing
    }

    /// Which segments of fast recovery are green.
    pub fn recovery(&self) -> RecoverySegments {
        self.recovery
    }

    /// How the thresholds follow measured performance; `None` if they stay.
    pub fn adaptation(&self) -> Option<Adaptation> {
        self.adaptation
    }
}

/// Marks by the sender's window in whole segments: green (HIGH in the paper) up to HIGH_thresh, yellow (MED)
/// up to MED_thresh, else red (LOW). SYNs and segments of fast recovery are green. Retransmissions after a
/// timeout are green too, because the window is then one segment. Packets without a TCP state are red. O(1)
/// per packet.
#[derive(Debug)]
pub struct TcpStateMarker {
    params: TcpStateParams,
    code_points: [Dscp; 3],
    rng: Rng,
    special: u64,
    controller: Option<Controller>,
}

impl TcpStateMarker {
    /// A marker that writes `code_points` for green, yellow and red. It draws from `rng` only if the crossing
    /// is randomised, or the thresholds adapt.
    pub fn new(params: TcpStateParams, code_points: [Dscp; 3], mut rng: Rng) -> Self {
        let base = [params.high, params.medium];
        let controller = params.adaptation.map(|how| Controller::new(how, base, &mut rng));
        TcpStateMarker { params, code_points, rng, special: 0, controller }
    }

    #[inline]
    fn adapted_color(&mut self, now: Instant, packet: &Packet, sender: &SenderView) -> Color {
        let Some(controller) = &mut self.controller else { return self.color(packet, sender) };
        controller.watch(now, packet, sender);
        [self.params.high, self.params.medium] = controller.thresholds();
        let color = self.color(packet, sender);
        if let Some(controller) = self.controller.as_mut().filter(|_| color == Color::Green) {
            controller.count_green(packet);
        }
        color
    }

    #[inline]
    fn color(&mut self, packet: &Packet, sender: &SenderView) -> Color {
        let Some(window) = sender.window_segments else { return Color::Red };
        if window <= self.params.high {
            return Color::Green;
        }
        if self.is_special(packet, sender) {
            self.special += 1;
            return Color::Green;
        }
        if self.params.crossing == Crossing::Sharp {
            return if window <= self.params.medium { Color::Yellow } else { Color::Red };
        }
        let mut within = |threshold| self.rng.bernoulli(f64::from(threshold) / f64::from(window));
        if within(self.params.high) {
            Color::Green
        } else if window <= self.params.medium || within(self.params.medium) {
            Color::Yellow
        } else {
            Color::Red
        }
    }

    /// Whether the loss of `packet` would be costly for a reason other than a small window.
    #[inline]
    fn is_special(&self, packet: &Packet, sender: &SenderView) -> bool {
        let is_recovering = sender.phase == Some(Phase::FastRecovery)
            && (self.params.recovery == RecoverySegments::All
                || sender.is_retransmission == Some(true));
        is_recovering || packet.flags.has(TcpFlags::SYN)
    }
}

impl Marker for TcpStateMarker {
    #[inline]
    fn mark(&mut self, now: Instant, packet: &mut Packet, sender: Option<&SenderView>) -> Color {
        let color = match sender {
            Some(sender) if packet.key.protocol == Protocol::TCP => {
                self.adapted_color(now, packet, sender)
            }
            _ => Color::Red,
        };
        packet.dscp = self.code_points[color as usize];
        color
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("SYNs and segments of fast recovery above the threshold", self.special);
        if let Some(controller) = &self.controller {
            controller.counters(visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::{Bytes, Duration, Rate};

    use super::super::adaptation::AdaptationSettings;
    use super::*;
    use crate::test_packet;

    fn marker(crossing: Crossing, recovery: RecoverySegments) -> TcpStateMarker {
        let params = TcpStateParams::new(4, 8, crossing, recovery).unwrap();
        let code_points = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
        TcpStateMarker::new(params, code_points, Rng::stream(1, "marker"))
    }

    fn sharp() -> TcpStateMarker {
        marker(Crossing::Sharp, RecoverySegments::All)
    }

    fn at(window_segments: u32, phase: Phase) -> SenderView {
        SenderView {
            window_segments: Some(window_segments),
            phase: Some(phase),
            ..SenderView::default()
        }
    }

    fn marked(marker: &mut TcpStateMarker, sender: SenderView) -> Color {
        let mut packet = test_packet();
        let color = marker.mark(Instant::START, &mut packet, Some(&sender));
        assert_eq!(packet.dscp, [Dscp::AF11, Dscp::AF12, Dscp::AF13][color as usize]);
        color
    }

    #[test]
    fn a_growing_window_loses_priority_at_each_threshold() {
        let mut marker = sharp();
        let mut of = |window| marked(&mut marker, at(window, Phase::SlowStart));
        assert_eq!([1, 4].map(&mut of), [Color::Green; 2]);
        assert_eq!([5, 8].map(&mut of), [Color::Yellow; 2]);
        assert_eq!([9, 65_535].map(&mut of), [Color::Red; 2]);
    }

    #[test]
    fn a_syn_is_green_whatever_the_window() {
        let mut packet = test_packet();
        packet.flags = TcpFlags::SYN;
        let sender = at(10, Phase::Handshake);
        assert_eq!(sharp().mark(Instant::START, &mut packet, Some(&sender)), Color::Green);
    }

    #[test]
    fn fast_recovery_is_green_and_ends() {
        let mut marker = sharp();
        let retransmission =
            SenderView { is_retransmission: Some(true), ..at(20, Phase::FastRecovery) };
        assert_eq!(marked(&mut marker, retransmission), Color::Green);
        assert_eq!(marked(&mut marker, at(20, Phase::FastRecovery)), Color::Green, "new data too");
        assert_eq!(marked(&mut marker, at(20, Phase::CongestionAvoidance)), Color::Red);
        assert_eq!(marker.special, 2);
    }

    #[test]
    fn of_reno_only_the_retransmission_is_green() {
        let mut marker = marker(Crossing::Sharp, RecoverySegments::Retransmissions);
        let retransmission =
            SenderView { is_retransmission: Some(true), ..at(20, Phase::FastRecovery) };
        assert_eq!(marked(&mut marker, retransmission), Color::Green);
        assert_eq!(marked(&mut marker, at(20, Phase::FastRecovery)), Color::Red);
    }

    #[test]
    fn after_a_timeout_the_window_of_one_segment_is_green_and_grows_out_of_it() {
        let mut marker = sharp();
        let after = |window| SenderView {
            is_retransmission: Some(true),
            ..at(window, Phase::LossRecovery)
        };
        assert_eq!(marked(&mut marker, after(1)), Color::Green);
        assert_eq!(marked(&mut marker, after(6)), Color::Yellow, "not a fast retransmission");
    }

    #[test]
    fn a_packet_of_which_no_tcp_tells_is_red() {
        let mut packet = test_packet();
        assert_eq!(sharp().mark(Instant::START, &mut packet, None), Color::Red);
        packet.key.protocol = Protocol::UDP;
        let sender = SenderView::default();
        assert_eq!(sharp().mark(Instant::START, &mut packet, Some(&sender)), Color::Red);
        packet.key.protocol = Protocol::TCP;
        let unknown = sharp().mark(Instant::START, &mut packet, Some(&sender));
        assert_eq!(unknown, Color::Red, "a kernel that does not tell the window");
    }

    #[test]
    fn at_random_about_a_thresholds_worth_of_packets_keeps_its_priority() {
        let mut marker = marker(Crossing::Randomized, RecoverySegments::All);
        let mut shares = |window| {
            let mut counts = [0_u32; 3];
            (0..100_000).for_each(|_| {
                counts[marked(&mut marker, at(window, Phase::CongestionAvoidance)) as usize] += 1;
            });
            counts
        };
        assert_eq!(shares(4), [100_000, 0, 0]);
        // P(green) = 4/w; P(yellow) = 1 − 4/w up to 8 and (1 − 4/w)·8/w beyond. Five standard
        // deviations of 100,000 draws are at most 790.
        for (window, expected) in [(5, [80_000, 20_000, 0]), (16, [25_000, 37_500, 37_500])] {
            let found = shares(window);
            for (found, expected) in found.into_iter().zip(expected) {
                let allowed = if expected == 0 { 0 } else { 790 };
                assert!(u32::abs_diff(found, expected) <= allowed, "w = {window}: {found}");
            }
        }
    }

    /// A marker with a budget of 20 green packets of 1000 bytes a second, in which transfers are slow after 300 ms.
    fn adapting(highest: u32) -> TcpStateMarker {
        let settings = AdaptationSettings {
            budget: Rate::from_bits_per_sec(160_000),
            slow: Duration::from_millis(300),
            size: Bytes(10_000),
            every: Duration::from_secs(1),
            highest,
        };
        let plain = TcpStateParams::new(4, 8, Crossing::Sharp, RecoverySegments::All).unwrap();
        let params = plain.adapting(Adaptation::new(settings).unwrap()).unwrap();
        let code_points = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
        TcpStateMarker::new(params, code_points, Rng::stream(1, "marker"))
    }

    /// A second in which each of these flows sends packets of 1000 bytes at these milliseconds, at a window. The result is how
    /// many were green.
    fn second(
        marker: &mut TcpStateMarker,
        number: u64,
        flows: std::ops::Range<u16>,
        millis: &[u64],
        sender: SenderView,
    ) -> usize {
        let mut green = 0;
        for at in millis {
            for flow in flows.clone() {
                let now = Instant::START + Duration::from_millis(1000 * number + at);
                let mut packet = Packet { size: 1000, ..test_packet() };
                packet.key.src_port = flow;
                let color = marker.mark(now, &mut packet, Some(&sender));
                green += usize::from(color == Color::Green);
            }
        }
        green
    }

    #[test]
    fn thresholds_rise_by_a_segment_for_each_interval_with_slow_transfers_up_to_the_highest() {
        let mut marker = adapting(6);
        let fifth = at(5, Phase::CongestionAvoidance);
        // One transfer in all: it sends its first 10 KB for longer than 300 ms.
        let slow = [0, 200, 400];
        assert_eq!(second(&mut marker, 0, 0..1, &slow, fifth), 0);
        // The pause of 600 ms ends the first transfer; the interval of it was slow.
        assert_eq!(second(&mut marker, 1, 0..1, &slow, fifth), 3, "5 segments are green");
        assert_eq!(marker.controller.as_ref().unwrap().thresholds(), [5, 10]);
        for number in 2..9 {
            second(&mut marker, number, 0..1, &slow, fifth);
        }
        assert_eq!(marker.controller.as_ref().unwrap().thresholds(), [6, 12]);
    }

    #[test]
    fn thresholds_stay_while_one_of_twenty_transfers_is_slow() {
        let wide = at(90, Phase::CongestionAvoidance);
        for (quick, expected) in [(19, [4, 8]), (18, [5, 10])] {
            let mut marker = adapting(64);
            second(&mut marker, 0, 0..1, &[0, 200, 400], wide);
            second(&mut marker, 0, 1..1 + quick, &[500], wide);
            second(&mut marker, 1, 0..1, &[0], wide);
            assert_eq!(marker.controller.as_ref().unwrap().thresholds(), expected, "{quick}");
        }
    }

    #[test]
    fn thresholds_are_halved_for_each_interval_above_the_budget_whatever_is_slow() {
        let mut marker = adapting(64);
        let small = at(1, Phase::SlowStart);
        let thresholds = |marker: &TcpStateMarker| marker.controller.as_ref().unwrap().thresholds();
        // 21 green packets in the second, and a transfer that is slow.
        let pace: Vec<u64> = (0..21).map(|number| 45 * number).collect();
        for (number, expected) in [[4, 8], [2, 4], [1, 2], [1, 2]].into_iter().enumerate() {
            second(&mut marker, number as u64, 0..1, &pace, small);
            assert_eq!(thresholds(&marker), expected);
        }
        // Exactly the budget is within it.
        second(&mut marker, 4, 0..1, &pace[..20], small);
        second(&mut marker, 5, 0..1, &[0], small);
        assert_eq!(thresholds(&marker), [1, 2], "no transfer is slow: 10 KB were sent before");
    }

    #[test]
    fn a_pause_that_a_retransmission_ends_belongs_to_the_transfer() {
        let repair = SenderView { is_retransmission: Some(true), ..at(1, Phase::LossRecovery) };
        for (sender, expected) in [(repair, [5, 10]), (at(1, Phase::SlowStart), [4, 8])] {
            let mut marker = adapting(64);
            second(&mut marker, 0, 0..1, &[0], at(2, Phase::SlowStart));
            second(&mut marker, 0, 0..1, &[900], sender);
            second(&mut marker, 1, 0..1, &[0], sender);
            assert_eq!(marker.controller.as_ref().unwrap().thresholds(), expected, "{sender:?}");
        }
    }

    #[test]
    fn a_medium_threshold_below_the_high_one_is_refused() {
        let refused = TcpStateParams::new(8, 4, Crossing::Sharp, RecoverySegments::All);
        assert_eq!(refused.unwrap_err().to_string(), "medium 4 must not be below high 8");
        // The paper's setting for Telnet has one threshold for both.
        assert!(TcpStateParams::new(8, 8, Crossing::Sharp, RecoverySegments::All).is_ok());
    }
}
