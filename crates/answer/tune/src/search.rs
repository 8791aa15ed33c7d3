//! Successive halving: all candidates for a few replicas, the better half for twice as many, and so on.

use std::ops::Range;

use shortflow_measure::{Estimate, mean};

use crate::goals::Limit;

/// What one replica says of a candidate; nothing where it cannot tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Each goal; the first is what is searched for.
    pub goals: Vec<Option<f64>>,
    /// Each limit's figure.
    pub limits: Vec<Option<f64>>,
}

/// Who gives the figures of candidates. The same replica of two of them has the same seeds.
pub trait Measuring {
    /// Why it could not.
    type Error;

    /// The figures of each of these candidates, replica by replica.
    ///
    /// # Errors
    /// When it could not measure them all.
    fn measure(
        &mut self,
        candidates: &[usize],
        replicas: Range<u32>,
    ) -> Result<Vec<Vec<Figures>>, Self::Error>;
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The remaining candidates at the end, the best first; `None` if each significantly breaks a limit.
    pub best: Vec<usize>,
    /// The figures of each candidate, replica by replica, as far as it came.
    pub figures: Vec<Vec<Figures>>,
    /// The limit that a candidate surely breaks, for which it was dropped.
    pub breaks: Vec<Option<usize>>,
    /// The first replica that no choice rests on.
    pub fresh: u32,
}

/// How many replicas each candidate gets at first, and how many the last two get at least.
const FIRST: u32 = 2;
pub(crate) const LAST: u32 = 8;

/// The fewest replicas by which the winner is confirmed.
pub const MIN_REPLICAS: u32 = 4;

/// How many candidates are left at least: a winner and a runner-up, and where there are several goals a choice between
/// them.
fn min_survivors(goals: usize) -> usize {
    if goals > 1 { 6 } else { 2 }
}

/// The maximum number of replicas of a search among this number of candidates for this number of goals.
pub fn replicas_needed(candidates: usize, goals: usize) -> u64 {
    let min = min_survivors(goals);
    let (mut left, mut before, mut each, mut all) = (candidates, 0, FIRST, 0);
    loop {
        all += left as u64 * u64::from(each - before);
        if is_over(left, each, min) {
            return all;
        }
        (left, before, each) = (halved(left, min), each, each * 2);
    }
}

/// Finds the best of `count` candidates. Where there are several goals, those are better that fewer others beat in all of
/// them; among these the first goal decides.
///
/// # Errors
/// What `measuring` could not do.
pub fn search<M: Measuring>(
    count: usize,
    goals: usize,
    limits: &[Limit],
    measuring: &mut M,
) -> Result<Found, M::Error> {
    let min = min_survivors(goals);
    let mut figures: Vec<Vec<Figures>> = vec![Vec::new(); count];
    let mut breaks = vec![None; count];
    let mut left: Vec<usize> = (0..count).collect();
    let (mut before, mut each) = (0, FIRST);
    loop {
        let found = measuring.measure(&left, before..each)?;
        for (&candidate, found) in left.iter().zip(found) {
            figures[candidate].extend(found);
            breaks[candidate] = significantly_broken(&figures[candidate], limits);
        }
        left.retain(|&candidate| breaks[candidate].is_none());
        sort(&mut left, &figures, limits);
        if is_over(left.len(), each, min) {
            return Ok(Found { best: left, figures, breaks, fresh: each });
        }
        left.truncate(halved(left.len(), min));
        (before, each) = (each, each * 2);
    }
}

fn is_over(left: usize, each: u32, min: usize) -> bool {
    left == 0 || left <= min && each >= LAST
}

/// The number of candidates that continue: half of them, but at least `min`.
fn halved(left: usize, min: usize) -> usize {
    left.div_ceil(2).max(left.min(min))
}

/// The first limit that these figures surely break.
fn significantly_broken(figures: &[Figures], limits: &[Limit]) -> Option<usize> {
    limits.iter().enumerate().position(|(at, limit)| {
        let found = Estimate::over(figures, |one| one.limits[at]);
        found.is_some_and(|found| limit.is_significantly_broken_by(&found))
    })
}

/// First those that keep all limits, by how many beat them in every goal, and then by the first; then the others, by
/// how far they are beyond a limit.
fn sort(left: &mut [usize], figures: &[Vec<Figures>], limits: &[Limit]) {
    let means: Vec<Vec<f64>> = figures.iter().map(|figures| means_of_goals(figures)).collect();
    let beaten_by =
        |one: usize| left.iter().filter(|&&other| beats(&means[other], &means[one])).count();
    let keys: Vec<(usize, f64, usize)> = left
        .iter()
        .map(|&candidate| (candidate, excess(&figures[candidate], limits), beaten_by(candidate)))
        .collect();
    let key =
        |candidate: usize| keys.iter().find(|key| key.0 == candidate).expect("it is one of them");
    left.sort_by(|&a, &b| {
        let (of_a, of_b) = (key(a), key(b));
        let first = |candidate: usize| means[candidate].first().copied().unwrap_or(f64::INFINITY);
        of_a.1
            .total_cmp(&of_b.1)
            .then(of_a.2.cmp(&of_b.2))
            .then(first(a).total_cmp(&first(b)))
            .then(a.cmp(&b))
    });
}

