//! The columns that identify the case of a row.

use arrow_schema::{Field, SchemaRef};
use shortflow_measure::{Replica, Run};

use crate::batch::{self, Cell, Fixed, integer, text};
use crate::setting::{SettingColumn, Value};
use crate::table::Table;

/// The cases of several runs: what identifies a row at each of their points.
#[derive(Debug)]
pub(crate) struct Cases {
    settings: Vec<SettingColumn>,
    /// For each run, its points.
    runs: Vec<Vec<Case>>,
}

/// A policy and an engine at a point of a sweep.
#[derive(Debug)]
struct Case {
    policy: String,
    engine: String,
    point: usize,
    settings: Vec<Value>,
    seed: u64,
}

/// Columns of each table before those of settings.
const BEFORE: [Fixed; 3] = [text("policy"), text("engine"), integer("point")];

/// Columns after them, in tables with rows of replicas.
const AFTER: [Fixed; 2] = [integer("replica"), integer("seed")];

impl Cases {
    pub(crate) fn new(runs: &[Run]) -> Cases {
        let fixed =
            || BEFORE.iter().chain(&AFTER).chain(Table::ALL.iter().flat_map(|one| one.columns()));
        let is_taken = |name: &str| fixed().any(|(fixed, ..)| *fixed == name);
        let settings = SettingColumn::all(runs, is_taken);
        let case = |run: &Run, point| {
            let settings: Vec<Value> =
                settings.iter().map(|column| column.value(run, point)).collect();
            let swept = run.points[point].settings.iter().find(|setting| setting.key == "seed");
            let swept = swept.and_then(|setting| setting.value.parse().ok());
            Case {
                policy: run.manifest.policy.as_ref().unwrap_or(&run.label).clone(),
                engine: run.manifest.engine.clone(),
                point,
                settings,
                seed: swept.unwrap_or(run.manifest.seed),
            }
        };
        let points = |run: &Run| (0..run.points.len()).map(|point| case(run, point)).collect();
        let runs = runs.iter().map(points).collect();
        Cases { settings, runs }
    }

    /// The schema of a table: the columns of the case, then its own.
    pub(crate) fn schema(&self, table: Table) -> SchemaRef {
        let fixed = |(name, kind, unit): &Fixed| batch::field(name, *kind, unit, None);
        let mut fields: Vec<Field> = BEFORE.iter().map(fixed).collect();
        fields.extend(self.settings.iter().map(SettingColumn::field));
        if table.has_replicas() {
            fields.extend(AFTER.iter().map(fixed));
        }
        batch::schema(fields, table.columns())
    }

    /// The cells of a row at a point of a run, in a table without replicas.
    pub(crate) fn cells(&self, run: usize, point: usize) -> Vec<Cell<'_>> {
        let Case { policy, engine, point, settings, seed: _ } = &self.runs[run][point];
        let mut cells = vec![policy.as_str().into(), engine.as_str().into(), (*point).into()];
        cells.extend(settings.iter().map(Value::cell));
        cells
    }

    /// The same of a replica, in a table with replicas.
    pub(crate) fn replica(&self, run: usize, point: usize, replica: u32) -> Vec<Cell<'_>> {
        let mut cells = self.cells(run, point);
        let seed = self.runs[run][point].seed;
        cells.extend([Cell::from(replica), Cell::from(seed)]);
        cells
    }
}

/// All replicas of these runs, each with the numbers of its run and point.
pub(crate) fn replicas(runs: &[Run]) -> impl Iterator<Item = (usize, usize, &Replica)> {
    runs.iter().enumerate().flat_map(|(run, found)| {
        let points = found.points.iter().enumerate();
        points.flat_map(move |(at, point)| point.replicas.iter().map(move |one| (run, at, one)))
    })
}
