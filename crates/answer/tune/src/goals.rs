//! The aim of a search: goals to optimise, and limits to keep.

use serde::Serialize;
use shortflow_measure::{Better, Estimate, Measure, Replica, Subject, Summary, Unit};
use shortflow_text::{nearest, suggestion};
use shortflow_units::{Duration, Rate};

use crate::offered::{Offered, name};
use crate::option_error::OptionError;
use crate::synonyms::{goal_meant, measure_meant};

/// The figure that is to be as good as possible: a time or a loss as small, a goodput as large.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// As it was written: `p99:web`.
    pub text: String,
    /// Of which workload.
    pub workload: String,
    /// What it is of the workload; more than one only where it has them all.
    #[serde(skip)]
    measures: Vec<Measure>,
}

/// What must be kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// As it was written: `voice.delay.p99 <= 30 ms`.
    pub text: String,
    /// Of which workload.
    pub workload: String,
    /// What of it.
    pub measure: Measure,
    /// The value, in the unit of the measure's results.
    pub bound: f64,
    /// Whether the figure must not be more than the bound; else not less.
    pub at_most: bool,
}

/// The statistics of a distribution: the name, and the suffix of a measure's name.
const STATISTICS: [(&str, &str); 4] =
    [("mean", ""), ("median", "-median"), ("p95", "-p95"), ("p99", "-p99")];

/// What limits may be of, where it is a distribution.
const DISTRIBUTIONS: [&str; 3] = ["completion", "delay", "jitter"];

/// What limits may be of, where it is one figure.
const FIGURES: [Measure; 7] = [
    Measure::DataGoodput,
    Measure::DelayAdded,
    Measure::DatagramLoss,
    Measure::PacketLoss,
    Measure::Fairness,
    Measure::RFactor,
    Measure::OpinionScore,
];

/// What goals may be that are one figure.
const WHOLE_GOALS: [(&str, Measure); 3] = [
    ("goodput", Measure::DataGoodput),
    ("loss", Measure::DatagramLoss),
    ("mos", Measure::OpinionScore),
];

const HOW_GOAL: &str = "write WHAT:WORKLOAD, such as `p99:web` or `goodput:backup`";
const HOW_LIMIT: &str = "write WORKLOAD.MEASURE.STAT <= VALUE, such as `voice.delay.p99 <= 30 ms`";

impl Goal {
    /// Reads all that is wanted, one or two.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); also that one is given twice, or that there are more than two.
    pub fn all(texts: &[String], workloads: &[Offered]) -> Result<Vec<Goal>, OptionError> {
        let goals = each(texts, |text| Goal::parse(text, workloads))?;
        let is_same = |a: &Goal, b: &Goal| (&a.workload, &a.measures) == (&b.workload, &b.measures);
        if let Some(twice) = given_twice(&goals, is_same) {
            let what = format!("the goal `{}` is given twice", twice.text);
            return Err(OptionError::new(what, "give it once"));
        }
        match goals.len() {
            ..=2 => Ok(goals),
            found => Err(OptionError::new(
                format!(
                    "{found} goals are too many: the first one decides, and the second is shown \
                        next to it"
                ),
                "give one or two, and write further requirements as limits with --keep",
            )),
        }
    }

    /// Reads `p99:web`, for a scenario with these workloads.
    ///
    /// # Errors
    /// What is wrong, and in a further line what is allowed; also that the workload has nothing of the kind.
    pub fn parse(text: &str, workloads: &[Offered]) -> Result<Goal, OptionError> {
        let (statistic, workload) = text
            .split_once(':')
            .ok_or_else(|| OptionError::new(format!("`{text}` is not a goal"), HOW_GOAL))?;
        let (what, offered) = (statistic.trim(), known(workload.trim(), workloads)?);
        let mut measures = goal_measures(what)?;
        measures.retain(|measure| offered.measures.contains(measure));
        if measures.is_empty() {
            let names: Vec<String> = goal_names()
                .filter(|name| goal_measures(name).is_ok_and(|of| offered.has_one_of(&of)))
                .map(|name| format!("`{name}`"))
                .collect();
            let Offered { workload, .. } = offered;
            let what = format!("`{workload}` has no measure `{what}`");
            return Err(OptionError::new(what, format!("its measures are {}", names.join(", "))));
        }
        let workload = offered.workload.clone();
        Ok(Goal { text: text.trim().to_owned(), workload, measures })
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        self.measures[0].about().unit
    }

