//! What a study is, as written in `papers/<id>/study.toml` and `papers/<id>/claims.toml`.

use serde::Deserialize;
pub use shortflow_measure::Measure;

/// A study: the runs that it needs and the figures that it draws.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What it reproduces.
    pub title: String,
    /// The workload that the quantities of its figures, tables and claims mean where they name none.
    pub workload: Option<String>,
    /// How long and how often in full.
    pub full: Effort,
    /// How long and how often under `--quick`.
    pub quick: Effort,
    /// The runs.
    pub runs: Vec<RunSpec>,
    /// The figures.
    #[serde(default)]
    pub figures: Vec<FigureSpec>,
    /// The tables.
    #[serde(default)]
    pub tables: Vec<TableSpec>,
}

impl Study {
    /// Writes the study's workload into each quantity that names none. What a quantity is divided by
    /// has its workload from that quantity.
    pub(crate) fn name_workload(&mut self, claims: &mut Claims) {
        let Some(name) = &self.workload else { return };
        let curves = self.figures.iter_mut().flat_map(|figure| &mut figure.curves);
        let columns = self.tables.iter_mut().flat_map(|table| &mut table.columns);
        let checks = claims.claims.iter_mut().flat_map(|claim| &mut claim.checks);
        let checked =
            checks.flat_map(|check| std::iter::once(&mut check.ours).chain(&mut check.than));
        let quantities =
            curves.map(|curve| &mut curve.of).chain(columns.map(|column| &mut column.of));
        for quantity in quantities.chain(checked) {
            quantity.workload.get_or_insert_with(|| name.clone());
        }
    }
}

/// How long and how often each run is simulated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Replicas of each point.
    pub replicas: u32,
    /// Simulated duration, as in a scenario.
    pub duration: String,
}

/// One scenario under one policy, over a sweep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The name by which claims and figures refer to it.
    pub name: String,
    /// Scenario file, beside the study.
    pub scenario: String,
    /// Policy file, beside the study.
    pub policy: String,
    /// Settings as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// The keys that are swept together.
    pub sweep: Vec<String>,
    /// Their values.
    pub values: Vec<f64>,
    /// The values under `--quick`; all when absent.
    pub quick: Option<Vec<f64>>,
    /// Whose requests are replayed here; what browses draws its own when absent.
    pub accesses: Option<AccessesSpec>,
}

/// Where a run takes the requests of its browsing sessions from: another run drew them, and each
/// replica replays those of the same replica there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessesSpec {
    /// The run that draws them, which has no `accesses` itself.
    pub run: String,
    /// The point of its sweep; the same as here when absent.
    pub x: Option<f64>,
    /// What a client does when a page comes before the last one is complete.
    #[serde(default)]
    pub busy: BusySpec,
}

/// What a client that replays requests does when a page comes before the last one is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BusySpec {
    /// It loads both: requests go out at their logged times.
    #[default]
    Overlap,
    /// The page begins when the one before is complete.
    Wait,
}

/// The claims of a study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// In the order of the ledger.
    #[serde(rename = "claim")]
    pub claims: Vec<ClaimSpec>,
}

/// One claim of the paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// Its number, such as `cm05.1`.
    pub id: String,
    /// What the paper claims.
    pub claim: String,
    /// The same in a few words, for lists.
    pub short: Option<String>,
    /// What a reader must know: a choice that was made, or the cause of a failure.
    #[serde(default)]
    pub note: String,
    /// All must hold.
    #[serde(rename = "check")]
    pub checks: Vec<CheckSpec>,
}

/// One computed check, repeated for every `x` and every `class`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// What is checked; `{x}` and `{class}` are filled in.
    pub what: String,
    /// The paper's figure or assertion, as a person reads it.
    pub paper: String,
    /// How it is judged.
    pub rule: Rule,
    /// The points of the sweep; all of the run when absent.
    pub x: Option<Vec<f64>>,
    /// The classes of transfers; all transfers together when absent.
    pub class: Option<Vec<String>>,
    /// What is measured.
    pub ours: Quantity,
    /// What it is compared with, for the rules that compare.
    pub than: Option<Quantity>,
}

/// How a check is judged (see [`judge`](crate::judge)).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Within a factor of 1.5 of this figure, or the interval contains it.
    Figure(f64),
    /// `ours` at most half of `than`, with disjoint intervals.
    FarBelow,
    /// A relative gain of at most 10 % either way.
    AboutZero,
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Above `than`, replica by replica.
    Above,
    /// Below `than`, replica by replica.
    Below,
    /// Above `than`, with disjoint intervals.
    PerceptiblyAbove,
    /// Below `than`, with disjoint intervals.
    PerceptiblyBelow,
    /// Over the whole sweep, the least value lies at an x from the first to the second number.
    MinimumWithin(f64, f64),
}

