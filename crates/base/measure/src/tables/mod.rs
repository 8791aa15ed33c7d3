//! Tables as plain data: rows and columns of results, with intervals, bounds and gaps.
//!
//! A caller formats a table for a terminal, a page or JSON. The content is decided here, and each column of figures
//! is a [`Measure`], so that all formats agree.

mod agreement;
mod completion;
mod flows;
mod ports;

use serde::Serialize;

use completion::Detail;

use crate::cases::point_label;
use crate::estimate::Estimate;
use crate::measures::{Measure, Subject, Unit};
use crate::results::Point;
use crate::summary::Summary;
use crate::view::{RunSet, Workload};

/// A table of measures.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it shows; with the unit of its figures where all have the same.
    pub title: String,
    /// What the columns are called that name the rows.
    pub labels: Vec<String>,
    /// How many of these columns, from the left, gather rows into groups: where such a name is that
    /// of the row before, it need not be shown again.
    pub groups: usize,
    /// The columns of figures.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What else must be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A column of figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// What it is called.
    pub head: String,
    /// What it tells, where that is a measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
    /// In what its figures read well.
    pub scale: Scale,
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    /// What it is called, one name for each column of names.
    pub labels: Vec<Label>,
    /// Its cells, one for each column of figures.
    pub cells: Vec<Cell>,
    /// Whether it begins a group of rows that belong together.
    pub starts_group: bool,
}

/// What names a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Label {
    /// A name.
    Name(String),
    /// A rate in bits per second.
    Rate(u64),
}

/// The content of a cell. Figures are in the unit of their measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A figure with its interval; it says itself where it is only a lower bound.
    Figure(Estimate),
    /// A number of things.
    Count(u64),
    /// A gain over the reference in percent, above zero where this is better.
    Gain(Estimate),
    /// How many times as much as the reference.
    Ratio(Estimate),
    /// What others are compared with.
    Reference,
    /// Parts of a whole and their shares of it, the largest first.
    Parts(Vec<(String, f64)>),
    /// The point failed.
    Failed,
    /// Nothing of the kind was found, or too little to tell.
    Nothing,
}

/// In what a column's figures are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// As they are.
    #[default]
    Plain,
    /// Shares in percent.
    Percent,
    /// Seconds in milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Packets.
    Packets,
    /// Megabits per second in kbit/s.
    Kilobits,
    /// Megabits per second.
    Megabits,
    /// Megabits per second in Gbit/s.
    Gigabits,
    /// Added delays as the bufferbloat grades that they are.
    Grade,
}

impl Scale {
    /// The name of its unit; empty if it has none.
    pub const fn name(self) -> &'static str {
        match self {
            Scale::Plain | Scale::Grade => "",
            Scale::Percent => "%",
            Scale::Milliseconds => "ms",
            Scale::Seconds => "s",
            Scale::Packets => "pkt",
            Scale::Kilobits => "kbit/s",
            Scale::Megabits => "Mbit/s",
            Scale::Gigabits => "Gbit/s",
        }
    }

    /// By what a figure in the unit of its measure is multiplied.
    pub const fn factor(self) -> f64 {
        match self {
            Scale::Plain | Scale::Seconds | Scale::Packets | Scale::Megabits | Scale::Grade => 1.0,
            Scale::Percent => 100.0,
            Scale::Milliseconds | Scale::Kilobits => 1e3,
            Scale::Gigabits => 1e-3,
        }
    }

    /// In what times of up to `longest` seconds read well.
    fn of_times_up_to(longest: f64) -> Scale {
        if longest < 10.0 { Scale::Milliseconds } else { Scale::Seconds }
    }

    /// In what rates of up to `max` Mbit/s read well.
    fn of_rates_up_to(max: f64) -> Scale {
        match max {
            m if m >= 1e3 => Scale::Gigabits,
            m if m >= 1.0 => Scale::Megabits,
            _ => Scale::Kilobits,
        }
    }
}

