//! Pages by their size, and their objects one by one.

use shortflow_measure::{ClassSummary, Estimate, WorkloadSummary};
use shortflow_scenario::{Part, Scenario, SizeClass, Workload};

use crate::doubt::check_time;
use crate::lower_bound::{self, LowerBound};
use crate::network::Network;
use crate::range::Lack;
use crate::summary::{class_of, fewest_visits, lower_bound_class, measured};
use crate::traffic::{Demand, Message, Shape, Visit};
use crate::visits::{Visiting, distinct};

/// The class that all pages of a visit belong to, where that is one.
pub(crate) fn class<'s>(visit: &Visit, named: &'s [SizeClass]) -> Option<&'s SizeClass> {
    let (index, object) = parts(visit)?;
    let numbers = numbers(visit)?;
    let min = |message: &Message| message.sizes.iter().map(|one| one.0).fold(f64::MAX, f64::min);
    let max = |message: &Message| message.sizes.iter().map(|one| one.0).fold(0.0, f64::max);
    let fewest = numbers.iter().map(|one| one.0.round()).fold(f64::MAX, f64::min);
    let many = numbers.iter().map(|one| one.0.round()).fold(0.0, f64::max);
    let small = index.map_or(0.0, min) + fewest * min(object);
    let large = index.map_or(0.0, max) + many * max(object);
    let at = class_of(named, small);
    named.get(at).filter(|_| at == class_of(named, large))
}

/// The index of a page, where it has one, and its objects.
fn parts(visit: &Visit) -> Option<(Option<&Message>, &Message)> {
    numbers(visit)?;
    let (object, before) = visit.messages.split_last()?;
    (!object.sizes.is_empty()).then_some((before.get(1), object))
}

fn numbers(visit: &Visit) -> Option<&[(f64, f64)]> {
    match &visit.shape {
        Shape::Objects { numbers, .. } | Shape::Pipeline { numbers, .. } => Some(numbers),
        Shape::Exchange | Shape::Echo | Shape::File => None,
    }
}

/// The objects of a workload's pages: their mean times where `has_means` and these have a closed form, else bounds. None of what
/// fetches no pages.
pub(crate) fn objects(
    scenario: &Scenario,
    network: &Network,
    index: usize,
    has_means: bool,
) -> Option<WorkloadSummary> {
    let workload = &scenario.workloads[index];
    let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) =
        &network.sources[index].demand
    else {
        return None;
    };
    let (first, object) = parts(visit)?;
    let objects = Objects { scenario, network, index, workload, visit, first, object };
    let means = if has_means { objects.means().ok() } else { None };
    Some(means.unwrap_or_else(|| objects.bounds()))
}

struct Objects<'o> {
    scenario: &'o Scenario,
    network: &'o Network,
    index: usize,
    workload: &'o Workload,
    visit: &'o Visit,
    first: Option<&'o Message>,
    object: &'o Message,
}

impl Objects<'_> {
    fn empty(&self) -> WorkloadSummary {
        WorkloadSummary {
            name: format!("{}/objects", self.workload.name),
            item: self.workload.kind.traffic().item(Part::Objects),
            ..Default::default()
        }
    }

    /// Sizes with how many a page has of each, and whether they are those of the index.
    fn sizes(&self) -> Vec<(f64, f64, bool)> {
        let index = self.first.into_iter().flat_map(|index| &index.sizes);
        let index = index.map(|&(size, share)| (size, share, true));
        let many = self.object.count;
        let objects = self.object.sizes.iter().map(|&(size, share)| (size, share * many, false));
        index.chain(objects).collect()
    }

    fn bounds(&self) -> WorkloadSummary {
        let named = &self.scenario.measure.size_classes[..];
        let source = &self.network.sources[self.index];
        let seconds = measured(self.scenario, self.workload);
        let visits = fewest_visits(self.network, self.index, seconds);
        let mut classes = vec![LowerBound::default(); named.len().max(1)];
        let mut all = LowerBound::default();
        for (size, number, is_index) in self.sizes() {
            let min = lower_bound::object(self.network, source, self.visit, is_index, size);
            classes[class_of(named, size)].add(number, min);
            all.add(number, min);
        }
        let mut found = self.empty();
        found.all = lower_bound_class("all".to_owned(), 0, all.of_run(visits));
        for (class, floor) in named.iter().zip(&classes) {
            if let Some(min) = floor.of_run(visits) {
                found.classes.push(lower_bound_class(class.label.clone(), 0, Some(min)));
            }
        }
        found
    }

    fn means(&self) -> Result<WorkloadSummary, Lack> {
        let named = &self.scenario.measure.size_classes[..];
        let pages = self.network.visits[self.index] * measured(self.scenario, self.workload);
        let mut sums = vec![(0.0, 0.0); named.len().max(1)];
        let routes = &self.network.sources[self.index].routes;
        for (route, share) in distinct(self.network, routes) {
            let visiting = Visiting::new(self.network, self.index, route, self.visit)?;
            for (size, number, is_index) in self.sizes() {
                let time = match is_index {
                    true => visiting.index(size)?,
                    false => visiting.object(size)?,
                };
                let source = &self.network.sources[self.index];
                let least = lower_bound::object(self.network, source, self.visit, is_index, size);
                check_time(self.network, self.index, time, least)?;
                let (count, sum) = &mut sums[class_of(named, size)];
                *count += share * number;
                *sum += share * number * time;
            }
        }
        let class = |label: String, (count, sum): (f64, f64)| ClassSummary {
            label,
            n: (count * pages).round() as u64,
            mean: Estimate::from_values(&[sum / count]),
            ..Default::default()
        };
        let mut found = self.empty();
        let all = sums.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        found.all = class("all".to_owned(), all);
        found.completed = found.all.n;
        let text = named.iter().zip(sums).filter(|(_, (count, _))| *count > 0.0);
        found.classes = text.map(|(named, sum)| class(named.label.clone(), sum)).collect();
        Ok(found)
    }
}
