//! The trial of a new version: compares the delay and loss of short flows with those before.
//!
//! The window before the version was applied and the window after it was installed are cut into the same number of
//! parts. Each part has means at every device: the wait of packets of the class served first, the share of them that
//! the queue drops, the share of all packets that the edge drops, and the packets sent. The test asks whether the
//! values after are worse by more than a margin. It uses ranks (Mann & Whitney 1947), after a third, two thirds and
//! all of the window.
//!
//! Of a profile in TCP, the bursts that it lets leave are the packets, their wait for tokens is the delay, and segments of timers
//! without tokens are the drops.

mod rank;
mod window;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::fleet::TCP;
use rank::chance_of_so_much;
use window::{PARTS, Parts};

pub(crate) use window::{Series, waits};

/// How often a version that changes nothing is found to be worse, at most, if the parts of a window are alike and independent:
/// over all looks, measures and devices of a machine together (Bonferroni).
const FALSE_ALARMS: f64 = 0.01;
/// The number of tests during the window.
const MAX_LOOKS: u32 = 3;
/// The minimum number of parts for a test.
const MIN_PARTS: usize = 8;
/// How many packets a device must have been given in each window, so that one can say that it is no worse.
const MIN_PACKETS: u64 = 100;
/// What is worse by less is as good: a millisecond of waiting, a packet of a thousand.
const DELAY_MARGIN: f64 = 0.001;
const LOSS_MARGIN: f64 = 0.001;
/// Load comes and goes: what is sent has collapsed where it is less than this share of before, and more is dropped by this.
const COLLAPSE: f64 = 0.5;
const COLLAPSE_LOSS: f64 = 0.01;
/// How long after its installation a version is not measured: queues of the one before empty meanwhile.
pub(crate) const SETTLE_TIME: Duration = Duration::from_secs(5);

/// A version on trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// The digest of its texts.
    pub(crate) digest: String,
    /// The version that one goes back to.
    pub(crate) good: u64,
    /// Whether other machines wait for the verdict.
    pub(crate) tells: bool,
    /// The length of a window, in seconds.
    seconds: f64,
    /// Why the verdict is unknown, if a window has ended without one.
    #[serde(skip)]
    pub(crate) inconclusive: Option<String>,
    /// What was measured before at each device.
    before: BTreeMap<String, Parts>,
    /// How far it has come, which begins again after an interruption.
    #[serde(skip)]
    phase: Phase,
}

/// How far a trial has come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Phase {
    /// Some device has not the version yet.
    #[default]
    Installing,
    /// The window after has begun at this time, and so many tests of it are done.
    Measuring { began: Instant, looks: u32 },
}

/// What a trial has come to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// It is significantly worse: at which device, and how.
    Worse(String),
    /// It is not, as far as was measured: how far that was.
    NoWorse(String),
    /// Unknown: why, and whether another window may decide.
    Inconclusive { why: String, is_decidable: bool },
}

impl Trial {
    /// Against version `good`, with what was measured of `series` in the window before now.
    pub(crate) fn new(
        now: Instant,
        good: u64,
        window: Duration,
        series: &BTreeMap<String, Series>,
    ) -> Trial {
        let before = |series: &Series| match now.checked_sub(window) {
            Some(from) => series.parts(from, window / PARTS, PARTS),
            None => Parts::default(),
        };
        Trial {
            digest: String::new(),
            good,
            tells: false,
            inconclusive: None,
            seconds: window.as_secs_f64(),
            before: series.iter().map(|(device, of)| (device.clone(), before(of))).collect(),
            phase: Phase::Installing,
        }
    }

    /// Of the version with this digest. Where another one was on trial and is not judged yet, what was good and measured
    /// before that stays.
    pub(crate) fn for_version(self, digest: &str, tells: bool) -> Trial {
        let digest = digest.to_owned();
        Trial { digest, tells, inconclusive: None, phase: Phase::Installing, ..self }
    }

