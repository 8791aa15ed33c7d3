//! Mistakes in the files of a study, found with their places before anything is run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use shortflow_text::{Document, Source};

use crate::calibration::{self, Readings};
use crate::library::StudyFiles;
use crate::points::Maker;
use crate::reproduce::Error;
use crate::spec::{CalibrationSpec, CheckSpec, Claims, Quantity, Study};

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

/// The rows of results that each run has, by its name.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// Reads every scenario that a study may run under its readings, so that a mistake in one is told
/// before anything is run: each point under the best reading, the first point of each run that another
/// reading or a counterfactual changes.
pub(crate) fn read_scenarios(
    maker: &Maker<'_>,
    readings: &Readings,
    quick: bool,
) -> Result<Rows, Error> {
    let study = maker.study;
    let mut rows = Rows::new();
    for run in &study.runs {
        for x in run.points(quick) {
            let point = maker.point(run, *x, &readings.best)?;
            let names = point.scenario.result_rows().into_iter().map(|row| row.name);
            rows.insert(run.name.clone(), names.collect());
        }
        if quick {
            continue;
        }
        let tried = study.readings.iter().chain(&study.counterfactuals);
        let tried = tried.filter(|change| change.changes(run));
        let tried = tried.map(|change| readings.best.with(change));
        let mut others = readings.others.iter().cloned().chain(tried);
        if let Some(x) = run.points(quick).first() {
            others.try_for_each(|variant| maker.point(run, *x, &variant).map(|_| ()))?;
        }
    }
    Ok(rows)
}

/// Reads the claims of a study, whose quantities must name runs, points, workloads and changes that
/// there are.
pub(crate) fn read_claims(files: &StudyFiles, study: &Study, rows: &Rows) -> Result<Claims, Error> {
    let mut document = document(files, "claims.toml")?;
    let claims: Claims = document.read().map_err(Error::Mistakes)?;
    let mut checker = Checker { document: &mut document, study, rows };
    for (number, claim) in claims.claims.iter().enumerate() {
        let path = format!("claim.{number}");
        checker.changes(&format!("{path}.counterfactuals"), &claim.counterfactuals);
        for (index, check) in claim.checks.iter().enumerate() {
            checker.check(&format!("{path}.check.{index}"), check);
        }
        for (index, seen) in claim.observations.iter().enumerate() {
            let path = format!("{path}.observation.{index}");
            checker.compared(&path, &seen.ours, seen.than.as_ref(), seen.x.as_deref());
        }
    }
    document.checked().map_err(Error::Mistakes)?;
    Ok(claims)
}

/// Reads the calibration of a study, whose quantities must name runs and points that there are, and
/// whose readings must be told apart by their names.
pub(crate) fn read_calibration(
    files: &StudyFiles,
    study: &Study,
) -> Result<CalibrationSpec, Error> {
    let mut document = document(files, calibration::SPEC)?;
    let spec: CalibrationSpec = document.read().map_err(Error::Mistakes)?;
    let rows = Rows::new();
    let mut checker = Checker { document: &mut document, study, rows: &rows };
    for (number, target) in spec.targets.iter().enumerate() {
        let path = format!("targets.{number}");
        checker.quantity(&format!("{path}.ours"), &target.ours, true);
        checker.factor(&format!("{path}.within"), target.within);
    }
    document.checked().map_err(Error::Mistakes)?;
    Ok(spec)
}

struct Checker<'c> {
    document: &'c mut Document,
    study: &'c Study,
    rows: &'c Rows,
}

impl Checker<'_> {
    fn check(&mut self, path: &str, check: &CheckSpec) {
        self.compared(path, &check.ours, check.than.as_ref(), check.x.as_deref());
        if check.rule.compares() && check.than.is_none() {
            let message = "this rule compares `ours` with another quantity, and there is none";
            self.document.mistake(&format!("{path}.rule"), message, "add `than = { … }`");
        }
        if !check.rule.compares() && check.than.is_some() {
            let message = "this rule compares `ours` with nothing";
            self.document.mistake(&format!("{path}.than"), message, "leave it out");
        }
        let own = check.counterfactuals.as_deref().unwrap_or_default();
        self.changes(&format!("{path}.counterfactuals"), own);
    }

    fn compared(
        &mut self,
        path: &str,
        ours: &Quantity,
        than: Option<&Quantity>,
        points: Option<&[f64]>,
    ) {
        self.quantity(&format!("{path}.ours"), ours, true);
        if let Some(than) = than {
            self.quantity(&format!("{path}.than"), than, true);
        }
        for (index, x) in points.into_iter().flatten().enumerate() {
            self.point(&format!("{path}.x.{index}"), &ours.run, *x);
        }
    }

    fn changes(&mut self, path: &str, names: &[String]) {
        let known: Vec<&str> =
            self.study.counterfactuals.iter().map(|change| change.name.as_str()).collect();
        for (index, name) in names.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let (path, list) = (format!("{path}.{index}"), "counterfactuals of study.toml");
                self.document.unknown(&path, "counterfactual", name, list, &known);
            }
        }
    }

    fn factor(&mut self, path: &str, within: f64) {
        if within <= 1.0 {
            let message = format!("a tolerance is a factor above 1; found {within}");
            self.document.mistake(
                path,
                message,
                "1.25 lets ours be a quarter more than the paper's",
            );
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
        let Some(rows) = self.rows.get(run) else { return };
        let names: Vec<&str> = rows.iter().map(String::as_str).collect();
        if !names.contains(&name) {
            let allowed = format!("workloads of the run `{run}`");
            self.document.unknown(path, "workload", name, &allowed, &names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn claims_of(files: &StudyFiles) -> Result<Claims, Error> {
        let study: Study = read(files, "study.toml")?;
        let (duration, engine) = (&study.full.duration, "1".to_owned());
        let maker = Maker {
            files,
            study: &study,
            duration,
            compared: &[],
            one_by_one: &[],
            engine,
            numbers: None,
        };
        let rows = read_scenarios(&maker, &Readings::of(files)?, false)?;
        read_claims(files, &study, &rows)
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
            ("rule = \"fair\"\nours = { run = \"none\" }".to_owned(), "there is no run `none`", 8),
            (format!("rule = \"above\"\n{ours}"), "this rule compares `ours`", 7),
            (format!("rule = \"fair\"\nx = [12345]\n{ours}"), "has no point 12345", 8),
            (
                format!("rule = \"fair\"\nours = {{ run = \"{run}\", workload = \"tea\" }}"),
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
