//! Selects the advice: the simplest policy that is as good as the winner.

use shortflow_measure::{Estimate, Unit};
use shortflow_policy::Policy;
use shortflow_tune::{Candidate, Difference, Goal, Limit, Searched, Tuned};

use crate::variants::is_at_usual_rate;

/// The shown policies: the current network, plain queues, and the winner, each once. Before the winner come other
/// remaining candidates that are as good and simpler.
pub(crate) fn shown(
    references: &[Candidate],
    winner: &Candidate,
    all: &[Candidate],
    tuned: &Tuned,
) -> Vec<Candidate> {
    let is_new = |one: &&Candidate| !references.iter().any(|other| other.label == one.label);
    let standings = tuned.confirmed.standings.iter().skip(1);
    let others = standings.filter_map(|one| all.iter().find(|other| other.label == one.label));
    let as_good: Vec<&Candidate> = others.filter(|one| is_as_good(&one.label, tuned)).collect();
    let is_simpler = |one: &&&Candidate| simplicity(one) < simplicity(winner);
    let simplest = as_good.iter().filter(is_simpler).min_by_key(|one| simplicity(one)).copied();
    // The same policy at the usual rate, which leaves more to long transfers.
    let is_same_policy = |one: &&&Candidate| one.does == winner.does && is_at_usual_rate(one);
    let usual = as_good.iter().find(is_same_policy).copied();
    let mut others: Vec<&Candidate> = simplest.into_iter().chain(usual).filter(is_new).collect();
    others.sort_by_key(|one| simplicity(one));
    others.extend([winner].into_iter().filter(is_new));
    others.dedup_by_key(|one| &one.label);
    references.iter().chain(others).cloned().collect()
}

/// The order in which equally good policies are taken, whatever the seed: those that mark nothing before those that do, the
/// usual rate before a lower one, then by name.
fn simplicity(one: &Candidate) -> (bool, bool, &str) {
    let marks = one.scenario().policy.as_deref().is_some_and(Policy::marks_at_edge);
    (marks, !is_at_usual_rate(one), &one.label)
}

/// What is chosen from, the simplest first, and by what.
pub(crate) struct Choice<'c> {
    /// The network as it is first.
    pub(crate) shown: &'c [Candidate],
    /// What each use gets under each of these.
    pub(crate) figures: &'c [(String, Vec<Option<Estimate>>)],
    /// What these figures are.
    pub(crate) about: &'c [(String, Goal)],
    /// By which is searched.
    pub(crate) goal: &'c Goal,
    /// The limits of calls and similar traffic.
    pub(crate) asked: &'c [Limit],
}

impl Choice<'_> {
    /// The candidates for the advice, the simplest first: the current network, then plain queues at the gateway. An
    /// advised policy is as good as the winner by the goal, and no equally good one is significantly better in
    /// something and significantly worse in nothing. A replacement must itself be better than the current network,
    /// unless the current one is worse by the goal; and calls must not get worse.
    pub(crate) fn simplest(&self, winner: usize, tuned: &Tuned) -> usize {
        let good = (0..self.shown.len())
            .filter(|at| *at == winner || is_as_good(&self.shown[*at].label, tuned))
            .filter(|at| !self.is_worse_for_calls(*at));
        let good: Vec<usize> = good.collect();
        let is_beaten = |at: usize| good.iter().any(|by| self.beats(*by, at));
        let has_reason = |at: usize| at == 0 || !good.contains(&0) || self.beats(at, 0);
        let mut left = good.iter().copied().filter(|at| !is_beaten(*at));
        // Nobody is left where all would do calls harm, or where each is beaten by another.
        left.find(|at| has_reason(*at)).unwrap_or(if good.contains(&winner) { winner } else { 0 })
    }

    /// Whether the first is significantly better in something than the second, and significantly worse in nothing.
    /// Long transfers alone do not justify a change, unless they are the goal.
    fn beats(&self, by: usize, at: usize) -> bool {
        let [ours, theirs] = [by, at].map(|at| &self.figures[at].1);
        let counts = |figure: usize| {
            let goal = &self.about[figure].1;
            at != 0 || goal.unit() != Unit::MegabitsPerSecond || goal.text == self.goal.text
        };
        worse_than(ours, theirs, self.about).any(counts)
            && worse_than(theirs, ours, self.about).next().is_none()
    }

    /// Whether calls and similar traffic are significantly worse than today in one of their limits, and better in
    /// none.
    fn is_worse_for_calls(&self, at: usize) -> bool {
        let [today, ours] = [&self.figures[0].1, &self.figures[at].1];
        let is_missed = |found: &[Option<Estimate>], figure: usize| {
            self.needed(figure, self.asked)
                .is_some_and(|limit| !keeps(limit, found[figure].as_ref()))
        };
        let mut worse = worse_than(today, ours, self.about);
        let mut better = worse_than(ours, today, self.about);
        worse.any(|figure| is_missed(ours, figure))
            && !better.any(|figure| is_missed(today, figure))
    }

    /// The limit that is of the same as a figure.
    fn needed<'l>(&self, figure: usize, limits: &'l [Limit]) -> Option<&'l Limit> {
        let goal = &self.about[figure].1;
        let is_loss = |text: &str| text.contains("loss");
        limits.iter().find(|limit| {
            limit.workload == goal.workload && is_loss(&limit.text) == is_loss(&goal.text)
        })
    }
}

