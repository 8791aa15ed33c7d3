//! The same policies under several engines: how each ranks them, and whether the orders agree.

use std::cmp::Ordering;

use super::run_set::RunSet;
use crate::engines::of_engine;
use crate::estimate::Estimate;
use crate::prediction_error::{PredictionError, prediction_errors};
use crate::ranking::{RankedRun, Ranking};
use crate::results::{Point, Run};

/// How several engines rank the same policies.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineComparison<'r> {
    /// Each engine, in the order of the runs.
    pub orders: Vec<EngineOrder<'r>>,
    /// The policies for which some engine lacks figures.
    pub unknown: Vec<&'r str>,
    /// Whether the orders agree; `None` if the engines did not rank the same policies, or only one.
    pub agreement: Option<Agreement>,
    /// Each mean that a model predicted, and what another engine found.
    pub prediction_errors: Vec<PredictionError>,
}

/// How one engine ranks the policies.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineOrder<'r> {
    /// The engine.
    pub engine: &'r str,
    /// The order of the policies for which it has figures.
    pub ranking: Ranking,
    /// The order of the policies for which all engines have figures.
    pub common: Ranking,
}

/// Whether the orders of several engines agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// They are the same, those that are alike in one place.
    Same,
    /// They are not, but no two policies are clearly in one order here and clearly in the other there.
    Undecided,
    /// They are not, and one replica does not tell whether that is chance.
    Unknown,
    /// They are not, but a model lacks figures, or has only bounds, that may decide.
    Incomparable,
    /// Some two policies are.
    Contrary,
}

impl<'r> EngineComparison<'r> {
    /// `None` if all runs are of one engine.
    pub(super) fn new(set: &RunSet<'r>) -> Option<EngineComparison<'r>> {
        if !set.has_several_engines() {
            return None;
        }
        let policies = &set.policies;
        let known_to: Vec<Vec<&'r str>> =
            set.engines.iter().map(|engine| known_to(set, engine)).collect();
        let is_known = |name: &&&'r str| known_to.iter().all(|known| known.contains(name));
        let (known, unknown): (Vec<&&'r str>, Vec<&&'r str>) = policies.iter().partition(is_known);
        let known: Vec<&'r str> = known.into_iter().copied().collect();
        let order = |(engine, of_engine): (&&'r str, &Vec<&'r str>)| EngineOrder {
            engine,
            ranking: ranking_among(set, engine, of_engine),
            common: ranking_among(set, engine, &known),
        };
        let orders: Vec<EngineOrder<'r>> = set.engines.iter().zip(&known_to).map(order).collect();
        Some(EngineComparison {
            agreement: agreement(set, &orders, &known),
            orders,
            unknown: unknown.into_iter().copied().collect(),
            prediction_errors: prediction_errors(set),
        })
    }
}

/// The policies for which an engine has figures.
fn known_to<'r>(set: &RunSet<'r>, engine: &str) -> Vec<&'r str> {
    let ranking = ranking_among(set, engine, &set.policies);
    let is_known = |line: &&RankedRun| line.worst.is_some() || !ranking.unknown;
    let known: Vec<&str> =
        ranking.lines.iter().filter(is_known).map(|line| line.label.as_str()).collect();
    set.policies.iter().copied().filter(|name| known.contains(name)).collect()
}

/// The order of some policies by one engine.
fn ranking_among(set: &RunSet<'_>, engine: &str, policies: &[&str]) -> Ranking {
    let of = of_engine(set.runs, engine);
    let named: Vec<(&str, &[Point])> = of
        .iter()
        .map(|run| (run.manifest.case(), &run.points[..]))
        .filter(|(name, _)| policies.contains(name))
        .collect();
    ranked(set, &named)
}

/// In the order of means where one of all these runs is of a model, which has no percentiles.
fn ranked(set: &RunSet<'_>, named: &[(&str, &[Point])]) -> Ranking {
    if set.has_model { Ranking::from_means(named) } else { Ranking::new(named) }
}