    /// What is multiplied with a figure so that less is better, and once more so that it is the figure again.
    pub fn sign(&self) -> f64 {
        if self.measures[0].about().better == Better::Higher { -1.0 } else { 1.0 }
    }

    /// A figure with its [sign](Self::sign). A zero has none.
    fn signed(&self, figure: f64) -> f64 {
        figure * self.sign() + 0.0
    }

    /// What a replica says of it, with its [sign](Self::sign): the completion time of transfers, the delay of
    /// datagrams, goodput or loss.
    pub fn read(&self, replica: &Replica) -> Option<f64> {
        let what = Subject { workload: &self.workload, ..Subject::default() };
        let found = self.measures.iter().find_map(|measure| measure.read(replica, &what)?.exact());
        found.map(|found| self.signed(found))
    }

    /// Whether closed forms may give it: they have no percentiles of completion times.
    pub(crate) fn may_be_expected(&self) -> bool {
        use Measure::{CompletionMedian, CompletionP95, CompletionP99};
        let has_none =
            |one: &Measure| matches!(one, CompletionMedian | CompletionP95 | CompletionP99);
        !self.measures.iter().any(has_none)
    }

    /// What is expected of it by closed forms, with its [sign](Self::sign).
    pub fn expected(&self, means: &Summary) -> Option<f64> {
        let what = Subject { workload: &self.workload, ..Subject::default() };
        let found =
            self.measures.iter().find_map(|measure| measure.estimate(means, &what)?.known());
        found.map(|found| self.signed(found.mean))
    }
}

impl Limit {
    /// Reads all that must be kept.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); also that two are of the same.
    pub fn all(texts: &[String], workloads: &[Offered]) -> Result<Vec<Limit>, OptionError> {
        let limits = each(texts, |text| Limit::parse(text, workloads))?;
        let is_same = |a: &Limit, b: &Limit| (&a.workload, a.measure) == (&b.workload, b.measure);
        match given_twice(&limits, is_same) {
            None => Ok(limits),
            Some(twice) => Err(OptionError::new(
                format!("`{}` limits a measure that already has a limit", twice.text),
                "keep only the stricter limit",
            )),
        }
    }

    /// Reads `voice.delay.p99 <= 30 ms`, for a scenario with these workloads.
    ///
    /// # Errors
    /// What is wrong, and in a further line what is allowed; also that the workload has nothing of the kind.
    pub fn parse(text: &str, workloads: &[Offered]) -> Result<Limit, OptionError> {
        let split =
            |(sign, at_most)| text.split_once(sign).map(|(left, value)| (left, value, at_most));
        let (left, value, at_most) = [("<=", true), (">=", false)]
            .into_iter()
            .find_map(split)
            .ok_or_else(|| OptionError::new(format!("`{text}` is not a limit"), HOW_LIMIT))?;
        let left = left.trim();
        let (workload, what) = left
            .split_once('.')
            .ok_or_else(|| OptionError::new(format!("`{left}` has no measure"), HOW_LIMIT))?;
        let offered = known(workload, workloads)?;
        let measure = measure(what, offered)?;
        if !offered.has_one_of(&[measure]) {
            let has = offered.as_limits();
            return Err(OptionError::new(
                format!("`{workload}` has no measure `{what}` to limit"),
                format!("its measures are {has}"),
            ));
        }
        let (about, name) = (measure.about(), name(measure));
        if (about.better == Better::Higher) == at_most {
            let sign = if at_most { ">=" } else { "<=" };
            return Err(OptionError::new(
                format!("`{text}` would prevent `{name}` from improving"),
                format!("write it with `{sign}`"),
            ));
        }
        let bound = bound(value.trim(), about.unit)?;
        let is_share = about.unit == Unit::Share || measure == Measure::Fairness;
        if is_share && at_most && bound >= 1.0 {
            let meant = meant(value.trim());
            let what = format!("`{text}` has no effect: `{name}` never exceeds 100 %");
            return Err(OptionError::new(what, meant));
        }
        if is_share && !(0.0..=1.0).contains(&bound) {
            return Err(OptionError::new(
                format!("`{text}` has no effect: `{name}` is always between 0 and 1"),
                "write a number from 0 to 1, or 0 % to 100 %",
            ));
        }
        Ok(Limit {
            text: text.trim().to_owned(),
            workload: offered.workload.clone(),
            measure,
            bound,
            at_most,
        })
    }

