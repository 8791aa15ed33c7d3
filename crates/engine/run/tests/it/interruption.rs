//! An interruption keeps what is complete in all cases.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use shortflow_measure::{Recorder, Warning, WarningKind};
use shortflow_run::{
    Case, Engine, Error, Experiment, Interruption, Limits, Measured, Observers, Origin, Outcome,
    OutputFolder, Refusal, Shard, Task, TimeLimit, numbers_in, plan,
};
use shortflow_scenario::Scenario;
use shortflow_units::Duration;

use crate::engines::{case, conduct};

/// Ends in the task with this number.
struct StopsInTask<'s> {
    begun: AtomicU32,
    number: u32,
    by: End<'s>,
}

/// How a task ends before it is complete.
enum End<'s> {
    /// The user interrupts it.
    Interruption(&'s AtomicBool),
    /// An error, as where a disk is full.
    Error,
}

impl Engine for StopsInTask<'_> {
    fn name(&self) -> &'static str {
        "interrupted"
    }

    fn identity(&self) -> &str {
        "1"
    }

    fn check(&self, _: &Scenario) -> Result<(), Refusal> {
        Ok(())
    }

    fn side_by_side(&self) -> shortflow_run::SideBySide {
        shortflow_run::SideBySide::OneAtATime
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        if self.begun.fetch_add(1, Ordering::SeqCst) == self.number {
            match self.by {
                End::Interruption(stop) => stop.store(true, Ordering::SeqCst),
                End::Error => return Err(Error::Machine("no room".to_owned())),
            }
        }
        if !(observers.look)(0.5) {
            return Err(Error::Interrupted);
        }
        let replica = Recorder::new(&plan(task.scenario), observers.transfers).finish()?;
        Ok(Measured::Replica(Box::new(replica)).into())
    }
}

#[test]
fn an_interruption_keeps_the_replicas_that_are_complete() {
    // Two points and three replicas: the tasks are replica 0 at both points, then 1, then 2.
    let stop = AtomicBool::new(false);
    let engine = StopsInTask { begun: AtomicU32::new(0), number: 4, by: End::Interruption(&stop) };
    let found = conduct(&engine, &stop).unwrap();
    assert_eq!(found.interruption, Some(Interruption { kept: 4, all: 6 }));
    let points = &found.runs[0].points;
    assert_eq!([points[0].replicas.len(), points[1].replicas.len()], [2, 2]);
    let warning = "Interrupted: 2 of 3 replicas are complete.";
    let warning = Warning::new(WarningKind::Interrupted, warning);
    assert!(points[0].summary.warnings.contains(&warning));
}

#[test]
fn an_interruption_before_anything_is_complete_keeps_nothing() {
    let stop = AtomicBool::new(false);
    let engine = StopsInTask { begun: AtomicU32::new(0), number: 0, by: End::Interruption(&stop) };
    assert!(matches!(conduct(&engine, &stop), Err(Error::Interrupted)));
}

#[test]
fn transfers_are_kept_only_of_replicas_that_are_complete_under_all_policies() {
    let home = tempfile::tempdir().unwrap();
    let output = OutputFolder::prepare(&home.path().join("out"), false).unwrap();
    let stop = AtomicBool::new(false);
    // Each replica of each point runs in both cases in a row: replica 1 of point 1 is complete in the
    // first case only.
    let engine = StopsInTask { begun: AtomicU32::new(0), number: 7, by: End::Interruption(&stop) };
    let cases = Case::beside(vec![case(&engine), case(&engine)], &["a".to_owned(), "b".to_owned()])
        .unwrap();
    let experiment = Experiment {
        cases: &cases,
        numbers: &numbers_in(Shard::default(), &cases[0].loaded),
        threads: 1,
        keeps_transfers: true,
        tcp_info: None,
        tap: None,
        origin: Origin { version: "0", command: "shortflow test" },
    };
    let found = experiment.run(&output, &stop, &()).unwrap();
    assert_eq!(found.interruption, Some(Interruption { kept: 3, all: 6 }));
    let folder = output.publish().unwrap();
    for case in &cases {
        let entries = std::fs::read_dir(folder.join(case.folder.as_ref().unwrap())).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".csv")).collect();
        names.sort();
        let kept = ["000-000", "000-001", "001-000"].map(|n| format!("transfers-{n}.csv"));
        assert_eq!(names, kept, "{}", case.label);
    }
}

#[test]
fn an_error_keeps_the_replicas_that_are_complete_and_runs_no_others() {
    let engine = StopsInTask { begun: AtomicU32::new(0), number: 4, by: End::Error };
    let found = conduct(&engine, &AtomicBool::new(false)).unwrap();
    assert_eq!(found.interruption, Some(Interruption { kept: 4, all: 6 }));
    assert!(matches!(found.failure, Some(Error::Machine(_))));
    assert_eq!(engine.begun.into_inner(), 5);
}

#[test]
fn an_error_before_anything_is_complete_is_all_there_is() {
    let engine = StopsInTask { begun: AtomicU32::new(0), number: 0, by: End::Error };
    assert!(matches!(conduct(&engine, &AtomicBool::new(false)), Err(Error::Machine(_))));
}

#[test]
fn a_pause_comes_after_the_first_replica_however_long_the_machine_takes_to_begin_it() {
    let home = tempfile::tempdir().unwrap();
    let output = OutputFolder::prepare(&home.path().join("out"), false).unwrap();
    let never = StopsInTask { begun: AtomicU32::new(0), number: u32::MAX, by: End::Error };
    let cases = [case(&never)];
    let experiment = Experiment {
        cases: &cases,
        numbers: &numbers_in(Shard::default(), &cases[0].loaded),
        threads: 1,
        keeps_transfers: false,
        tcp_info: None,
        tap: None,
        origin: Origin { version: "0", command: "shortflow test" },
    };
    // A second passes between any two looks at this clock.
    let seconds = AtomicU32::new(60);
    let clock = || Duration::from_secs(seconds.fetch_add(1, Ordering::SeqCst).into());
    let pause = Some(TimeLimit { most: Duration::from_millis(1), clock: &clock });
    let limits = Limits { pause, ..Limits::default() };
    let found = experiment.run_within(limits, &output, &AtomicBool::new(false), &()).unwrap();
    assert_eq!(found.interruption, Some(Interruption { kept: 1, all: 6 }));
}
