//! Every measure by its name: over replicas, and of each replica.

use shortflow_measure::tables::Cell as Found;
use shortflow_measure::{
    Estimate, Measure, Replica, Run, Scope, Subject, Summary, Unit, WorkloadResult, WorkloadSummary,
};

use crate::batch::{BITS_PER_SECOND, Cell, Fixed, Rows, integer, number, seconds, text};
use crate::case::{Cases, replicas};

/// All size classes, streams or code points together.
pub(crate) const ALL: &str = "all";

/// The columns of measures over replicas.
pub(crate) const OF_ALL: [Fixed; 15] = {
    let mut columns = [text(""); 15];
    let mut at = 0;
    while at < SUBJECT.len() {
        columns[at] = SUBJECT[at];
        at += 1;
    }
    columns[10] = number("value");
    columns[11] = number("low");
    columns[12] = number("high");
    columns[13] = integer("n");
    columns[14] = text("bound");
    columns
};

/// The columns of measures of one replica.
pub(crate) const OF_ONE: [Fixed; 12] = {
    let mut columns = [text(""); 12];
    let mut at = 0;
    while at < SUBJECT.len() {
        columns[at] = SUBJECT[at];
        at += 1;
    }
    columns[10] = number("value");
    columns[11] = text("bound");
    columns
};

/// The columns that say which measure a row has, and of what.
const SUBJECT: [Fixed; 10] = [
    text("measure"),
    text("unit"),
    text("workload"),
    text("class"),
    seconds("limit_s"),
    text("above"),
    text("stream"),
    text("port"),
    text("code_point"),
    text("counter"),
];

const GOODPUTS: [Measure; 3] = [Measure::Goodput, Measure::DataGoodput, Measure::RequestGoodput];

const AT_LEAST: &str = "at least";
const AT_MOST: &str = "at most";

