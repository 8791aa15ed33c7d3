//! Candidates measured by an engine, and predicted by one with closed forms.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use shortflow_measure::Replica;
use shortflow_run::{
    ClassUse, Engine, Error, Measured, Observer, Observers, Outcome, Progress, Task, run_tasks,
};
use shortflow_scenario::Scenario;

use crate::goals::{Goal, Limit};
use crate::search::{Figures, Measuring};
use crate::store::Store;

/// An engine whose replicas are looked at.
pub(crate) struct ByEngine<'a> {
    pub(crate) engine: &'a dyn Engine,
    /// The scenario of each candidate.
    pub(crate) scenarios: Vec<&'a Scenario>,
    pub(crate) goals: &'a [Goal],
    pub(crate) limits: &'a [Limit],
    /// How many replicas at once; 0 is one for each core.
    pub(crate) threads: usize,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a dyn Progress,
    /// Where finished replicas are kept.
    pub(crate) store: &'a Store,
    /// How many replicas were asked for, run or kept from before.
    pub(crate) taken: u64,
    /// Packets per class of the policy under each candidate, over its replicas; `None` if it was not run.
    pub(crate) classes: Vec<Option<ClassUse>>,
}

impl ByEngine<'_> {
    fn figures(&self, replica: &Replica) -> Figures {
        Figures {
            goals: self.goals.iter().map(|goal| goal.read(replica)).collect(),
            limits: self.limits.iter().map(|limit| limit.read(replica)).collect(),
        }
    }

    fn count(&mut self, candidate: usize, classes: ClassUse) {
        let known = self.classes[candidate].take().unwrap_or_default();
        self.classes[candidate] = Some(known.and(classes));
    }
}

impl Measuring for ByEngine<'_> {
    type Error = Error;

    fn measure(
        &mut self,
        candidates: &[usize],
        replicas: Range<u32>,
    ) -> Result<Vec<Vec<Figures>>, Error> {
        let each = |candidate: &usize| {
            let scenario = self.scenarios[*candidate];
            replicas.clone().map(move |replica| Task { scenario, replica })
        };
        let tasks: Vec<Task<'_>> = candidates.iter().flat_map(each).collect();
        self.taken += tasks.len() as u64;
        let candidate = |at: usize| candidates[at / replicas.len().max(1)];
        let mut figures: Vec<Option<Figures>> = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            let kept = self.store.read(task);
            figures.push(kept.as_ref().map(|kept| self.figures(&kept.replica)));
            if let Some(classes) = kept.and_then(|kept| kept.classes) {
                self.count(candidate(at), classes);
            }
        }
        let absent: Vec<usize> = (0..tasks.len()).filter(|at| figures[*at].is_none()).collect();
        let due: Vec<Task<'_>> = absent.iter().map(|at| tasks[*at]).collect();
        self.progress.begins(due.len(), tasks.len() - due.len());
        let keeper = Keeper { tasks: &due, store: self.store, progress: self.progress };
        let outcomes = run_tasks(self.engine, &due, self.threads, self.stop, &keeper);
        let mut is_interrupted = false;
        for (at, outcome) in absent.into_iter().zip(outcomes) {
            match outcome {
                Ok(Outcome { measured: Measured::Replica(replica), classes, .. }) => {
                    figures[at] = Some(self.figures(&replica));
                    classes.into_iter().for_each(|classes| self.count(candidate(at), classes));
                }
                Ok(_) => figures[at] = Some(Figures::default()),
                Err(Error::Interrupted) => is_interrupted = true,
                Err(error) => return Err(error),
            }
        }
        if is_interrupted {
            return Err(Error::Interrupted);
        }
        let figures: Vec<Figures> = figures.into_iter().flatten().collect();
        Ok(figures.chunks(replicas.len().max(1)).map(<[Figures]>::to_vec).collect())
    }
}

/// Stores each replica as soon as it is finished, and reports progress.
struct Keeper<'a> {
    tasks: &'a [Task<'a>],
    store: &'a Store,
    progress: &'a dyn Progress,
}

impl Observer for Keeper<'_> {
    fn advanced(&self, _: usize, share: f64) {
        self.progress.advanced(share);
    }

    fn completed(&self, task: usize, outcome: &mut Outcome) -> Result<(), Error> {
        if let Measured::Replica(replica) = &outcome.measured {
            self.store.write(&self.tasks[task], replica, outcome.classes.as_ref())?;
        }
        self.progress.completed();
        Ok(())
    }
}

/// The goal's value in each scenario that an engine with closed forms expects; `None` without a closed form.
pub(crate) fn expected(
    model: &dyn Engine,
    scenarios: &[&Scenario],
    goal: &Goal,
    stop: &AtomicBool,
) -> Vec<Option<f64>> {
    let one = |scenario: &&Scenario| {
        let mut look = |_| !stop.load(Ordering::Relaxed);
        let observers = Observers { transfers: None, tap: None, tcp_info: None, look: &mut look };
        let outcome = model.run(&Task { scenario, replica: 0 }, observers).ok()?;
        match outcome.measured {
            Measured::Means(means) => goal.expected(&means),
            Measured::Replica(_) => None,
        }
    };
    scenarios.iter().map(one).collect()
}
