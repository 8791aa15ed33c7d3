//! `simulate` and `compare`.

use std::path::{Path, PathBuf};

use shortflow_scenario::{Loaded, load_from};
use shortflow_text::{InputFiles, name_of};

use crate::args::{Compare, RunOptions, Simulate};
use crate::check::{Kind, kind_of};
use crate::console::Console;
use crate::experiment::{Case, conduct, overrides};
use crate::failure::Failure;
use crate::tracing::Tracing;

/// `shortflow simulate`.
pub(crate) fn simulate(console: &Console, args: &Simulate) -> Result<(), Failure> {
    let inputs = InputFiles::default();
    let case = case(&inputs, &args.scenario, args.policy.as_deref(), &args.options)?;
    let target = target(&args.options, &case.loaded.name, "");
    let trace =
        args.trace.as_ref().map(|file| Tracing::new(console, file, &args.trace_at, &case.loaded));
    let trace = trace.transpose()?;
    conduct(console, &args.options, &[case], trace.as_ref(), &target)
}

/// `shortflow compare`.
pub(crate) fn compare(console: &Console, args: &Compare) -> Result<(), Failure> {
    let policies = &args.policies;
    check_policies(policies)?;
    let inputs = InputFiles::default();
    let case = |policy| case(&inputs, &args.scenario, Some(policy), &args.options);
    let cases = policies.iter().map(|policy| case(policy.as_path()));
    let mut cases = cases.collect::<Result<Vec<_>, _>>()?;
    if let Some((first, rest)) = cases.split_first()
        && rest.iter().any(|other| other.loaded.points().len() != first.loaded.points().len())
    {
        let what = "the policies do not give the scenario the same points";
        return Err(Failure::Input(what.to_owned()));
    }
    let labels: Vec<String> = cases.iter().map(|case| case.label.clone()).collect();
    for (at, case) in cases.iter_mut().enumerate() {
        let label = distinct(&labels, at, &policies[at].display().to_string());
        case.folder = Some(format!("{}-{}", at + 1, slug(&label)));
        case.label = label;
    }
    let target = target(&args.options, &cases[0].loaded.name, "-compared");
    conduct(console, &args.options, &cases, None, &target)
}

fn check_policies(policies: &[PathBuf]) -> Result<(), Failure> {
    if policies.len() < 2 {
        let what = "there is one policy only\ngive several, as in --policies a.toml,b.toml";
        return Err(Failure::Input(what.to_owned()));
    }
    // A file has many names; one that is not there is told of when it is read.
    let files: Vec<PathBuf> =
        policies.iter().map(|p| p.canonicalize().unwrap_or_else(|_| p.clone())).collect();
    match policies.iter().enumerate().find(|(at, _)| files[..*at].contains(&files[*at])) {
        Some((_, twice)) => {
            Err(Failure::Input(format!("the policy {} is given twice", twice.display())))
        }
        None => Ok(()),
    }
}

fn case(
    inputs: &InputFiles,
    scenario: &Path,
    policy: Option<&Path>,
    options: &RunOptions,
) -> Result<Case, Failure> {
    let remedy = "name the scenario first, and the policy with --policy";
    check_kind(inputs, scenario, Kind::Scenario, remedy)?;
    if let Some(policy) = policy {
        check_kind(inputs, policy, Kind::Policy, "a policy has [roles]")?;
    }
    let overrides = overrides(options, policy);
    let loaded = load_from(inputs, scenario, &overrides)?;
    Ok(Case { label: label(&loaded), folder: None, set: overrides.set, loaded })
}

/// Refuses a scenario in the place of a policy, and the other way round: the keys of the one make no
/// sense as mistakes of the other.
fn check_kind(inputs: &InputFiles, path: &Path, wanted: Kind, remedy: &str) -> Result<(), Failure> {
    match kind_of(inputs, path) {
        Ok(found) if found != wanted => Err(Failure::Input(format!(
            "{} is a {}, not a {}\n{remedy}",
            name_of(path),
            found.name(),
            wanted.name()
        ))),
        // Other mistakes are told, with their places, by whoever reads the file.
        _ => Ok(()),
    }
}

/// A run is called after its policy, or where there is none after its scenario.
fn label(loaded: &Loaded) -> String {
    let policy = loaded.points().first().and_then(|point| point.scenario.policy.as_ref());
    policy.map_or(loaded.name.clone(), |policy| policy.name.clone())
}

/// The label at `at`, with `place` where another is the same.
pub(crate) fn distinct(labels: &[String], at: usize, place: &str) -> String {
    match labels.iter().filter(|label| **label == labels[at]).count() {
        1 => labels[at].clone(),
        _ => format!("{} ({place})", labels[at]),
    }
}

fn target(options: &RunOptions, name: &str, suffix: &str) -> PathBuf {
    let default = || Path::new("results").join(slug(name) + suffix);
    options.out.clone().unwrap_or_else(default)
}

/// A name fit for a folder.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = name.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "run".to_owned() } else { words.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_folder_without_spaces_or_signs() {
        assert_eq!(slug("Fair Marker (a/b.toml)"), "fair-marker-a-b-toml");
        assert_eq!(slug("../.."), "run");
    }

    #[test]
    fn labels_that_are_the_same_get_their_place_too() {
        let labels = ["RED".to_owned(), "RED".to_owned(), "FIFO".to_owned()];
        assert_eq!(distinct(&labels, 0, "a.toml"), "RED (a.toml)");
        assert_eq!(distinct(&labels, 2, "c.toml"), "FIFO");
    }
}
