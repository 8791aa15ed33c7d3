//! An engine that computes, one that runs in real time, one that refuses.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use shortflow_measure::{Estimate, Recorder, Summary, Warning, WarningKind, WorkloadSummary};
use shortflow_run::{
    Case, Engine, Error, Experiment, Job, Measured, Observers, Origin, Outcome, OutputFolder,
    Refusal, Results, Shard, SideBySide, Stalls, Task, TimingError, numbers_in, plan, run_jobs,
    run_tasks,
};
use shortflow_scenario::{Overrides, Scenario, from_texts};
use shortflow_units::Duration;

const SCENARIO: &str = r#"
name = "line"
duration = "10 s"
replicas = 3
hosts = { client = {}, server = {} }
links.line = { between = ["client", "server"], rate = "10 Mbit/s", delay = "5 ms" }
workloads.file.bulk = { from = "server", to = "client", flows = "$x" }
[parameters]
x = 1
[sweep]
key = "parameters.x"
values = [1, 2]
"#;

/// The case of the scenario, alone.
pub(crate) fn case(engine: &dyn Engine) -> Case<'_> {
    let overrides = Overrides::default();
    let loaded = from_texts(&[("line.toml", SCENARIO)], &overrides)
        .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Case::new(engine, loaded, &Overrides::default())
}

/// Runs the scenario by `engine` on four threads into a folder that is not kept.
pub(crate) fn conduct(engine: &dyn Engine, stop: &AtomicBool) -> Result<Results, Error> {
    let home = tempfile::tempdir().unwrap();
    let output = OutputFolder::prepare(&home.path().join("out"), false).unwrap();
    let cases = [case(engine)];
    let experiment = Experiment {
        cases: &cases,
        numbers: &numbers_in(Shard::default(), &cases[0].loaded),
        threads: 4,
        keeps_transfers: false,
        tcp_info: None,
        tap: None,
        origin: Origin { version: "0", command: "shortflow test" },
    };
    experiment.run(&output, stop, &())
}

/// What a replica of this scenario finds in which nothing happens.
pub(crate) fn nothing_happened(scenario: &Scenario) -> Measured {
    let replica = Recorder::new(&plan(scenario), None).finish().unwrap();
    Measured::Replica(Box::new(replica))
}

/// Computes means: the same for every replica, without an interval.
struct Closed;

impl Engine for Closed {
    fn name(&self) -> &'static str {
        "closed"
    }

    fn identity(&self) -> &str {
        "1"
    }

    fn check(&self, _: &Scenario) -> Result<(), Refusal> {
        Ok(())
    }

    fn run(&self, task: &Task<'_>, _: Observers<'_>) -> Result<Outcome, Error> {
        let goodput =
            Estimate { mean: 9.5e6, low: None, high: None, n: 1, at_least: false, at_most: false };
        let name = task.scenario.workloads[0].name.clone();
        let file = WorkloadSummary { name, goodput: Some(goodput), ..Default::default() };
        let summary = Summary { workloads: vec![file], ..Default::default() };
        let warnings = vec![Warning::from("No closed form for jitter.".to_owned())];
        let measured = Measured::Means(Box::new(summary));
        Ok(Outcome { warnings, ..measured.into() })
    }
}

#[test]
fn means_without_replicas_make_a_point_and_a_warning_of_three_replicas_is_told_once() {
    let found = conduct(&Closed, &AtomicBool::new(false)).unwrap();
    let points = &found.runs[0].points;
    assert_eq!(points.len(), 2, "two points of the sweep");
    let goodput = points[0].summary.workload("file").unwrap().goodput.unwrap();
    assert_eq!((goodput.mean, goodput.low), (9.5e6, None));
    let warnings: Vec<&str> =
        points[0].summary.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(warnings, ["No closed form for jitter."]);
    assert!(points[0].replicas.is_empty());
}

/// Sends real packets: one task at a time, and later than it should.
#[derive(Default)]
struct RealTime {
    under_way: AtomicU32,
    most: AtomicU32,
}

impl Engine for RealTime {
    fn name(&self) -> &'static str {
        "real time"
    }

    fn identity(&self) -> &str {
        "1"
    }

    fn check(&self, _: &Scenario) -> Result<(), Refusal> {
        Ok(())
    }

    fn side_by_side(&self) -> SideBySide {
        SideBySide::OneAtATime
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        for step in 1..=100 {
            std::thread::yield_now();
            assert!((observers.look)(f64::from(step) / 100.0));
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let late = Duration::from_millis(1 + u64::from(task.replica));
        let stalls = Stalls { share: 0.002, longest: late };
        let timing = TimingError { p50: Duration::ZERO, p99: late, max: late * 2, stalls };
        let measured = nothing_happened(task.scenario);
        Ok(Outcome { timing: Some(timing), ..measured.into() })
    }
}

