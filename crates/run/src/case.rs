//! What is compared: a scenario under one policy, beside the same scenario under others.

use std::fmt;
use std::path::Path;

use shortflow_measure::engines::done_by;
use shortflow_measure::{Place, Warning, WarningKind};
use shortflow_scenario::{Loaded, Overrides, load};
use shortflow_text::{Diagnostic, Diagnostics};

use crate::engine::Engine;

/// A scenario under one policy, by one engine.
#[derive(Clone)]
pub struct Case<'e> {
    /// By which engine.
    pub engine: &'e dyn Engine,
    /// What it is called beside others.
    pub label: String,
    /// The policy's name, where the label says more than that.
    pub policy: Option<String>,
    /// The folder of its results inside that of the command, where there are several.
    pub folder: Option<String>,
    /// What was set by hand, as keys and values.
    pub set: Vec<(String, String)>,
    /// What to run.
    pub loaded: Loaded,
}

impl fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.label, self.engine.name())
    }
}

impl<'e> Case<'e> {
    /// The scenario of a file under the policy that `overrides` name, else its own.
    pub fn load(
        engine: &'e dyn Engine,
        scenario: &Path,
        overrides: &Overrides,
    ) -> Result<Case<'e>, Diagnostics> {
        Ok(Case::new(engine, load(scenario, overrides)?, overrides.set.clone()))
    }

    /// A case that stands alone. It is called after its policy, or where there is none after its
    /// scenario.
    pub fn new(engine: &'e dyn Engine, loaded: Loaded, set: Vec<(String, String)>) -> Case<'e> {
        let policy = loaded.points().first().and_then(|point| point.scenario.policy.as_ref());
        let label = policy.map_or(loaded.name.clone(), |policy| policy.name.clone());
        Case { engine, label, policy: None, folder: None, set, loaded }
    }

    /// Cases that stand beside each other: each has a folder of its own, and where two have the same
    /// label, their `places`, one for each, tell them apart. A message when they cannot be compared.
    pub fn beside(mut cases: Vec<Case<'e>>, places: &[String]) -> Result<Vec<Case<'e>>, String> {
        if let Some((first, rest)) = cases.split_first()
            && rest.iter().any(|other| other.loaded.points().len() != first.loaded.points().len())
        {
            return Err("the policies do not give the scenario the same points".to_owned());
        }
        let labels: Vec<String> = cases.iter().map(|case| case.label.clone()).collect();
        for (at, case) in cases.iter_mut().enumerate() {
            let label = distinct(&labels, at, &places[at]);
            case.label = label;
            case.name_folder(at);
        }
        Ok(cases)
    }

    /// Each of these cases by each of these engines, in a row; where there are several engines, labels
    /// tell them apart.
    pub fn by_each(cases: Vec<Case<'e>>, engines: &[&'e dyn Engine]) -> Vec<Case<'e>> {
        let several = engines.len() > 1;
        let by = |case: &Case<'e>, engine: &'e dyn Engine| match several {
            false => Case { engine, ..case.clone() },
            true => Case {
                engine,
                label: format!("{}, {}", case.label, done_by(engine.name())),
                policy: Some(case.label.clone()),
                ..case.clone()
            },
        };
        let each = cases.iter().flat_map(|case| engines.iter().map(|engine| by(case, *engine)));
        let mut cases: Vec<Case<'e>> = each.collect();
        if several {
            cases.iter_mut().enumerate().for_each(|(at, case)| case.name_folder(at));
        }
        cases
    }

    /// Gives it a folder of its own among others, of which it is the one at `at`.
    fn name_folder(&mut self, at: usize) {
        self.folder = Some(format!("{}-{}", at + 1, folder_name(&self.label)));
    }

    /// What is doubtful in its policy and its scenario, as warnings of its results.
    pub(crate) fn input_warnings(&self) -> Vec<Warning> {
        self.loaded.warnings.0.iter().map(input_warning).collect()
    }

    /// The warnings about the policies and scenarios of all cases, each once.
    pub fn warnings(cases: &[Case<'_>]) -> Diagnostics {
        let mut all = Diagnostics::default();
        for found in cases.iter().flat_map(|case| &case.loaded.warnings.0) {
            if !all.0.contains(found) {
                all.0.push(found.clone());
            }
        }
        all
    }
}

/// A doubt about a file, as a warning of results.
pub fn input_warning(found: &Diagnostic) -> Warning {
    // One about a file as a whole has no place in it.
    let is_placed = found.span != (0..0);
    let place = Place {
        file: found.file().to_owned(),
        line: is_placed.then(|| found.line()),
        column: is_placed.then(|| found.column()),
    };
    let help = found.help.clone();
    let warning = Warning::new(WarningKind::Input, found.message.clone());
    Warning { help, place: Some(place), ..warning }
}

/// The label at `at`, with `place` where another is the same.
pub(crate) fn distinct(labels: &[String], at: usize, place: &str) -> String {
    match labels.iter().filter(|label| **label == labels[at]).count() {
        1 => labels[at].clone(),
        _ => format!("{} ({place})", labels[at]),
    }
}

/// A name made fit for a folder: lower case, without spaces and signs, and no longer than file systems
/// take.
pub fn folder_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut words: String = name.chars().map(plain).collect();
    words.truncate(words.floor_char_boundary(MAX_FOLDER_NAME));
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

/// Bytes of a folder's name; with what stands before and after it, it stays below the 255 bytes that
/// file systems take.
const MAX_FOLDER_NAME: usize = 150;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_folder_without_spaces_or_signs() {
        assert_eq!(folder_name("Fair Marker (a/b.toml)"), "fair-marker-a-b-toml");
        assert_eq!(folder_name("../.."), "run");
    }

    #[test]
    fn a_long_name_becomes_a_folder_that_file_systems_take() {
        let found = folder_name(&"é".repeat(200));
        assert_eq!(found, "é".repeat(75));
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(format!("10000-{found}-compared"))).unwrap();
    }

    #[test]
    fn labels_that_are_the_same_get_their_place_too() {
        let labels = ["RED".to_owned(), "RED".to_owned(), "FIFO".to_owned()];
        assert_eq!(distinct(&labels, 0, "a.toml"), "RED (a.toml)");
        assert_eq!(distinct(&labels, 2, "c.toml"), "FIFO");
    }
}