/// Whether a figure keeps a limit; what too little is known of does not.
fn keeps(limit: &Limit, found: Option<&Estimate>) -> bool {
    found.is_some_and(|found| limit.is_kept_by(found.mean))
}

/// Whether calls and similar traffic are unusable under every policy of the search, and today.
pub(crate) fn is_useless(choice: &Choice<'_>, min: &[Limit], searched: &[Searched]) -> bool {
    let is_of_use = |found: &[Option<f64>]| {
        let mut pairs = min.iter().zip(found);
        pairs.all(|(limit, found)| found.is_some_and(|found| limit.is_kept_by(found)))
    };
    let is_used = searched.iter().any(|one| !one.limits.is_empty() && is_of_use(&one.limits));
    let today_fails = (0..choice.about.len()).any(|figure| {
        let limit = choice.needed(figure, min);
        limit.is_some_and(|limit| !keeps(limit, choice.figures[0].1[figure].as_ref()))
    });
    today_fails && !is_used
}

/// The bounds that no policy keeps.
pub(crate) fn beyond(min: &[Limit], searched: &[Searched]) -> String {
    let is_kept = |at: usize| {
        let mut found = searched.iter().filter_map(|one| *one.limits.get(at)?);
        found.any(|found| min[at].is_kept_by(found))
    };
    let text = |at: usize| min[at].text.as_str();
    let lost: Vec<&str> = (0..min.len()).filter(|at| !is_kept(*at)).map(text).collect();
    let lost = if lost.is_empty() { (0..min.len()).map(text).collect() } else { lost };
    format!("No policy keeps calls and similar traffic usable on this line: {}.", lost.join(", "))
}

/// By what share a figure is worse before anybody minds.
const NOTICEABLE_LOSS: f64 = 0.1;

/// The figures that are significantly and noticeably worse in the second than in the first: their intervals do not
/// overlap.
pub(crate) fn worse_than<'a>(
    first: &'a [Option<Estimate>],
    second: &'a [Option<Estimate>],
    about: &'a [(String, Goal)],
) -> impl Iterator<Item = usize> + 'a {
    let is_worse = |goal: &Goal, first: &Estimate, second: &Estimate| {
        let [first, second] = [first, second].map(|one| one.scaled(goal.sign()));
        let min = if second.at_least { Some(second.mean) } else { second.low };
        let is_sure = first.high.zip(min).is_some_and(|(first, second)| second > first);
        is_sure && second.mean - first.mean > NOTICEABLE_LOSS * first.mean.abs()
    };
    (0..about.len()).filter(move |at| {
        let both = first[*at].as_ref().zip(second[*at].as_ref());
        both.is_some_and(|(first, second)| is_worse(&about[*at].1, first, second))
    })
}

/// Whether a candidate was confirmed next to the winner, keeps what the winner keeps, and the winner is not
/// significantly and noticeably better.
fn is_as_good(label: &str, tuned: &Tuned) -> bool {
    let standings = &tuned.confirmed.standings;
    let standing = standings.iter().find(|standing| standing.label == label);
    if !standing.is_some_and(|standing| standing.keeps) {
        return false;
    }
    let difference = tuned.confirmed.differences.iter().find(|found| found.from == label);
    difference.is_none_or(|found| found.difference.is_some() && !matters(found, tuned))
}

