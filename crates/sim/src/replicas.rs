//! Replicas side by side, on as many threads as wanted.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use shortflow_measure::TransferSink;
use shortflow_scenario::Scenario;
use shortflow_units::Instant;

use crate::record::replica::{Error, Outcome, end_of, run_replica_before};
use crate::record::tap::Tap;

/// One replica to run.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// What to run.
    pub scenario: &'a Scenario,
    /// Which replica of it.
    pub replica: u32,
}

/// Who is told how tasks get on. Called from several threads.
pub trait Observer: Sync {
    /// Where the transfers of a task are streamed, if anywhere.
    fn transfers(&self, task: usize) -> Result<Option<TransferSink>, Error> {
        let _ = task;
        Ok(None)
    }

    /// Who looks at the packets of a task, if anybody.
    fn tap(&self, task: usize) -> Result<Option<Box<dyn Tap>>, Error> {
        let _ = task;
        Ok(None)
    }

    /// A running task has come `share` (0 to 1) further since it was last told of.
    fn advanced(&self, task: usize, share: f64) {
        let _ = (task, share);
    }

    /// A task is complete. What is taken out of its outcome is not held until all tasks are.
    fn completed(&self, task: usize, outcome: &mut Outcome) -> Result<(), Error> {
        let _ = (task, outcome);
        Ok(())
    }
}

/// Runs `tasks` on `threads` threads (0: one per core) and gives their outcomes in the order of
/// the tasks. Once `stop` is true, tasks under way are abandoned and no other begins: what is
/// complete stays, the others give [`Error::Interrupted`]. A task that fails stops the others.
pub fn run_tasks(
    tasks: &[Task<'_>],
    threads: usize,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Vec<Result<Outcome, Error>> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("the system gives threads");
    pool.install(|| {
        tasks
            .par_iter()
            // One task at a time to each thread: they may differ much in length.
            .with_max_len(1)
            .enumerate()
            .map(|(index, task)| {
                let outcome = run_task(index, task, stop, observer);
                if matches!(&outcome, Err(error) if !matches!(error, Error::Interrupted)) {
                    stop.store(true, Ordering::Relaxed);
                }
                outcome
            })
            .collect()
    })
}

fn run_task(
    index: usize,
    task: &Task<'_>,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome, Error> {
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let end = end_of(task.scenario).as_secs_f64();
    let mut told = 0.0;
    let look = |now: Instant| {
        let share = now.as_secs_f64() / end;
        observer.advanced(index, share - told);
        told = share;
        !stop.load(Ordering::Relaxed)
    };
    let (tap, transfers) = (observer.tap(index)?, observer.transfers(index)?);
    let mut outcome = run_replica_before(tap, task.scenario, task.replica, transfers, look)?;
    observer.advanced(index, 1.0 - told);
    observer.completed(index, &mut outcome)?;
    Ok(outcome)
}