#[test]
fn an_engine_in_real_time_runs_one_task_at_a_time_and_says_when_it_was_late() {
    let engine = RealTime::default();
    let found = conduct(&engine, &AtomicBool::new(false)).unwrap();
    assert_eq!(engine.most.load(Ordering::SeqCst), 1, "though there are four threads");
    let point = &found.runs[0].points[0];
    assert_eq!(point.replicas.len(), 3);
    // The first replica is late by 1 ms, which is allowed; the third by 3 ms.
    let late = |warning: &&Warning| warning.kind == WarningKind::Late;
    let warnings: Vec<&str> =
        point.summary.warnings.iter().filter(late).map(|w| w.message.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "The machine was too slow: packets were 0.000 ms (median), 3.000 ms (p99) and 6.000 ms (maximum) late, \
             and it stalled for 0.2 % of the time, 3.000 ms at most. Above 1 ms (p99), \
             1 % or 100 ms the results cannot be trusted."
        ]
    );
}

/// Can do the first point of the sweep only.
#[derive(Default)]
struct Choosy {
    ran: AtomicBool,
    asked: Mutex<BTreeSet<String>>,
}

impl Engine for Choosy {
    fn name(&self) -> &'static str {
        "choosy"
    }

    fn identity(&self) -> &str {
        "1"
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        let point = scenario.inputs.overrides.join(" ");
        let is_new = self.asked.lock().unwrap().insert(point.clone());
        assert!(is_new, "asked twice about {point}");
        if point.contains('2') {
            return Err(Refusal(format!("{point} is too much; choose 1")));
        }
        Ok(())
    }

    fn run(&self, _: &Task<'_>, _: Observers<'_>) -> Result<Outcome, Error> {
        self.ran.store(true, Ordering::SeqCst);
        Err(Error::Interrupted)
    }
}

#[test]
fn nothing_is_run_when_one_scenario_is_refused() {
    let engine = Choosy::default();
    let case = case(&engine);
    let task = |point: usize| Task { scenario: &case.loaded.points()[point].scenario, replica: 0 };
    let tasks = [task(0), task(1), task(0), task(1)];
    let outcomes = run_tasks(&engine, &tasks, 1, &AtomicBool::new(false), &());
    let Err(Error::Refused(Refusal(why))) = &outcomes[1] else { panic!("{outcomes:?}") };
    assert_eq!(why, "parameters.x=2 is too much; choose 1");
    assert!(matches!(outcomes[0], Err(Error::Interrupted)));
    // The reason is the result: nothing is left to be resumed.
    let engine = Choosy::default();
    let Err(Error::Refused(Refusal(why))) = conduct(&engine, &AtomicBool::new(false)) else {
        panic!("the run has no results")
    };
    assert_eq!(why, "parameters.x=2 is too much; choose 1");
    assert!(!engine.ran.load(Ordering::SeqCst));
}

/// Takes too long for its first replica, and is interrupted then.
struct Slow<'s>(&'s AtomicBool);

impl Engine for Slow<'_> {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn identity(&self) -> &str {
        "1"
    }

    fn check(&self, _: &Scenario) -> Result<(), Refusal> {
        Ok(())
    }

    fn side_by_side(&self) -> SideBySide {
        SideBySide::OneAtATime
    }

    fn run(&self, _: &Task<'_>, _: Observers<'_>) -> Result<Outcome, Error> {
        self.0.store(true, Ordering::SeqCst);
        Err(Error::TimeLimit("it took longer than the time limit of 9 s".to_owned()))
    }
}

#[test]
fn a_point_over_its_time_leaves_the_other_points_to_be_resumed() {
    let stop = AtomicBool::new(false);
    let results = conduct(&Slow(&stop), &stop).unwrap();
    assert_eq!(results.interruption.map(|one| one.kept), Some(0));
    let failed = results.runs[0].points.iter().filter(|point| point.failure.is_some()).count();
    assert!(failed >= 1, "the first point is marked");
}

/// Writes down who ran, and lacks something or nothing.
struct Diary<'d> {
    name: &'static str,
    alone: bool,
    lacks: Option<&'static str>,
    ran: &'d Mutex<Vec<&'static str>>,
}