    /// The same with a bound that this value keeps, rounded to what reads well; itself where the value keeps it already.
    pub(crate) fn widened_to(&self, value: f64) -> Limit {
        if self.is_kept_by(value) {
            return self.clone();
        }
        let outward = |value: f64| if self.at_most { value.ceil() } else { value.floor() };
        let (steps, one, name) = match self.measure.about().unit {
            Unit::Seconds => (1e3, 1.0, " ms"),
            Unit::Share => (1e3, 10.0, " %"),
            Unit::MegabitsPerSecond => (1e2, 1e2, " Mbit/s"),
            _ => (1e3, 1e3, ""),
        };
        let steps_beyond = outward(value * steps);
        let head = self.text.split(['<', '>']).next().unwrap_or(&self.text).trim();
        let sign = if self.at_most { "<=" } else { ">=" };
        let text = format!("{head} {sign} {}{name}", steps_beyond / one);
        Limit { text, bound: steps_beyond / steps, ..self.clone() }
    }

    /// What a replica says of it. What is known to a bound only counts as that.
    pub fn read(&self, replica: &Replica) -> Option<f64> {
        let what = Subject { workload: &self.workload, ..Subject::default() };
        Some(self.measure.read(replica, &what)?.value())
    }

    /// Whether a figure keeps it.
    pub fn is_kept_by(&self, value: f64) -> bool {
        if self.at_most { value <= self.bound } else { value >= self.bound }
    }

    /// Whether it is surely broken: the whole interval is beyond it.
    pub fn is_significantly_broken_by(&self, found: &Estimate) -> bool {
        let nearest = if self.at_most { found.low } else { found.high };
        nearest.is_some_and(|end| !self.is_kept_by(end))
    }

    /// Whether it is surely kept: the whole interval is within it.
    pub fn is_significantly_kept_by(&self, found: &Estimate) -> bool {
        let farthest = if self.at_most { found.high } else { found.low };
        farthest.is_some_and(|end| self.is_kept_by(end))
    }
}

/// The probably intended value for a share of 1 or more.
fn meant(value: &str) -> String {
    match value.ends_with('%') {
        true => "write a share below 100 %".to_owned(),
        false => format!("did you mean `{value} %`?"),
    }
}

/// Each text as what it says.
fn each<T>(
    texts: &[String],
    parse: impl Fn(&str) -> Result<T, OptionError>,
) -> Result<Vec<T>, OptionError> {
    texts.iter().map(|text| parse(text)).collect()
}

/// The first that is the same as one before it.
fn given_twice<T>(all: &[T], is_same: impl Fn(&T, &T) -> bool) -> Option<&T> {
    let is_there = |(at, one): &(usize, &T)| all[..*at].iter().any(|before| is_same(before, one));
    all.iter().enumerate().find(is_there).map(|(_, one)| one)
}

/// The workload of this name.
fn known<'o>(name: &str, workloads: &'o [Offered]) -> Result<&'o Offered, OptionError> {
    workloads.iter().find(|one| one.workload == name).ok_or_else(|| {
        let names: Vec<&str> = workloads.iter().map(|one| one.workload.as_str()).collect();
        let help = suggestion(name, "workloads", &names);
        OptionError::new(format!("the scenario has no workload `{name}`"), help)
    })
}

/// What goals may be.
fn goal_names() -> impl Iterator<Item = &'static str> {
    STATISTICS.iter().map(|one| one.0).chain(WHOLE_GOALS.iter().map(|one| one.0))
}

/// What `p99` or `goodput` may be of a workload.
fn goal_measures(what: &str) -> Result<Vec<Measure>, OptionError> {
    if let Some((_, measure)) = WHOLE_GOALS.iter().find(|(name, _)| *name == what) {
        return Ok(vec![*measure]);
    }
    if STATISTICS.iter().any(|(name, _)| *name == what) {
        return ["completion", "delay"].map(|of| with_statistic(of, what)).into_iter().collect();
    }
    let names: Vec<&str> = goal_names().collect();
    let list = suggestion(what, "goals", &names);
    let help = match goal_meant(what) {
        Some(meant) => format!("did you mean `{meant}`? {list}"),
        None => list,
    };
    Err(OptionError::new(format!("unknown goal `{what}`"), help))
}

