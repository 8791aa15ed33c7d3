//! Invariants of every prediction. A figure that violates one becomes unknown, with the reason: a safety net below
//! the models.

use crate::bundles::Bundle;
use crate::network::Network;
use crate::traffic::Demand;

/// By which part what is carried may be above a rate: the fixed point is found by halves.
const ROUNDING: f64 = 1e-3;

/// A line that would carry more than it can, and how much of its rate that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Overfull {
    pub(crate) line: usize,
    pub(crate) part: f64,
}

/// Lines over which packets, with their headers, would go faster than they are.
pub(crate) fn overfull(network: &Network) -> Vec<Overfull> {
    let part = |line: usize| {
        let loads = network.loads.by_line[line].iter().filter(|entry| {
            let source = &network.sources[entry.source];
            source.lacks.is_none() && !matches!(source.demand, Demand::Endless { .. })
        });
        let visits: f64 = loads
            .map(|entry| {
                let share = crate::within::value(entry.share, &network.within);
                network.visits[entry.source] * share * entry.busy
            })
            .sum();
        let flows =
            network.bundles.iter().filter(|bundle| network.sources[bundle.source].lacks.is_none());
        let flows: f64 = flows.map(|bundle| taken(network, bundle, line)).sum();
        visits + flows
    };
    let each = (0..network.lines.len()).map(|line| Overfull { line, part: part(line) });
    each.filter(|found| found.part > 1.0 + ROUNDING).collect()
}

/// The share of a line that a bundle's data and what acknowledges them take.
fn taken(network: &Network, bundle: &Bundle, at: usize) -> f64 {
    let route = &network.sources[bundle.source].routes[bundle.route];
    let line = &network.lines[at];
    let data = route.there.iter().any(|hop| hop.line == at);
    let answers = route.back.iter().any(|hop| hop.line == at);
    let data = if data { bundle.rate * line.time(bundle.packet) } else { 0.0 };
    let answers =
        if answers { bundle.rate / bundle.answered * line.time(bundle.header) } else { 0.0 };
    data + answers
}
