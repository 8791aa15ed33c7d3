//! Compares the order of policies between engines.

use std::cmp::Ordering;

use shortflow_measure::engines::{cases, engines, of_engine};
use shortflow_measure::{Estimate, Point, RankedRun, Ranking, Run, RunSet, is_model};

/// What the orders of several engines are to one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
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

/// The order in which one engine ranks the policies; a model ranks those for which it has figures.
pub(crate) fn ranking_by(runs: &[Run], engine: &str) -> Ranking {
    ranking_among(runs, engine, &known_to(runs, engine))
}

/// The order of some policies by one engine.
pub(crate) fn ranking_among(runs: &[Run], engine: &str, policies: &[&str]) -> Ranking {
    let of = of_engine(runs, engine);
    let named: Vec<(&str, &[Point])> = of
        .iter()
        .map(|run| (run.manifest.case(), &run.points[..]))
        .filter(|(name, _)| policies.contains(name))
        .collect();
    ranked(runs, &named)
}

/// In the order of means where one of all these runs is of a model, which has no percentiles.
fn ranked(runs: &[Run], named: &[(&str, &[Point])]) -> Ranking {
    if runs.iter().any(is_model) { Ranking::from_means(named) } else { Ranking::new(named) }
}

/// The policies of which each engine tells something.
pub(crate) fn known_to_all(runs: &[Run]) -> Vec<&str> {
    let is_told =
        |name: &&str| engines(runs).iter().all(|engine| known_to(runs, engine).contains(name));
    cases(runs).into_iter().filter(is_told).collect()
}

/// The policies of which an engine tells something.
fn known_to<'r>(runs: &'r [Run], engine: &str) -> Vec<&'r str> {
    let all = cases(runs);
    let ranking = ranking_among(runs, engine, &all);
    let is_told = |line: &&RankedRun| line.worst.is_some() || !ranking.unknown;
    let known: Vec<&str> =
        ranking.lines.iter().filter(is_told).map(|line| line.label.as_str()).collect();
    all.into_iter().filter(|name| known.contains(name)).collect()
}

/// How far the engines agree; `None` if they did not rank the same policies, or only one.
pub(crate) fn agreement(set: &RunSet<'_>) -> Option<Agreement> {
    let runs = set.runs;
    let engines = engines(runs);
    let policies = known_to_all(runs);
    let among = |engine: &&str| ranking_among(runs, engine, &policies);
    let rankings: Vec<Ranking> = engines.iter().map(among).collect();
    if !set.are_comparable || policies.len() < 2 {
        return None;
    }
    let orders: Vec<_> = rankings.iter().map(places).collect();
    if orders.iter().all(|order| *order == orders[0]) {
        return Some(Agreement::Same);
    }
    if rankings.iter().any(|ranking| ranking.unknown) {
        return Some(Agreement::Incomparable);
    }
    if runs.iter().flat_map(|run| &run.points).all(|point| point.replicas.len() < 2) {
        return Some(Agreement::Unknown);
    }
    let are_contrary = |(a, b): (&str, &str)| {
        let clear = |engine: &&str| clearly(runs, engine, [a, b]);
        let all: Vec<Ordering> = engines.iter().map(clear).collect();
        all.contains(&Ordering::Less) && all.contains(&Ordering::Greater)
    };
    let mut pairs = (policies.iter().enumerate())
        .flat_map(|(at, a)| policies[at + 1..].iter().map(move |b| (*a, *b)));
    Some(if pairs.any(are_contrary) { Agreement::Contrary } else { Agreement::Undecided })
}

/// Places and names; those that share a place in the order of their names.
fn places(ranking: &Ranking) -> Vec<(usize, String)> {
    let mut order: Vec<_> = ranking.lines.iter().map(|l| (l.rank, l.label.clone())).collect();
    order.sort();
    order
}

/// Which of two policies is clearly ranked before the other: by the 95 % interval of the logarithm of how many times
/// farther from the best one is, over paired replicas; a model has no interval, and its values are compared directly.
/// One replica is not enough.
fn clearly(runs: &[Run], engine: &str, pair: [&str; 2]) -> Ordering {
    let of = of_engine(runs, engine);
    let [Some(a), Some(b)] =
        pair.map(|name| of.iter().find(|run| run.manifest.case() == name).copied())
    else {
        return Ordering::Equal;
    };
    let replicas = a.points.first().map_or(0, |point| point.replicas.len());
    let apart: Option<Vec<f64>> = (0..replicas).map(|at| apart(runs, a, b, at)).collect();
    let apart = apart.and_then(|values| Estimate::from_values(&values));
    let by_model = || {
        let named = [(pair[0], &a.points[..]), (pair[1], &b.points[..])];
        let lines = ranked(runs, &named).lines;
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
fn apart(runs: &[Run], a: &Run, b: &Run, replica: usize) -> Option<f64> {
    let alone = |run: &Run| -> Option<Vec<Point>> {
        let of = |point: &Point| {
            let replica = point.replicas.get(replica)?.clone();
            Some(Point::new(point.settings.clone(), vec![replica]))
        };
        run.points.iter().map(of).collect()
    };
    let (a, b) = (alone(a)?, alone(b)?);
    let ranking = ranked(runs, &[("a", &a[..]), ("b", &b[..])]);
    let worst = |run: usize| {
        let line = ranking.lines.iter().find(|line| line.run == run)?;
        line.worst.as_ref().map(|worst| worst.ratio.ln())
    };
    let apart = worst(0)? - worst(1)?;
    apart.is_finite().then_some(apart)
}
