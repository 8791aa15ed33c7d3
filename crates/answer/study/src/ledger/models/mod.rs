//! Claims about a paper's own formulas: computed, and compared with a simulation if the paper does so.
//!
//! The claims are in `models.toml`, their results in `models.json`. They are part of the study's ledger, and need
//! none of its runs.

mod forms;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use shortflow_measure::results;
use shortflow_measure::{Reading, Replica, Subject, Summary};
use shortflow_run::{Engine, Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};

use super::entries::{CheckResult, ClaimResult, Counterfactual, Ledger, ObservationResult, Trial};
use crate::digest::digest;
use crate::error::Error;
use crate::json_file::write_json;
use crate::judge::{Evidence, Region, Sequence, Tested, Verdict, ends};
use crate::number::number;
use crate::options::Options;
use crate::spec::names::{MODELLED, MODELS};
use crate::spec::{Looks, Measure, StudyFiles, mistakes};
use forms::{Form, Inputs};

/// By which factor a figure may be missed.
const FACTOR: f64 = 1.5;

/// The content of the file with the claims.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    /// The seed of all that is simulated.
    seed: u64,
    /// The numbers of replicas at which a claim is looked at, each of which may decide it.
    looks: Looks,
    #[serde(default)]
    claim: Vec<ClaimSpec>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimSpec {
    id: String,
    claim: String,
    short: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    check: Vec<CheckSpec>,
    #[serde(default)]
    observation: Vec<CheckSpec>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckSpec {
    what: String,
    #[serde(default)]
    paper: String,
    rule: Option<ModelRule>,
    model: Form,
    simulated: Option<Simulated>,
    /// Another form of the model, which is tried where the check fails.
    instead: Option<Instead>,
}

/// Another form of a model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instead {
    /// What it changes, as a person reads it.
    says: String,
    model: Form,
}

/// How a check of a formula is judged.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum ModelRule {
    /// The formula gives this figure, to the digits that are printed.
    AsPrinted { figure: f64, digits: u32 },
    /// The formula gives this figure within a factor of 1.5, as every figure of a paper is held.
    Near(f64),
    /// The formula gives at most this.
    AtMost(f64),
    /// The ratio of the formula to the simulation lies within this share of one.
    Within(f64),
    /// The ratio of the formula to the simulation lies within a factor of 1.5.
    Figure,
}

/// The value with which a formula is compared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Simulated {
    scenario: String,
    #[serde(default)]
    set: Vec<(String, String)>,
    measure: Measure,
    #[serde(default)]
    workload: String,
    class: Option<String>,
    at: Option<String>,
    /// What is taken from the measure, in its unit.
    #[serde(default)]
    less: f64,
}

/// What came of the claims of a study's formulas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Modelled {
    /// What the file with the claims said, as a digest.
    pub of: String,
    /// The claims.
    pub claims: Vec<ClaimResult>,
}

/// Computes the formulas of a study, and simulates the values with which they are compared. `None` if it was
/// interrupted.
///
/// # Errors
/// When the study has no such claims, a file of it is mistaken, or results cannot be kept.
pub fn model(
    engine: &dyn Engine,
    files: &StudyFiles,
    options: &Options<'_>,
    stop: &AtomicBool,
) -> Result<Option<Modelled>, Error> {
    let spec: Spec = mistakes::read(files, MODELS)?;
    let mut runs = SimulatedRuns { files, engine, options, stop, spec: &spec, kept: Vec::new() };
    let mut claims = Vec::new();
    for claim in &spec.claim {
        match runs.claim(claim)? {
            Some(result) => claims.push(result),
            None => return Ok(None),
        }
    }
    Ok(Some(Modelled { of: digest(files.text(MODELS).unwrap_or_default()), claims }))
}

/// Scenarios that were simulated, each once.
struct SimulatedRuns<'a> {
    files: &'a StudyFiles,
    engine: &'a dyn Engine,
    options: &'a Options<'a>,
    stop: &'a AtomicBool,
    spec: &'a Spec,
    kept: Vec<Run>,
}

