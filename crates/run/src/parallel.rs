//! Tasks side by side, on as many threads as wanted and the engine allows.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use shortflow_scenario::Scenario;

use crate::engine::{Engine, Error, Observers, Outcome, Refusal, SideBySide, Task};
use crate::observe::Observer;

/// Runs `tasks` on `threads` threads (0: one per core; one at a time where the engine needs that)
/// and gives their outcomes in the order of the tasks.
///
/// Nothing is run when the engine refuses one of the scenarios. Once `stop` is true, tasks under way
/// are abandoned and no other begins: what is complete stays, the others give
/// [`Error::Interrupted`]. A task that fails stops the others.
pub fn run_tasks(
    engine: &dyn Engine,
    tasks: &[Task<'_>],
    threads: usize,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Vec<Result<Outcome, Error>> {
    if let Some((refused, refusal)) = refused(engine, tasks) {
        let mut outcomes: Vec<_> = tasks.iter().map(|_| Err(Error::Interrupted)).collect();
        outcomes[refused] = Err(refusal.into());
        return outcomes;
    }
    let threads = match engine.side_by_side() {
        SideBySide::AsManyAsThreads => threads,
        SideBySide::OneAtATime => 1,
    };
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
                let outcome = run_task(engine, index, task, stop, observer);
                if matches!(&outcome, Err(error) if !matches!(error, Error::Interrupted)) {
                    stop.store(true, Ordering::Relaxed);
                }
                outcome
            })
            .collect()
    })
}

/// The first task whose scenario the engine refuses. Tasks in a row often share their scenario, which
/// is then asked about once.
fn refused(engine: &dyn Engine, tasks: &[Task<'_>]) -> Option<(usize, Refusal)> {
    let mut asked: Vec<*const Scenario> = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let scenario: *const Scenario = task.scenario;
        if let Err(place) = asked.binary_search(&scenario) {
            asked.insert(place, scenario);
            if let Err(refusal) = engine.check(task.scenario) {
                return Some((index, refusal));
            }
        }
    }
    None
}

fn run_task(
    engine: &dyn Engine,
    index: usize,
    task: &Task<'_>,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome, Error> {
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let mut told = 0.0;
    let mut look = |share: f64| {
        observer.advanced(index, share - told);
        told = share;
        !stop.load(Ordering::Relaxed)
    };
    let (tap, transfers) = (observer.tap(index)?, observer.transfers(index)?);
    let tcp_info = observer.tcp_info(index)?;
    let mut outcome = engine.run(task, Observers { transfers, tap, tcp_info, look: &mut look })?;
    observer.advanced(index, 1.0 - told);
    observer.completed(index, &mut outcome)?;
    Ok(outcome)
}
