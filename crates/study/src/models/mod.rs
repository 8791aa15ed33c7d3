//! Claims of a paper's own formulas: computed, and where the paper holds them against a simulation, beside one.
//!
//! What they say stands in `models.toml`, what came of them in `models.json`; they join the ledger of the study
//! whenever it is shown, and need none of its runs.

mod forms;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use shortflow_measure::results::{self, Folder, write_whole};
use shortflow_measure::{Reading, Replica, Subject, Summary};
use shortflow_run::{Engine, Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};

use crate::calibration::digest;
use crate::claims_table::number;
use crate::judge::{Evidence, Looks, Region, Sequence, Verdict};
use crate::judging::ends;
use crate::ledger::{CheckResult, ClaimResult, Ledger, ObservationResult};
use crate::library::StudyFiles;
use crate::mistakes;
use crate::reproduce::{Error, Options};
use crate::spec::Measure;
use forms::{Form, Inputs};

/// The file with the claims.
const SPEC: &str = "models.toml";

/// The file with what came of them.
pub(crate) const FILE: &str = "models.json";

/// By which factor a figure may be missed.
const FACTOR: f64 = 1.5;

/// What stands in the file with the claims.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    /// Replicas of each scenario.
    replicas: u32,
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

/// What a formula is held against.
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

/// Computes the formulas of a study, and simulates what they are held against. `None` when it was interrupted.
///
/// # Errors
/// When the study has no such claims, a file of it is mistaken, or results cannot be kept.
pub fn model(
    engine: &dyn Engine,
    files: &StudyFiles,
    options: &Options<'_>,
    stop: &AtomicBool,
) -> Result<Option<Modelled>, Error> {
    let spec: Spec = mistakes::read(files, SPEC)?;
    let mut runs =
        SimulatedRuns { files, engine, options, stop, replicas: spec.replicas, kept: Vec::new() };
    let mut claims = Vec::new();
    for claim in &spec.claim {
        match runs.claim(claim)? {
            Some(result) => claims.push(result),
            None => return Ok(None),
        }
    }
    Ok(Some(Modelled { of: digest(files.text(SPEC).unwrap_or_default()), claims }))
}

/// Scenarios that were simulated, each once.
struct SimulatedRuns<'a> {
    files: &'a StudyFiles,
    engine: &'a dyn Engine,
    options: &'a Options<'a>,
    stop: &'a AtomicBool,
    replicas: u32,
    kept: Vec<Run>,
}

/// A scenario with its settings, and what its replicas found.
struct Run {
    of: (String, Vec<(String, String)>),
    scenario: Scenario,
    replicas: Vec<Replica>,
}

/// What a check comes to.
struct Came {
    evidence: Option<Evidence>,
    value: f64,
    replicas: u32,
}

impl SimulatedRuns<'_> {
    fn claim(&mut self, spec: &ClaimSpec) -> Result<Option<ClaimResult>, Error> {
        let mut checks = Vec::new();
        for check in &spec.check {
            let Some(came) = self.came(check)? else { return Ok(None) };
            checks.push(judged(check, &came, spec.check.len()));
        }
        let mut observations = Vec::new();
        for seen in &spec.observation {
            let Some(came) = self.came(seen)? else { return Ok(None) };
            let CheckResult { what, paper, ours, low, high, .. } = judged(seen, &came, 1);
            observations.push(ObservationResult { what, paper, ours, low, high });
        }
        let verdict = match () {
            () if checks.iter().any(|check| check.verdict == Verdict::Fails) => Verdict::Fails,
            () if checks.iter().all(|check| check.verdict == Verdict::Holds) => Verdict::Holds,
            () => Verdict::Unsettled,
        };
        Ok(Some(ClaimResult {
            id: spec.id.clone(),
            claim: spec.claim.clone(),
            short: spec.short.clone(),
            verdict,
            note: spec.note.trim().to_owned(),
            readings: Vec::new(),
            replicas: checks.iter().map(|check| check.replicas).max().unwrap_or_default(),
            checks,
            observations,
        }))
    }

    /// `None` when it was interrupted.
    fn came(&mut self, check: &CheckSpec) -> Result<Option<Came>, Error> {
        let failed = |message: String| Error::Study { file: self.files.place(SPEC), message };
        let Some(simulated) = &check.simulated else {
            let value =
                check.model.value(None).map_err(|e| failed(format!("{}: {e}", check.what)))?;
            return Ok(Some(Came { evidence: None, value, replicas: 0 }));
        };
        let Some(at) = self.run(simulated)? else { return Ok(None) };
        let Run { scenario, replicas, .. } = &self.kept[at];
        let failed = |message: String| Error::Study { file: self.files.place(SPEC), message };
        let inputs = Inputs { scenario, summary: &Summary::of(replicas) };
        let value =
            check.model.value(Some(&inputs)).map_err(|e| failed(format!("{}: {e}", check.what)))?;
        let subject = Subject {
            workload: &simulated.workload,
            class: simulated.class.as_deref(),
            at: simulated.at.as_deref(),
            ..Subject::default()
        };
        let found: Option<Vec<Reading>> = replicas
            .iter()
            .map(|replica| {
                let reading = simulated.measure.of(replica, &subject)?;
                Some(Reading::Exact(reading.exact()? - simulated.less))
            })
            .collect();
        let found = found
            .ok_or_else(|| failed(format!("{}: nothing of the kind is measured", check.what)))?;
        let model = vec![Reading::Exact(value); found.len()];
        let replicas = found.len() as u32;
        Ok(Some(Came { evidence: Some(Evidence::of_ratios(&model, &found)), value, replicas }))
    }

    /// The number of a run, which is simulated if it was not yet.
    fn run(&mut self, simulated: &Simulated) -> Result<Option<usize>, Error> {
        let of = (simulated.scenario.clone(), simulated.set.clone());
        if let Some(at) = self.kept.iter().position(|run| run.of == of) {
            return Ok(Some(at));
        }
        let names = self.files.names_of_files();
        let texts: Vec<(&str, &str)> = std::iter::once(simulated.scenario.as_str())
            .chain(names.iter().copied().filter(|name| *name != simulated.scenario))
            .filter_map(|name| Some((name, self.files.text(name)?)))
            .collect();
        let overrides = Overrides { set: simulated.set.clone(), ..Overrides::default() };
        let loaded = from_texts(&texts, &overrides).map_err(Error::Mistakes)?;
        let scenario = loaded.into_points().swap_remove(0).scenario;
        let tasks: Vec<Task<'_>> =
            (0..self.replicas).map(|replica| Task { scenario: &scenario, replica }).collect();
        let threads = self.options.threads;
        let outcomes = run_tasks(self.engine, &tasks, threads, self.stop, &());
        let mut replicas = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(outcome) => match outcome.measured {
                    Measured::Replica(replica) => replicas.push(*replica),
                    Measured::Means(_) => {
                        return Err(Error::MeansOnly { engine: self.engine.name() });
                    }
                },
                Err(shortflow_run::Error::Interrupted) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        self.kept.push(Run { of, scenario, replicas });
        Ok(Some(self.kept.len() - 1))
    }
}