/// A scenario with its settings, and what its replicas found.
struct Run {
    of: (String, Vec<(String, String)>),
    scenario: Scenario,
    replicas: Vec<Replica>,
}

/// The result of a check.
struct Came {
    evidence: Option<Evidence>,
    value: f64,
    replicas: u32,
}

impl SimulatedRuns<'_> {
    /// Looks at a claim until every check is decided, or there are no more looks. `None` when it was interrupted.
    fn claim(&mut self, spec: &ClaimSpec) -> Result<Option<ClaimResult>, Error> {
        let looks = &self.spec.looks;
        let mut sequence = Sequence::new(looks, spec.check.len());
        let mut came = Vec::new();
        for &replicas in looks.replicas() {
            came.clear();
            for check in &spec.check {
                let Some(look) = self.came(check, replicas)? else { return Ok(None) };
                came.push(look);
            }
            let tested: Vec<_> =
                spec.check.iter().zip(&came).map(|(check, came)| test(check, came)).collect();
            sequence.look(&tested);
            if sequence.checks().all(|verdict| verdict != Verdict::Unsettled) {
                break;
            }
        }
        let mut checks: Vec<CheckResult> = (spec.check.iter().zip(&came).zip(sequence.checks()))
            .map(|((check, came), verdict)| result(check, came, verdict, looks))
            .collect();
        for (check, result) in spec.check.iter().zip(&mut checks) {
            if result.verdict == Verdict::Fails && !self.try_instead(check, result)? {
                return Ok(None);
            }
        }
        let replicas = came.iter().map(|came| came.replicas).max().unwrap_or_default();
        let first = looks.replicas()[0];
        let mut observations = Vec::new();
        for seen in &spec.observation {
            let Some(came) = self.came(seen, replicas.max(first))? else { return Ok(None) };
            let seen = result(seen, &came, Verdict::Unsettled, looks);
            let CheckResult { what, paper, ours, low, high, .. } = seen;
            observations.push(ObservationResult { what, paper, ours, low, high });
        }
        Ok(Some(ClaimResult {
            id: spec.id.clone(),
            claim: spec.claim.clone(),
            short: spec.short.clone(),
            verdict: sequence.verdict(),
            note: spec.note.trim().to_owned(),
            readings: Vec::new(),
            replicas,
            checks,
            observations,
        }))
    }

    /// Tries the other form of a model for a check that fails, with as many replicas. False if it was interrupted.
    fn try_instead(&mut self, check: &CheckSpec, found: &mut CheckResult) -> Result<bool, Error> {
        let Some(Instead { says, model }) = &check.instead else { return Ok(true) };
        let other = CheckSpec { model: model.clone(), ..check.clone() };
        let Some(came) = self.came(&other, found.replicas)? else { return Ok(false) };
        let looks = &self.spec.looks;
        let mut sequence = Sequence::new(looks, 1);
        sequence.look(&[test(&other, &came)]);
        let CheckResult { ours, low, high, .. } = result(&other, &came, sequence.verdict(), looks);
        let trial = Trial { change: says.clone(), ours, low, high, verdict: sequence.verdict() };
        found.counterfactual = Some(match trial.verdict {
            Verdict::Holds => Counterfactual::Found(trial),
            _ => Counterfactual::Tried { tried: vec![trial] },
        });
        Ok(true)
    }

    /// The result of a check over this number of replicas. `None` if it was interrupted.
    fn came(&mut self, check: &CheckSpec, replicas: u32) -> Result<Option<Came>, Error> {
        let place = self.files.place(MODELS);
        let failed = |text: &str| {
            let message = format!("{}: {text}", check.what);
            Error::Study { file: place.clone(), message }
        };
        let Some(simulated) = &check.simulated else {
            let value = check.model.value(None).map_err(|text| failed(&text))?;
            return Ok(Some(Came { evidence: None, value, replicas: 0 }));
        };
        let Some(at) = self.run(simulated, replicas)? else { return Ok(None) };
        let run = &self.kept[at];
        let (scenario, replicas) = (&run.scenario, &run.replicas[..replicas as usize]);
        let inputs = Inputs { scenario, summary: &Summary::from_replicas(replicas) };
        let value = check.model.value(Some(&inputs)).map_err(|text| failed(&text))?;
        let subject = Subject {
            workload: &simulated.workload,
            class: simulated.class.as_deref(),
            at: simulated.at.as_deref(),
            ..Subject::default()
        };
        let found: Option<Vec<Reading>> = replicas
            .iter()
            .map(|replica| {
                let reading = simulated.measure.read(replica, &subject)?;
                Some(Reading::Exact(reading.exact()? - simulated.less))
            })
            .collect();
        let found = found.ok_or_else(|| failed("nothing of the kind is measured"))?;
        let model = vec![Reading::Exact(value); found.len()];
        let replicas = found.len() as u32;
        Ok(Some(Came { evidence: Some(Evidence::of_ratios(&model, &found)), value, replicas }))
    }

    /// The number of a run with at least this number of replicas; missing ones are simulated.
    fn run(&mut self, simulated: &Simulated, replicas: u32) -> Result<Option<usize>, Error> {
        let of = (simulated.scenario.clone(), simulated.set.clone());
        let at = match self.kept.iter().position(|run| run.of == of) {
            Some(at) => at,
            None => {
                let scenario = self.scenario(simulated)?;
                self.kept.push(Run { of, scenario, replicas: Vec::new() });
                self.kept.len() - 1
            }
        };
        let run = &mut self.kept[at];
        let scenario = &run.scenario;
        let tasks: Vec<Task<'_>> = (run.replicas.len() as u32..replicas)
            .map(|replica| Task { scenario, replica })
            .collect();
        for outcome in run_tasks(self.engine, &tasks, self.options.threads, self.stop, &()) {
            match outcome {
                Ok(outcome) => match outcome.measured {
                    Measured::Replica(replica) => run.replicas.push(*replica),
                    Measured::Means(_) => {
                        return Err(Error::MeansOnly { engine: self.engine.name() });
                    }
                },
                Err(shortflow_run::Error::Interrupted) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(at))
    }

    fn scenario(&self, simulated: &Simulated) -> Result<Scenario, Error> {
        let names = self.files.names_of_files();
        let texts: Vec<(&str, &str)> = std::iter::once(simulated.scenario.as_str())
            .chain(names.iter().copied().filter(|name| *name != simulated.scenario))
            .filter_map(|name| Some((name, self.files.text(name)?)))
            .collect();
        let seed = ("seed".to_owned(), self.spec.seed.to_string());
        let set = simulated.set.iter().cloned().chain([seed]).collect();
        let overrides = Overrides { set, ..Overrides::default() };
        let loaded = from_texts(&texts, &overrides).map_err(Error::Mistakes)?;
        Ok(loaded.into_points().swap_remove(0).scenario)
    }
}