/// How far a candidate is beyond a limit, as a share of it: zero where it keeps all.
pub(crate) fn excess(figures: &[Figures], limits: &[Limit]) -> f64 {
    let of = |(at, limit): (usize, &Limit)| match mean_of_limit(figures, at) {
        Some(found) if limit.is_kept_by(found) => 0.0,
        Some(found) => ((found - limit.bound) / limit.bound).abs(),
        None => f64::INFINITY,
    };
    limits.iter().enumerate().map(of).fold(0.0, f64::max)
}

/// The mean of a limit's figure; nothing where some replica cannot tell it.
pub(crate) fn mean_of_limit(figures: &[Figures], at: usize) -> Option<f64> {
    let values: Option<Vec<f64>> = figures.iter().map(|one| one.limits[at]).collect();
    values.and_then(|values| mean(&values))
}

/// The mean of each goal; without end where some replica cannot tell it.
pub(crate) fn means_of_goals(figures: &[Figures]) -> Vec<f64> {
    let goals = figures.first().map_or(0, |one| one.goals.len());
    let of = |goal: usize| {
        let values: Option<Vec<f64>> = figures.iter().map(|one| one.goals[goal]).collect();
        values.and_then(|values| mean(&values)).unwrap_or(f64::INFINITY)
    };
    (0..goals).map(of).collect()
}

/// Whether these goals are as good as those, and one of them better.
pub(crate) fn beats(these: &[f64], those: &[f64]) -> bool {
    let pairs = || these.iter().zip(those);
    pairs().all(|(these, those)| these <= those) && pairs().any(|(these, those)| these < those)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered::Offered;

    /// Candidates whose goals and delays are known, with noise that a replica's seed gives to all alike, and a
    /// little that is each one's own. Those that are silent do not tell their goals.
    struct Known {
        truth: Vec<(f64, f64)>,
        silent: Vec<usize>,
        measured: Vec<u32>,
    }

    impl Known {
        fn new(truth: &[(f64, f64)]) -> Known {
            Known { truth: truth.to_vec(), silent: vec![], measured: vec![0; truth.len()] }
        }

        fn figures(&self, candidate: usize, replica: u32) -> Figures {
            let shared = f64::from(replica * 7 % 5);
            let own = f64::from((replica * 3 + candidate as u32) % 4) * 0.01;
            let (goal, delay) = self.truth[candidate];
            let goal = (!self.silent.contains(&candidate)).then_some(goal + shared + own);
            Figures { goals: vec![goal], limits: vec![Some(delay + own * 0.01)] }
        }
    }

    impl Measuring for Known {
        type Error = ();

        fn measure(&mut self, of: &[usize], replicas: Range<u32>) -> Result<Vec<Vec<Figures>>, ()> {
            of.iter().for_each(|candidate| self.measured[*candidate] += replicas.len() as u32);
            let all = |candidate: &usize| {
                replicas.clone().map(|replica| self.figures(*candidate, replica)).collect()
            };
            Ok(of.iter().map(all).collect())
        }
    }

    fn limits() -> Vec<Limit> {
        vec![Limit::parse("voice.delay.p99 <= 30 ms", &Offered::for_tests()).unwrap()]
    }

    #[test]
    fn the_best_that_keeps_the_limit_wins_under_noise_that_all_share() {
        // The noise that all share is many times what tells the candidates apart.
        let truth = [(1.4, 0.01), (1.1, 0.02), (0.5, 0.2), (1.2, 0.01), (1.3, 0.01), (1.5, 0.01)];
        let mut known = Known::new(&truth);
        let found = search(6, 1, &limits(), &mut known).unwrap();
        assert_eq!(found.best, [1, 3]);
        assert_eq!(found.breaks[2], Some(0), "it would have been the best by its goal");
        // 2 for all, 4 for the better half of the five that are left, 8 for the better half of those three.
        assert_eq!(known.measured, [2, 8, 2, 8, 4, 2]);
        assert_eq!(found.fresh, 8);
    }

    #[test]
    fn where_every_candidate_breaks_the_limit_nobody_wins() {
        let mut known = Known::new(&[(1.0, 0.1), (2.0, 0.2), (3.0, 0.3)]);
        let found = search(3, 1, &limits(), &mut known).unwrap();
        assert_eq!(found.best, [0; 0]);
        assert!(found.breaks.iter().all(Option::is_some));
    }

    #[test]
    fn a_candidate_whose_goal_cannot_be_told_comes_last() {
        let mut known = Known::new(&[(0.1, 0.01), (5.0, 0.01), (4.0, 0.01)]);
        known.silent = vec![0];
        assert_eq!(search(3, 1, &limits(), &mut known).unwrap().best, [2, 1]);
    }

    #[test]
    fn a_search_takes_no_more_replicas_than_it_was_said_to_need() {
        for count in [1, 2, 3, 5, 8, 21] {
            let truth: Vec<(f64, f64)> = (0..count).map(|n| (n as f64, 0.01)).collect();
            let mut known = Known::new(&truth);
            search(count, 1, &limits(), &mut known).unwrap();
            let taken: u32 = known.measured.iter().sum();
            assert_eq!(u64::from(taken), replicas_needed(count, 1), "{count} candidates");
        }
        // By hand: 8 × 2, 4 × 2 more, 2 × 4 more.
        assert_eq!(replicas_needed(8, 1), 32);
    }
}
