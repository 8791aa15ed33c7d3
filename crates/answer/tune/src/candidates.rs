//! The candidates: policies, each with its settings, in the scenario.

use std::path::{Path, PathBuf};

use shortflow_measure::{ScopedWarning, Warning};
use shortflow_run::{ClassUse, input_warning};
use shortflow_scenario::{Loaded, Overrides, Scenario, load_from};
use shortflow_text::{Diagnostic, Diagnostics, InputFiles};

use crate::equal_load;
use crate::line_fit::LineFit;
use crate::tune::Tuned;
use crate::vary::{POLICY, Varied, combinations};

/// A policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateFile {
    /// Where it is; nothing for the policy that the scenario names.
    pub path: Option<PathBuf>,
    /// Whether it is omitted if it does not fit the scenario; otherwise that is an error.
    pub may_be_left_out: bool,
    /// Whether its parameters follow the round trip and the rate of the scenario's lines, unless the user sets them.
    pub follows_line: bool,
}

/// A policy with its settings, in the scenario.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What it is called: the policy, and what is varied in it.
    pub label: String,
    /// What is set in it, for all and for this one, as keys and values.
    pub set: Vec<(String, String)>,
    /// What its policy does, spelled out: alike where two do the same, whatever is set in them.
    pub does: String,
    /// Its scenario, checked; it has one point.
    pub loaded: Loaded,
}

impl Candidate {
    /// Whether another is the same policy, does the same, and does so in the same network.
    pub fn is_same_as(&self, other: &Candidate) -> bool {
        let text =
            |one: &Candidate| one.scenario().inputs.policy.as_ref().map(|(_, text)| text.clone());
        let beside = |one: &Candidate| -> Vec<(String, String)> {
            one.set.iter().filter(|(key, _)| !key.starts_with(POLICY)).cloned().collect()
        };
        self.does == other.does && beside(self) == beside(other) && text(self) == text(other)
    }

    /// The warnings about its policy in this scenario: those that it has and `other`, another policy there, has not.
    pub fn warnings_beyond(&self, other: &Candidate) -> Vec<Warning> {
        let is_common = |it: &&Diagnostic| {
            other.loaded.warnings.0.iter().any(|known| known.message == it.message)
        };
        self.loaded.warnings.0.iter().filter(|it| !is_common(it)).map(input_warning).collect()
    }

    /// What is set in its policy, in words: `interval = 600 ms, target = 30 ms`.
    pub fn settings(&self) -> String {
        let of_policy = self.set.iter().filter_map(|(key, value)| {
            let key = key.strip_prefix(POLICY)?;
            Some(format!("{} = {value}", key.strip_prefix("parameters.").unwrap_or(key)))
        });
        of_policy.collect::<Vec<_>>().join(", ")
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
    /// What cannot be in the scenario, or is there already, and why.
    pub left_out: Vec<(String, String)>,
}

/// Every file with every combination of values, all checked before anything is run. Invalid combinations are omitted.
///
/// # Errors
/// When a scenario or a policy has mistakes, when nothing is left, or when the scenario is swept or has no policy.
pub fn candidates(
    inputs: &InputFiles,
    scenario: &Path,
    files: &[CandidateFile],
    varied: &[Varied],
    overrides: &Overrides,
) -> Result<Candidates, Diagnostics> {
    let mut found = Candidates::default();
    let mut first = None;
    for file in files {
        let base = Overrides { policy: file.path.clone(), ..overrides.clone() };
        let (before, mut mistakes) = (found.all.len(), None);
        for named in combinations(varied) {
            match combination(inputs, scenario, &base, &named, file.follows_line)? {
                Ok(one) => found.add(one),
                Err(why) => {
                    let why = as_written(why, varied);
                    found.left_out.push((name_of(file, &named), in_short(&why)));
                    mistakes.get_or_insert(why);
                }
            }
        }
        let Some(mistakes) = mistakes else { continue };
        if found.all.len() == before && !file.may_be_left_out {
            // What is wrong whatever is varied is wrong with the file.
            load_from(inputs, scenario, &base)?;
        }
        first.get_or_insert((mistakes, file.may_be_left_out));
    }
    // What is wrong with every policy alike is wrong with the scenario.
    let is_same = found.left_out.windows(2).all(|pair| pair[0].1 == pair[1].1);
    match first {
        Some((mistakes, may_be_left_out))
            if found.all.is_empty() && (is_same || !may_be_left_out) =>
        {
            return Err(mistakes);
        }
        _ => {}
    }
    make_labels_unique(&mut found.all);
    Ok(found)
}

impl Candidates {
    /// Adds one, unless it is the same as another.
    fn add(&mut self, one: Candidate) {
        match self.all.iter().find(|other| other.is_same_as(&one)) {
            None => self.all.push(one),
            Some(other) => {
                let file = one.scenario().inputs.policy.as_ref().map_or("", |(name, _)| name);
                let name = format!("{} ({file})", one.label);
                self.left_out.push((
                    name,
                    format!("the same as {}, which is already a candidate", other.label),
                ));
            }
        }
    }