fn agreement(set: &RunSet<'_>, orders: &[EngineOrder<'_>], policies: &[&str]) -> Option<Agreement> {
    if !set.are_comparable || policies.len() < 2 {
        return None;
    }
    let all: Vec<_> = orders.iter().map(|order| places(&order.common)).collect();
    if all.iter().all(|order| *order == all[0]) {
        return Some(Agreement::Same);
    }
    if orders.iter().any(|order| order.common.unknown) {
        return Some(Agreement::Incomparable);
    }
    if set.runs.iter().flat_map(|run| &run.points).all(|point| point.replicas.len() < 2) {
        return Some(Agreement::Unknown);
    }
    let are_contrary = |(a, b): (&str, &str)| {
        let clear = |engine: &&str| clearly(set, engine, [a, b]);
        let all: Vec<Ordering> = set.engines.iter().map(clear).collect();
        all.contains(&Ordering::Less) && all.contains(&Ordering::Greater)
    };
    let mut pairs = (policies.iter().enumerate())
        .flat_map(|(at, a)| policies[at + 1..].iter().map(move |b| (*a, *b)));
    Some(if pairs.any(are_contrary) { Agreement::Contrary } else { Agreement::Undecided })
}

/// Places and names; those that share a place in the order of their names.
fn places(ranking: &Ranking) -> Vec<(usize, &str)> {
    let mut order: Vec<_> = ranking.lines.iter().map(|l| (l.rank, l.label.as_str())).collect();
    order.sort_unstable();
    order
}

/// Which of two policies is clearly ranked before the other: by the 95 % interval of the logarithm of how many times
/// farther from the best one is, over paired replicas; a model has no interval, and its values are compared directly.
/// One replica is not enough.
fn clearly(set: &RunSet<'_>, engine: &str, pair: [&str; 2]) -> Ordering {
    let of = of_engine(set.runs, engine);
    let [Some(a), Some(b)] =
        pair.map(|name| of.iter().find(|run| run.manifest.case() == name).copied())
    else {
        return Ordering::Equal;
    };
    let replicas = a.points.first().map_or(0, |point| point.replicas.len());
    let apart: Option<Vec<f64>> = (0..replicas).map(|at| apart(set, a, b, at)).collect();
    let apart = apart.and_then(|values| Estimate::from_values(&values));
    let by_model = || {
        let named = [(pair[0], &a.points[..]), (pair[1], &b.points[..])];
        let lines = ranked(set, &named).lines;
        let rank = |run: usize| lines.iter().find(|line| line.run == run).map(|line| line.rank);
        rank(0).cmp(&rank(1))
    };
    match apart {
        _ if replicas == 0 => by_model(),
        Some(Estimate { low: Some(low), .. }) if low > 0.0 => Ordering::Greater,
        Some(Estimate { high: Some(high), .. }) if high < 0.0 => Ordering::Less,
        _ => Ordering::Equal,
    }
}

/// The logarithm of how many times farther from the best of both the first run is than the second, in one replica.
fn apart(set: &RunSet<'_>, a: &Run, b: &Run, replica: usize) -> Option<f64> {
    let alone = |run: &Run| -> Option<Vec<Point>> {
        let of = |point: &Point| {
            let replica = point.replicas.get(replica)?.clone();
            Some(Point::new(point.settings.clone(), vec![replica]))
        };
        run.points.iter().map(of).collect()
    };
    let (a, b) = (alone(a)?, alone(b)?);
    let ranking = ranked(set, &[("a", &a[..]), ("b", &b[..])]);
    let worst = |run: usize| {
        let line = ranking.lines.iter().find(|line| line.run == run)?;
        line.worst.as_ref().map(|worst| worst.ratio.ln())
    };
    let apart = worst(0)? - worst(1)?;
    apart.is_finite().then_some(apart)
}
