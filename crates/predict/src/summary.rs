//! What is known of a network at rest, as a summary.

use std::collections::BTreeMap;

use shortflow_measure::{ClassSummary, Estimate, PortSummary, Summary, WorkloadSummary};
use shortflow_models::window_growth::jain;
use shortflow_scenario::{Part, Scenario, SizeClass, Workload};
use shortflow_units::Instant;

use crate::datagrams;
use crate::lines::Order;
use crate::network::Network;
use crate::range::{Lack, is_smooth};
use crate::traffic::{Demand, Shape, Visit};
use crate::visits::{Parts, Visiting, distinct, mean_time};

/// What has no closed form, and why.
#[derive(Debug, Clone)]
pub(crate) struct Lacking {
    /// The number of the workload.
    pub(crate) workload: usize,
    /// The sizes, where others have one.
    pub(crate) class: Option<String>,
    pub(crate) why: String,
}

/// The summary, and why there is no closed form for what it leaves out.
pub(crate) fn of(scenario: &Scenario, network: &Network) -> (Summary, Vec<Lacking>) {
    let mut lacking = Vec::new();
    let mut workloads = Vec::new();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        let mut found = WorkloadSummary {
            name: workload.name.clone(),
            item: workload.kind.traffic().item(Part::Whole),
            ..Default::default()
        };
        let mut lacks = |class: Option<&str>, why: &dyn std::fmt::Display| {
            let (class, why) = (class.map(str::to_owned), why.to_string());
            lacking.push(Lacking { workload: index, class, why });
        };
        match &network.sources[index].lacks {
            Some(why) => lacks(None, why),
            None => fill(scenario, network, index, workload, (&mut found, &mut lacks))
                .unwrap_or_else(|why| lacks(None, &why)),
        }
        workloads.push(found);
    }
    let summary = Summary {
        replicas: 1,
        measured: (scenario.duration - scenario.warm_up).as_secs_f64(),
        workloads,
        ports: ports(scenario, network),
        ..Default::default()
    };
    (summary, lacking)
}

/// Whom to tell of sizes without a closed form, and why there is none.
type Telling<'t> = &'t mut dyn FnMut(Option<&str>, &dyn std::fmt::Display);