/// What `delay.p99` or `goodput` names.
fn measure(what: &str, offered: &Offered) -> Result<Measure, OptionError> {
    if let Some(measure) = FIGURES.into_iter().find(|measure| name(*measure) == what) {
        return Ok(measure);
    }
    match what.split_once('.') {
        Some((of, statistic)) if DISTRIBUTIONS.contains(&of) => with_statistic(of, statistic),
        None if DISTRIBUTIONS.contains(&what) => Err(OptionError::new(
            format!("`{what}` is a distribution"),
            format!("add a statistic: `{what}.mean`, `.median`, `.p95` or `.p99`"),
        )),
        _ => {
            let (of, statistic) = what.split_once('.').unwrap_or((what, "p99"));
            let figures = FIGURES.map(name);
            let names: Vec<&str> = DISTRIBUTIONS.into_iter().chain(figures).collect();
            let meant = measure_meant(of, offered).or_else(|| nearest(of, names));
            let meant = meant.map_or(String::new(), |meant| match DISTRIBUTIONS.contains(&meant) {
                true => format!("did you mean `{meant}.{statistic}`? "),
                false => format!("did you mean `{meant}`? "),
            });
            let Offered { workload, .. } = offered;
            let help = format!("{meant}measures of `{workload}`: {}", offered.as_limits());
            Err(OptionError::new(format!("unknown measure `{what}`"), help))
        }
    }
}

/// `delay` and `p99` together.
fn with_statistic(of: &str, statistic: &str) -> Result<Measure, OptionError> {
    let found = STATISTICS.iter().find(|(name, _)| *name == statistic).map(|(_, added)| *added);
    let measure = found.and_then(|added| {
        Measure::ALL.into_iter().find(|one| one.about().name == format!("{of}{added}"))
    });
    measure.ok_or_else(|| {
        let help = suggestion(statistic, "statistics", &STATISTICS.map(|(name, _)| name));
        OptionError::new(format!("unknown statistic `{statistic}`"), help)
    })
}

