//! The solved network as a summary.

use std::collections::BTreeMap;

use shortflow_measure::{
    ClassSummary, DatagramSummary, DelaySummary, Estimate, PortSummary, Summary, WorkloadSummary,
};
use shortflow_models::window_growth::jain;
use shortflow_scenario::{Part, Scenario, SizeClass, Workload, WorkloadKind};
use shortflow_units::Instant;
use shortflow_workloads::Bulk;

use crate::band::Order;
use crate::datagrams;
use crate::doubt::check_time;
use crate::lower_bound::{self, LowerBound};
use crate::met::Met;
use crate::network::Network;
use crate::pages;
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

/// The summary, and the reasons for missing figures.
pub(crate) fn summarize(scenario: &Scenario, network: &Network) -> (Summary, Vec<Lacking>) {
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
        let filled = match &network.sources[index].lacks {
            Some(why) => Err(Lack::new(why.clone())),
            None => fill(scenario, network, index, workload, (&mut found, &mut lacks)),
        };
        if let Err(why) = filled {
            lacks(None, &why);
            found = bounds(scenario, network, index);
        }
        workloads.push(found);
    }
    for index in 0..scenario.workloads.len() {
        let is_whole = |lacks: &Lacking| lacks.workload == index && lacks.class.is_none();
        let has_means = !lacking.iter().any(is_whole);
        workloads.extend(pages::objects(scenario, network, index, has_means));
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

/// Adds what load adds to the mean delays: what is not of the idle path.
pub(crate) fn add_idle_delays(scenario: &Scenario, summary: &mut Summary) {
    for (index, found) in summary.workloads.iter_mut().take(scenario.workloads.len()).enumerate() {
        let idle = scenario.idle_delay(index);
        if let (Some(datagrams), Some(idle)) = (&mut found.datagrams, idle) {
            let mean = datagrams.delay.filter(|delay| !delay.is_bound());
            let added = |delay: Estimate| Estimate { mean: (delay.mean - idle).max(0.0), ..delay };
            datagrams.added_delay = mean.map(added);
        }
    }
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
            found.datagrams =
                Some(datagrams::delay_and_loss(network, source, sizes, *ages, rate * seconds)?);
        }
        Demand::Endless { .. } => {
            network.check_regrowth(index)?;
            let bundles = || network.bundles.iter().filter(|bundle| bundle.source == index);
            let bits = bundles().map(|bundle| bundle.rate * bundle.payload * 8.0).sum::<f64>();
            found.goodput = Estimate::from_values(&[bits]);
            let each = bundles().flat_map(|bundle| {
                let each = bundle.rate / bundle.connections;
                std::iter::repeat_n(each, bundle.connections as usize)
            });
            found.fairness = Estimate::from_values(&[jain(each)?]);
        }
        Demand::Open { visit, .. } | Demand::Closed { visit, .. } => {
            if matches!(visit.shape, Shape::Exchange | Shape::File) {
                let named = &scenario.measure.size_classes;
                let classes = classes(network, index, visit, named)?;
                let some_known = classes.iter().any(|class| class.is_known());
                if !some_known {
                    let why = classes.into_iter().find_map(|class| class.lacks);
                    return Err(why.unwrap_or_else(|| Lack::new("nothing is sent".to_owned())));
                }
                found.all = whole(&classes, rate * seconds);
                for class in classes.iter().filter(|class| class.share > 0.0) {
                    if let Some(why) = &class.lacks {
                        lacks(Some(&class.label), why);
                    }
                    found.classes.push(class.summary(rate * seconds));
                }
            } else {
                let time = mean_time(network, index, visit)?;
                check_time(network, index, time, lower_bound::visit(network, source, visit, None))?;
                found.all = ClassSummary {
                    label: "all".to_owned(),
                    n: (rate * seconds).round() as u64,
                    mean: Estimate::from_values(&[time]),
                    ..Default::default()
                };
                let class = pages::class(visit, &scenario.measure.size_classes);
                let labelled = |class: &SizeClass| ClassSummary {
                    label: class.label.clone(),
                    ..found.all.clone()
                };
                found.classes = class.map(labelled).into_iter().collect();
            }
            found.completed = match found.all.n {
                0 => found.classes.iter().map(|class| class.n).sum(),
                all => all,
            };
        }
    }
    Ok(())
}

