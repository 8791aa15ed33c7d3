//! Limits that some candidate can keep, where none keeps those that are wanted.

use std::sync::atomic::AtomicBool;

use shortflow_run::{Engine, Error, Progress};

use crate::goals::Limit;
use crate::search::{Figures, LAST, excess, mean_of_limit, means_of_goals};
use crate::tune::{Plan, Searched, Tuned, measure, tune};

/// How far each limit lies beyond the figure of the nearest candidate. The first leaves room for what differs by chance; the
/// others follow if fresh seeds break a limit all the same.
const FACTORS: [f64; 4] = [1.1, 1.25, 1.5, 2.0];

/// A limit is not widened to more than so many times what is wanted.
const MAX_WIDENED: f64 = 5.0;

/// What a search has found within limits that some candidate keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Within {
    /// The limits: those of the plan, wider ones near the nearest candidate, or none at all.
    pub limits: Vec<Limit>,
    /// What was found within them.
    pub tuned: Tuned,
    /// How the plan's own limits are broken, in sentences; nothing where they are kept.
    pub broken: Option<String>,
    /// What came of each candidate within the last limits that none keeps.
    pub searched: Vec<Searched>,
}

/// Searches within the limits of the plan. If no candidate keeps them, it searches within what the nearest candidate reaches,
/// so that no other may be much worse than that in anything that is limited, however good it is by the goal.
///
/// # Errors
/// As [`tune`].
pub fn tune_within(
    engine: &dyn Engine,
    model: &dyn Engine,
    plan: &Plan<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Within, Error> {
    let search = |limits: &[Limit]| tune(engine, model, &Plan { limits, ..*plan }, stop, progress);
    let wanted = plan.limits;
    let tuned = search(wanted)?;
    if tuned.keeps_limits() {
        let limits = wanted.to_vec();
        return Ok(Within { limits, tuned, broken: None, searched: Vec::new() });
    }
    let broken = Some(tuned.what_breaks(wanted));
    let mut searched = tuned.searched;
    // The search dropped most candidates after two replicas, which tell too little of who comes nearest.
    let figures = measure(engine, plan, 0..LAST, stop, progress)?;
    for factor in FACTORS {
        let Some(limits) = nearest_limits(wanted, &figures, factor) else { break };
        let tuned = search(&limits)?;
        if tuned.keeps_limits() {
            return Ok(Within { limits, tuned, broken, searched });
        }
        searched = tuned.searched;
    }
    Ok(Within { limits: Vec::new(), tuned: search(&[])?, broken, searched })
}

/// The limits, widened to `factor` times the figures of the candidate that is the least beyond them; nothing where even that
/// one is far beyond.
fn nearest_limits(limits: &[Limit], figures: &[Vec<Figures>], factor: f64) -> Option<Vec<Limit>> {
    let rank = |figures: &&Vec<Figures>| {
        let goal = means_of_goals(figures).first().copied().unwrap_or(f64::INFINITY);
        (excess(figures, limits), goal)
    };
    let nearest = figures.iter().min_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    let widened = |(at, limit): (usize, &Limit)| {
        let found = mean_of_limit(nearest, at)?;
        let bound = if limit.at_most { found * factor } else { found / factor };
        let times = if limit.at_most { bound / limit.bound } else { limit.bound / bound };
        (times <= MAX_WIDENED).then(|| limit.widened_to(bound))
    };
    limits.iter().enumerate().map(widened).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered::Offered;

    fn limits() -> Vec<Limit> {
        let texts = ["voice.delay.p99 <= 30 ms", "voice.datagram-loss <= 1 %"];
        texts.map(|text| Limit::parse(text, &Offered::for_tests()).unwrap()).into()
    }

    fn candidate(goal: f64, delays: [f64; 2], loss: f64) -> Vec<Figures> {
        let one =
            |delay: f64| Figures { goals: vec![Some(goal)], limits: vec![Some(delay), Some(loss)] };
        delays.map(one).into()
    }

    fn widened(candidates: &[Vec<Figures>], factor: f64) -> Option<Vec<String>> {
        let found = nearest_limits(&limits(), candidates, factor)?;
        Some(found.into_iter().map(|limit| limit.text).collect())
    }

    #[test]
    fn a_candidate_far_beyond_the_nearest_is_outside_however_good_it_is_by_the_goal() {
        let far = candidate(0.1, [0.08, 0.09], 0.0);
        let near = candidate(5.0, [0.04, 0.044], 0.0);
        // 42 ms on average, and a tenth: 46.2.
        let expected = ["voice.delay.p99 <= 47 ms", "voice.datagram-loss <= 1 %"];
        assert_eq!(widened(&[far, near], 1.1).unwrap(), expected);
    }

    #[test]
    fn of_those_equally_near_the_one_better_by_the_goal_is_taken() {
        let slow = candidate(5.0, [0.04, 0.04], 0.0);
        let fast = candidate(1.0, [0.04, 0.04], 0.012);
        let both = [slow, fast];
        // The delay is a third beyond for both, the loss a fifth for one; the greater counts.
        let expected = ["voice.delay.p99 <= 50 ms", "voice.datagram-loss <= 1.5 %"];
        assert_eq!(widened(&both, 1.25).unwrap(), expected);
    }

    #[test]
    fn a_limit_that_the_nearest_keeps_stays_as_it_is() {
        // 2.1 % and a tenth is 2.31 %, rounded up.
        let lossy = candidate(1.0, [0.01, 0.012], 0.021);
        let expected = ["voice.delay.p99 <= 30 ms", "voice.datagram-loss <= 2.4 %"];
        assert_eq!(widened(&[lossy], 1.1).unwrap(), expected);
    }

    #[test]
    fn where_even_the_nearest_is_far_beyond_or_unknown_there_are_none() {
        assert_eq!(widened(&[candidate(1.0, [0.2, 0.2], 0.0)], 1.1), None);
        let mut unknown = candidate(1.0, [0.02, 0.02], 0.0);
        unknown[1].limits[0] = None;
        assert_eq!(widened(&[unknown], 1.1), None);
    }
}
