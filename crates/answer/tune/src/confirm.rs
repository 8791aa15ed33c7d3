//! Confirms the winner against others, on seeds that the search did not use.

use serde::Serialize;
use shortflow_measure::{Estimate, paired};

use crate::goals::Limit;
use crate::search::{Figures, beats, means_of_goals};

/// The winner beside others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Confirmation {
    /// How each does, the winner first.
    pub standings: Vec<Standing>,
    /// The winner's goal less that of each other.
    pub differences: Vec<Difference>,
}

/// How a candidate does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub label: String,
    /// Each goal, in seconds; nothing where some replica cannot tell it.
    pub goals: Vec<Option<Estimate>>,
    /// Whether no other candidate beats it in every goal.
    pub on_front: bool,
    /// The figure of each limit, in the unit of its measure; nothing where some replica cannot tell it.
    pub limits: Vec<Option<Estimate>>,
    /// Whether the mean of every one of these keeps its limit.
    pub keeps: bool,
    /// Whether the whole interval of every one does.
    pub significantly_keeps: bool,
}

/// The winner's goal less another's, replica by replica.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// From whom.
    pub from: String,
    /// In seconds, below zero where the winner is better; nothing where some replica cannot tell.
    pub difference: Option<Estimate>,
}

impl Difference {
    /// Whether the whole interval says that the winner is better.
    pub fn is_significantly_better(&self) -> bool {
        self.difference.and_then(|found| found.high).is_some_and(|high| high < 0.0)
    }

    /// Whether the whole interval says that the winner is worse.
    pub fn is_significantly_worse(&self) -> bool {
        self.difference.and_then(|found| found.low).is_some_and(|low| low > 0.0)
    }
}

/// Puts the first of these beside the others, if there is one: of each its name and its figures, of the same replicas.
pub fn confirm(measured: &[(String, Vec<Figures>)], limits: &[Limit]) -> Confirmation {
    let goal = |figures: &[Figures]| all(figures, |one| one.goals.first().copied().flatten());
    let winner = measured.first().and_then(|(_, figures)| goal(figures));
    let difference = |(label, figures): &(String, Vec<Figures>)| Difference {
        from: label.clone(),
        difference: goal(figures)
            .zip(winner.as_ref())
            .and_then(|(other, winner)| paired(&other, winner)),
    };
    Confirmation {
        standings: measured.iter().map(|one| standing(one, measured, limits)).collect(),
        differences: measured.iter().skip(1).map(difference).collect(),
    }
}

fn standing(
    (label, figures): &(String, Vec<Figures>),
    beside: &[(String, Vec<Figures>)],
    limits: &[Limit],
) -> Standing {
    let means = means_of_goals(figures);
    let goals = 0..means.len();
    let goal =
        |at: usize| all(figures, |one| one.goals[at]).and_then(|v| Estimate::from_values(&v));
    let of = |at: usize| all(figures, |one| one.limits[at]).and_then(|v| Estimate::from_values(&v));
    let found: Vec<Option<Estimate>> = (0..limits.len()).map(of).collect();
    let each = |holds: fn(&Limit, &Estimate) -> bool| {
        let mut pairs = limits.iter().zip(&found);
        pairs.all(|(limit, found)| found.is_some_and(|found| holds(limit, &found)))
    };
    Standing {
        label: label.clone(),
        goals: goals.map(goal).collect(),
        on_front: !beside.iter().any(|(_, other)| beats(&means_of_goals(other), &means)),
        keeps: each(|limit, found| limit.is_kept_by(found.mean)),
        significantly_keeps: each(Limit::is_significantly_kept_by),
        limits: found,
    }
}

/// The values of all replicas, where each has one.
fn all(figures: &[Figures], of: impl Fn(&Figures) -> Option<f64>) -> Option<Vec<f64>> {
    figures.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered::Offered;

    fn candidate(name: &str, goals: &[f64], delays: &[f64]) -> (String, Vec<Figures>) {
        let one = |(goal, delay): (&f64, &f64)| Figures {
            goals: vec![Some(*goal)],
            limits: vec![Some(*delay)],
        };
        (name.to_owned(), goals.iter().zip(delays).map(one).collect())
    }

    fn limits() -> Vec<Limit> {
        vec![Limit::parse("voice.delay.p99 <= 30 ms", &Offered::for_tests()).unwrap()]
    }

    #[test]
    fn differences_are_taken_replica_by_replica() {
        // The replicas differ far more than the two in each of them.
        let delays = [0.01, 0.011, 0.01];
        let winner = candidate("A", &[1.0, 5.0, 9.0], &delays);
        let others = [
            candidate("B", &[1.1, 5.12, 9.09], &delays),
            candidate("C", &[2.0, 4.0, 9.0], &delays),
        ];
        let [near, far] = others;
        let found = confirm(&[winner, near, far], &limits()).differences;
        assert!(found[0].is_significantly_better());
        assert!(!found[1].is_significantly_better() && !found[1].is_significantly_worse());
        // −0.1, −0.12 and −0.09.
        assert!((found[0].difference.unwrap().mean + 0.31 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_limit_may_be_kept_without_anybody_being_sure() {
        let found = confirm(&[candidate("A", &[1.0, 1.0], &[0.020, 0.035])], &limits());
        assert!(found.standings[0].keeps && !found.standings[0].significantly_keeps);
        assert!(found.differences.is_empty());
    }

    #[test]
    fn where_a_replica_cannot_tell_nothing_is_said() {
        let mut silent = candidate("B", &[1.0, 1.0], &[0.02, 0.02]);
        silent.1[1] = Figures { goals: vec![None], limits: vec![None] };
        let found = confirm(&[candidate("A", &[1.0, 1.0], &[0.02, 0.02]), silent], &limits());
        assert_eq!(found.differences[0].difference, None);
        assert_eq!((found.standings[1].goals[0], found.standings[1].keeps), (None, false));
    }
}