/// What speaks for and against a check: of a formula alone everything, else what the replicas say.
fn test(check: &CheckSpec, came: &Came) -> Option<Tested> {
    match (check.rule?, &came.evidence) {
        (ModelRule::AsPrinted { figure, digits }, None) => {
            let last = 10_f64.powi(-(digits as i32));
            Some(certain((came.value - figure).abs() <= last / 2.0 * (1.0 + 1e-9)))
        }
        (ModelRule::Near(figure), None) => {
            Some(certain((1.0 / FACTOR..=FACTOR).contains(&(came.value / figure))))
        }
        (ModelRule::AtMost(max), None) => Some(certain(came.value <= max)),
        (ModelRule::Within(share), Some(evidence)) => {
            Some(Region::within(1.0 - share, 1.0 + share).test(evidence))
        }
        (ModelRule::Figure, Some(evidence)) => {
            Some(Region::within(1.0 / FACTOR, FACTOR).test(evidence))
        }
        _ => None,
    }
}

/// The test of what chance has no part in.
fn certain(holds: bool) -> Tested {
    let [p_holds, p_fails] = if holds { [0.0, 1.0] } else { [1.0, 0.0] };
    Tested { p_holds, p_fails }
}

fn result(check: &CheckSpec, came: &Came, verdict: Verdict, looks: &Looks) -> CheckResult {
    let (ours, low, high) = match &came.evidence {
        Some(evidence) => ends(evidence.shown(looks.level())),
        None => (Some(came.value), None, None),
    };
    CheckResult {
        what: check.what.clone(),
        paper: check.paper.clone(),
        ours,
        low,
        high,
        verdict,
        replicas: came.replicas,
        needs: None,
        counterfactual: None,
        excluded: None,
        rehearsed: None,
    }
}

