//! Predictions that are made before anything is run: what has none is refused, and each is worked out once.

use std::collections::BTreeMap;

use shortflow_measure::Summary;
use shortflow_run::{Engine, Error, Measured, Observers, Outcome, Refusal, Task, fingerprint};
use shortflow_scenario::Scenario;

use crate::{Prediction, predict};

/// The means of some scenarios, and sentences on what they rest on; or why there are none.
#[derive(Debug, Clone)]
pub struct Foretold(BTreeMap<String, Result<(Summary, Vec<String>), Refusal>>);

impl Foretold {
    /// Works these scenarios out.
    ///
    /// # Errors
    /// Where none of them has a closed form for any workload: the reasons of the first.
    pub fn of<'s>(scenarios: impl Iterator<Item = &'s Scenario>) -> Result<Foretold, Refusal> {
        let (mut all, mut lacking, mut has_some) = (BTreeMap::new(), None, false);
        for scenario in scenarios {
            let found = predict(scenario);
            let nothing = match &found {
                Ok(found) => found.nothing.clone(),
                Err(refusal) => Some(refusal.clone()),
            };
            has_some |= nothing.is_none();
            lacking = lacking.or(nothing);
            all.insert(key(scenario), found.map(|found| (found.summary, found.notes)));
        }
        match lacking {
            Some(refusal) if !has_some => Err(refusal),
            _ => Ok(Foretold(all)),
        }
    }

    fn get(&self, scenario: &Scenario) -> Result<&(Summary, Vec<String>), Refusal> {
        let found = self.0.get(&key(scenario));
        found.expect("the scenario was given").as_ref().map_err(Clone::clone)
    }
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

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        self.get(scenario).map(|_| ())
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        crate::refuse_tap(&observers)?;
        let (summary, warnings) = self.get(task.scenario)?.clone();
        Ok(Outcome { warnings, ..Measured::Means(Box::new(summary)).into() })
    }
}
