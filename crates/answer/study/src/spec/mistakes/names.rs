//! Checks names in `study.toml`: they must be unique, and refer to something that exists.

use shortflow_text::Document;

use crate::spec::{ChangeSpec, RehearsedSpec, RunSpec, Study, is_same};

/// Notes each of `names`, which stand as `key` in the tables of `list`, that another has already.
pub(super) fn check_unique<'n>(
    document: &mut Document,
    list: &str,
    key: &str,
    kind: &str,
    names: impl Iterator<Item = &'n str>,
) {
    let mut known: Vec<&str> = Vec::new();
    for (index, name) in names.enumerate() {
        if known.contains(&name) {
            let message = format!("duplicate {kind} `{name}`");
            let help = format!("give each {kind} a different name");
            document.mistake(&format!("{list}.{index}.{key}"), message, help);
        }
        known.push(name);
    }
}

/// Notes what is wrong with the points and replicas of a run.
pub(super) fn run(document: &mut Document, path: &str, run: &RunSpec) {
    if run.at_most == Some(0) {
        let help = "to omit the run, remove it";
        document.mistake(
            &format!("{path}.at_most"),
            "a run must have 1 replica or more; found 0",
            help,
        );
    }
    for (list, values) in [("values", Some(&run.values)), ("quick", run.quick.as_ref())] {
        let Some(values) = values else { continue };
        let path = format!("{path}.{list}");
        // A short study may leave a run out.
        if values.is_empty() && list == "values" {
            document.mistake(&path, "a run must have one point or more; found none", "");
        }
        for (index, value) in values.iter().enumerate() {
            if !value.is_finite() {
                let message = format!("a point must be a number; found {value}");
                document.mistake(&format!("{path}.{index}"), message, "");
            }
            if values[..index].iter().any(|earlier| is_same(*earlier, *value)) {
                let message = format!("duplicate point {value}");
                document.mistake(&format!("{path}.{index}"), message, "");
            }
            if !run.values.iter().any(|full| is_same(*full, *value)) {
                let message = format!("the full study has no point {value}");
                let help = "a short study must use a subset of the points in `values`";
                document.mistake(&format!("{path}.{index}"), message, help);
            }
        }
        if run.sweep.is_empty() && values.len() > 1 {
            let message = "without a sweep, all points are the same";
            document.mistake(&path, message, "name the swept key in `sweep`");
        }
    }
}

/// Notes a change that changes none of the study's runs.
pub(super) fn change(document: &mut Document, path: &str, change: &ChangeSpec, study: &Study) {
    let is_sound = files(document, path, change, study);
    if is_sound && !study.runs.iter().any(|run| change.changes(run)) {
        let message = format!("the change `{}` changes no run", change.name);
        let overridden = study.runs.iter().find(|run| change.is_overridden(run));
        let help = match overridden {
            Some(run) => {
                format!(
                    "the run `{}` sweeps the key that it sets: the sweep overrides it",
                    run.name
                )
            }
            None if change.set.is_empty() && change.policies.is_empty() => {
                "it needs `set` or `policies`".to_owned()
            }
            None => "no run has one of its `scenarios` and a policy of `only`".to_owned(),
        };
        document.mistake(&format!("{path}.name"), message, help);
    }
    settings(document, path, change);
}

/// Notes what cannot be rehearsed: runs that there are not, and settings that belong to the study.
pub(super) fn rehearsed(document: &mut Document, spec: &RehearsedSpec, study: &Study) {
    for (index, name) in spec.runs.iter().enumerate() {
        if study.run(name).is_none() {
            let names: Vec<&str> = study.runs.iter().map(|run| run.name.as_str()).collect();
            let help = format!("the runs are {}", names.join(", "));
            document.mistake(
                &format!("rehearsed.runs.{index}"),
                format!("unknown run `{name}`"),
                help,
            );
        }
    }
    settings(document, "rehearsed", &ChangeSpec::of_settings("rehearsed", spec.set.clone()));
}

/// Notes settings that belong to the study and not to what is tried.
pub(super) fn settings(document: &mut Document, path: &str, change: &ChangeSpec) {
    for (index, setting) in change.set.iter().enumerate() {
        let path = format!("{path}.set.{index}");
        match setting.split_once('=').map(|(key, _)| key.trim()) {
            None => {
                let message = format!("\"{setting}\" must have the form key=value");
                document.mistake(&path, message, "");
            }
            Some("policy") => {
                let help = "use `policies = { \"old.toml\" = \"new.toml\" }`";
                document.mistake(&path, "a policy cannot be changed by `set`", help);
            }
            Some(key @ ("replicas" | "seed")) => {
                let message = format!("`{key}` is the same for all runs of a study");
                document.mistake(&path, message, "omit it");
            }
            Some(_) => {}
        }
    }
}

/// Notes files that no run has among those that a change is limited to. False where there are such.
pub(super) fn files(
    document: &mut Document,
    path: &str,
    change: &ChangeSpec,
    study: &Study,
) -> bool {
    let files = |of: fn(&RunSpec) -> &str| study.runs.iter().map(of).collect::<Vec<_>>();
    let scenarios = files(|run| &run.scenario);
    let policies = files(|run| &run.policy);
    let replaced: Vec<String> = change.policies.keys().cloned().collect();
    let mut is_sound = true;
    let lists = [
        ("scenarios", change.scenarios.as_ref(), &scenarios),
        ("only", change.only.as_ref(), &policies),
        ("policies", Some(&replaced), &policies),
    ];
    for (key, named, known) in lists {
        for (index, name) in named.into_iter().flatten().enumerate() {
            if !known.contains(&name.as_str()) {
                let place = match key {
                    "policies" => format!("{path}.policies"),
                    _ => format!("{path}.{key}.{index}"),
                };
                let mut each = known.clone();
                each.sort_unstable();
                each.dedup();
                document.unknown(&place, "run with the file", name, "files of the runs", &each);
                is_sound = false;
            }
        }
    }
    is_sound
}
