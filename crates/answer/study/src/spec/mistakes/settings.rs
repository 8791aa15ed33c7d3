//! Checks the settings of runs and changes, with their places in the files of a study.

use std::sync::Arc;

use shortflow_text::{Diagnostic, Diagnostics, Document, Source};

use super::document::{document, read};
use crate::spec::names::{CALIBRATION, STUDY};
use crate::spec::{CalibrationSpec, ChangeSpec, Study, StudyFiles};

/// As what scenarios know what is set from outside.
const SET: &str = "--set";

/// The same mistakes, those in settings at the places where the files of the study have them, and files of a
/// study with their folder.
pub(crate) fn at_their_places(
    files: &StudyFiles,
    study: &Study,
    Diagnostics(found): Diagnostics,
) -> Diagnostics {
    let reported = |mistake: Diagnostic| match mistake.file() {
        SET => in_file(files, study, &mistake).unwrap_or(Diagnostics::one(mistake)).0,
        name if files.text(name).is_some() => {
            let source = Source { name: files.place(name), text: mistake.source.text.clone() };
            vec![Diagnostic { source: Arc::new(source), ..mistake }]
        }
        _ => vec![mistake],
    };
    Diagnostics(found.into_iter().flat_map(reported).collect())
}

/// A mistake in a setting as one in the file that has the setting.
fn in_file(files: &StudyFiles, study: &Study, mistake: &Diagnostic) -> Option<Diagnostics> {
    let setting = mistake.source.text.as_str();
    let reported = |file: &str, path: &str| {
        let mut document: Document = document(files, file).ok()?;
        let help = mistake.help.clone().or(mistake.label.clone()).unwrap_or_default();
        document.mistake(path, mistake.message.clone(), help);
        document.checked().err()
    };
    if let Some(path) = place_in_study(study, setting) {
        return reported(STUDY, &path);
    }
    let spec: CalibrationSpec = read(files, CALIBRATION).ok()?;
    let parameters = spec.parameters.iter().enumerate();
    let place = parameters.flat_map(|(number, parameter)| {
        let list = format!("parameters.{number}.readings");
        place_in_changes(&list, &parameter.readings, setting)
    });
    let is_length = setting == spec.duration.as_ref().map(duration).unwrap_or_default();
    let length = is_length.then(|| "duration".to_owned());
    reported(CALIBRATION, &place.into_iter().next().or(length)?)
}

/// Where a run or a change of `study.toml` sets or sweeps this.
fn place_in_study(study: &Study, setting: &str) -> Option<String> {
    for (index, run) in study.runs.iter().enumerate() {
        if let Some(place) = run.set.iter().position(|own| is_same(own, setting)) {
            return Some(format!("runs.{index}.set.{place}"));
        }
        let key = setting.split_once('=').map(|(key, _)| key.trim());
        if let Some(place) = run.sweep.iter().position(|swept| Some(swept.trim()) == key) {
            return Some(format!("runs.{index}.sweep.{place}"));
        }
    }
    place_in_changes("readings", &study.readings, setting)
        .or_else(|| place_in_changes("counterfactuals", &study.counterfactuals, setting))
        .or_else(|| {
            let lengths = [("full", &study.full), ("quick", &study.quick)];
            let (part, _) =
                lengths.into_iter().find(|(_, effort)| duration(&effort.duration) == setting)?;
            Some(format!("{part}.duration"))
        })
}

/// The setting that a study's length is.
fn duration(length: &String) -> String {
    format!("duration={length}")
}

fn place_in_changes(list: &str, changes: &[ChangeSpec], setting: &str) -> Option<String> {
    changes.iter().enumerate().find_map(|(index, change)| {
        let place = change.set.iter().position(|own| is_same(own, setting))?;
        Some(format!("{list}.{index}.set.{place}"))
    })
}

/// Whether two settings are the same but for the room around key and value.
fn is_same(a: &str, b: &str) -> bool {
    let parts = |setting: &str| {
        setting.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
    };
    parts(a) == parts(b)
}
