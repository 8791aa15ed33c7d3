//! What the runs of a command show, computed once.
//!
//! Terminal, page, figures, JSON and files lay out a [`View`]. None of them computes again, so they cannot disagree.

mod engines;
mod pairs;
mod run_set;
mod sweep;

pub use engines::{Agreement, EngineComparison, EngineOrder};
pub use pairs::Pair;
pub use run_set::{RunSet, Workload};
pub use sweep::{Positions, SweptKey};

use crate::ranking::Ranking;
use crate::results::{Point, Run};
use crate::tables::Tables;
use crate::warning::{ScopedWarning, WarningKind, warnings};

/// What the runs of a command show.
#[derive(Debug, Clone)]
pub struct View<'r> {
    /// The runs, and what they have in common.
    pub set: RunSet<'r>,
    /// The order of all runs; `None` if they cannot be compared.
    pub ranking: Option<Ranking>,
    /// How several engines rank the policies; `None` if all runs are of one engine.
    pub engines: Option<EngineComparison<'r>>,
    /// Each warning once, in order, with the runs and points that it is about.
    pub warnings: Vec<ScopedWarning>,
    /// The measures, with their units, as tables.
    pub tables: Tables,
}

impl<'r> View<'r> {
    /// Computes what these runs show. Others are compared with the first.
    pub fn new(runs: &'r [Run]) -> View<'r> {
        let set = RunSet::new(runs);
        let named: Vec<(&str, &[Point])> =
            runs.iter().map(|run| (run.label.as_str(), &run.points[..])).collect();
        View {
            ranking: set.are_comparable.then(|| Ranking::new(&named)),
            warnings: warnings(runs),
            engines: EngineComparison::new(&set),
            tables: Tables::new(&set),
            set,
        }
    }

    /// The same without notes, which raise no doubt about the runs.
    #[must_use]
    pub fn without_notes(mut self) -> View<'r> {
        self.warnings.retain(|one| !one.warning.kind.is_note());
        self
    }

    /// The same without the warnings of the policy and the scenario.
    #[must_use]
    pub fn without_input_warnings(mut self) -> View<'r> {
        self.warnings.retain(|one| one.warning.kind != WarningKind::Input);
        self
    }
}
