//! Predictions that are made before anything is run, each worked out once. What has no closed form is told with the reason,
//! in the place of its means.

use std::collections::BTreeMap;

use shortflow_measure::{Summary, WorkloadSummary};
use shortflow_run::{Engine, Error, Measured, Observers, Outcome, Refusal, Task, fingerprint};
use shortflow_scenario::{Part, Scenario};

use crate::{Prediction, predict};

/// The means of some scenarios, and sentences on what they rest on, or on why there are none.
#[derive(Debug, Clone)]
pub struct Foretold {
    all: BTreeMap<String, (Summary, Vec<String>)>,
    /// Why nothing is expected anywhere, if that is so.
    nothing: Option<Refusal>,
}

impl Foretold {
    /// Works these scenarios out.
    pub fn of<'s>(scenarios: impl Iterator<Item = &'s Scenario>) -> Foretold {
        let (mut all, mut lacking, mut has_some) = (BTreeMap::new(), None, false);
        for scenario in scenarios {
            let (told, nothing) = match predict(scenario) {
                Ok(found) => ((found.summary, found.notes), found.nothing),
                Err(refusal) => (unknown(scenario, &refusal), Some(refusal)),
            };
            has_some |= nothing.is_none();
            lacking = lacking.or(nothing);
            all.insert(key(scenario), told);
        }
        Foretold { all, nothing: lacking.filter(|_| !has_some) }
    }

    /// Refuses where none of the scenarios has a closed form for any workload.
    ///
    /// # Errors
    /// So, with the reasons of the first.
    pub fn answers(&self) -> Result<(), Refusal> {
        self.nothing.clone().map_or(Ok(()), Err)
    }

    fn get(&self, scenario: &Scenario) -> &(Summary, Vec<String>) {
        self.all.get(&key(scenario)).expect("the scenario was given")
    }
}

/// A scenario of which nothing is known, with the reason as a sentence.
fn unknown(scenario: &Scenario, Refusal(why): &Refusal) -> (Summary, Vec<String>) {
    let workload = |one: &shortflow_scenario::Workload| WorkloadSummary {
        name: one.name.clone(),
        item: one.kind.traffic().item(Part::Whole),
        ..Default::default()
    };
    let summary = Summary {
        replicas: 1,
        measured: (scenario.duration - scenario.warm_up).as_secs_f64(),
        workloads: scenario.workloads.iter().map(workload).collect(),
        ..Default::default()
    };
    let why = why.lines().next().unwrap_or_default();
    let why = why
        .strip_prefix("no closed form")
        .map_or(why.to_owned(), |rest| format!("No closed form{rest}"));
    (summary, vec![why + "."])
}

fn key(scenario: &Scenario) -> String {
    // Points of a sweep differ by what they set.
    fingerprint(scenario, Prediction.identity())
}

/// Of the scenarios that it was made of, and no others.
impl Engine for Foretold {
    fn name(&self) -> &'static str {
        Prediction.name()
    }

    fn identity(&self) -> &str {
        Prediction.identity()
    }

    fn check(&self, _: &Scenario) -> Result<(), Refusal> {
        Ok(())
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        crate::refuse_tap(&observers)?;
        let (summary, warnings) = self.get(task.scenario).clone();
        Ok(Outcome { warnings, ..Measured::Means(Box::new(summary)).into() })
    }
}
