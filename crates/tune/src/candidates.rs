//! What is chosen from: policies, each with its settings, in the scenario.

use std::path::{Path, PathBuf};

use shortflow_scenario::{Loaded, Overrides, Scenario, load_from};
use shortflow_text::{Diagnostic, Diagnostics, InputFiles};

use crate::equal_load;
use crate::vary::{POLICY, Varied, combinations};

/// A policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFile {
    /// Where it is; nothing for the policy that the scenario names.
    pub path: Option<PathBuf>,
    /// Whether it is left out where it does not fit the scenario; else that is a mistake.
    pub may_be_left_out: bool,
}

/// A policy with its settings, in the scenario.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What it is called: the policy, and what is varied in it.
    pub label: String,
    /// What is set in it, for all and for this one, as keys and values.
    pub set: Vec<(String, String)>,
    /// Its scenario, checked; it has one point.
    pub loaded: Loaded,
}

impl Candidate {
    /// Whether another is the same policy with the same settings.
    pub fn is_same_as(&self, other: &Candidate) -> bool {
        let text =
            |one: &Candidate| one.scenario().inputs.policy.as_ref().map(|(_, text)| text.clone());
        self.set == other.set && text(self) == text(other)
    }

    /// Its scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.loaded.points()[0].scenario
    }
}

/// What is chosen from, and what is not.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// What is chosen from.
    pub all: Vec<Candidate>,
    /// The policies that do not fit the scenario, and why.
    pub left_out: Vec<(String, String)>,
}

/// Every file with every combination of values, all of them checked before anything is run.
///
/// # Errors
/// When a scenario or a policy has mistakes, or the scenario is swept or has no policy.
pub fn candidates(
    inputs: &InputFiles,
    scenario: &Path,
    files: &[CandidateFile],
    varied: &[Varied],
    overrides: &Overrides,
) -> Result<Candidates, Diagnostics> {
    let mut found = Candidates::default();
    // What is set in all of them belongs to the policy that was measured, as what is varied does.
    let common: Vec<(String, String)> =
        overrides.set.iter().filter(|(key, _)| key.starts_with(POLICY)).cloned().collect();
    for file in files {
        for named in combinations(varied) {
            let mut these = Overrides { policy: file.path.clone(), ..overrides.clone() };
            let set = resolved(inputs, scenario, &these, &named)?;
            these.set.extend(set.iter().cloned());
            match load_from(inputs, scenario, &these) {
                Ok(loaded) => {
                    let set = [&common[..], &set].concat();
                    found.all.push(candidate(loaded, &named, set)?);
                }
                Err(mistakes) if file.may_be_left_out => {
                    let why = mistakes.0.first().map_or(String::new(), |one| one.message.clone());
                    let name = file.path.as_ref().and_then(|path| path.file_stem());
                    let name = name.unwrap_or_default().to_string_lossy().into_owned();
                    found.left_out.push((name, why));
                    break;
                }
                Err(mistakes) => return Err(mistakes),
            }
        }
    }
    tell_apart(&mut found.all);
    Ok(found)
}

/// The same with thresholds of equal load in the place of those that ask for them.
fn resolved(
    inputs: &InputFiles,
    scenario: &Path,
    overrides: &Overrides,
    set: &[(String, String)],
) -> Result<Vec<(String, String)>, Diagnostics> {
    let wrong = |what: String| Diagnostics::one(Diagnostic::of_whole("--vary", what, None));
    let mut all = Vec::new();
    for (key, value) in set {
        let Some(levels) = equal_load::levels(value) else {
            all.push((key.clone(), value.clone()));
            continue;
        };
        let levels = levels.map_err(wrong)?;
        let loaded = load_from(inputs, scenario, overrides)?;
        let thresholds = equal_load::thresholds(&loaded.points()[0].scenario, levels);
        let none = || {
            wrong(format!(
                "`{value}`: the scenario has neither transfers nor pages whose sizes are known"
            ))
        };
        all.push((key.clone(), thresholds.ok_or_else(none)?));
    }
    Ok(all)
}

fn candidate(
    loaded: Loaded,
    named: &[(String, String)],
    set: Vec<(String, String)>,
) -> Result<Candidate, Diagnostics> {
    let wrong = |message: String, help: String| {
        Diagnostics::one(Diagnostic::of_whole(&loaded.name, message, Some(help)))
    };
    let points = loaded.points().len();
    if points > 1 {
        let axes: Vec<String> = loaded.axes.iter().map(|axis| format!("`{axis}`")).collect();
        let help = format!("choose one of them: set {} with --set", axes.join(" and "));
        return Err(wrong(format!("the scenario is swept over {points} points"), help));
    }
    let Some(policy) = &loaded.points()[0].scenario.policy else {
        let message = "the scenario names no policy, so there is nothing to choose from";
        let help = "give policies, as in --policies fq-codel,best-effort";
        return Err(wrong(message.to_owned(), help.to_owned()));
    };
    let short = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let settings = named.iter().map(|(key, value)| format!("{} = {value}", short(key)));
    let label = [policy.name.clone()].into_iter().chain(settings).collect::<Vec<_>>().join(", ");
    Ok(Candidate { label, set, loaded })
}

/// Gives those that would be called the same the names of their files and their numbers too.
fn tell_apart(found: &mut [Candidate]) {
    let labels: Vec<String> = found.iter().map(|one| one.label.clone()).collect();
    for (at, one) in found.iter_mut().enumerate() {
        if labels.iter().filter(|label| **label == labels[at]).count() > 1 {
            let policy = one.scenario().inputs.policy.as_ref();
            let file = policy.map_or("", |(name, _)| name);
            one.label = format!("{} ({file}, candidate {})", one.label, at + 1);
        }
    }
}
