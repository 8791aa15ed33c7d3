//! Stopping a run keeps what is finished.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use shortflow_run::{Error, Observer, Outcome, Task, run_tasks};
use shortflow_sim::Simulator;

use crate::bench::{is_interrupted, scenario};

/// Raises the stop flag once the second task is complete.
struct StopsAfterTwo<'s> {
    stop: &'s AtomicBool,
    completed: AtomicU64,
}

impl Observer for StopsAfterTwo<'_> {
    fn completed(&self, _task: usize, _outcome: &mut Outcome) -> Result<(), Error> {
        if self.completed.fetch_add(1, Ordering::Relaxed) + 1 == 2 {
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Raises the stop flag in the middle of the first task.
struct StopsHalfWay<'s>(&'s AtomicBool);

impl Observer for StopsHalfWay<'_> {
    fn advanced(&self, _task: usize, _share: f64) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const SCENARIO: &str = r#"
duration = "200 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
[workloads.load.poisson]
from = "a"
to = "b"
rate = "500 /s"
size.constant = "200 B"
"#;

#[test]
fn a_stop_abandons_what_has_not_begun_and_keeps_what_is_complete() {
    let scenario = scenario(SCENARIO);
    let tasks = [0, 1, 2, 3].map(|replica| Task { scenario: &scenario, replica });
    let stop = AtomicBool::new(false);
    let observer = StopsAfterTwo { stop: &stop, completed: AtomicU64::new(0) };

    let outcomes = run_tasks(&Simulator, &tasks, 1, &stop, &observer);

    let finished: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(finished, [true, true, false, false]);
    assert!(outcomes[2..].iter().all(is_interrupted));
}

#[test]
fn a_stop_abandons_a_task_under_way() {
    let scenario = scenario(SCENARIO);
    let stop = AtomicBool::new(false);

    let outcomes = run_tasks(
        &Simulator,
        &[Task { scenario: &scenario, replica: 0 }],
        1,
        &stop,
        &StopsHalfWay(&stop),
    );

    assert!(is_interrupted(&outcomes[0]));
}

/// Fails its first completed task, as a full disk would.
struct Fails;

impl Observer for Fails {
    fn completed(&self, task: usize, _outcome: &mut Outcome) -> Result<(), Error> {
        if task == 0 { Err(Error::Interrupted) } else { Ok(()) }
    }
}

#[test]
fn an_interruption_by_an_observer_concerns_its_own_task_alone() {
    let scenario = scenario(SCENARIO);
    let tasks = [0, 1].map(|replica| Task { scenario: &scenario, replica });

    let outcomes = run_tasks(&Simulator, &tasks, 1, &AtomicBool::new(false), &Fails);

    assert!(is_interrupted(&outcomes[0]) && outcomes[1].is_ok());
}
