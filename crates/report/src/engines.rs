//! The same policies by several engines, in words and in the rankings of each.

use shortflow_measure::cases::{point_label, swept_key};
use shortflow_measure::engines::{cases, done_by, engines, of_engine};
use shortflow_measure::results::Comparison;
use shortflow_measure::{Estimate, Gain, Measure, Point, PointGains, Ranking, Run};

use crate::format;
use crate::ranking::{comparable, table};
use crate::table::Table;

/// The order in which one engine has the policies.
pub(crate) fn ranking_by(runs: &[Run], engine: &str) -> Ranking {
    let of = of_engine(runs, engine);
    let named: Vec<(&str, &[Point])> =
        of.iter().map(|run| (run.manifest.case(), &run.points[..])).collect();
    Ranking::of(&named)
}

/// The ranking of the policies by each engine, where there is something to rank.
pub(crate) fn rankings(runs: &[Run]) -> Vec<Table> {
    let of = |engine: &str| {
        let ranking = ranking_by(runs, engine);
        let title = format!("Policies ranked, {}", done_by(engine));
        (ranking.lines.len() > 1).then(|| table(runs, &ranking, title)).flatten()
    };
    if comparable(runs) { engines(runs).into_iter().filter_map(of).collect() } else { Vec::new() }
}

/// Whether all engines have the policies in the same order, those that are alike in one place; none where
/// they did not rank the same, or one policy only.
pub(crate) fn same_order(runs: &[Run]) -> Option<bool> {
    let orders: Vec<Vec<(usize, String)>> =
        engines(runs).into_iter().map(|engine| order(&ranking_by(runs, engine))).collect();
    let (first, others) = orders.split_first()?;
    let ranks_all = |order: &Vec<(usize, String)>| order.len() == cases(runs).len();
    if !comparable(runs) || first.len() < 2 || !orders.iter().all(ranks_all) {
        return None;
    }
    Some(others.iter().all(|other| other == first))
}

/// Places and names; those that share a place in the order of their names.
fn order(ranking: &Ranking) -> Vec<(usize, String)> {
    let mut order: Vec<_> = ranking.lines.iter().map(|l| (l.rank, l.label.clone())).collect();
    order.sort();
    order
}

/// What several engines found, in words: whether they order the policies alike, and how far apart their
/// figures are.
pub(crate) fn sentences(runs: &[Run]) -> String {
    let said = [in_what_order(runs), how_far_apart(runs)];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() { "See the tables.".into() } else { said.join("\n") }
}

fn in_what_order(runs: &[Run]) -> Option<String> {
    let orders = engines(runs).into_iter().map(|engine| {
        let ranking = ranking_by(runs, engine);
        let mut names = String::new();
        for (at, line) in ranking.lines.iter().enumerate() {
            let is_alike = at > 0 && line.rank == ranking.lines[at - 1].rank;
            names += match at {
                0 => "",
                _ if is_alike => " and alike ",
                _ => ", then ",
            };
            names += &line.label;
        }
        (done_by(engine), names)
    });
    let orders: Vec<(String, String)> = orders.collect();
    Some(match same_order(runs)? {
        true => {
            let done: Vec<&str> = orders.iter().map(|(done, _)| done.as_str()).collect();
            format!("The policies come in the same order {}: {}.", done.join(" and "), orders[0].1)
        }
        false => {
            let each = orders.iter().map(|(done, names)| format!("{done}: {names}"));
            let each: Vec<String> = each.collect();
            format!("The policies do not come in the same order: {}.", each.join("; "))
        }
    })
}

/// The measures by which engines are held against each other, in words.
const OF_INTEREST: [(Measure, &str); 7] = [
    (Measure::CompletionMedian, "median"),
    (Measure::CompletionP95, "95th percentile"),
    (Measure::DelayMedian, "median delay"),
    (Measure::DelayP95, "95th percentile of the delay"),
    (Measure::DatagramLoss, "loss"),
    (Measure::Goodput, "goodput"),
    (Measure::PacketLoss, "loss"),
];

/// How many figures clearly differ, and which differ most.
fn how_far_apart(runs: &[Run]) -> Option<String> {
    if !comparable(runs) {
        return None;
    }
    let compared: Vec<_> = runs.iter().map(Run::compared).collect();
    let gains = Comparison::gains(&compared);
    let engine_of = |label: &str| {
        runs.iter().find(|run| run.label == label).map(|run| run.manifest.engine.as_str())
    };
    let across: Vec<&PointGains> =
        gains.iter().filter(|at| engine_of(&at.reference) != engine_of(&at.ours)).collect();
    let figures: Vec<Figure<'_>> = across
        .into_iter()
        .flat_map(|at| at.gains.iter().filter_map(move |gain| Figure::of(at, gain)))
        .collect();
    let farthest = |a: &&Figure<'_>, b: &&Figure<'_>| a.distance().total_cmp(&b.distance());
    let Figure { at, gain, words, ratio } = figures.iter().max_by(farthest)?;
    let place = match swept_key(runs) {
        Some(key) => format!(" at {key} = {}", point_label(&runs[0], at.point)),
        None => String::new(),
    };
    let most = format!(
        "{}, the {words} of {}{place} is {} times that of {}",
        at.ours,
        gain.workload,
        format::significant(ratio.mean),
        at.reference
    );
    let clear = figures.iter().filter(|figure| figure.ratio.differs_from(1.0)).count();
    Some(match figures.iter().any(|figure| figure.ratio.n > 1) {
        true => format!(
            "Of {} medians, 95th percentiles, goodputs and losses, {clear} clearly {differ}. Farthest apart: \
             {most}.",
            figures.len(),
            differ = if clear == 1 { "differs" } else { "differ" }
        ),
        false => format!("Farthest apart: {most}."),
    })
}

/// A figure of two engines.
struct Figure<'g> {
    at: &'g PointGains,
    gain: &'g Gain,
    words: &'static str,
    ratio: Estimate,
}

impl Figure<'_> {
    fn of<'g>(at: &'g PointGains, gain: &'g Gain) -> Option<Figure<'g>> {
        Some(Figure { at, gain, words: of_interest(gain)?, ratio: gain.ratio? })
    }

    /// How many times one is of the other, whichever is more.
    fn distance(&self) -> f64 {
        self.ratio.mean.max(1.0 / self.ratio.mean)
    }
}

/// What a figure is called, where it is one by which engines are held against each other.
fn of_interest(gain: &Gain) -> Option<&'static str> {
    let is_whole =
        !gain.workload.contains('/') && gain.class.as_deref().is_none_or(|class| class == "all");
    let (_, words) = OF_INTEREST.iter().find(|(measure, _)| *measure == gain.measure)?;
    is_whole.then_some(*words)
}