impl Engine for Diary<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn identity(&self) -> &str {
        "1"
    }

    fn check(&self, _: &Scenario) -> Result<(), Refusal> {
        Ok(())
    }

    fn ready(&self) -> Result<(), Error> {
        self.lacks.map_or(Ok(()), |what| Err(Error::Machine(what.to_owned())))
    }

    fn side_by_side(&self) -> SideBySide {
        if self.alone { SideBySide::OneAtATime } else { SideBySide::AsManyAsThreads }
    }

    fn run(&self, task: &Task<'_>, _: Observers<'_>) -> Result<Outcome, Error> {
        self.ran.lock().unwrap().push(self.name);
        Ok(nothing_happened(task.scenario).into())
    }
}

#[test]
fn those_that_need_the_machine_for_themselves_run_when_all_others_are_done() {
    let ran = Mutex::new(Vec::new());
    let quick = Diary { name: "quick", alone: false, lacks: None, ran: &ran };
    let real = Diary { name: "real", alone: true, lacks: None, ran: &ran };
    let case = case(&quick);
    let task = Task { scenario: &case.loaded.points()[0].scenario, replica: 0 };
    let by = |engine| Job { engine, task };
    let jobs: [Job<'_>; 4] = [by(&quick as &dyn Engine), by(&real), by(&quick), by(&real)];
    let outcomes = run_jobs(&jobs, 4, &AtomicBool::new(false), &());
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(*ran.lock().unwrap(), ["quick", "quick", "real", "real"]);
}

#[test]
fn nothing_is_run_when_the_machine_lacks_what_one_engine_needs() {
    let ran = Mutex::new(Vec::new());
    let quick = Diary { name: "quick", alone: false, lacks: None, ran: &ran };
    let real = Diary { name: "real", alone: true, lacks: Some("no TUN"), ran: &ran };
    let cases = Case::by_each(vec![case(&quick)], &[&quick, &real]);
    let labels: Vec<&str> = cases.iter().map(|case| case.label.as_str()).collect();
    assert_eq!(labels, ["line, quicked", "line, realed"]);
    let folders: Vec<Option<&str>> = cases.iter().map(|case| case.folder.as_deref()).collect();
    assert_eq!(folders, [Some("1-line-quicked"), Some("2-line-realed")]);
    let of = |at: usize| Task { scenario: &cases[at].loaded.points()[0].scenario, replica: 0 };
    let jobs = [0, 1].map(|at| Job { engine: cases[at].engine, task: of(at) });
    let outcomes = run_jobs(&jobs, 1, &AtomicBool::new(false), &());
    assert!(matches!(&outcomes[1], Err(Error::Machine(what)) if what == "no TUN"));
    assert!(ran.lock().unwrap().is_empty());
}

/// Finds out while it runs that it cannot do the second point, in the first replica.
struct FailsLate;

impl Engine for FailsLate {
    fn name(&self) -> &'static str {
        "fails late"
    }

    fn identity(&self) -> &str {
        "1"
    }

    fn check(&self, _: &Scenario) -> Result<(), Refusal> {
        Ok(())
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        let is_second = task.scenario.inputs.overrides.join(" ").contains('2');
        if is_second && task.replica == 0 {
            return Err(Refusal("no port is left".to_owned()).into());
        }
        let replica = Recorder::new(&plan(task.scenario), observers.transfers).finish()?;
        Ok(Measured::Replica(Box::new(replica)).into())
    }
}

#[test]
fn a_point_that_fails_is_kept_with_its_reason_and_the_others_go_on() {
    let home = tempfile::tempdir().unwrap();
    let output = OutputFolder::prepare(&home.path().join("out"), false).unwrap();
    let cases = [case(&FailsLate)];
    let experiment = Experiment {
        cases: &cases,
        numbers: &numbers_in(Shard::default(), &cases[0].loaded),
        threads: 4,
        keeps_transfers: true,
        tcp_info: None,
        tap: None,
        origin: Origin { version: "0", command: "shortflow test" },
    };
    let found = experiment.run(&output, &AtomicBool::new(false), &()).unwrap();
    assert_eq!((found.interruption, found.failed_points()), (None, 1));
    let [first, second] = &found.runs[0].points[..] else { panic!("two points") };
    assert_eq!((first.replicas.len(), first.failure.as_deref()), (3, None));
    assert_eq!((second.replicas.len(), second.failure.as_deref()), (0, Some("no port is left")));
    let warnings = &found.runs[0].manifest.warnings;
    assert!(warnings.iter().any(|one| one.warning.kind == WarningKind::Failed && one.about == "2"));
    // Of the point that failed no replica is used, and no rows stay.
    let entries = std::fs::read_dir(output.publish().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut rows: Vec<String> = names.filter(|name| name.starts_with("transfers-")).collect();
    rows.sort();
    assert_eq!(rows, ["000", "001", "002"].map(|n| format!("transfers-000-{n}.csv")));
}
