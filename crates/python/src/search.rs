//! Searches for a policy, and studies.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use serde_json::json;
use shortflow_predict::Prediction;
use shortflow_run::{Engine, Error, Progress, refuse_too_large};
use shortflow_scenario::Overrides;
use shortflow_shipped::{FILES, wrong_file};
use shortflow_sim::Simulator;
use shortflow_study as study;
use shortflow_text::InputFiles;
use shortflow_tune::{
    Candidate, CandidateFile, Candidates, Choices, Goal, Limit, Offered, Plan, Store, Tuned,
    Varied, candidates, give, policy_text,
};

use crate::failure::Failure;
use crate::text::given;
use crate::watch::{Stop, watched};

/// A name and its text.
type Named = (String, String);

/// What is searched for, and among what.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    scenario: Named,
    /// The candidates; all shipped policies that fit without.
    policies: Vec<Named>,
    /// Goals, as `p99:pages`.
    goals: Vec<String>,
    /// Limits, as `calls.delay.p99 <= 30 ms`.
    keep: Vec<String>,
    /// Keys that are varied, as `policy.parameters.limit=20..400 pkt`.
    vary: Vec<String>,
    set: Vec<(String, String)>,
    bind: Vec<String>,
    /// Replicas in parallel; 0 is one per core.
    jobs: u16,
    /// A folder for finished replicas.
    folder: PathBuf,
}

/// A search that is prepared.
struct Prepared {
    found: Candidates,
    references: Vec<Candidate>,
    goals: Vec<Goal>,
    limits: Vec<Limit>,
}

/// Searches for the policy and settings that serve a scenario best, and gives the result as JSON.
#[pyfunction]
#[pyo3(signature = (wanted, progress=None))]
pub(crate) fn tune(
    py: Python<'_>,
    wanted: Wanted,
    progress: Option<Py<PyAny>>,
) -> Result<String, Failure> {
    let prepared = py.detach(|| wanted.prepare())?;
    let stop = Stop::default();
    let store = Store::beside(&wanted.folder, &Simulator);
    let search = |progress: &dyn Progress| -> Result<Tuned, Error> {
        let Prepared { found, references, goals, limits } = &prepared;
        let plan = Plan {
            candidates: &found.all,
            references,
            goals,
            limits,
            fresh: found.all[0].scenario().replicas,
            threads: wanted.jobs.into(),
            store: &store,
        };
        shortflow_tune::tune(&Simulator, &Prediction, &plan, &stop.0, progress)
    };
    let tuned = watched(py, &stop.0, progress.as_ref(), search)??;
    prepared.json(&tuned)
}

impl Wanted {
    fn prepare(&self) -> Result<Prepared, Failure> {
        let inputs = InputFiles::default();
        let scenario = Path::new(&self.scenario.0);
        FILES.iter().for_each(|(path, text)| inputs.give(Path::new(path), text));
        inputs.give(scenario, &self.scenario.1);
        wrong_file::refuse(&inputs, scenario, given("scenario"))?;
        let overrides =
            Overrides { set: self.set.clone(), bind: self.bind.clone(), ..Overrides::default() };
        let choices = Choices {
            inputs: &inputs,
            scenario,
            policies: &[],
            is_varied: !self.vary.is_empty(),
            overrides: &overrides,
        };
        let files = match &self.policies[..] {
            [] => choices.files()?,
            named => named.iter().map(|policy| file(&inputs, policy)).collect(),
        };
        let varied = Varied::all(&self.vary)?;
        let mut found = candidates(&inputs, scenario, &files, &varied, &overrides)?;
        if found.all.is_empty() {
            let why = found.left_out.iter().map(|(name, why)| format!("\n  {name}: {why}"));
            return Err(Failure::Input(
                "no policy fits the scenario".to_owned() + &why.collect::<String>(),
            ));
        }
        let offered = Offered::by(found.all[0].scenario());
        let (goals, limits) =
            (Goal::all(&self.goals, &offered)?, Limit::all(&self.keep, &offered)?);
        found.keep(|one| refuse_too_large(&[&one.loaded], Some(self.jobs), None))?;
        found.keep(|one| Simulator.check(one.scenario())).map_err(Error::from)?;
        let references = choices.references(&choices.as_set(&files))?;
        Ok(Prepared { found, references, goals, limits })
    }
}

/// A policy as a candidate; one that is shipped follows the lines of the scenario, as by its name on the command line.
fn file(inputs: &InputFiles, (name, text): &Named) -> CandidateFile {
    if let Some(shipped) = FILES.iter().find(|(path, shipped)| path == name && shipped == text) {
        return give(inputs, *shipped, false);
    }
    inputs.give(Path::new(name), text);
    CandidateFile { path: Some(PathBuf::from(name)), may_be_left_out: false, follows_line: false }
}

impl Prepared {
    fn json(&self, tuned: &Tuned) -> Result<String, Failure> {
        let result = tuned.describe(&self.goals, &self.limits);
        let winner = tuned.winner.filter(|_| tuned.is_measured()).map(|at| &self.found.all[at]);
        let policy = winner.and_then(|one| one.scenario().inputs.policy.as_ref());
        let text = winner.zip(policy).map(|(winner, (_, text))| {
            let mut heading = vec!["Chosen by shortflow.tune:".to_owned()];
            heading.extend(result.lines().map(str::to_owned));
            policy_text(text, &winner.set, &heading).map_err(|why| {
                Failure::Input(format!("the winner, {}, cannot be written: {why}", winner.label))
            })
        });
        let text = text.transpose()?;
        Ok(json!({
            "goals": self.goals,
            "limits": self.limits,
            "winner": winner.map(|one| json!({ "label": one.label, "set": one.set, "policy": text })),
            "left_out": self.found.left_out,
            "warnings": self.found.warnings(&self.references, tuned),
            "kept": tuned.is_kept(),
            "result": result,
            "found": tuned,
        })
        .to_string())
    }
}

/// The names of the built-in studies.
#[pyfunction]
pub(crate) fn studies() -> Vec<&'static str> {
    study::StudyFiles::names().collect()
}

/// Runs a study, and gives its ledger as JSON, and as text. Finished replicas are kept in `folder`.
#[pyfunction]
#[pyo3(signature = (name, folder, quick, jobs, progress=None))]
pub(crate) fn reproduce(
    py: Python<'_>,
    name: &str,
    folder: PathBuf,
    quick: bool,
    jobs: u16,
    progress: Option<Py<PyAny>>,
) -> Result<(String, String), Failure> {
    let files = study::find(name)?;
    let stop = Stop::default();
    let options =
        study::Options { part: study::Part::All, quick, threads: jobs.into(), folder: &folder };
    let run =
        |progress: &dyn Progress| study::reproduce(&Simulator, &files, &options, &stop.0, progress);
    let reproduced = watched(py, &stop.0, progress.as_ref(), run)??;
    let ledger = reproduced.ledger.as_ref().ok_or(Failure::Interrupted)?;
    Ok((study::files::json(ledger), study::text(&reproduced, ledger, false)))
}