/// What is known of a workload without a closed form: the least that its times, and the most that its goodput, can be.
pub(crate) fn bounds(scenario: &Scenario, network: &Network, index: usize) -> WorkloadSummary {
    let workload = &scenario.workloads[index];
    let mut found = WorkloadSummary {
        name: workload.name.clone(),
        item: workload.kind.traffic().item(Part::Whole),
        ..Default::default()
    };
    let source = &network.sources[index];
    let seconds = measured(scenario, workload);
    match (&source.demand, &workload.kind) {
        (Demand::Endless { .. }, WorkloadKind::Bulk(Bulk { size: Some(size), .. })) => {
            let min = lower_bound::file(network, source, size.0 as f64);
            found.all = lower_bound_class("all".to_owned(), 0, Some(min));
        }
        (Demand::Endless { .. }, _) => {
            let max = lower_bound::max_goodput(network, index, seconds.max(f64::MIN_POSITIVE));
            found.goodput = max.map(Estimate::at_most);
        }
        (Demand::Packets { per_second, sizes, .. }, _) => {
            let is_one_size = sizes.len() == 1;
            let min = Estimate::at_least(lower_bound::min_delay(network, source, sizes));
            let at_least = is_one_size.then_some(min);
            found.datagrams = Some(DatagramSummary {
                sent: (per_second * seconds).round() as u64,
                delay: Some(Estimate::at_least(lower_bound::delay(network, source, sizes))),
                added_delay: None,
                percentiles: DelaySummary {
                    delay_median: at_least,
                    delay_p95: at_least,
                    delay_p99: at_least,
                },
                delay_deviation: None,
                jitter: None,
                jitter_percentiles: Default::default(),
                loss: None,
                call: Default::default(),
            });
        }
        (Demand::Open { visit, .. } | Demand::Closed { visit, .. }, _) => {
            let is_sized = matches!(visit.shape, Shape::Exchange | Shape::File);
            let last = visit.messages.last().expect("a visit has a message");
            if !is_sized || last.sizes.is_empty() {
                let visits = fewest_visits(network, index, seconds);
                let min = lower_bound::visit_of_run(network, source, visit, visits);
                found.all = lower_bound_class("all".to_owned(), 0, min);
                let class = pages::class(visit, &scenario.measure.size_classes);
                let labelled = |class: &SizeClass| lower_bound_class(class.label.clone(), 0, min);
                found.classes = class.map(labelled).into_iter().collect();
                return found;
            }
            let visits = fewest_visits(network, index, seconds);
            let named = &scenario.measure.size_classes[..];
            let mut classes = vec![LowerBound::default(); named.len().max(1)];
            let mut all = LowerBound::default();
            for &(size, share) in &last.sizes {
                let min = lower_bound::visit(network, source, visit, Some(size));
                classes[class_of(named, size)].add(share, min);
                all.add(share, min);
            }
            found.all = lower_bound_class("all".to_owned(), 0, all.of_run(visits));
            for (class, floor) in named.iter().zip(&classes) {
                if let Some(min) = floor.of_run(visits) {
                    found.classes.push(lower_bound_class(class.label.clone(), 0, Some(min)));
                }
            }
        }
    }
    found
}

/// A class of which it is known what it takes at least.
pub(crate) fn lower_bound_class(label: String, n: u64, seconds: Option<f64>) -> ClassSummary {
    ClassSummary { label, n, mean: seconds.map(Estimate::at_least), ..Default::default() }
}

/// How many visits of a source come in a run at least, if their mean time is below the bound: of users who wait for what they get
/// half as many as then come on average, as pauses differ.
pub(crate) fn fewest_visits(network: &Network, index: usize, seconds: f64) -> f64 {
    let source = &network.sources[index];
    match &source.demand {
        Demand::Open { per_second, .. } => per_second * seconds,
        Demand::Closed { sessions, pause, visit } => {
            let round = pause + lower_bound::visit(network, source, visit, None);
            (0.5 * sessions * seconds / round).max(1.0)
        }
        Demand::Packets { .. } | Demand::Endless { .. } => 1.0,
    }
}

