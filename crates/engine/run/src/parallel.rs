//! Runs tasks in parallel, as far as the engine allows.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use shortflow_scenario::Scenario;

use crate::engine::{Engine, Error, Job, Observers, Outcome, SideBySide, Task};
use crate::observe::Observer;

/// Runs `tasks` by one engine, as [`run_jobs`] does.
pub fn run_tasks(
    engine: &dyn Engine,
    tasks: &[Task<'_>],
    threads: usize,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Vec<Result<Outcome, Error>> {
    let jobs: Vec<Job<'_>> = tasks.iter().map(|task| Job { engine, task: *task }).collect();
    run_jobs(&jobs, threads, stop, observer)
}

/// Runs `jobs` on `threads` threads (0: one per core) and returns their results in order. Jobs of engines
/// that need the whole machine come last, one at a time.
///
/// Nothing runs if an engine is not ready or refuses one of its scenarios. Once `stop` is true, running tasks
/// are abandoned and no other starts: complete results stay, the others are [`Error::Interrupted`]. If an
/// engine cannot run a scenario, the other tasks continue; after any other failure they stop.
pub fn run_jobs(
    jobs: &[Job<'_>],
    threads: usize,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Vec<Result<Outcome, Error>> {
    let mut outcomes: Vec<_> = jobs.iter().map(|_| Err(Error::Interrupted)).collect();
    if let Some((at, error)) = refused(jobs).or_else(|| not_ready(jobs)) {
        outcomes[at] = Err(error);
        return outcomes;
    }
    let numbered = || (0..).zip(jobs);
    let is_patient = |job: &Job<'_>| job.engine.side_by_side() == SideBySide::AsManyAsThreads;
    let (together, alone): (Vec<_>, Vec<_>) = numbered().partition(|(_, job)| is_patient(job));
    for (group, threads) in [(together, threads), (alone, 1)] {
        let found = run_group(&group, threads, stop, observer);
        for ((at, _), outcome) in group.into_iter().zip(found) {
            outcomes[at] = outcome;
        }
    }
    outcomes
}

/// Runs jobs in parallel, each with its index in the list of all jobs.
fn run_group(
    jobs: &[(usize, &Job<'_>)],
    threads: usize,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Vec<Result<Outcome, Error>> {
    if jobs.is_empty() {
        return Vec::new();
    }
    let run = |(index, job): &(usize, &Job<'_>)| {
        let outcome = run_task(job, *index, stop, observer);
        if matches!(&outcome, Err(error) if observer.ends_all(error)) {
            stop.store(true, Ordering::Relaxed);
        }
        outcome
    };
    match pool(threads) {
        // Each thread takes one task at a time, because their durations may differ a lot.
        Some(pool) => pool.install(|| jobs.par_iter().with_max_len(1).map(run).collect()),
        None => jobs.iter().map(run).collect(),
    }
}

/// So many threads, or as many as the system gives; `None` if it gives none.
fn pool(threads: usize) -> Option<rayon::ThreadPool> {
    let fewer = std::iter::successors(Some(threads), |threads| Some(threads / 2));
    fewer
        .take_while(|&threads| threads > 0)
        .find_map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok())
}

/// The first job whose engine refuses its scenario.
fn refused(jobs: &[Job<'_>]) -> Option<(usize, Error)> {
    first(jobs, |Job { engine, task }| engine.check(task.scenario).map_err(Error::from))
}

/// The first job whose engine, or scenario, has a requirement that the machine does not meet.
fn not_ready(jobs: &[Job<'_>]) -> Option<(usize, Error)> {
    let mut asked: Vec<&str> = Vec::new();
    for (at, Job { engine, .. }) in jobs.iter().enumerate() {
        if !asked.contains(&engine.name()) {
            asked.push(engine.name());
            if let Err(error) = engine.ready() {
                return Some((at, error));
            }
        }
    }
    first(jobs, |Job { engine, task }| engine.ready_for(task.scenario))
}

/// The first job with an error. Jobs often share their scenario, which is then checked once.
fn first(jobs: &[Job<'_>], ask: impl Fn(&Job<'_>) -> Result<(), Error>) -> Option<(usize, Error)> {
    let mut asked: Vec<(&str, *const Scenario)> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        let about = (job.engine.name(), std::ptr::from_ref(job.task.scenario));
        if let Err(place) = asked.binary_search(&about) {
            asked.insert(place, about);
            if let Err(error) = ask(job) {
                return Some((at, error));
            }
        }
    }
    None
}

fn run_task(
    job: &Job<'_>,
    index: usize,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<Outcome, Error> {
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let (mut reported, mut exceeded) = (0.0, None);
    let mut look = |share: f64| {
        observer.advanced(index, share - reported);
        reported = share;
        exceeded = observer.check(index).err();
        exceeded.is_none() && !stop.load(Ordering::Relaxed)
    };
    observer.check(index)?;
    let (tap, transfers) = (observer.tap(index)?, observer.transfers(index)?);
    let tcp_info = observer.tcp_info(index)?;
    let run = job.engine.run(&job.task, Observers { transfers, tap, tcp_info, look: &mut look });
    let mut outcome = match (run, exceeded) {
        (Err(Error::Interrupted), Some(error)) => return Err(error),
        (run, _) => run?,
    };
    observer.advanced(index, 1.0 - reported);
    observer.completed(index, &mut outcome)?;
    Ok(outcome)
}