/// A number that a run gives at a point, one per replica.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// The run. Within `per` it may be left out, and is that of the quantity which is divided; so it
    /// may in a table, where it is that of the row.
    #[serde(default)]
    pub run: String,
    /// The run that it is held against, for gains and ratios.
    pub over: Option<String>,
    /// How the two are joined.
    #[serde(default)]
    pub form: Form,
    /// What is measured.
    #[serde(default)]
    pub measure: Measure,
    /// The workload; that of the study when absent.
    pub workload: Option<String>,
    /// The class of transfers, where it is another than the check's; `all` for all together.
    pub class: Option<String>,
    /// The port, or the counter's name.
    pub at: Option<String>,
    /// The limit in seconds, one of the scenario's `measure.limits`, for shares over it.
    pub limit: Option<f64>,
    /// The size class, for the share of bytes in larger transfers.
    pub above: Option<String>,
    /// The stream, for delay and loss of one of a set of datagram streams.
    pub stream: Option<String>,
    /// The code point, for losses.
    pub code_point: Option<String>,
    /// The point of the sweep, where it is another than the check's.
    pub x: Option<f64>,
    /// The point of the run that it is held against, where it is another than this one's.
    pub over_x: Option<f64>,
    /// What it is divided by, replica by replica.
    pub per: Option<Box<Quantity>>,
    /// What counts as one: the value is given in multiples of this.
    pub unit: Option<f64>,
}

/// The class of all transfers together.
pub(crate) const ALL: &str = "all";

impl Quantity {
    /// The workload; empty, as none is called, where neither the quantity nor the study names one.
    pub fn workload_name(&self) -> &str {
        self.workload.as_deref().unwrap_or_default()
    }

    /// The class of transfers, where no check says.
    pub fn class_name(&self) -> &str {
        self.class.as_deref().unwrap_or(ALL)
    }

    /// The quantity, of `run` where it names none.
    pub(crate) fn or_of(&self, run: &str) -> Quantity {
        let run = if self.run.is_empty() { run } else { &self.run };
        Quantity { run: run.to_owned(), ..self.clone() }
    }

    /// The quantity as the divisor of `whole` in `run`, from which it has what it does not name.
    pub(crate) fn within(&self, whole: &Quantity, run: &str) -> Quantity {
        let mut own = self.or_of(run);
        own.workload = own.workload.or_else(|| whole.workload.clone());
        own.stream = own.stream.or_else(|| whole.stream.clone());
        own
    }
}

/// How a run and the one that it is held against are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The run's value alone.
    #[default]
    Value,
    /// The run's value over the other's.
    Ratio,
    /// η = 100·(other − run)/other, in percent.
    Gain,
}

/// What runs along the x axis of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// The swept key.
    #[default]
    Sweep,
    /// The bound of each size class in bytes, at one point of the sweep.
    Classes,
    /// The rate of each stream of datagrams in kbit/s, at one point of the sweep.
    Streams,
    /// The completion time in seconds, at one point of the sweep; y is the share of completed
    /// transfers that took longer, all replicas together.
    Distribution,
    /// The time in seconds, at one point of the sweep, in the first replica; y is the `utilisation` of
    /// a port over each `measure.series_interval`, or the queue there at its end for `mean-queue`.
    Series,
}

/// A figure of the paper, drawn from our runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// The file's name without its ending.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What runs along the x axis.
    #[serde(default)]
    pub kind: FigureKind,
    /// The x axis, with its unit.
    pub x: String,
    /// The measure, with its unit.
    pub y: String,
    /// Whether the x axis is logarithmic; that of size classes is where nothing is said.
    pub log_x: Option<bool>,
    /// Whether the y axis is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// Where a dotted line separates two regions.
    pub boundary: Option<f64>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// One curve: a quantity over the sweep of its run; or over the parts of its workload, at the point
/// that it names, or at the only one of its run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// What it shows.
    pub of: Quantity,
    /// Whether it is dashed.
    #[serde(default)]
    pub dashed: bool,
}

/// A table of measures: a row for a run, a column for a quantity.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Its name: letters, digits and hyphens.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The rows.
    pub rows: Vec<RowSpec>,
    /// The columns.
    pub columns: Vec<ColumnSpec>,
}

/// A row: a run at a point of its sweep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// What it is called.
    pub label: String,
    /// The run.
    pub run: String,
    /// The point; the only one of the run when absent.
    pub x: Option<f64>,
}

/// A column: a quantity, which has the run and the point from the row where it names none.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// What it shows, with its unit.
    pub label: String,
    /// What is measured.
    pub of: Quantity,
}
