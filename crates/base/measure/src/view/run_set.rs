//! The runs of a command, and what they have in common.

use super::pairs::Pair;
use super::sweep::SweptKey;
use crate::cases;
use crate::engines;
use crate::gains::PointGains;
use crate::item::Item;
use crate::prediction_error::is_model;
use crate::results::Run;
use crate::summary::Summary;

/// The runs of a command, and what they have in common.
#[derive(Debug, Clone)]
pub struct RunSet<'r> {
    /// The runs, the reference first.
    pub runs: &'r [Run],
    /// The engines, in the order of the runs.
    pub engines: Vec<&'r str>,
    /// The policies, whatever the engine, in the order of the runs.
    pub policies: Vec<&'r str>,
    /// The key that the runs were swept over, if any.
    pub sweep: Option<SweptKey>,
    /// All workloads, in the order of the runs.
    pub workloads: Vec<Workload<'r>>,
    /// Whether these are several runs with the same arrivals at the same points.
    pub are_comparable: bool,
    /// Whether a run is of a model, which has means and no replicas.
    pub has_model: bool,
    /// Runs and their references.
    pub pairs: Vec<Pair>,
}

/// A workload of some runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload<'r> {
    /// Its name.
    pub name: &'r str,
    /// What is timed in it.
    pub item: Item,
    /// Whether a run completed transfers of it.
    pub is_timed: bool,
    /// The labels of the size classes in which a run completed a transfer, in the order of the plan.
    pub classes: Vec<&'r str>,
}

impl Workload<'_> {
    /// Whether it is not a part of another, as the objects of pages are: `web/objects`.
    pub fn is_whole(&self) -> bool {
        !self.name.contains('/')
    }
}

impl<'r> RunSet<'r> {
    pub(super) fn new(runs: &'r [Run]) -> RunSet<'r> {
        let timed = cases::transfer_workloads(runs);
        let workload = |name| Workload {
            name,
            item: cases::item(runs, name),
            is_timed: timed.contains(&name),
            classes: cases::classes(runs, name),
        };
        RunSet {
            runs,
            engines: engines::engines(runs),
            policies: engines::cases(runs),
            sweep: SweptKey::of_runs(runs),
            workloads: cases::workloads(runs).into_iter().map(workload).collect(),
            are_comparable: are_comparable(runs),
            has_model: runs.iter().any(is_model),
            pairs: Pair::all(runs),
        }
    }

    /// Whether there are several runs.
    pub fn is_comparison(&self) -> bool {
        self.runs.len() > 1
    }

    /// Whether several engines ran them.
    pub fn has_several_engines(&self) -> bool {
        self.engines.len() > 1
    }

    /// The name of the swept key, if any.
    pub fn swept_key(&self) -> Option<&str> {
        self.sweep.as_ref().map(|key| key.name.as_str())
    }

    /// The workloads that completed transfers.
    pub fn timed(&self) -> impl Iterator<Item = &Workload<'r>> {
        self.workloads.iter().filter(|workload| workload.is_timed)
    }

    /// A workload, by its name.
    pub fn workload(&self, name: &str) -> Option<&Workload<'r>> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The summaries of all points of all runs.
    pub fn summaries(&self) -> impl Iterator<Item = &'r Summary> + use<'r> {
        cases::summaries(self.runs)
    }

    /// The pair in which the run with this number is compared in tables: with the first run; of several engines, with
    /// the same policy under the first engine. `None` for the reference runs themselves.
    pub fn pair_of(&self, ours: usize) -> Option<&Pair> {
        let several = self.has_several_engines();
        self.pairs.iter().find(|pair| pair.ours == ours && pair.is_across_engines == several)
    }

    /// How runs compare with their references, pair by pair and point by point.
    pub fn gains(&self) -> Vec<&PointGains> {
        self.pairs.iter().flat_map(|pair| &pair.points).flatten().collect()
    }
}

/// Whether these are several runs with the same arrivals at the same points.
fn are_comparable(runs: &[Run]) -> bool {
    let Some((first, others)) = runs.split_first() else { return false };
    let has_settings_of_first = |other: &Run| {
        let settings = |run: &'_ Run| -> Vec<_> {
            run.points.iter().map(|point| point.settings.clone()).collect()
        };
        settings(other) == settings(first)
    };
    let is_alike = |other: &Run| {
        other.manifest.has_arrivals_of(&first.manifest) && has_settings_of_first(other)
    };
    !others.is_empty() && others.iter().all(is_alike)
}