impl Column {
    /// A column of `measure`, called as that says; times in milliseconds.
    fn for_measure(measure: Measure) -> Column {
        let about = measure.about();
        let scale = match about.unit {
            Unit::Seconds => Scale::Milliseconds,
            Unit::Share => Scale::Percent,
            Unit::Packets => Scale::Packets,
            Unit::MegabitsPerSecond => Scale::Megabits,
            Unit::None | Unit::PerSecond => Scale::Plain,
        };
        Column { head: about.column.to_owned(), measure: Some(measure), scale }
    }

    /// The same under another name.
    fn called(self, head: impl Into<String>) -> Column {
        Column { head: head.into(), ..self }
    }

    /// The same in another unit.
    fn in_scale(self, scale: Scale) -> Column {
        Column { scale, ..self }
    }

    /// The same with its unit after its name.
    fn with_unit(self) -> Column {
        let head = format!("{}, {}", self.head, self.scale.name());
        self.called(head)
    }

    /// A column of something that is no measure.
    fn called_only(head: &str) -> Column {
        Column { head: head.to_owned(), measure: None, scale: Scale::Plain }
    }
}

/// The tables of some runs. The page shows all; a screen has room for some.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// How the figures of several engines compare.
    pub agreement: Option<Table>,
    /// Completion times of each workload, by all sizes or along the sweep.
    pub times: Vec<Table>,
    /// The same for a screen: some sizes, and no parts of other workloads.
    pub times_on_screen: Vec<Table>,
    /// Where the time of transfers goes.
    pub parts: Vec<Table>,
    /// The shares over limits, by size.
    pub over_limits: Option<Table>,
    /// The same for a screen: all sizes together, and no parts of other workloads.
    pub over_limits_on_screen: Option<Table>,
    /// Load and goodput of each workload.
    pub traffic: Option<Table>,
    /// The same for a screen: along a sweep, only workloads without completion times.
    pub traffic_on_screen: Option<Table>,
    /// How the throughput of long flows varies.
    pub throughput: Option<Table>,
    /// Delay and loss of datagrams.
    pub datagrams: Option<Table>,
    /// Jitter of datagrams.
    pub jitter: Option<Table>,
    /// The delay that load adds to datagrams, and the quality of calls over them.
    pub under_load: Option<Table>,
    /// Delay and loss of each stream of datagrams.
    pub streams: Vec<Table>,
    /// Loss by code point.
    pub loss: Option<Table>,
    /// Load, queue and loss of ports.
    pub ports: Table,
}

impl Tables {
    /// The tables of these runs.
    pub(crate) fn new(set: &RunSet<'_>) -> Tables {
        let timed: Vec<&Workload<'_>> = set.timed().collect();
        let whole: Vec<&Workload<'_>> = set.timed().filter(|one| one.is_whole()).collect();
        let all: Vec<&Workload<'_>> = set.workloads.iter().collect();
        let (is_swept, is_comparison) = (set.sweep.is_some(), set.is_comparison());
        let detail = if is_comparison { Detail::Screen } else { Detail::Full };
        let traffic = flows::traffic(set, &all);
        Tables {
            agreement: agreement::agreement(set),
            times: completion::times(set, &timed, Detail::Full),
            times_on_screen: completion::times(set, &whole, detail),
            parts: completion::parts(set),
            over_limits: completion::over_limits(set, &timed, true),
            over_limits_on_screen: completion::over_limits(set, &whole, false),
            traffic_on_screen: match is_swept {
                false => traffic.clone(),
                true => {
                    let untimed = all.iter().copied().filter(|workload| !workload.is_timed);
                    flows::traffic(set, &untimed.collect::<Vec<_>>())
                }
            },
            traffic,
            throughput: flows::throughput(set),
            datagrams: flows::datagrams(set),
            jitter: flows::jitter(set),
            under_load: flows::under_load(set),
            streams: flows::streams(set),
            loss: ports::loss(set),
            ports: ports::ports(set),
        }
    }
}

impl Cell {
    /// A figure, or nothing.
    pub fn figure(estimate: Option<Estimate>) -> Cell {
        estimate.map_or(Cell::Nothing, Cell::Figure)
    }
}

