//! Candidates measured by an engine, and foretold by one that has closed forms.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use shortflow_measure::Replica;
use shortflow_run::{Engine, Error, Measured, Observer, Outcome, Progress, Task, run_tasks};
use shortflow_scenario::Scenario;

use crate::aim::{Goal, Limit};
use crate::search::{Figures, Measuring};

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
    /// How many replicas were run.
    pub(crate) taken: u64,
}

impl ByEngine<'_> {
    fn figures(&self, replica: &Replica) -> Figures {
        Figures {
            goals: self.goals.iter().map(|goal| goal.of(replica)).collect(),
            limits: self.limits.iter().map(|limit| limit.of(replica)).collect(),
        }
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
        self.progress.begins(tasks.len(), 0);
        self.taken += tasks.len() as u64;
        let watch = Watch(self.progress);
        let outcomes = run_tasks(self.engine, &tasks, self.threads, self.stop, &watch);
        let mut figures = Vec::new();
        let mut is_interrupted = false;
        for outcome in outcomes {
            match outcome {
                Ok(Outcome { measured: Measured::Replica(replica), .. }) => {
                    figures.push(self.figures(&replica));
                }
                Ok(_) => figures.push(Figures::default()),
                Err(Error::Interrupted) => is_interrupted = true,
                Err(error) => return Err(error),
            }
        }
        if is_interrupted {
            return Err(Error::Interrupted);
        }
        Ok(figures.chunks(replicas.len().max(1)).map(<[Figures]>::to_vec).collect())
    }
}

/// Tells how far the replicas are.
struct Watch<'a>(&'a dyn Progress);

impl Observer for Watch<'_> {
    fn advanced(&self, _: usize, share: f64) {
        self.0.advanced(share);
    }

    fn completed(&self, _: usize, _: &mut Outcome) -> Result<(), Error> {
        self.0.completed();
        Ok(())
    }
}

/// What an engine with closed forms expects of the goal in each scenario; nothing where it has none.
pub(crate) fn expected(
    model: &dyn Engine,
    scenarios: &[&Scenario],
    goal: &Goal,
    stop: &AtomicBool,
) -> Vec<Option<f64>> {
    let one = |scenario: &&Scenario| {
        model.check(scenario).ok()?;
        let task = Task { scenario, replica: 0 };
        let outcome = run_tasks(model, &[task], 1, stop, &()).pop()?.ok()?;
        match outcome.measured {
            Measured::Means(means) => goal.expected(&means),
            Measured::Replica(_) => None,
        }
    };
    scenarios.iter().map(one).collect()
}