/// The number of the class that a size belongs to.
pub(crate) fn class_of(named: &[SizeClass], size: f64) -> usize {
    let at = named.iter().position(|class| size <= class.up_to.0 as f64);
    at.unwrap_or(named.len().saturating_sub(1))
}

/// Seconds of a run in which what comes is measured.
pub(crate) fn measured(scenario: &Scenario, workload: &Workload) -> f64 {
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
    /// The sums over visits, each by its share, and the least that they can take.
    sums: Parts,
    min: LowerBound,
    has_request: bool,
    lacks: Option<Lack>,
}

impl Class {
    fn is_known(&self) -> bool {
        self.share > 0.0 && self.lacks.is_none()
    }

    fn summary(&self, number: f64) -> ClassSummary {
        if self.lacks.is_some() {
            let n = (self.share * number).round() as u64;
            return lower_bound_class(self.label.clone(), n, self.min.of_run(number));
        }
        let mean =
            |sum: f64| Estimate::from_values(&[sum / self.share]).filter(|_| self.share > 0.0);
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
            let class = &mut found[class_of(named, size)];
            class.share += share;
            let source = &network.sources[index];
            let least = lower_bound::visit(network, source, visit, Some(size));
            class.min.add(share, least);
            let known =
                |parts: Parts| check_time(network, index, parts.whole(), least).map(|()| parts);
            let parts = match visiting.of_size(size).and_then(known) {
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
        all.min.join(&class.min);
        all.lacks = all.lacks.or_else(|| class.lacks.clone());
        all.sums.handshake += class.sums.handshake;
        all.sums.request += class.sums.request;
        all.sums.reply += class.sums.reply;
    }
    all.summary(number)
}

/// Whether the mean wait of a band is known, or a lower bound of it.
fn knows_wait(met: &Met) -> bool {
    !met.is_unclear || met.is_least && !met.is_young
}

/// A loss; where it is a lower bound, less what Padhye's formula may be off, on which that rests.
pub(crate) fn bound_or_mean(loss: f64, is_least: bool) -> Option<Estimate> {
    let part = if is_least { 1.0 - PFTK_OFF } else { 1.0 };
    Estimate::from_values(&[loss * part]).map(|loss| Estimate { at_least: is_least, ..loss })
}

/// How far Padhye et al. 2000 may be off, as a part.
const PFTK_OFF: f64 = 0.15;

/// The part of a mean wait that messages from slower links may add, so that it is no bound.
const MAX_CROSSING: f64 = 0.125;

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
        let waits = one.filter(|met| {
            line.bands()[0].order == Order::Fifo && (met.is_filled || is_smooth(met))
        });
        PortSummary {
            name: line.name.clone(),
            utilisation: Estimate::from_values(&[network.utilisation(at) * line.part])
                .filter(|_| is_known),
            mean_queue_packets: None,
            mean_queue_bytes: None,
            mean_wait: waits.filter(|met| knows_wait(met)).and_then(|met| {
                let is_least = met.is_least || met.crossing > MAX_CROSSING * met.wait;
                Estimate::from_values(&[met.wait * (1.0 - met.spaced)])
                    .map(|wait| Estimate { at_least: is_least, ..wait })
            }),
            ecn_marks: None,
            loss: waits.filter(|met| !met.is_unclear).and_then(|met| match met.loss[..] {
                [_] if met.is_least => {
                    let min = Estimate::from_values(&[met.min_loss]);
                    min.map(|loss| Estimate { at_least: true, ..loss })
                }
                [loss] => bound_or_mean(loss, met.loses_at_least),
                _ => None,
            }),
            code_points: Vec::new(),
        }
    };
    scenario.measure.ports.iter().filter_map(|ends| places.get(ends)).map(|at| port(*at)).collect()
}