fn fill(
    scenario: &Scenario,
    network: &Network,
    index: usize,
    workload: &Workload,
    (found, lacks): (&mut WorkloadSummary, Telling<'_>),
) -> Result<(), Lack> {
    let source = &network.sources[index];
    let seconds = measured(scenario, workload);
    let rate = network.visits[index];
    match &source.demand {
        Demand::Packets { sizes, ages, .. } => {
            found.datagrams = Some(datagrams::of(network, source, sizes, *ages, rate * seconds)?);
        }
        Demand::Endless { .. } => {
            let bundles = || network.bundles.iter().filter(|bundle| bundle.source == index);
            let bits = bundles().map(|bundle| bundle.rate * bundle.payload * 8.0).sum::<f64>();
            found.goodput = Estimate::of(&[bits]);
            let each = bundles().flat_map(|bundle| {
                let each = bundle.rate / bundle.connections;
                std::iter::repeat_n(each, bundle.connections as usize)
            });
            found.fairness = Estimate::of(&[jain(each)?]);
        }
        Demand::Open { visit, .. } | Demand::Closed { visit, .. } => {
            if matches!(visit.shape, Shape::Exchange | Shape::File) {
                let named = &scenario.measure.size_classes;
                let classes = classes(network, index, visit, named)?;
                let all_known = classes.iter().all(|class| class.lacks.is_none());
                let some_known = classes.iter().any(|class| class.is_told());
                if !some_known {
                    let why = classes.into_iter().find_map(|class| class.lacks);
                    return Err(why.unwrap_or_else(|| Lack::new("nothing is sent".to_owned())));
                }
                if all_known {
                    found.all = whole(&classes, rate * seconds);
                }
                for class in classes.iter().filter(|class| class.share > 0.0) {
                    match &class.lacks {
                        Some(why) => lacks(Some(&class.label), why),
                        None => found.classes.push(class.summary(rate * seconds)),
                    }
                }
            } else {
                let time = mean_time(network, index, visit)?;
                found.all = ClassSummary {
                    label: "all".to_owned(),
                    n: (rate * seconds).round() as u64,
                    mean: Estimate::of(&[time]),
                    ..Default::default()
                };
            }
            found.completed = match found.all.n {
                0 => found.classes.iter().map(|class| class.n).sum(),
                all => all,
            };
        }
    }
    Ok(())
}

/// Seconds of a run in which what comes is measured.
fn measured(scenario: &Scenario, workload: &Workload) -> f64 {
    let since = |at: Instant| at.as_secs_f64();
    let (warm_up, end) = (scenario.warm_up.as_secs_f64(), scenario.duration.as_secs_f64());
    match workload.kind.traffic().arrivals() {
        Some(arrivals) => {
            (since(arrivals.stop).min(end) - since(arrivals.start).max(warm_up)).max(0.0)
        }
        None => end - warm_up,
    }
}

/// Visits of a class of sizes.
#[derive(Debug, Clone, Default)]
struct Class {
    label: String,
    share: f64,
    /// The sums over visits, each by its share.
    sums: Parts,
    has_request: bool,
    lacks: Option<Lack>,
}

impl Class {
    fn is_told(&self) -> bool {
        self.share > 0.0 && self.lacks.is_none()
    }

    fn summary(&self, number: f64) -> ClassSummary {
        let mean = |sum: f64| Estimate::of(&[sum / self.share]).filter(|_| self.share > 0.0);
        ClassSummary {
            label: self.label.clone(),
            n: (self.share * number).round() as u64,
            mean: mean(self.sums.whole()),
            handshake: mean(self.sums.handshake).filter(|_| self.has_request),
            request: mean(self.sums.request).filter(|_| self.has_request),
            reply: mean(self.sums.reply).filter(|_| self.has_request),
            ..Default::default()
        }
    }
}

/// The visits of each class by the size of what comes last.
fn classes(
    network: &Network,
    index: usize,
    visit: &Visit,
    named: &[SizeClass],
) -> Result<Vec<Class>, Lack> {
    let last = visit.messages.last().expect("a visit has a message");
    let class_of = |size: f64| {
        let at = named.iter().position(|class| size <= class.up_to.0 as f64);
        at.unwrap_or(named.len().saturating_sub(1))
    };
    let class = |at: usize| Class {
        label: named.get(at).map_or(String::new(), |class| class.label.clone()),
        has_request: visit.messages.len() > 1,
        ..Class::default()
    };
    let mut found: Vec<Class> = (0..named.len().max(1)).map(class).collect();
    for (route, of_route) in distinct(network, &network.sources[index].routes) {
        let visiting = Visiting::new(network, index, route, visit)?;
        for &(size, share) in &last.sizes {
            let share = share * of_route;
            let class = &mut found[class_of(size)];
            class.share += share;
            let parts = match visiting.of_size(size) {
                Ok(parts) => parts,
                Err(why) => {
                    class.lacks.get_or_insert(why);
                    continue;
                }
            };
            class.sums.handshake += share * parts.handshake;
            class.sums.request += share * parts.request;
            class.sums.reply += share * parts.reply;
        }
    }
    Ok(found)
}

/// All classes together.
fn whole(classes: &[Class], number: f64) -> ClassSummary {
    let mut all = Class { label: "all".to_owned(), ..Class::default() };
    for class in classes {
        all.has_request = class.has_request;
        all.share += class.share;
        all.sums.handshake += class.sums.handshake;
        all.sums.request += class.sums.request;
        all.sums.reply += class.sums.reply;
    }
    all.summary(number)
}

/// A loss; where it is a lower bound, less what Padhye's formula may be off, on which that rests.
pub(crate) fn least_or_mean(loss: f64, is_least: bool) -> Option<Estimate> {
    let part = if is_least { 1.0 - PFTK_OFF } else { 1.0 };
    Estimate::of(&[loss * part]).map(|loss| Estimate { at_least: is_least, ..loss })
}

/// How far Padhye et al. 2000 may be off, as a part.
const PFTK_OFF: f64 = 0.15;

/// Those of which results are to tell, as of any engine's.
fn ports(scenario: &Scenario, network: &Network) -> Vec<PortSummary> {
    let places: BTreeMap<_, usize> =
        network.lines.iter().enumerate().map(|(at, line)| ((line.from, line.to), at)).collect();
    let port = |at: usize| {
        let (line, met) = (&network.lines[at], &network.met[at]);
        let is_known = network.unknown[at].is_none()
            && met.iter().all(|met| met.lacks.is_none())
            && !network.sources.iter().any(|source| source.lacks.is_some() && source.passes(at));
        let one = (met.len() == 1 && is_known).then(|| &met[0]);
        // What waits or is lost of all packets is not what those meet that begin a window, or a flow in its turn.
        let waits =
            one.filter(|met| line.order == Order::Bands && (met.is_filled || is_smooth(met)));
        PortSummary {
            name: line.name.clone(),
            utilisation: Estimate::of(&[network.utilisation(at) * line.part]).filter(|_| is_known),
            mean_queue_packets: None,
            mean_queue_bytes: None,
            mean_wait: waits.filter(|met| !met.is_unclear || met.is_least).and_then(|met| {
                Estimate::of(&[met.wait]).map(|wait| Estimate { at_least: met.is_least, ..wait })
            }),
            ecn_marks: None,
            loss: waits.filter(|met| !met.is_unclear).and_then(|met| match met.loss[..] {
                [_] if met.is_least => {
                    let least = Estimate::of(&[met.least_loss]);
                    least.map(|loss| Estimate { at_least: true, ..loss })
                }
                [loss] => least_or_mean(loss, met.loses_at_least),
                _ => None,
            }),
            code_points: Vec::new(),
        }
    };
    scenario.measure.ports.iter().filter_map(|ends| places.get(ends)).map(|at| port(*at)).collect()
}