/// A check and its verdict: of a formula alone at once, else by what the replicas say.
fn judged(check: &CheckSpec, came: &Came, checks: usize) -> CheckResult {
    let looks = Looks::at(vec![came.replicas.max(2)]).expect("two replicas or more");
    let (ours, low, high) = match &came.evidence {
        Some(evidence) => ends(evidence.shown(looks.level())),
        None => (Some(came.value), None, None),
    };
    let verdict = match (check.rule, &came.evidence) {
        (Some(ModelRule::AsPrinted { figure, digits }), None) => {
            let last = 10_f64.powi(-(digits as i32));
            verdict_of((came.value - figure).abs() <= last / 2.0 * (1.0 + 1e-9))
        }
        (Some(ModelRule::Near(figure)), None) => {
            verdict_of((1.0 / FACTOR..=FACTOR).contains(&(came.value / figure)))
        }
        (Some(ModelRule::AtMost(most)), None) => verdict_of(came.value <= most),
        (Some(ModelRule::Within(share)), Some(evidence)) => {
            by_replicas(Region::within(1.0 - share, 1.0 + share), evidence, &looks, checks)
        }
        (Some(ModelRule::Figure), Some(evidence)) => {
            by_replicas(Region::within(1.0 / FACTOR, FACTOR), evidence, &looks, checks)
        }
        _ => Verdict::Unsettled,
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
        rehearsed: None,
    }
}

fn verdict_of(holds: bool) -> Verdict {
    if holds { Verdict::Holds } else { Verdict::Fails }
}

/// A check that holds needs no correction for others; one that fails stands against all of its claim (Holm).
fn by_replicas(region: Region, evidence: &Evidence, looks: &Looks, checks: usize) -> Verdict {
    let tested = region.test(evidence);
    let mut sequence = Sequence::new(looks, 1);
    let against =
        crate::judge::Tested { p_fails: (tested.p_fails * checks as f64).min(1.0), ..tested };
    sequence.look(&[Some(against)]);
    sequence.verdict()
}

impl Modelled {
    /// Writes it into a folder; gives the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, out: &Path) -> Result<PathBuf, results::Error> {
        let path = Folder::create(out)?.path().join(FILE);
        let text = format!("{:#}\n", serde_json::json!(self));
        write_whole(&path, |file| file.write_all(text.as_bytes()))?;
        Ok(path)
    }

    /// Every check and what it came to, a line each.
    pub fn in_words(&self) -> String {
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
    fn of(files: &StudyFiles) -> Option<Modelled> {
        let modelled: Modelled = serde_json::from_str(files.text(FILE)?).ok()?;
        (modelled.of == digest(files.text(SPEC)?)).then_some(modelled)
    }
}

/// Puts the claims of a study's formulas among those of its ledger, in the order of their numbers.
pub(crate) fn join(ledger: &mut Ledger, files: &StudyFiles) {
    let Some(modelled) = Modelled::of(files) else { return };
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
            if files.text(SPEC).is_none() {
                continue;
            }
            let spec: Spec = mistakes::read(files, SPEC).unwrap();
            let modelled = Modelled::of(files);
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
            let Some(modelled) = Modelled::of(files) else { continue };
            let spec: Spec = mistakes::read(files, SPEC).unwrap();
            for (spec, result) in spec.claim.iter().zip(&modelled.claims) {
                for (check, found) in spec.check.iter().zip(&result.checks) {
                    if check.simulated.is_none() {
                        let value = check.model.value(None).unwrap();
                        let came = Came { evidence: None, value, replicas: 0 };
                        assert_eq!(judged(check, &came, 1), *found, "{}", check.what);
                    }
                }
            }
        }
    }
}