    /// The warnings about the policies of these candidates and of `references`, and about classes that matched no
    /// packet in their runs. Each is given once, with the labels of the candidates that it is about.
    pub fn warnings(&self, references: &[Candidate], tuned: &Tuned) -> Vec<ScopedWarning> {
        let all = || self.all.iter().chain(references);
        let mut found: Vec<(Warning, Vec<&str>)> = Vec::new();
        let mut add = |warning: Warning, label| match found.iter_mut().find(|it| it.0 == warning) {
            Some((_, about)) => about.push(label),
            None => found.push((warning, vec![label])),
        };
        for one in all() {
            one.loaded.warnings.0.iter().for_each(|it| add(input_warning(it), &one.label));
        }
        for (one, classes) in all().zip(&tuned.classes) {
            let warnings = |it: &ClassUse| it.warnings(one.scenario(), &one.loaded.unreachable);
            let warnings = classes.as_ref().map(warnings).unwrap_or_default();
            warnings.into_iter().for_each(|warning| add(warning, &one.label));
        }
        let scoped = |(warning, about): (Warning, Vec<&str>)| ScopedWarning {
            about: if about.len() == all().count() { String::new() } else { some_of(&about) },
            warning,
        };
        found.into_iter().map(scoped).collect()
    }

    /// Omits refused candidates. Returns the first refusal if none is left.
    ///
    /// # Errors
    /// That refusal.
    pub fn keep<E: std::fmt::Display>(
        &mut self,
        refused: impl Fn(&Candidate) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut first, mut left) = (None, Vec::new());
        for one in std::mem::take(&mut self.all) {
            match refused(&one) {
                Ok(()) => left.push(one),
                Err(why) => {
                    let in_short = why.to_string().lines().next().unwrap_or_default().to_owned();
                    self.left_out.push((one.label, in_short));
                    first.get_or_insert(why);
                }
            }
        }
        self.all = left;
        first.filter(|_| self.all.is_empty()).map_or(Ok(()), Err)
    }
}

/// A policy with these values; what is wrong with it where it cannot be.
///
/// # Errors
/// When no policy could be a candidate in this scenario.
fn combination(
    inputs: &InputFiles,
    scenario: &Path,
    base: &Overrides,
    named: &[(String, String)],
    follows_line: bool,
) -> Result<Result<Candidate, Diagnostics>, Diagnostics> {
    let mut set = match resolved(inputs, scenario, base, named) {
        Ok(set) => set,
        Err(mistakes) => return Ok(Err(mistakes)),
    };
    if follows_line {
        let fitted = fitted(inputs, scenario, base);
        let is_free = |(key, _): &(String, String)| {
            !base.set.iter().chain(&set).any(|(known, _)| known == key)
        };
        let fitted: Vec<_> = fitted.into_iter().filter(is_free).collect();
        set.extend(fitted);
    }
    let these = Overrides { varied: set.clone(), ..base.clone() };
    // What is set in all of them belongs to the policy that was measured, as what is varied does.
    let common = base.set.iter().filter(|(key, _)| key.starts_with(POLICY)).cloned();
    let set = common.chain(set).collect();
    match load_from(inputs, scenario, &these) {
        Ok(loaded) => candidate(loaded, named, set).map(Ok),
        Err(mistakes) => Ok(Err(mistakes)),
    }
}