/// Whether the winner is significantly and noticeably better by the goal.
fn matters(difference: &Difference, tuned: &Tuned) -> bool {
    let by = difference.difference.map_or(0.0, |found| found.mean.abs());
    let goal = tuned.confirmed.standings[0].goals[0].map_or(0.0, |found| found.mean.abs());
    difference.is_significantly_better() && by > NOTICEABLE_LOSS * goal
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::{Overrides, from_texts};
    use shortflow_tune::{Confirmation, Offered, Standing};
    use shortflow_units::Rate;

    use super::*;
    use crate::{LineKind, Network, Use};

    fn network() -> Network {
        Network {
            name: "net".to_owned(),
            up: Rate::from_bits_per_sec(1_000_000),
            down: Rate::from_bits_per_sec(8_000_000),
            line: LineKind::parse("dsl").unwrap(),
            users: 2,
            uses: vec![Use::Web, Use::Voice, Use::Backup],
            flows: None,
            sizes: 1.0,
        }
    }

    /// What is asked of these figures of a network: each as its low end and its high one.
    fn with<R>(figures: &[[[f64; 2]; 7]], ask: impl Fn(&Choice<'_>) -> R) -> R {
        let network = network();
        let text = network.scenario();
        let policy = include_str!("../../../../policies/best-effort.toml");
        let overrides = Overrides { policy: Some("policy.toml".into()), ..Overrides::default() };
        let texts = [("net.toml", text.as_str()), ("policy.toml", policy)];
        let loaded = from_texts(&texts, &overrides).unwrap();
        let offered = Offered::by(&loaded.points()[0].scenario);
        let goal = |text: &str| Goal::parse(text, &offered).unwrap();
        let about = network.figures().into_iter().map(|(text, about)| (about, goal(&text)));
        let about: Vec<(String, Goal)> = about.collect();
        assert_eq!(about.len(), 7);
        let estimate = |[low, high]: &[f64; 2]| {
            let mean = f64::midpoint(*low, *high);
            Some(Estimate {
                mean,
                low: Some(*low),
                high: Some(*high),
                n: 12,
                at_least: false,
                at_most: false,
            })
        };
        let figures = figures.iter().map(|all| (String::new(), all.iter().map(estimate).collect()));
        let figures: Vec<_> = figures.collect();
        let asked: Vec<Limit> =
            network.limits().iter().map(|text| Limit::parse(text, &offered).unwrap()).collect();
        let (about, goal) = (&about[..], &goal("p95:pages"));
        ask(&Choice { shown: &[], figures: &figures, about, goal, asked: &asked })
    }

    /// Pages, median and 95 %; calls going out and coming in, delay and loss; uploads.
    const TODAY: [[f64; 2]; 7] =
        [[1.0, 1.2], [3.0, 4.0], [2.0, 2.2], [0.01, 0.02], [0.03, 0.04], [0.0, 0.0], [0.6, 0.7]];

    #[test]
    fn what_long_transfers_get_is_alone_no_reason_to_change_what_is_there() {
        let (mut uploads, mut pages) = (TODAY, TODAY);
        uploads[6] = [0.9, 0.95];
        pages[1] = [1.0, 1.5];
        with(&[TODAY, uploads, pages, TODAY], |choice| {
            assert!(!choice.beats(1, 0) && choice.beats(2, 0));
            assert!(choice.beats(1, 3), "between policies it counts");
        });
    }

    #[test]
    fn calls_are_worse_off_where_more_than_they_need_is_lost_and_nothing_is_gained() {
        let (mut lost, mut near, mut soon) = (TODAY, TODAY, TODAY);
        lost[3] = [0.2, 0.3];
        near[4] = [0.05, 0.056];
        (soon[2], soon[3]) = ([0.02, 0.03], [0.03, 0.04]);
        with(&[TODAY, lost, near, soon], |choice| {
            assert!(choice.is_worse_for_calls(1));
            assert!(!choice.is_worse_for_calls(2), "what they need is kept");
            assert!(!choice.is_worse_for_calls(3), "two seconds are worse than a loss of 3 %");
        });
    }

    #[test]
    fn a_difference_that_is_sure_but_small_makes_nobody_worse() {
        let estimate = |mean: f64| {
            let (low, high) = (Some(mean - 0.01), Some(mean + 0.01));
            Some(Estimate { mean, low, high, n: 12, at_least: false, at_most: false })
        };
        let is_as_good = |by: f64| {
            let standing = |label: &str, goal| Standing {
                label: label.to_owned(),
                goals: vec![estimate(goal)],
                on_front: true,
                limits: Vec::new(),
                keeps: true,
                significantly_keeps: true,
            };
            let difference = Difference { from: "B".to_owned(), difference: estimate(-by) };
            let confirmed = Confirmation {
                standings: vec![standing("A", 1.0), standing("B", 1.0 + by)],
                differences: vec![difference],
            };
            let (searched, model) = (Vec::new(), None);
            is_as_good(
                "B",
                &Tuned {
                    winner: Some(0),
                    confirmed,
                    searched,
                    replicas: 24,
                    fresh: 12,
                    model,
                    classes: Vec::new(),
                },
            )
        };
        assert!(is_as_good(0.05) && !is_as_good(0.2));
    }
}