    /// Whether the window before has enough measurements to compare a version with.
    pub(crate) fn is_decidable(&self) -> bool {
        self.before.values().any(is_enough)
    }

    /// The same, measured in another window from now on.
    pub(crate) fn restarted(self, now: Instant, inconclusive: String) -> Trial {
        let phase = Phase::Measuring { began: now, looks: 0 };
        Trial { inconclusive: Some(inconclusive), phase, ..self }
    }

    /// The same trial, with its last test to be repeated.
    pub(crate) fn with_last_look_repeated(self) -> Trial {
        let phase = match self.phase {
            Phase::Installing => Phase::Installing,
            Phase::Measuring { began, looks } => {
                Phase::Measuring { began, looks: looks.saturating_sub(1) }
            }
        };
        Trial { phase, ..self }
    }

    /// The length of a window.
    pub(crate) fn window(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// All devices have it since `now`, or no longer all.
    pub(crate) fn is_installed(&mut self, now: Instant, is_so: bool) {
        self.phase = match (is_so, self.phase) {
            (false, _) => Phase::Installing,
            (true, Phase::Installing) => Phase::Measuring { began: now + SETTLE_TIME, looks: 0 },
            (true, measuring) => measuring,
        };
    }

    /// The verdict so far; `None` while it is open.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        series: &BTreeMap<String, Series>,
    ) -> Option<Outcome> {
        let Phase::Measuring { began, looks } = self.phase else { return None };
        let next = looks + 1;
        let window = self.window();
        if now < began + window * next / MAX_LOOKS {
            return None;
        }
        self.phase = Phase::Measuring { began, looks: next };
        let after = |device: &String| {
            let of = series.get(device)?;
            Some(of.parts(began, window / PARTS, PARTS * next / MAX_LOOKS))
        };
        let pairs: Vec<(&String, &Parts, Parts)> = self
            .before
            .iter()
            .filter_map(|(device, before)| Some((device, before, after(device)?)))
            .collect();
        // A device that had next to no traffic says nothing of what it has now.
        let pairs: Vec<_> = pairs.into_iter().filter(|(_, before, _)| is_enough(before)).collect();
        let measures = (Measure::ALL.len() * pairs.len().max(1)) as f64;
        let limit = FALSE_ALARMS / f64::from(MAX_LOOKS) / measures;
        let mut judged = 0;
        for (device, before, after) in &pairs {
            for measure in Measure::ALL {
                let Some(chance) = measure.chance(before, after) else { continue };
                judged += 1;
                if chance < limit {
                    let message = measure.describe(device, before, after);
                    return Some(Outcome::Worse(format!(
                        "{device}: {message}; probability of this by chance: {chance:.1e}"
                    )));
                }
            }
        }
        (next == MAX_LOOKS).then(|| self.in_the_end(&pairs, judged))
    }

    /// The verdict at the end of the window, if no test found it worse.
    fn in_the_end(&self, pairs: &[(&String, &Parts, Parts)], judged: usize) -> Outcome {
        let given = |parts: &Parts| parts.whole.given();
        let few = |when: &str, packets: u64| match packets {
            MIN_PACKETS.. => format!("too few measurements {when}"),
            _ => format!(
                "too little traffic: {packets} packets {when}, and each window needs {MIN_PACKETS}"
            ),
        };
        if self.before.is_empty() {
            let why = "trials measure deployments, and this machine lacks them".to_owned();
            return Outcome::Inconclusive { why, is_decidable: false };
        }
        if pairs.is_empty() {
            let packets = self.before.values().map(given).sum();
            return Outcome::Inconclusive { why: few("before", packets), is_decidable: false };
        }
        if let Some((device, _, after)) = pairs.iter().find(|(_, _, after)| !is_enough(after)) {
            let why = format!("{device}: {}", few("since", given(after)));
            return Outcome::Inconclusive { why, is_decidable: true };
        }
        let before: u64 = pairs.iter().map(|(_, before, _)| given(before)).sum();
        let after: u64 = pairs.iter().map(|(_, _, after)| given(after)).sum();
        Outcome::NoWorse(format!(
            "{judged} measurements of its devices are no worse, with {before} packets before and \
                {after} packets since"
        ))
    }
}

