//! The whole procedure: predict, search, confirm.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use shortflow_run::{ClassUse, Engine, Error, Progress};

use crate::by_engine::{ByEngine, expected};
use crate::candidates::Candidate;
use crate::confirm::{Confirmation, confirm};
use crate::goals::{Goal, Limit};
use crate::search::{Figures, MIN_REPLICAS, Measuring, search};
use crate::store::Store;

/// A candidate whose expected goal by closed forms exceeds this multiple of the best is not measured. Means of closed
/// forms are within a fifth of the simulated ones for nine scenarios in ten (`docs/validation.md`); for queues of a
/// few packets they may be twice as long.
const MAX_EXPECTED_RATIO: f64 = 3.0;

/// What is searched for, and among what.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// What is chosen from.
    pub candidates: &'a [Candidate],
    /// Further candidates with which the winner is compared.
    pub references: &'a [Candidate],
    /// What is wanted; the first decides.
    pub goals: &'a [Goal],
    /// What must be kept.
    pub limits: &'a [Limit],
    /// By how many replicas the winner is confirmed; [`MIN_REPLICAS`] at least.
    pub fresh: u32,
    /// How many replicas are run at once; 0 is one for each core.
    pub threads: usize,
    /// Where finished replicas are kept, and found again.
    pub store: &'a Store,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tuned {
    /// The winner, as a place among the candidates; nothing where all of them surely break a limit.
    pub winner: Option<usize>,
    /// The winner beside the runner-up, others that were left, and the references, on fresh seeds.
    pub confirmed: Confirmation,
    /// What became of each candidate in the search.
    pub searched: Vec<Searched>,
    /// How many replicas it rests on.
    pub replicas: u64,
    /// Of these, how many of each were fresh.
    pub fresh: u32,
    /// Why the model ruled nothing out, where it was not asked or had nothing to say.
    pub model: Option<String>,
    /// Packets per class under each candidate, then under each reference; `None` if it was not run.
    #[serde(skip)]
    pub classes: Vec<Option<ClassUse>>,
}

/// What became of a candidate in the search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Searched {
    /// Its name.
    pub label: String,
    /// What closed forms expect of the first goal.
    pub expected: Option<f64>,
    /// How many replicas it got.
    pub replicas: u32,
    /// The mean of each goal over these.
    pub goals: Vec<Option<f64>>,
    /// The mean of each limit's figure over these.
    pub limits: Vec<Option<f64>>,
    /// Why it went no further.
    pub dropped: Option<Dropped>,
    /// The figures of its replicas, of which the first are those of all others.
    #[serde(skip)]
    pub(crate) figures: Vec<Figures>,
}

/// Why a candidate went no further.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dropped {
    /// Closed forms expect it far behind the best.
    Expected,
    /// It surely breaks this limit.
    Breaks(usize),
    /// Others are better.
    Behind,
}