/// The mistakes of a combination, where one is in an option, with the option as the user wrote it: the values of a
/// range are not written anywhere.
fn as_written(mistakes: Diagnostics, varied: &[Varied]) -> Diagnostics {
    let one = |mistake: Diagnostic| {
        let option = mistake.file() == VARY;
        let (key, value) = mistake.source.text.split_once('=').filter(|_| option)?;
        let Varied { values, text, .. } = varied.iter().find(|one| one.key == key)?;
        let is_of_value = mistake.span.start > key.len() && values.len() > 1;
        let at = if is_of_value { format!(", at {value}") } else { String::new() };
        let Diagnostic { message, help, .. } = &mistake;
        let name = format!("{VARY} '{text}'{at}");
        Some(Diagnostic::of_whole(&name, message.clone(), help.clone()))
    };
    let all = mistakes.0.into_iter();
    Diagnostics(all.map(|mistake| one(mistake.clone()).unwrap_or(mistake)).collect())
}

/// The option that varies keys.
const VARY: &str = "--vary";

/// The parameters that follow the scenario's lines; `None` if the policy does not fit the scenario.
fn fitted(inputs: &InputFiles, scenario: &Path, base: &Overrides) -> Vec<(String, String)> {
    let Ok(loaded) = load_from(inputs, scenario, base) else { return Vec::new() };
    let Some(point) = loaded.points().first() else { return Vec::new() };
    let text = point.scenario.inputs.policy.as_ref().map_or("", |(_, text)| text);
    LineFit::from_scenario(&point.scenario).map_or_else(Vec::new, |fit| fit.settings(text))
}

/// What a combination that cannot be is called.
fn name_of(file: &CandidateFile, named: &[(String, String)]) -> String {
    let stem = file.path.as_ref().and_then(|path| path.file_stem());
    let stem = stem.map_or_else(|| "its own policy".into(), |stem| stem.to_string_lossy());
    with_settings(&stem, named)
}

/// Some of these labels, and how many others there are.
fn some_of(labels: &[&str]) -> String {
    const MAX_SHOWN: usize = 3;
    match labels.len() {
        n if n > MAX_SHOWN + 1 => {
            format!("{} and {} others", labels[..MAX_SHOWN].join("; "), n - MAX_SHOWN)
        }
        _ => labels.join("; "),
    }
}

/// The first mistake alone.
fn in_short(mistakes: &Diagnostics) -> String {
    mistakes.0.first().map_or(String::new(), |one| one.message.clone())
}

/// A name, and what is varied.
fn with_settings(name: &str, named: &[(String, String)]) -> String {
    let short = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    let settings = named.iter().map(|(key, value)| format!("{} = {value}", short(key)));
    [name.to_owned()].into_iter().chain(settings).collect::<Vec<_>>().join(", ")
}

/// The same candidate, with thresholds of equal load where it asks for them.
fn resolved(
    inputs: &InputFiles,
    scenario: &Path,
    overrides: &Overrides,
    set: &[(String, String)],
) -> Result<Vec<(String, String)>, Diagnostics> {
    let wrong = |what: String| Diagnostics::one(Diagnostic::of_whole(VARY, what, None));
    let mut all = Vec::new();
    for (key, value) in set {
        let Some(levels) = equal_load::levels(value) else {
            all.push((key.clone(), value.clone()));
            continue;
        };
        let levels = levels.map_err(|error| wrong(error.to_string()))?;
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
        return Err(wrong(format!("the scenario has a sweep of {points} points"), help));
    }
    let Some(policy) = &loaded.points()[0].scenario.policy else {
        let message = "the scenario names no policy, so there are no candidates";
        let help = "name policies, such as --policies fq-codel,best-effort";
        return Err(wrong(message.to_owned(), help.to_owned()));
    };
    let label = with_settings(&policy.name, named);
    let does = format!("{:?}", policy.roles);
    Ok(Candidate { label, set, does, loaded })
}

/// Gives those that would be called the same the names of their files and their numbers too.
fn make_labels_unique(found: &mut [Candidate]) {
    let labels: Vec<String> = found.iter().map(|one| one.label.clone()).collect();
    for (at, one) in found.iter_mut().enumerate() {
        if labels.iter().filter(|label| **label == labels[at]).count() > 1 {
            let policy = one.scenario().inputs.policy.as_ref();
            let file = policy.map_or("", |(name, _)| name);
            one.label = format!("{} ({file}, candidate {})", one.label, at + 1);
        }
    }
}
