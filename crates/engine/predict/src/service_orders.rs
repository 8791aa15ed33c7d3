//! Classes that share a line by weights, computed for every order in which they could be served.
//!
//! In a queue that never idles, the mean waits lie between those of its classes in the orders of strict priority
//! (Shanthikumar & Yao 1992). So a figure that is nearly the same in all orders also holds for the weights; otherwise
//! there is no closed form here.

use shortflow_measure::{ClassSummary, Estimate, Summary, WorkloadSummary};
use shortflow_scenario::Scenario;

use crate::lines;
use crate::network::{Network, settle};
use crate::pages;
use crate::summary::{self, Lacking};

/// How many times the least of a figure the greatest may be for both to count as one.
const ALIKE: f64 = 1.3;

/// A network in one order of its classes, and what is known of it.
type Reading = (Network, Summary, Vec<Lacking>);

/// Every order that the long flows of a scenario allow.
pub(crate) fn all(scenario: &Scenario) -> Vec<Reading> {
    let read = |network: Network| {
        let (summary, lacking) = summary::summarize(scenario, &network);
        (network, summary, lacking)
    };
    let networks = (0..lines::readings(scenario)).map(|number| settle(scenario, number));
    let found: Vec<Reading> = networks.filter(|one| !one.is_misread).map(read).collect();
    if !found.is_empty() {
        return found;
    }
    let mut network = settle(scenario, 0);
    network.leave_all_out("long flows in several classes with weights");
    vec![read(network)]
}

/// The readings as one: what is nearly the same in all, and why the rest is not known.
pub(crate) fn combined(scenario: &Scenario, mut readings: Vec<Reading>) -> Reading {
    let (network, mut summary, mut lacking) = readings.swap_remove(0);
    if readings.is_empty() {
        return (network, summary, lacking);
    }
    let (wholes, objects) = summary.workloads.split_at_mut(scenario.workloads.len());
    for (at, one) in wholes.iter_mut().enumerate() {
        let others: Vec<&WorkloadSummary> =
            readings.iter().map(|(_, summary, _)| &summary.workloads[at]).collect();
        let other_lacks = readings.iter().flat_map(|(.., lacking)| lacking);
        for lacks in other_lacks.filter(|lacks| lacks.workload == at) {
            let is_known = |known: &Lacking| known.workload == at && known.class == lacks.class;
            if !lacking.iter().any(is_known) {
                lacking.push(lacks.clone());
            }
        }
        let min = summary::bounds(scenario, &network, at);
        for (class, why) in merge(one, &others, &min) {
            lacking.push(Lacking { workload: at, class, why });
        }
        if lacking.iter().any(|lacks| lacks.workload == at && lacks.class.is_none()) {
            *one = min;
        }
    }
    for (at, one) in objects.iter_mut().enumerate() {
        let place = scenario.workloads.len() + at;
        let others: Vec<&WorkloadSummary> =
            readings.iter().map(|(_, summary, _)| &summary.workloads[place]).collect();
        let whole =
            |index: &usize| one.name == format!("{}/objects", scenario.workloads[*index].name);
        let Some(index) = (0..scenario.workloads.len()).find(whole) else { continue };
        let Some(min) = pages::objects(scenario, &network, index, false) else { continue };
        let is_whole = |lacks: &Lacking| lacks.workload == index && lacks.class.is_none();
        if merge(one, &others, &min).iter().any(|(class, _)| class.is_none())
            || lacking.iter().any(is_whole)
        {
            *one = min;
        }
    }
    for (at, port) in summary.ports.iter_mut().enumerate() {
        let others = || readings.iter().map(|(_, summary, _)| &summary.ports[at]);
        let waits = others().map(|other| other.mean_wait);
        port.mean_wait = together(port.mean_wait, waits).unwrap_or(None);
        port.loss = shared(port.loss, others().map(|other| other.loss));
        port.utilisation = shared(port.utilisation, others().map(|other| other.utilisation));
    }
    (network, summary, lacking)
}