/// Searches, and confirms what it found.
///
/// # Errors
/// When the engine refuses a scenario, fails, or was interrupted: then what is finished is in the store.
pub fn tune(
    engine: &dyn Engine,
    model: &dyn Engine,
    plan: &Plan<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Tuned, Error> {
    let Plan { candidates, references, goals, limits, threads, store, .. } = *plan;
    let all: Vec<_> = candidates.iter().chain(references).map(Candidate::scenario).collect();
    let mut measuring = ByEngine {
        engine,
        classes: vec![None; all.len()],
        scenarios: all,
        goals,
        limits,
        threads,
        stop,
        progress,
        store,
        taken: 0,
    };
    progress.stage("closed forms");
    // What is far behind by one goal may alone keep a limit, or be the best by another goal; so the closed forms are not used then.
    let is_asked = goals.len() == 1 && limits.is_empty() && goals[0].may_be_expected();
    let predicted = match is_asked {
        true => expected(model, &measuring.scenarios[..candidates.len()], &goals[0], stop),
        false => vec![None; candidates.len()],
    };
    let within = within_reach(&predicted);
    progress.stage("search");
    let mut left = Left { within: &within, measuring: &mut measuring };
    let found = search(within.len(), goals.len(), limits, &mut left)?;
    let best: Vec<usize> = found.best.iter().map(|at| within[*at]).collect();
    let fresh = plan.fresh.max(MIN_REPLICAS);
    let (confirmed, winner) = match best.is_empty() {
        true => (confirm(&[], limits), None),
        false => confirmed(plan, &best, found.fresh..found.fresh + fresh, &mut measuring)?,
    };
    let searched = searched(candidates, &predicted, &within, &found);
    let model = match predicted.iter().filter(|one| one.is_some()).count() {
        0 if is_asked || !goals[0].may_be_expected() => {
            Some(format!("no closed form for {}", goals[0].text))
        }
        _ if !limits.is_empty() => Some("a limit may rule out the best".to_owned()),
        _ if goals.len() > 1 => Some("there are two goals".to_owned()),
        _ => None,
    };
    let ByEngine { taken: replicas, classes, .. } = measuring;
    Ok(Tuned { winner, confirmed, searched, replicas, fresh, model, classes })
}

/// The figures of some candidates, replica by replica: of each goal, with its sign.
///
/// # Errors
/// When the engine refuses a scenario, fails, or was interrupted: then what is finished is in the store.
pub fn measure(
    engine: &dyn Engine,
    plan: &Plan<'_>,
    replicas: std::ops::Range<u32>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Figures>>, Error> {
    let Plan { candidates, goals, limits, threads, store, .. } = *plan;
    let scenarios: Vec<_> = candidates.iter().map(Candidate::scenario).collect();
    let classes = vec![None; scenarios.len()];
    let mut measuring = ByEngine {
        engine,
        scenarios,
        goals,
        limits,
        threads,
        stop,
        progress,
        store,
        taken: 0,
        classes,
    };
    progress.stage("each use");
    measuring.measure(&(0..candidates.len()).collect::<Vec<_>>(), replicas)
}

/// The candidates that are not far behind by what is expected of them.
fn within_reach(expected: &[Option<f64>]) -> Vec<usize> {
    let best =
        expected.iter().flatten().copied().filter(|one| *one > 0.0).fold(f64::INFINITY, f64::min);
    let is_near = |one: &Option<f64>| one.is_none_or(|one| one <= MAX_EXPECTED_RATIO * best);
    expected.iter().enumerate().filter(|(_, one)| is_near(one)).map(|(at, _)| at).collect()
}

/// Measures candidates by their places among those that are left.
struct Left<'l, 'a> {
    within: &'l [usize],
    measuring: &'l mut ByEngine<'a>,
}

impl Measuring for Left<'_, '_> {
    type Error = Error;

    fn measure(
        &mut self,
        candidates: &[usize],
        replicas: std::ops::Range<u32>,
    ) -> Result<Vec<Vec<Figures>>, Error> {
        let places: Vec<usize> = candidates.iter().map(|at| self.within[*at]).collect();
        self.measuring.measure(&places, replicas)
    }
}

/// The remaining candidates and the references, on fresh seeds, and the winner: the best of the search, unless it
/// breaks a limit there and another one does not, or another one is significantly better.
fn confirmed(
    plan: &Plan<'_>,
    best: &[usize],
    fresh: std::ops::Range<u32>,
    measuring: &mut ByEngine<'_>,
) -> Result<(Confirmation, Option<usize>), Error> {
    let Plan { candidates, references, limits, .. } = *plan;
    let is_new = |one: &Candidate| !best.iter().any(|at| candidates[*at].is_same_as(one));
    let others = references.iter().enumerate().filter(|(_, one)| is_new(one));
    let others: Vec<usize> = others.map(|(at, _)| candidates.len() + at).collect();
    let mut places: Vec<usize> = best.iter().copied().chain(others).collect();
    measuring.progress.stage("confirmation");
    let figures = measuring.measure(&places, fresh)?;
    let label = |place: usize| match place.checked_sub(candidates.len()) {
        None => candidates[place].label.clone(),
        Some(reference) => references[reference].label.clone(),
    };
    let mut measured: Vec<(String, Vec<Figures>)> =
        places.iter().map(|place| label(*place)).zip(figures).collect();
    let standings = confirm(&measured, limits).standings;
    let keeps = standings.iter().take(best.len()).position(|standing| standing.keeps);
    if let Some(keeps) = keeps {
        measured[..=keeps].rotate_right(1);
        places[..=keeps].rotate_right(1);
    }
    let found = confirm(&measured, limits);
    let Some(better) = significantly_better(&found, best.len()) else {
        return Ok((found, places.first().copied()));
    };
    measured[..=better].rotate_right(1);
    places[..=better].rotate_right(1);
    Ok((confirm(&measured, limits), places.first().copied()))
}

/// Among the first candidates, the one that keeps what the winner keeps and is significantly better by the largest
/// margin.
fn significantly_better(found: &Confirmation, among: usize) -> Option<usize> {
    let is_kept = found.standings[0].keeps;
    let others = (1..among).zip(&found.differences).filter(|(at, difference)| {
        difference.is_significantly_worse() && (found.standings[*at].keeps || !is_kept)
    });
    let by =
        |difference: &crate::confirm::Difference| difference.difference.map_or(0.0, |by| by.mean);
    others.max_by(|(_, a), (_, b)| by(a).total_cmp(&by(b))).map(|(at, _)| at)
}

fn searched(
    candidates: &[Candidate],
    expected: &[Option<f64>],
    within: &[usize],
    found: &crate::search::Found,
) -> Vec<Searched> {
    let one = |(place, candidate): (usize, &Candidate)| {
        let at = within.iter().position(|within| *within == place);
        let figures = at.map_or(&[][..], |at| &found.figures[at]);
        let dropped = match at {
            None => Some(Dropped::Expected),
            Some(at) => match found.breaks[at] {
                Some(limit) => Some(Dropped::Breaks(limit)),
                None => (!found.best.contains(&at)).then_some(Dropped::Behind),
            },
        };
        let mean_of = |of: &dyn Fn(&Figures) -> Option<f64>| {
            let values: Option<Vec<f64>> = figures.iter().map(of).collect();
            values.and_then(|values| shortflow_measure::mean(&values))
        };
        let (goals, limits) =
            figures.first().map_or((0, 0), |one| (one.goals.len(), one.limits.len()));
        Searched {
            label: candidate.label.clone(),
            expected: expected[place],
            replicas: figures.len() as u32,
            goals: (0..goals).map(|at| mean_of(&|one| one.goals[at])).collect(),
            limits: (0..limits).map(|at| mean_of(&|one| one.limits[at])).collect(),
            dropped,
            figures: figures.to_vec(),
        }
    };
    candidates.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_surely_better_on_fresh_seeds_takes_the_place_of_the_best_of_the_search() {
        let of = |name: &str, goals: [f64; 3]| {
            let one = |goal: &f64| Figures { goals: vec![Some(*goal)], limits: Vec::new() };
            (name.to_owned(), goals.iter().map(one).collect())
        };
        let (first, near) = (of("A", [1.0, 1.1, 1.2]), of("B", [0.9, 1.2, 1.2]));
        let (better, best) = (of("C", [0.8, 0.91, 1.0]), of("D", [0.5, 0.61, 0.7]));
        let all = [first, near, better, best];
        let found = |among: usize| significantly_better(&confirm(&all, &[]), among);
        // Whom the search did not leave takes no place.
        assert_eq!([found(2), found(3), found(4)], [None, Some(2), Some(3)]);
    }

    #[test]
    fn what_is_expected_far_behind_the_best_is_not_measured() {
        let expected = [Some(0.2), None, Some(0.61), Some(0.5), Some(0.1)];
        // 0.61 and 0.5 are more than three times 0.1; of the second nothing is known.
        assert_eq!(within_reach(&expected), [0, 1, 4]);
        assert_eq!(within_reach(&[None, None]), [0, 1]);
    }
}