impl From<&str> for Label {
    fn from(name: &str) -> Self {
        Label::Name(name.to_owned())
    }
}

impl Table {
    /// A table of estimates as they are, each row with its name.
    pub fn of_estimates(
        title: &str,
        columns: &[String],
        rows: Vec<(String, Vec<Option<Estimate>>)>,
    ) -> Table {
        let row = |(name, cells): (String, Vec<Option<Estimate>>)| Row {
            labels: vec![Label::Name(name)],
            cells: cells.into_iter().map(Cell::figure).collect(),
            starts_group: false,
        };
        Table {
            title: title.to_owned(),
            labels: vec![String::new()],
            columns: columns.iter().map(|head| Column::called_only(head)).collect(),
            rows: rows.into_iter().map(row).collect(),
            ..Table::default()
        }
    }

    /// A table whose rows are cases: named by `labels`, then by point and run if there are several. Empty columns are
    /// omitted.
    fn of_cases(
        set: &RunSet<'_>,
        title: impl Into<String>,
        labels: &[&str],
        columns: Vec<Column>,
        rows: Vec<Row>,
    ) -> Table {
        let groups = labels.len();
        let mut labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        labels.extend(set.swept_key().map(str::to_owned));
        labels.extend(set.is_comparison().then(|| "run".to_owned()));
        let title = title.into();
        let mut table = Table { title, labels, groups, columns, rows, note: None };
        table.remove_empty_columns();
        table
    }

    fn remove_empty_columns(&mut self) {
        for column in (0..self.columns.len()).rev() {
            let is_empty = |row: &Row| matches!(row.cells[column], Cell::Nothing | Cell::Failed);
            if self.rows.iter().all(is_empty) {
                self.columns.remove(column);
                self.rows.iter_mut().for_each(|row| drop(row.cells.remove(column)));
            }
        }
    }
}

/// Goes through all points of all runs, point by point: with the point's and the run's name where
/// there are several, and whether the case is the first of its point.
fn for_each_case(set: &RunSet<'_>, mut visit: impl FnMut(&[Label], &Point, bool)) {
    let runs = set.runs;
    let points = runs.iter().map(|run| run.points.len()).max().unwrap_or(0);
    for point in 0..points {
        let mut first = true;
        for run in runs.iter().filter(|run| point < run.points.len()) {
            let mut names = Vec::new();
            names.extend(set.sweep.is_some().then(|| Label::Name(point_label(run, point))));
            names.extend(set.is_comparison().then(|| Label::Name(run.label.clone())));
            visit(&names, &run.points[point], first);
            first = false;
        }
    }
}

/// A row for each case that `has` values, and if there are any, for each that failed; `columns` are computed for
/// `what`. The first row begins a group.
fn rows_of_cases(
    set: &RunSet<'_>,
    labels: &[Label],
    columns: &[Column],
    what: &Subject<'_>,
    has: impl Fn(&Summary) -> bool,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut are_found = false;
    for_each_case(set, |names, point, _| {
        let is_found = has(&point.summary);
        are_found |= is_found;
        if is_found || point.failure.is_some() {
            rows.push(Row {
                labels: [labels, names].concat(),
                cells: columns.iter().map(|column| cell(column, point, what)).collect(),
                starts_group: rows.is_empty(),
            });
        }
    });
    if are_found { rows } else { Vec::new() }
}

fn cell(column: &Column, point: &Point, what: &Subject<'_>) -> Cell {
    match column.measure {
        _ if point.failure.is_some() => Cell::Failed,
        Some(Measure::Completed | Measure::Open) if ends_nothing(&point.summary, what) => {
            Cell::Nothing
        }
        Some(measure) => measure.cell(&point.summary, what),
        None => Cell::Nothing,
    }
}

/// Whether a workload has no transfers of which some end: flows without end, or a prediction that has bounds alone. A
/// zero would say that none of them was completed.
fn ends_nothing(summary: &Summary, what: &Subject<'_>) -> bool {
    summary.workload(what.workload).is_some_and(|one| one.completed + one.open + one.failed == 0)
}