/// Brings the figures of a workload together; what has no one value, by its class, with the reason, and `min` in its place.
fn merge(
    one: &mut WorkloadSummary,
    others: &[&WorkloadSummary],
    min: &WorkloadSummary,
) -> Vec<(Option<String>, String)> {
    let mut lacking = Vec::new();
    let mut lacks = |class: Option<&str>, range: (f64, f64)| {
        let range = format!("{:.4} and {:.4} s", range.0, range.1);
        lacking.push((class.map(str::to_owned), left_by_weights(&range)));
    };
    if let Some(streams) = &mut one.datagrams {
        let each = others.iter().map(|other| other.datagrams.as_ref().and_then(|one| one.delay));
        match together(streams.delay, each) {
            Ok(delay) => streams.delay = delay,
            Err(range) => lacks(None, range),
        }
        streams.percentiles = Default::default();
        let each = others.iter().map(|other| other.datagrams.as_ref().and_then(|one| one.loss));
        streams.loss = shared(streams.loss, each);
    }
    let of = |label: &str| {
        let label = label.to_owned();
        others.iter().map(move |other| {
            let mut all = std::iter::once(&other.all).chain(&other.classes);
            all.find(|class| class.label == label)
        })
    };
    let is_one_class = one.classes.len() < 2;
    one.all = match merge_class(&one.all, of(&one.all.label)) {
        Ok(class) => class,
        Err(range) => {
            lacks(None, range);
            ClassSummary::default()
        }
    };
    let classes = std::mem::take(&mut one.classes);
    for class in classes {
        match merge_class(&class, of(&class.label)) {
            Ok(merged) => one.classes.push(merged),
            Err(range) => {
                let floor = min.class(&class.label).cloned();
                one.classes.extend(floor.map(|floor| ClassSummary { n: class.n, ..floor }));
                if !is_one_class {
                    lacks(Some(&class.label), range);
                }
            }
        }
    }
    match together(one.goodput, others.iter().map(|other| other.goodput)) {
        Ok(goodput) => one.goodput = goodput,
        Err((low, high)) => {
            let range = format!("{:.4} and {:.4} Mbit/s", low / 1e6, high / 1e6);
            lacking.push((None, left_by_weights(&range)));
        }
    }
    lacking
}

/// Why a figure that lies in a range has no closed form.
fn left_by_weights(range: &str) -> String {
    format!(
        "the rate that classes with weights leave to one another: between {range}, depending on the \
            service order"
    )
}

/// A class with the means of all readings in one.
fn merge_class<'c>(
    class: &ClassSummary,
    others: impl Iterator<Item = Option<&'c ClassSummary>> + Clone,
) -> Result<ClassSummary, (f64, f64)> {
    let part = |own: Option<Estimate>, of: fn(&ClassSummary) -> Option<Estimate>| {
        together(own, others.clone().map(|other| other.and_then(of)))
    };
    let mean = part(class.mean, |class| class.mean)?;
    Ok(ClassSummary {
        mean,
        handshake: part(class.handshake, |class| class.handshake).unwrap_or(None),
        request: part(class.request, |class| class.request).unwrap_or(None),
        reply: part(class.reply, |class| class.reply).unwrap_or(None),
        ..class.clone()
    })
}

/// A share of packets or of time in all readings; none where they differ.
fn shared(
    own: Option<Estimate>,
    others: impl Iterator<Item = Option<Estimate>>,
) -> Option<Estimate> {
    let own = own?;
    let all: Vec<Estimate> = others.collect::<Option<_>>()?;
    let differs = |other: &Estimate| (other.mean - own.mean).abs() > MAX_DIFFERENCE;
    match all.iter().any(differs) {
        true => together(Some(own), all.into_iter().map(Some)).unwrap_or(None),
        false => Some(own),
    }
}

/// By how much shares of different readings may differ that count as one.
const MAX_DIFFERENCE: f64 = 1e-3;

/// The geometric mean of the least and the greatest, where these are alike; none where one reading has none.
fn together(
    own: Option<Estimate>,
    others: impl Iterator<Item = Option<Estimate>>,
) -> Result<Option<Estimate>, (f64, f64)> {
    let Some(own) = own else { return Ok(None) };
    let (mut low, mut high, mut is_bound) = (own.mean, own.mean, own.at_least);
    for other in others {
        let Some(other) = other else { return Ok(None) };
        low = low.min(other.mean);
        high = high.max(other.mean);
        is_bound |= other.at_least;
    }
    if is_bound {
        return Ok(Some(Estimate::at_least(low)));
    }
    if high > ALIKE * low {
        return Err((low, high));
    }
    Ok(Some(Estimate { mean: (low * high).sqrt(), ..own }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(bits: f64) -> WorkloadSummary {
        WorkloadSummary { goodput: Estimate::from_values(&[bits]), ..Default::default() }
    }

    #[test]
    fn a_goodput_that_depends_on_the_order_has_a_reason() {
        let min = WorkloadSummary { goodput: Some(Estimate::at_most(4e6)), ..Default::default() };
        let (mut one, other) = (long(1e6), long(2e6));
        let reasons = merge(&mut one, &[&other], &min);
        let [(None, why)] = &reasons[..] else { panic!("{reasons:?}") };
        assert!(why.contains("between 1.0000 and 2.0000 Mbit/s"), "{why}");
        let mut alike = long(1.9e6);
        assert!(merge(&mut alike, &[&other], &min).is_empty());
        assert!((1.9e6..2e6).contains(&alike.goodput.unwrap().mean), "{alike:?}");
    }

    #[test]
    fn losses_that_differ_between_orders_are_omitted() {
        let loss = |value: f64| Estimate::from_values(&[value]);
        assert_eq!(shared(loss(0.0), [loss(0.2)].into_iter()), None);
        assert_eq!(shared(loss(0.0), [loss(1e-9)].into_iter()), loss(0.0));
        assert_eq!(shared(loss(0.01), [None].into_iter()), None);
        let both = shared(loss(0.2), [loss(0.21)].into_iter()).unwrap().mean;
        assert!((0.2..0.21).contains(&both), "{both}");
    }
}
