//! An interruption keeps what is complete in all cases.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use shortflow_run::{Engine, Error, Interruption, Observers, Outcome, Refusal, Task};
use shortflow_scenario::Scenario;

use crate::engines::{conduct, nothing_happened};

/// Is interrupted in the task with this number.
struct StopsInTask<'s> {
    begun: AtomicU32,
    number: u32,
    stop: &'s AtomicBool,
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
            self.stop.store(true, Ordering::SeqCst);
        }
        if !(observers.look)(0.5) {
            return Err(Error::Interrupted);
        }
        Ok(nothing_happened(task.scenario).into())
    }
}

#[test]
fn an_interruption_keeps_the_replicas_that_are_complete() {
    // Two points and three replicas: the tasks are replica 0 at both points, then 1, then 2.
    let stop = AtomicBool::new(false);
    let engine = StopsInTask { begun: AtomicU32::new(0), number: 4, stop: &stop };
    let found = conduct(&engine, &stop).unwrap();
    assert_eq!(found.interruption, Some(Interruption { kept: 4, all: 6 }));
    let points = &found.cases[0].points;
    assert_eq!([points[0].replicas.len(), points[1].replicas.len()], [2, 2]);
    let warning = "Interrupted: 2 of 3 replicas are complete.".to_owned();
    assert!(points[0].summary.warnings.contains(&warning));
}

#[test]
fn an_interruption_before_anything_is_complete_keeps_nothing() {
    let stop = AtomicBool::new(false);
    let engine = StopsInTask { begun: AtomicU32::new(0), number: 0, stop: &stop };
    assert!(matches!(conduct(&engine, &stop), Err(Error::Interrupted)));
}
