//! The file format of a study.

use serde::Deserialize;

use super::{ChangeSpec, FigureSpec, Looks, Quantity, RehearsedSpec, RunSpec, TableSpec};

/// A study: the runs that it needs and the figures that it draws.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What it reproduces.
    pub title: String,
    /// What the paper is about, in a sentence for those who do not know it.
    #[serde(default)]
    pub about: String,
    /// The workload that the quantities of its figures, tables and claims mean where they name none.
    pub workload: Option<String>,
    /// How long and how often in full.
    pub full: Effort,
    /// How long and how often under `--quick`.
    pub quick: Effort,
    /// What is rehearsed of it, if anything.
    pub rehearsed: Option<RehearsedSpec>,
    /// The runs.
    pub runs: Vec<RunSpec>,
    /// Readings of what the paper leaves open and none of its figures can decide: claims about runs that
    /// one of them changes are judged under it too.
    #[serde(default)]
    pub readings: Vec<ChangeSpec>,
    /// Changes that are tried for checks that fail.
    #[serde(default)]
    pub counterfactuals: Vec<ChangeSpec>,
    /// The figures.
    #[serde(default)]
    pub figures: Vec<FigureSpec>,
    /// The tables.
    #[serde(default)]
    pub tables: Vec<TableSpec>,
}

impl Study {
    /// Writes the study's workload into each quantity that names none, of the study itself and of
    /// `others`. What a quantity is divided by has its workload from that quantity.
    pub(crate) fn name_workload<'q>(&mut self, others: impl Iterator<Item = &'q mut Quantity>) {
        let Some(name) = &self.workload else { return };
        let write = |quantity: &mut Quantity| {
            quantity.workload.get_or_insert_with(|| name.clone());
        };
        let curves = self.figures.iter_mut().flat_map(|figure| &mut figure.curves);
        curves.for_each(|curve| write(&mut curve.of));
        let columns = self.tables.iter_mut().flat_map(|table| &mut table.columns);
        columns.for_each(|column| write(&mut column.of));
        others.for_each(write);
    }

    /// The run called `name`.
    pub(crate) fn run(&self, name: &str) -> Option<&RunSpec> {
        self.runs.iter().find(|run| run.name == name)
    }
}

/// How long and how often each run is simulated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// The numbers of replicas at which claims are looked at.
    pub looks: Looks,
    /// Simulated duration, as in a scenario.
    pub duration: String,
}