/// A value with its unit, in that of the measure's results.
fn bound(text: &str, unit: Unit) -> Result<f64, OptionError> {
    let wrong = |why: &str, how: &str| {
        OptionError::new(format!("`{text}` is not a valid limit: {why}"), how)
    };
    let number = |text: &str| {
        let found = text.trim().parse::<f64>().ok().filter(|found| found.is_finite());
        found.ok_or_else(|| wrong("not a number", "write a number, such as `0.9`, or `5 %`"))
    };
    match unit {
        Unit::Seconds => text
            .parse::<Duration>()
            .map(Duration::as_secs_f64)
            .map_err(|error| wrong(&error.to_string(), "write a time, such as `30 ms`")),
        Unit::MegabitsPerSecond => text
            .parse::<Rate>()
            .map(|rate| rate.bits_per_sec() as f64 / 1e6)
            .map_err(|error| wrong(&error.to_string(), "write a rate, such as `2 Mbit/s`")),
        _ => match text.strip_suffix('%') {
            Some(percent) => Ok(number(percent)? / 100.0),
            None => number(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workloads() -> Vec<Offered> {
        Offered::for_tests()
    }

    #[test]
    fn a_goal_is_a_statistic_of_a_workload() {
        let goal = Goal::parse("p99:web", &workloads()).unwrap();
        assert_eq!(goal.measures, [Measure::CompletionP99]);
        let goal = Goal::parse("mean:voice", &workloads()).unwrap();
        assert_eq!(goal.measures, [Measure::Delay]);
        let goal = Goal::parse("goodput:backup", &workloads()).unwrap();
        assert_eq!((goal.sign(), &goal.measures[..]), (-1.0, &[Measure::DataGoodput][..]));
    }

    #[test]
    fn a_limit_has_the_unit_of_its_measure() {
        let limit =
            |text| Limit::parse(text, &workloads()).map(|limit| (limit.measure, limit.bound));
        assert_eq!(limit("voice.delay.p99 <= 30 ms"), Ok((Measure::DelayP99, 0.03)));
        assert_eq!(limit("backup.goodput>=1.5 Mbit/s"), Ok((Measure::DataGoodput, 1.5)));
        assert_eq!(limit("voice.datagram-loss <= 1 %"), Ok((Measure::DatagramLoss, 0.01)));
        assert_eq!(limit("web.completion.mean <= 2 s"), Ok((Measure::Completion, 2.0)));
    }

    #[test]
    fn a_widened_limit_is_kept_by_the_value_and_reads_as_it_is() {
        for (text, value, expected) in [
            ("voice.delay.p99 <= 30 ms", 0.0604, "voice.delay.p99 <= 61 ms"),
            ("voice.datagram-loss <= 1 %", 0.0142, "voice.datagram-loss <= 1.5 %"),
            ("backup.goodput >= 1.5 Mbit/s", 1.2389, "backup.goodput >= 1.23 Mbit/s"),
            ("voice.delay.p99 <= 30 ms", 0.03, "voice.delay.p99 <= 30 ms"),
        ] {
            let limit = Limit::parse(text, &workloads()).unwrap().widened_to(value);
            assert_eq!(limit, Limit::parse(expected, &workloads()).unwrap());
            assert!(limit.is_kept_by(value), "{text}");
        }
    }

    #[test]
    fn what_is_unknown_is_told_with_what_is_allowed() {
        let goal = |text| Goal::parse(text, &workloads()).unwrap_err().to_string();
        let limit = |text| Limit::parse(text, &workloads()).unwrap_err().to_string();
        let message = [
            goal("web"),
            goal("p98:web"),
            goal("godput:backup"),
            goal("throughput:backup"),
            goal("p99:wbe"),
            goal("goodput:voice"),
            goal("mean:backup"),
            limit("voice.delay.p99 = 30 ms"),
            limit("voice <= 30 ms"),
            limit("voice.delay <= 30 ms"),
            limit("voice.dealy.p99 <= 30 ms"),
            limit("voice.loss <= 1 %"),
            limit("web.loss <= 1 %"),
            limit("web.latency.p95 <= 1 s"),
            limit("voice.delay.p99 <= 30"),
            limit("voice.delay.p99 >= 30 ms"),
            limit("voice.datagram-loss <= little"),
            limit("voice.datagram-loss <= 500 %"),
            limit("voice.datagram-loss <= 1"),
            limit("backup.fairness >= 1.5"),
            limit("voice.goodput >= 1 Mbit/s"),
            limit("backup.delay.p99 <= 30 ms"),
            limit("web.fairness >= 0.9"),
        ];
        assert_eq!(message.join("\n\n") + "\n", include_str!("golden/aims.txt"));
    }

    #[test]
    fn what_is_asked_for_twice_is_refused() {
        let goals = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            Goal::all(&texts, &workloads()).map(|goals| goals.len())
        };
        assert_eq!(goals(&["p99:web", "mean:web"]), Ok(2));
        assert!(goals(&["p99:web", " p99 : web"]).unwrap_err().what.contains("given twice"));
        assert!(
            goals(&["p99:web", "mean:web", "p99:voice"]).unwrap_err().what.contains("too many")
        );
        let limits = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            Limit::all(&texts, &workloads()).map(|limits| limits.len())
        };
        assert_eq!(limits(&["web.completion.p99 <= 1 s", "web.completion.mean <= 1 s"]), Ok(2));
        let two = limits(&["voice.delay.p99 <= 30 ms", "voice.delay.p99 <= 20 ms"]);
        assert!(two.unwrap_err().help == "keep only the stricter limit");
    }

    #[test]
    fn a_limit_is_surely_broken_where_the_whole_interval_is_beyond_it() {
        let limit = Limit::parse("voice.delay.p99 <= 30 ms", &workloads()).unwrap();
        let found = |values: &[f64]| Estimate::from_values(values).unwrap();
        let (under, near, over) = (
            found(&[0.010, 0.011, 0.012]),
            found(&[0.02, 0.03, 0.06]),
            found(&[0.05, 0.051, 0.052]),
        );
        assert!(
            limit.is_significantly_kept_by(&under) && !limit.is_significantly_broken_by(&under)
        );
        assert!(!limit.is_significantly_kept_by(&near) && !limit.is_significantly_broken_by(&near));
        assert!(!limit.is_significantly_kept_by(&over) && limit.is_significantly_broken_by(&over));
        // One replica has no interval, and makes nobody sure.
        assert!(!limit.is_significantly_broken_by(&found(&[0.5])));
    }
}
