//! The same policies under several engines, in words and as one ranking each.

use shortflow_measure::engines::done_by;
use shortflow_measure::{
    Agreement, EngineComparison, EngineOrder, Estimate, Gain, Measure, PointGains, RunSet, View,
};

use crate::format;
use crate::prediction_error::how_far_off;
use crate::ranking::{at_point, table};
use crate::table::Table;

/// The ranking of the policies by each engine, where there is something to rank.
pub(crate) fn rankings(view: &View<'_>) -> Vec<Table> {
    let of = |order: &EngineOrder<'_>| {
        let title = format!("Policies ranked, {}", done_by(order.engine));
        let has_several = order.ranking.lines.len() > 1;
        has_several.then(|| table(&view.set, &order.ranking, title)).flatten()
    };
    let compared = view.engines.iter().filter(|_| view.set.are_comparable);
    compared.flat_map(|engines| &engines.orders).filter_map(of).collect()
}

/// The comparison of several engines in words: whether they order the policies alike, and how much their figures
/// differ.
pub(crate) fn sentences(set: &RunSet<'_>, engines: &EngineComparison<'_>) -> String {
    let order = in_what_order(engines);
    let unknown = order.is_some().then(|| unknown_text(engines)).flatten();
    let said = [order, unknown, how_far_off(set, engines), how_far_apart(set)];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() { "See the tables.".into() } else { said.join("\n") }
}

fn in_what_order(engines: &EngineComparison<'_>) -> Option<String> {
    let orders = engines.orders.iter().map(|EngineOrder { engine, common, .. }| {
        let mut names = String::new();
        for (at, line) in common.lines.iter().enumerate() {
            let is_alike = at > 0 && line.rank == common.lines[at - 1].rank;
            names += match at {
                0 => "",
                _ if is_alike => " tied with ",
                _ => ", then ",
            };
            names += &line.label;
        }
        (done_by(engine), names)
    });
    let orders: Vec<(String, String)> = orders.collect();
    let each = || {
        let each = orders.iter().map(|(done, names)| format!("{done}: {names}"));
        each.collect::<Vec<_>>().join("; ")
    };
    Some(match engines.agreement? {
        Agreement::Same => {
            let done: Vec<&str> = orders.iter().map(|(done, _)| done.as_str()).collect();
            let known = match engines.orders.iter().any(|order| order.common.unknown) {
                true => ", as far as predictions exist",
                false => "",
            };
            let done = done.join(" and ");
            format!("The policies come in the same order {done}{known}: {}.", orders[0].1)
        }
        Agreement::Undecided => {
            format!(
                "The policies come in the same order as far as the replicas distinguish them: {}.",
                each()
            )
        }
        Agreement::Unknown => {
            format!(
                "The policies come in different orders, which may be chance with one replica: {}.",
                each()
            )
        }
        Agreement::Incomparable => {
            format!(
                "The predictions lack figures that would settle the order of the policies: {}.",
                each()
            )
        }
        Agreement::Contrary => {
            format!("The policies come in different orders: {}.", each())
        }
    })
}

/// The policies without figures of some engine, in words; `None` if there are none.
fn unknown_text(engines: &EngineComparison<'_>) -> Option<String> {
    let others = &engines.unknown;
    (!others.is_empty())
        .then(|| format!("Omitted, because not all engines have figures: {}.", others.join(", ")))
}

/// The measures by which engines are compared, in words.
const COMPARED_MEASURES: [(Measure, &str); 7] = [
    (Measure::CompletionMedian, "median"),
    (Measure::CompletionP95, "95th percentile"),
    (Measure::DelayMedian, "median delay"),
    (Measure::DelayP95, "95th percentile of the delay"),
    (Measure::DatagramLoss, "loss"),
    (Measure::Goodput, "goodput"),
    (Measure::PacketLoss, "loss"),
];

/// A difference too small to report.
const MIN_DIFFERENCE: f64 = 0.01;

/// How many figures clearly differ, and which of them differ most.
fn how_far_apart(set: &RunSet<'_>) -> Option<String> {
    if !set.are_comparable {
        return None;
    }
    let across = set.pairs.iter().filter(|pair| pair.is_across_engines);
    let figures: Vec<Figure<'_>> = across
        .flat_map(|pair| pair.points.iter().flatten())
        .flat_map(|at| at.gains.iter().filter_map(move |gain| Figure::new(at, gain)))
        .collect();
    if figures.is_empty() {
        return None;
    }
    let has_intervals = figures.iter().any(|figure| figure.ratio.n > 1);
    let apart: Vec<&Figure<'_>> =
        figures.iter().filter(|figure| !has_intervals || figure.is_clear()).collect();
    let farthest = |a: &&&Figure<'_>, b: &&&Figure<'_>| a.distance().total_cmp(&b.distance());
    let max = apart.iter().max_by(farthest).map(|figure| figure.sentence(set));
    let all = format!("Of {} medians, 95th percentiles, goodputs and losses", figures.len());
    match (has_intervals, max) {
        (false, max) => max.map(|max| format!("Largest difference: {max}.")),
        (true, None) => Some(format!("{all}, none clearly differs by more than 1 %.")),
        (true, Some(max)) => {
            let (clear, differ) = match apart.len() {
                1 => (1, "differs"),
                clear => (clear, "differ"),
            };
            Some(format!(
                "{all}, {clear} clearly {differ} by more than 1 %. Largest difference: {max}."
            ))
        }
    }
}

/// A figure of two engines.
struct Figure<'g> {
    at: &'g PointGains,
    gain: &'g Gain,
    words: &'static str,
    ratio: Estimate,
}

impl Figure<'_> {
    fn new<'g>(at: &'g PointGains, gain: &'g Gain) -> Option<Figure<'g>> {
        Some(Figure { at, gain, words: of_interest(gain)?, ratio: gain.ratio? })
    }

    /// Whether the whole interval is more than [`MIN_DIFFERENCE`] away from 1.
    fn is_clear(&self) -> bool {
        let Estimate { low, high, .. } = self.ratio;
        low.is_some_and(|low| low > 1.0 + MIN_DIFFERENCE)
            || high.is_some_and(|high| high < 1.0 - MIN_DIFFERENCE)
    }

    /// Whose it is, and how many times as much as that of the other engine.
    fn sentence(&self, set: &RunSet<'_>) -> String {
        let Figure { at, gain, words, ratio } = self;
        let place = at_point(set, at.point);
        let times = format::significant(ratio.mean);
        format!(
            "{}, the {words} of {}{place} is {times} times that of {}",
            at.ours, gain.workload, at.reference
        )
    }

    /// How many times one is of the other, whichever is more.
    fn distance(&self) -> f64 {
        self.ratio.mean.max(1.0 / self.ratio.mean)
    }
}

/// The name of a figure, if engines are compared by it.
fn of_interest(gain: &Gain) -> Option<&'static str> {
    let is_whole =
        !gain.workload.contains('/') && gain.class.as_deref().is_none_or(|class| class == "all");
    let (_, words) = COMPARED_MEASURES.iter().find(|(measure, _)| *measure == gain.measure)?;
    is_whole.then_some(*words)
}