pub(crate) fn fill_all(rows: &mut Rows, cases: &Cases, runs: &[Run]) {
    for (run, found) in runs.iter().enumerate() {
        for (at, point) in found.points.iter().enumerate() {
            let (case, summary) = (cases.cells(run, at), &point.summary);
            Parts::of_all(summary).each(|measure, what| {
                let estimate = match measure.cell(summary, what) {
                    Found::Figure(estimate) => estimate,
                    Found::Count(count) => Estimate {
                        n: summary.replicas,
                        ..Estimate::from_values(&[count as f64]).expect("a value")
                    },
                    _ => return,
                };
                let Estimate { mean, low, high, n, at_least, at_most } =
                    estimate.scaled(factor(measure));
                let bound = at_least.then_some(AT_LEAST).or(at_most.then_some(AT_MOST));
                let figures: [Cell<'_>; 5] =
                    [mean.into(), low.into(), high.into(), n.into(), bound.into()];
                rows.push(&case, &[&subject(measure, what)[..], &figures].concat());
            });
        }
    }
}

pub(crate) fn fill_one(rows: &mut Rows, cases: &Cases, runs: &[Run]) {
    for (run, point, replica) in replicas(runs) {
        let case = cases.replica(run, point, replica.number);
        let summary = &runs[run].points[point].summary;
        Parts::of_one(replica).each(|measure, what| {
            let Some(reading) = measure.read(replica, what) else { return };
            // A workload of datagrams has no goodput; no replica knows that it is not 0.
            if GOODPUTS.contains(&measure) && measure.cell(summary, what) == Found::Nothing {
                return;
            }
            let bound = reading.is_bound().then_some(AT_LEAST);
            let figures: [Cell<'_>; 2] = [(reading.value() * factor(measure)).into(), bound.into()];
            rows.push(&case, &[&subject(measure, what)[..], &figures].concat());
        });
    }
}

/// What measures are taken of.
struct Parts<'a> {
    workloads: Vec<WorkloadParts<'a>>,
    ports: Vec<&'a str>,
    code_points: Vec<&'a str>,
    counters: Vec<&'a str>,
}

struct WorkloadParts<'a> {
    name: &'a str,
    classes: Vec<&'a str>,
    limits: Vec<f64>,
    streams: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn of_all(summary: &'a Summary) -> Parts<'a> {
        let workload = |found: &'a WorkloadSummary| WorkloadParts {
            name: &found.name,
            classes: found.classes.iter().map(|class| class.label.as_str()).collect(),
            limits: found.all.over.iter().map(|over| over.limit).collect(),
            streams: found.streams.iter().map(|stream| stream.name.as_str()).collect(),
        };
        let mut code_points: Vec<&str> = Vec::new();
        for found in summary.ports.iter().flat_map(|port| &port.code_points) {
            if !code_points.contains(&found.name.as_str()) {
                code_points.push(&found.name);
            }
        }
        Parts {
            workloads: summary.workloads.iter().map(workload).collect(),
            ports: summary.ports.iter().map(|port| port.name.as_str()).collect(),
            code_points,
            counters: summary.counters.keys().map(String::as_str).collect(),
        }
    }

    fn of_one(replica: &'a Replica) -> Parts<'a> {
        let workload = |found: &'a WorkloadResult| WorkloadParts {
            name: &found.name,
            classes: found.classes.iter().map(|class| class.label.as_str()).collect(),
            limits: found.all.over.iter().map(|over| over.limit).collect(),
            streams: found.streams.iter().map(|stream| stream.name.as_str()).collect(),
        };
        Parts {
            workloads: replica.workloads.iter().map(workload).collect(),
            ports: replica.ports.iter().map(|port| port.name.as_str()).collect(),
            code_points: replica.code_points.iter().map(String::as_str).collect(),
            counters: replica.counters.keys().map(String::as_str).collect(),
        }
    }

    /// Each measure with each thing that it is taken of.
    fn each(&self, mut take: impl FnMut(Measure, &Subject<'a>)) {
        // A counter as a rate is the counter again.
        for measure in Measure::ALL.into_iter().filter(|one| *one != Measure::CounterRate) {
            match measure.scope() {
                Scope::Port => self.ports(None).for_each(|what| take(measure, &what)),
                Scope::CodePoint => {
                    let code_points = std::iter::once(None)
                        .chain(self.code_points.iter().map(|name| Some(*name)));
                    for code_point in code_points {
                        self.ports(code_point).for_each(|what| take(measure, &what));
                    }
                }
                Scope::Counter => {
                    for name in &self.counters {
                        take(measure, &Subject { at: Some(name), ..Subject::default() });
                    }
                }
                scope => {
                    let workloads = self.workloads.iter();
                    workloads
                        .flat_map(|one| one.subjects(scope))
                        .for_each(|what| take(measure, &what));
                }
            }
        }
    }

    fn ports(&self, code_point: Option<&'a str>) -> impl Iterator<Item = Subject<'a>> {
        let ports = self.ports.iter();
        ports.map(move |port| Subject { at: Some(port), code_point, ..Subject::default() })
    }
}

impl<'a> WorkloadParts<'a> {
    /// What measures of a scope are taken of in this workload.
    fn subjects(&self, scope: Scope) -> Vec<Subject<'a>> {
        let whole = Subject { workload: self.name, ..Subject::default() };
        let classes = || std::iter::once(None).chain(self.classes.iter().map(|label| Some(*label)));
        let of_classes = || classes().map(|class| Subject { class, ..whole });
        match scope {
            Scope::Class => of_classes().collect(),
            Scope::Limit => {
                let limits = |what: Subject<'a>| {
                    self.limits.iter().map(move |limit| Subject { limit: Some(*limit), ..what })
                };
                of_classes().flat_map(limits).collect()
            }
            Scope::Above => {
                self.classes.iter().map(|label| Subject { above: Some(label), ..whole }).collect()
            }
            Scope::Stream => {
                let streams = self.streams.iter().map(|name| Some(*name));
                let streams = std::iter::once(None).chain(streams);
                streams.map(|stream| Subject { stream, ..whole }).collect()
            }
            Scope::Workload => vec![whole],
            Scope::Port | Scope::CodePoint | Scope::Counter => Vec::new(),
        }
    }
}

/// The cells of which measure it is, and of what.
fn subject<'a>(measure: Measure, what: &Subject<'a>) -> [Cell<'a>; 10] {
    let scope = measure.scope();
    let or_all = |part: Option<&'a str>, scopes: &[Scope]| -> Cell<'a> {
        part.or(scopes.contains(&scope).then_some(ALL)).into()
    };
    let workload = Some(what.workload).filter(|name| !name.is_empty());
    let is_counter = scope == Scope::Counter;
    [
        measure.about().name.into(),
        unit(measure).into(),
        workload.into(),
        or_all(what.class, &[Scope::Class, Scope::Limit]),
        what.limit.into(),
        what.above.into(),
        or_all(what.stream, &[Scope::Stream]),
        what.at.filter(|_| !is_counter).into(),
        or_all(what.code_point, &[Scope::CodePoint]),
        what.at.filter(|_| is_counter).into(),
    ]
}

/// The unit in the table.
fn unit(measure: Measure) -> Option<&'static str> {
    match measure.about().unit {
        Unit::MegabitsPerSecond => Some(BITS_PER_SECOND),
        other => Some(other.symbol()).filter(|symbol| !symbol.is_empty()),
    }
}

/// What a measure is multiplied with for that.
fn factor(measure: Measure) -> f64 {
    if measure.about().unit == Unit::MegabitsPerSecond { 1e6 } else { 1.0 }
}
