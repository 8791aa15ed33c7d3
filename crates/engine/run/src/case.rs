//! Cases: a scenario under one policy, to be compared with other policies.

use std::fmt;
use std::path::Path;

use shortflow_measure::engines::done_by;
use shortflow_measure::{Place, Warning, WarningKind};
use shortflow_scenario::{Loaded, Overrides, load};
use shortflow_text::{Diagnostic, Diagnostics, name_of};

use crate::engine::Engine;

/// A scenario under one policy, run by one engine.
#[derive(Clone)]
pub struct Case<'e> {
    /// The engine.
    pub engine: &'e dyn Engine,
    /// Its label in comparisons.
    pub label: String,
    /// The policy's name, if the label says more than that.
    pub policy: Option<String>,
    /// The folder of its results, inside that of the command, if there are several cases.
    pub folder: Option<String>,
    /// The overrides of the command line, as keys and values.
    pub set: Vec<(String, String)>,
    /// Its bindings of roles.
    pub bind: Vec<String>,
    /// The name of its design, if its points come from one.
    pub design: Option<String>,
    /// The scenario.
    pub loaded: Loaded,
}

impl fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.label, self.engine.name())
    }
}

/// The scenario has different points under some policies, which cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the scenario has different points under these policies")]
pub struct DifferentPoints;

impl<'e> Case<'e> {
    /// The scenario of a file under the policy in `overrides`, or else its own policy.
    pub fn load(
        engine: &'e dyn Engine,
        scenario: &Path,
        overrides: &Overrides,
    ) -> Result<Case<'e>, Diagnostics> {
        Ok(Case::new(engine, load(scenario, overrides)?, overrides))
    }

    /// A single case. Its label is the name of its policy, or of its scenario if it has no policy.
    pub fn new(engine: &'e dyn Engine, loaded: Loaded, overrides: &Overrides) -> Case<'e> {
        let policy = loaded.points().first().and_then(|point| point.scenario.policy.as_ref());
        let label = policy.map_or(loaded.name.clone(), |policy| policy.name.clone());
        let (set, bind) = (overrides.set.clone(), overrides.bind.clone());
        let design = overrides.design.as_ref().map(|path| name_of(path));
        Case { engine, label, policy: None, folder: None, set, bind, design, loaded }
    }

    /// Cases for a comparison. Each gets its own folder. If two have the same label, their `places` (one for
    /// each case) are added.
    ///
    /// # Errors
    /// When their sweeps have different points.
    pub fn beside(
        mut cases: Vec<Case<'e>>,
        places: &[String],
    ) -> Result<Vec<Case<'e>>, DifferentPoints> {
        if let Some((first, rest)) = cases.split_first()
            && rest.iter().any(|other| other.loaded.points().len() != first.loaded.points().len())
        {
            return Err(DifferentPoints);
        }
        let labels: Vec<String> = cases.iter().map(|case| case.label.clone()).collect();
        for (at, case) in cases.iter_mut().enumerate() {
            let label = distinct(&labels, at, &places[at]);
            case.label = label;
            case.name_folder(at);
        }
        Ok(cases)
    }

    /// Each case with each engine. If there are several engines, labels contain their names.
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

    /// Gives the case with index `at` its own folder.
    fn name_folder(&mut self, at: usize) {
        self.folder = Some(format!("{}-{}", at + 1, folder_name(&self.label)));
    }

    /// The warnings about its policy and its scenario that concern the point at this index, for its results.
    pub fn input_warnings(&self, point: usize) -> Vec<Warning> {
        self.loaded.warnings_at(point).map(input_warning).collect()
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

/// A warning about a file, for results.
pub fn input_warning(found: &Diagnostic) -> Warning {
    // A warning about the whole file has no position.
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

/// The label at `at`, with `place` added if another label is the same.
pub(crate) fn distinct(labels: &[String], at: usize, place: &str) -> String {
    match labels.iter().filter(|label| **label == labels[at]).count() {
        1 => labels[at].clone(),
        _ => format!("{} ({place})", labels[at]),
    }
}

/// A valid name of a folder: lower case, without spaces and signs, within the limits of file systems.
pub fn folder_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut words: String = name.chars().map(plain).collect();
    words.truncate(words.floor_char_boundary(MAX_FOLDER_NAME));
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

/// The longest name of a folder in bytes. With prefix and suffix it stays below the 255 bytes that file
/// systems allow.
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