/// Whether enough was measured in a window.
fn is_enough(parts: &Parts) -> bool {
    parts.whole.given() >= MIN_PACKETS && parts.rates.len() >= MIN_PARTS
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
enum Measure {
    /// How long packets of the class served first wait.
    Delay,
    /// Which share of them its queue drops.
    Loss,
    /// Which share of all packets the edge drops.
    Policed,
    /// How many packets are sent.
    Sent,
}

impl Measure {
    const ALL: [Measure; 4] = [Measure::Delay, Measure::Loss, Measure::Policed, Measure::Sent];

    fn values(self, parts: &Parts) -> &[f64] {
        match self {
            Measure::Delay => &parts.delays,
            Measure::Loss => &parts.losses,
            Measure::Policed => &parts.policed,
            Measure::Sent => &parts.rates,
        }
    }

    /// The probability that the window after is so much worse by chance; `None` with too few measurements.
    fn chance(self, before: &Parts, after: &Parts) -> Option<f64> {
        let [old, new] = [before, after].map(|parts| self.values(parts));
        if old.len() < MIN_PARTS || new.len() < MIN_PARTS {
            return None;
        }
        let above = |margin: f64| -> Vec<f64> { new.iter().map(|value| value - margin).collect() };
        match self {
            Measure::Delay => Some(chance_of_so_much(old, &above(DELAY_MARGIN))),
            Measure::Loss | Measure::Policed => Some(chance_of_so_much(old, &above(LOSS_MARGIN))),
            // Less is sent at night, too; but then not more of it is dropped.
            Measure::Sent if after.whole.lost() < before.whole.lost() + COLLAPSE_LOSS => Some(1.0),
            Measure::Sent => {
                let new: Vec<f64> = new.iter().map(|rate| rate / COLLAPSE).collect();
                Some(chance_of_so_much(&new, old))
            }
        }
    }

    fn describe(self, device: &str, before: &Parts, after: &Parts) -> String {
        let [old, new] = [before, after].map(|parts| median(self.values(parts)));
        match self {
            Measure::Delay if device == TCP => format!(
                "bursts wait {:.1} ms for tokens instead of {:.1} ms (medians)",
                new * 1e3,
                old * 1e3
            ),
            Measure::Loss if device == TCP => format!(
                "for each burst and segment of a timer, {:.2} % are segments without tokens instead of {:.2} % (medians)",
                new * 1e2,
                old * 1e2
            ),
            Measure::Sent if device == TCP => format!(
                "{new:.0} bursts/s are sent instead of {old:.0} (medians), and {:.1} % are withheld segments of timers \
                    instead of {:.1} %",
                after.whole.lost() * 1e2,
                before.whole.lost() * 1e2
            ),
            Measure::Delay => format!(
                "packets of the class served first wait {:.1} ms instead of {:.1} ms (medians)",
                new * 1e3,
                old * 1e3
            ),
            Measure::Loss => format!(
                "packets of the class served first are dropped at {:.2} % instead of {:.2} % \
                    (medians)",
                new * 1e2,
                old * 1e2
            ),
            Measure::Policed => format!(
                "the edge drops {:.2} % of packets instead of {:.2} % (medians)",
                new * 1e2,
                old * 1e2
            ),
            Measure::Sent => format!(
                "{new:.0} packets/s are sent instead of {old:.0} (medians), and {:.1} % are \
                    dropped instead of {:.1} %",
                after.whole.lost() * 1e2,
                before.whole.lost() * 1e2
            ),
        }
    }
}

/// The middle of some values, or of the two in the middle the upper one.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shortflow_units::Rng;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(120);

    /// A device whose first class has this delay and loss in each second, drawn by the caller.
    struct Device {
        series: BTreeMap<String, Series>,
        now: Instant,
        sent: u64,
        dropped: u64,
    }

    impl Device {
        fn new() -> Device {
            Device { series: BTreeMap::new(), now: Instant::now(), sent: 0, dropped: 0 }
        }

        fn second(&mut self, delay: f64, drops: u64) {
            self.now += Duration::from_secs(1);
            (self.sent, self.dropped) = (self.sent + 1000 - drops, self.dropped + drops);
            let class = json!({ "packets": self.sent, "dropped": self.dropped, "delay_s": delay });
            let series = self.series.entry("eth0".to_owned()).or_default();
            series.add(self.now, &json!({ "classes": [class] }), 2 * WINDOW + SETTLE_TIME);
        }

        /// Both windows with such seconds; what the trial comes to, and after how many seconds.
        fn trial(
            &mut self,
            mut before: impl FnMut() -> (f64, u64),
            mut after: impl FnMut() -> (f64, u64),
        ) -> (Outcome, u64) {
            for _ in 0..WINDOW.as_secs() {
                let (delay, drops) = before();
                self.second(delay, drops);
            }
            let mut trial = Trial::new(self.now, 1, WINDOW, &self.series).for_version("abc", false);
            trial.is_installed(self.now, true);
            for seconds in 1.. {
                let (delay, drops) = after();
                self.second(delay, drops);
                if let Some(outcome) = trial.judge(self.now, &self.series) {
                    return (outcome, seconds);
                }
            }
            unreachable!("seconds do not end")
        }
    }

    #[test]
    fn what_is_much_worse_is_found_after_a_third_of_the_window_and_told_with_its_figures() {
        let mut rng = Rng::stream(1, "worse");
        let mut delays = |mean: f64| rng.exponential(mean);
        let mut before = Vec::new();
        before.resize_with(120, || delays(0.002));
        let mut after = Vec::new();
        after.resize_with(120, || delays(0.040));
        let (mut before, mut after) = (before.into_iter(), after.into_iter());
        let (outcome, seconds) =
            Device::new().trial(|| (before.next().unwrap(), 0), || (after.next().unwrap(), 0));
        assert_eq!(seconds, 5 + 40);
        let Outcome::Worse(message) = outcome else { panic!("{outcome:?}") };
        assert!(message.starts_with("eth0: packets of the class served first wait "), "{message}");
    }

    #[test]
    fn more_drops_are_found_and_less_of_everything_is_not() {
        let (outcome, _) = Device::new().trial(|| (0.001, 0), || (0.001, 10));
        let golden = "eth0: packets of the class served first are dropped at 1.00 % instead of \
            0.00 % (medians); probability of this by chance: 9.5e-8";
        assert_eq!(outcome, Outcome::Worse(golden.to_owned()));
        let (outcome, seconds) = Device::new().trial(|| (0.020, 10), || (0.001, 0));
        let golden =
            "4 measurements of its devices are no worse, with 118000 packets before and 120000 packets since"
                .to_owned();
        assert_eq!((outcome, seconds), (Outcome::NoWorse(golden), 125));
    }

    #[test]
    fn what_is_worse_by_less_than_the_margin_is_as_good() {
        let (outcome, _) = Device::new().trial(|| (0.0200, 0), || (0.0208, 0));
        assert!(matches!(outcome, Outcome::NoWorse(_)), "{outcome:?}");
        let (outcome, _) = Device::new().trial(|| (0.0200, 0), || (0.0212, 0));
        assert!(matches!(outcome, Outcome::Worse(_)), "{outcome:?}");
    }

    #[test]
    fn where_too_little_was_measured_nothing_is_found() {
        let mut device = Device::new();
        for _ in 0..30 {
            device.second(0.001, 0);
        }
        let mut trial = Trial::new(device.now, 1, WINDOW, &device.series).for_version("abc", false);
        trial.is_installed(device.now, true);
        let mut outcome = None;
        while outcome.is_none() {
            device.second(1.0, 500);
            outcome = trial.judge(device.now, &device.series);
        }
        let why = "too few measurements before";
        let golden = Outcome::Inconclusive { why: why.to_owned(), is_decidable: false };
        assert_eq!(outcome, Some(golden));
    }

    /// A device whose packets the edge drops, or that sends less; each second as the caller says.
    fn with_edge(
        before: impl Fn(u64) -> [u64; 4],
        after: impl Fn(u64) -> [u64; 4],
    ) -> (Outcome, u64) {
        let (mut series, mut now) = (BTreeMap::new(), Instant::now());
        let mut total = [0_u64; 4];
        let mut second = |now: Instant, series: &mut BTreeMap<String, Series>, by: [u64; 4]| {
            total.iter_mut().zip(by).for_each(|(total, by)| *total += by);
            let [first, rest, dropped, policed] = total;
            let class = |packets, dropped| json!({ "packets": packets, "dropped": dropped, "delay_s": 0.0 });
            let edge =
                json!({ "classes": [{ "packets": [first, 0, 0], "dropped": [0, policed, 0] }] });
            let stands =
                json!({ "classes": [class(first, 0), class(rest, dropped)], "edge": edge });
            let of = series.entry("eth0".to_owned()).or_default();
            of.add(now, &stands, 2 * WINDOW + SETTLE_TIME);
        };
        for number in 0..WINDOW.as_secs() {
            now += Duration::from_secs(1);
            second(now, &mut series, before(number));
        }
        let mut trial = Trial::new(now, 1, WINDOW, &series).for_version("abc", true);
        trial.is_installed(now, true);
        for number in 1.. {
            now += Duration::from_secs(1);
            second(now, &mut series, after(number));
            if let Some(outcome) = trial.judge(now, &series) {
                return (outcome, number);
            }
        }
        unreachable!("seconds do not end")
    }

    #[test]
    fn what_the_edge_drops_is_loss() {
        let (outcome, seconds) = with_edge(|_| [300, 0, 0, 0], |_| [1, 0, 0, 299]);
        let golden = "eth0: the edge drops 99.67 % of packets instead of 0.00 % (medians); \
            probability of this by chance: 9.5e-8";
        assert_eq!((outcome, seconds), (Outcome::Worse(golden.to_owned()), 45));
        let (outcome, _) = with_edge(|_| [300, 0, 0, 3], |_| [300, 0, 0, 3]);
        assert!(matches!(outcome, Outcome::NoWorse(_)), "as before: {outcome:?}");
    }

    #[test]
    fn a_class_behind_the_first_that_loses_nearly_all_makes_a_version_worse() {
        let (outcome, _) = with_edge(|_| [10, 300, 0, 0], |_| [10, 20, 280, 0]);
        let golden = "eth0: 30 packets/s are sent instead of 310 (medians), and 90.3 % are dropped \
            instead of 0.0 %; probability of this by chance: 9.5e-8";
        assert_eq!(outcome, Outcome::Worse(golden.to_owned()));
        // Connections that nothing comes of soon send next to nothing.
        let (outcome, _) = with_edge(|_| [10, 300, 0, 0], |second| [0, 0, second % 2, 0]);
        assert!(matches!(outcome, Outcome::Worse(_)), "{outcome:?}");
    }

    #[test]
    fn less_load_is_no_fault_of_a_version() {
        let (outcome, _) = with_edge(|_| [10, 300, 5, 0], |_| [1, 30, 0, 0]);
        assert!(matches!(outcome, Outcome::NoWorse(_)), "{outcome:?}");
    }

    #[test]
    fn without_traffic_in_both_windows_nothing_is_told_of_a_version() {
        let (idle, busy) = (|_| [0, 0, 0, 0], |_| [100, 0, 0, 0]);
        let inconclusive =
            |why: &str, is_decidable| Outcome::Inconclusive { why: why.to_owned(), is_decidable };
        let none =
            inconclusive("too little traffic: 0 packets before, and each window needs 100", false);
        assert_eq!(with_edge(idle, idle), (none.clone(), 125));
        assert_eq!(with_edge(idle, busy), (none, 125));
        let since = inconclusive(
            "eth0: too little traffic: 0 packets since, and each window needs 100",
            true,
        );
        assert_eq!(with_edge(busy, idle), (since, 125));
    }

    /// How many of `trials` equal versions are found to be worse, where a second's delay is this share of the one before.
    fn false_alarms(trials: u64, name: &str, share: f64) -> u64 {
        let mut rng = Rng::stream(7, name);
        let mut delay = 0.0;
        let mut draw = || {
            delay = share * delay + (1.0 - share) * rng.exponential(0.050);
            (delay, rng.below(20))
        };
        let mut alarms = 0;
        for _ in 0..trials {
            let mut device = Device::new();
            let mut seconds: Vec<(f64, u64)> = Vec::new();
            seconds.resize_with(250, &mut draw);
            let (mut before, mut after) =
                (seconds[..120].iter().copied(), seconds[120..].iter().copied());
            let (outcome, _) = device.trial(|| before.next().unwrap(), || after.next().unwrap());
            alarms += u64::from(matches!(outcome, Outcome::Worse(_)));
        }
        alarms
    }

    #[test]
    fn an_equal_version_is_found_worse_as_rarely_as_is_promised() {
        // Of 200 at 1 % two are expected at most, and more than 7 in one of a thousand (binomial).
        let alarms = false_alarms(200, "independent", 0.0);
        assert!(alarms <= 7, "{alarms} of 200");
        // Seconds that are half like the one before.
        let alarms = false_alarms(200, "alike", 0.5);
        assert!(alarms <= 7, "{alarms} of 200");
    }

    #[test]
    fn a_trial_that_is_written_down_goes_on_with_what_was_measured_before() {
        let mut device = Device::new();
        for _ in 0..120 {
            device.second(0.001, 1);
        }
        let trial = Trial::new(device.now, 3, WINDOW, &device.series).for_version("abc", true);
        let text = serde_json::to_string(&trial).unwrap();
        assert_eq!(serde_json::from_str::<Trial>(&text).unwrap(), trial);
        assert_eq!((trial.window(), trial.before["eth0"].delays.len()), (WINDOW, 24));
        let next = Trial { digest: "def".to_owned(), tells: false, ..trial.clone() };
        assert_eq!(trial.for_version("def", false), next);
    }

    /// `trial.json` as agents wrote it before a trial had phases.
    const WRITTEN: &str = r#"{"digest":"51ac27cbd00c","good":3,"tells":true,"seconds":120.0,"before":{"eth0":{"delays":[0.001,0.002],"losses":[0.0,0.0],"policed":[0.0,0.0],"rates":[900.0,1000.0],"whole":{"first_sent":9500,"first_dropped":0,"sent":9500,"dropped":0,"policed":0}}}}"#;

    #[test]
    fn a_trial_that_an_earlier_version_wrote_is_read_and_written_the_same() {
        let mut trial: Trial = serde_json::from_str(WRITTEN).unwrap();
        assert_eq!((trial.good, trial.tells, trial.window()), (3, true, WINDOW));
        assert_eq!(trial.phase, Phase::Installing, "measuring begins again");
        trial.is_installed(Instant::now(), true);
        let again = trial.restarted(Instant::now(), "too little traffic".to_owned());
        assert_eq!(serde_json::to_string(&again).unwrap(), WRITTEN, "what is passing is not kept");
    }
}
