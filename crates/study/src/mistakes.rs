//! Mistakes in the files of a study, found with their places before anything is run.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use shortflow_text::{Document, Source};

use crate::library::StudyFiles;
use crate::points::PointOfRun;
use crate::reproduce::Error;
use crate::spec::{CheckSpec, Claims, Quantity, Rule, Study};

/// Reads the file `name` of a study.
pub(crate) fn read<T: DeserializeOwned>(files: &StudyFiles, name: &str) -> Result<T, Error> {
    document(files, name)?.read().map_err(Error::Mistakes)
}

fn document(files: &StudyFiles, name: &str) -> Result<Document, Error> {
    let place = files.place(name);
    let Some(text) = files.text(name) else {
        return Err(Error::Study { file: place, message: "there is no such file".to_owned() });
    };
    let source = Source { name: place, text: text.to_owned() };
    Document::parse(Arc::new(source), &[]).map_err(Error::Mistakes)
}

/// Reads the claims of a study, whose quantities must name runs, points and workloads that there are.
pub(crate) fn read_claims(
    files: &StudyFiles,
    study: &Study,
    points: &[PointOfRun],
) -> Result<Claims, Error> {
    let mut document = document(files, "claims.toml")?;
    let claims: Claims = document.read().map_err(Error::Mistakes)?;
    let mut checker = Checker { document: &mut document, study, points };
    for (number, claim) in claims.claims.iter().enumerate() {
        for (index, check) in claim.checks.iter().enumerate() {
            checker.check(&format!("claim.{number}.check.{index}"), check);
        }
    }
    document.checked().map_err(Error::Mistakes)?;
    Ok(claims)
}

struct Checker<'c> {
    document: &'c mut Document,
    study: &'c Study,
    points: &'c [PointOfRun],
}

impl Checker<'_> {
    fn check(&mut self, path: &str, check: &CheckSpec) {
        self.quantity(&format!("{path}.ours"), &check.ours, true);
        match &check.than {
            Some(than) => self.quantity(&format!("{path}.than"), than, true),
            None if compares(check.rule) => {
                let message = "this rule compares `ours` with another quantity, and there is none";
                self.document.mistake(&format!("{path}.rule"), message, "add `than = { … }`");
            }
            None => {}
        }
        for (index, x) in check.x.iter().flatten().enumerate() {
            self.point(&format!("{path}.x.{index}"), &check.ours.run, *x);
        }
    }

    fn quantity(&mut self, path: &str, quantity: &Quantity, needs_run: bool) {
        if needs_run || !quantity.run.is_empty() {
            self.run(&format!("{path}.run"), &quantity.run);
        }
        if let Some(over) = &quantity.over {
            self.run(&format!("{path}.over"), over);
        }
        if let Some(x) = quantity.x {
            self.point(&format!("{path}.x"), &quantity.run, x);
        }
        if let Some(workload) = &quantity.workload {
            self.workload(&format!("{path}.workload"), &quantity.run, workload);
        }
        if let Some(per) = &quantity.per {
            self.quantity(&format!("{path}.per"), per, false);
        }
    }

    fn run(&mut self, path: &str, name: &str) {
        let names: Vec<&str> = self.study.runs.iter().map(|run| run.name.as_str()).collect();
        if !names.contains(&name) {
            self.document.unknown(path, "run", name, "runs of study.toml", &names);
        }
    }

    /// A run that is not there is told of where it is named.
    fn point(&mut self, path: &str, run: &str, x: f64) {
        let Some(spec) = self.study.runs.iter().find(|spec| spec.name == run) else { return };
        if !spec.values.iter().any(|value| (value - x).abs() < 1e-9) {
            let values: Vec<String> = spec.values.iter().map(f64::to_string).collect();
            let message = format!("the run `{run}` has no point {x}");
            self.document.mistake(path, message, format!("its points: {}", values.join(", ")));
        }
    }

    fn workload(&mut self, path: &str, run: &str, name: &str) {
        let Some(point) = self.points.iter().find(|point| point.run == run) else { return };
        let rows = point.scenario.result_rows();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        if !names.contains(&name) {
            let allowed = format!("workloads of the run `{run}`");
            self.document.unknown(path, "workload", name, &allowed, &names);
        }
    }
}

/// Whether the rule needs a second quantity.
fn compares(rule: Rule) -> bool {
    match rule {
        Rule::FarBelow
        | Rule::Above
        | Rule::Below
        | Rule::PerceptiblyAbove
        | Rule::PerceptiblyBelow => true,
        Rule::Figure(_)
        | Rule::AboutZero
        | Rule::AtMost(_)
        | Rule::AtLeast(_)
        | Rule::MinimumWithin(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::points;

    fn claims_of(files: &StudyFiles) -> Result<Claims, Error> {
        let study: Study = read(files, "study.toml")?;
        let points = points(files, &study, false, "1")?;
        read_claims(files, &study, &points)
    }

    #[test]
    fn the_claims_of_all_studies_name_what_there_is() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            assert!(claims_of(files).is_ok_and(|claims| !claims.claims.is_empty()), "{name}");
        }
    }

    #[test]
    fn a_mistaken_claim_is_told_with_its_line_and_what_there_is() {
        let home = tempfile::tempdir().unwrap();
        let of_study = StudyFiles::find("cm05").unwrap();
        for name in ["study.toml", "single.toml", "multi.toml"] {
            std::fs::write(home.path().join(name), of_study.text(name).unwrap()).unwrap();
        }
        let shipped = of_study.text("study.toml").unwrap();
        let study: Study = toml::from_str(shipped).unwrap();
        std::fs::create_dir(home.path().join("policies")).unwrap();
        for run in &study.runs {
            let text = of_study.text(&run.policy).unwrap();
            std::fs::write(home.path().join(&run.policy), text).unwrap();
        }
        let run = &study.runs[0].name;
        let told = |check: &str| {
            let claim = "[[claim]]\nid = \"c.1\"\nclaim = \"c\"\n[[claim.check]]\nwhat = \"w\"\npaper = \"p\"\n";
            let claims = format!("{claim}{check}\n");
            std::fs::write(home.path().join("claims.toml"), claims).unwrap();
            claims_of(&StudyFiles::read(home.path()).unwrap()).unwrap_err().to_string()
        };
        let ours = format!("ours = {{ run = \"{run}\" }}");
        for (check, message, line) in [
            (
                "rule = \"about-zero\"\nours = { run = \"none\" }".to_owned(),
                "there is no run `none`",
                8,
            ),
            (format!("rule = \"above\"\n{ours}"), "this rule compares `ours`", 7),
            (format!("rule = \"about-zero\"\nx = [12345]\n{ours}"), "has no point 12345", 8),
            (
                format!("rule = \"about-zero\"\nours = {{ run = \"{run}\", workload = \"tea\" }}"),
                "there is no workload `tea`",
                8,
            ),
            (format!("rule = \"sideways\"\n{ours}"), "unknown name `sideways`", 7),
        ] {
            let told = told(&check);
            assert!(told.contains(message), "{told}");
            assert!(told.contains(&format!("claims.toml:{line}:")), "{told}");
        }
    }
}