impl Modelled {
    /// Writes it into a folder; gives the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, out: &Path) -> Result<PathBuf, results::Error> {
        write_json(out, MODELLED, self)
    }

    /// Every check and its result, one line each.
    pub fn describe(&self) -> String {
        let mut lines = String::new();
        for claim in &self.claims {
            for check in &claim.checks {
                let number = number(check.ours, check.low, check.high);
                let (verdict, id, what) = (check.verdict.name(), &claim.id, &check.what);
                lines += &format!("{verdict:<10}{id} {what}: {number}\n");
            }
        }
        lines
    }

    /// That of a study, if it is of its claims as they are.
    fn load(files: &StudyFiles) -> Option<Modelled> {
        let modelled: Modelled = serde_json::from_str(files.text(MODELLED)?).ok()?;
        (modelled.of == digest(files.text(MODELS)?)).then_some(modelled)
    }
}

/// Puts the claims of a study's formulas among those of its ledger, in the order of their numbers, in place of any that
/// are there.
pub(crate) fn join(ledger: &mut Ledger, files: &StudyFiles) {
    let Some(modelled) = Modelled::load(files) else { return };
    let is_of_formulas = |id: &str| modelled.claims.iter().any(|claim| claim.id == id);
    ledger.claims.retain(|claim| !is_of_formulas(&claim.id));
    ledger.claims.extend(modelled.claims);
    let number = |id: &str| id.rsplit('.').next().and_then(|last| last.parse::<u32>().ok());
    ledger.claims.sort_by_key(|claim| number(&claim.id));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_of_the_claims_as_they_are() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            if files.text(MODELS).is_none() {
                continue;
            }
            let spec: Spec = mistakes::read(files, MODELS).unwrap();
            let modelled = Modelled::load(files);
            let modelled = modelled.unwrap_or_else(|| panic!("{name}: reproduce it with --models"));
            let ids = |all: &mut dyn Iterator<Item = &String>| all.cloned().collect::<Vec<_>>();
            let claimed = ids(&mut spec.claim.iter().map(|claim| &claim.id));
            assert_eq!(ids(&mut modelled.claims.iter().map(|claim| &claim.id)), claimed);
        }
    }

    #[test]
    fn formulas_alone_come_to_what_is_committed() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            let Some(modelled) = Modelled::load(files) else { continue };
            let spec: Spec = mistakes::read(files, MODELS).unwrap();
            for (spec, result) in spec.claim.iter().zip(&modelled.claims) {
                for (check, found) in spec.check.iter().zip(&result.checks) {
                    if check.simulated.is_none() {
                        let value = check.model.value(None).unwrap();
                        let came = Came { evidence: None, value, replicas: 0 };
                        let tested = test(check, &came).expect("a rule for formulas alone");
                        let holds = tested.p_holds < tested.p_fails;
                        assert_eq!(found.verdict == Verdict::Holds, holds, "{}", check.what);
                        assert_eq!(found.ours, Some(value), "{}", check.what);
                    }
                }
            }
        }
    }
}
