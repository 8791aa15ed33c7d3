//! Predictions, each computed once before anything is run. A workload without a closed form has bounds instead of
//! means, and the reason.

use std::collections::BTreeMap;

use shortflow_measure::{Summary, Warning};
use shortflow_run::{Engine, Error, Measured, Observers, Outcome, Refusal, Task, fingerprint};
use shortflow_scenario::Scenario;

use crate::{Prediction, predict};

/// The means and bounds of some scenarios, and sentences on what they rest on, or on why there are no means.
#[derive(Debug, Clone)]
pub struct PredictionCache {
    all: BTreeMap<String, (Summary, Vec<Warning>)>,
    /// Why there is neither a mean nor a bound anywhere, if that is so.
    nothing: Option<Refusal>,
}

impl PredictionCache {
    /// Works these scenarios out.
    pub fn new<'s>(scenarios: impl Iterator<Item = &'s Scenario>) -> PredictionCache {
        let (mut all, mut lacking, mut has_some) = (BTreeMap::new(), None, false);
        for scenario in scenarios {
            let found = predict(scenario);
            let nothing = found.nothing().cloned();
            has_some |= nothing.is_none();
            lacking = lacking.or(nothing);
            all.insert(key(scenario), (found.summary, found.warnings));
        }
        PredictionCache { all, nothing: lacking.filter(|_| !has_some) }
    }

    /// Refuses where none of the scenarios has a mean or a bound of any workload.
    ///
    /// # Errors
    /// So, with the reasons of the first.
    pub fn answers(&self) -> Result<(), Refusal> {
        self.nothing.clone().map_or(Ok(()), Err)
    }

    fn get(&self, scenario: &Scenario) -> &(Summary, Vec<Warning>) {
        self.all.get(&key(scenario)).expect("the scenario was given")
    }
}

fn key(scenario: &Scenario) -> String {
    // Points of a sweep differ by what they set.
    fingerprint(scenario, Prediction.identity())
}

/// Of the scenarios that it was made of, and no others.
impl Engine for PredictionCache {
    fn name(&self) -> &'static str {
        Prediction.name()
    }

    fn identity(&self) -> &str {
        Prediction.identity()
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        Prediction.check(scenario)
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        crate::refuse_tap(&observers)?;
        let (summary, warnings) = self.get(task.scenario).clone();
        Ok(Outcome { warnings, ..Measured::Means(Box::new(summary)).into() })
    }
}
