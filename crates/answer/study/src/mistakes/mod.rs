//! Finds errors in the files of a study, with their places, before anything is run.

mod cases;
mod checker;
mod names;
pub(crate) mod settings;
mod subjects;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use shortflow_measure::Plan;
use shortflow_run::plan;
use shortflow_scenario::{Inputs, Scenario};
use shortflow_text::{Document, Source};

use crate::calibration::{self, Readings};
use crate::judge::MAX_REPLICAS;
use crate::library::StudyFiles;
use crate::points::Maker;
use crate::reproduce::Error;
use crate::spec::{CalibrationSpec, Claims, RunSpec, Study};
use crate::variant::Variant;
use cases::Cases;
use checker::Checker;
use names::check_unique;

/// Reads the file `name` of a study.
pub(crate) fn read<T: DeserializeOwned>(files: &StudyFiles, name: &str) -> Result<T, Error> {
    document(files, name)?.read().map_err(Error::Mistakes)
}

/// The file of a study's runs.
pub(crate) const STUDY: &str = "study.toml";

fn document(files: &StudyFiles, name: &str) -> Result<Document, Error> {
    let place = files.place(name);
    let Some(text) = files.text(name) else {
        return Err(Error::Study { file: place, message: "no such file".to_owned() });
    };
    let source = Source { name: place, text: text.to_owned() };
    Document::parse(Arc::new(source), &[]).map_err(Error::Mistakes)
}

/// Reads `study.toml`, whose names must be unique, and whose changes must have an effect.
pub(crate) fn read_study(files: &StudyFiles) -> Result<Study, Error> {
    let mut document = document(files, STUDY)?;
    let study: Study = document.read().map_err(Error::Mistakes)?;
    let runs = study.runs.iter().map(|run| run.name.as_str());
    check_unique(&mut document, "runs", "name", "run", runs);
    let changes = || study.readings.iter().chain(&study.counterfactuals);
    let readings = study.readings.len();
    for (index, change) in changes().enumerate() {
        let path = match index.checked_sub(readings) {
            None => format!("readings.{index}"),
            Some(index) => format!("counterfactuals.{index}"),
        };
        names::change(&mut document, &path, change, &study);
        if changes().take(index).any(|earlier| earlier.name == change.name) {
            let message = format!("duplicate change `{}`", change.name);
            document.mistake(&format!("{path}.name"), message, "give each change a different name");
        }
    }
    if let Some(spec) = &study.rehearsed {
        names::rehearsed(&mut document, spec, &study);
    }
    let figures = study.figures.iter().map(|figure| figure.name.as_str());
    check_unique(&mut document, "figures", "name", "figure", figures);
    let tables = study.tables.iter().map(|table| table.name.as_str());
    check_unique(&mut document, "tables", "name", "table", tables);
    for (index, run) in study.runs.iter().enumerate() {
        names::run(&mut document, &format!("runs.{index}"), run);
    }
    document.checked().map_err(Error::Mistakes)?;
    Ok(study)
}

/// Checks the figures and tables of a study, whose quantities must name runs, points and workloads that
/// there are.
pub(crate) fn check_shown(files: &StudyFiles, study: &Study, plans: &Plans) -> Result<(), Error> {
    let mut document = document(files, STUDY)?;
    let mut checker = Checker { document: &mut document, study, plans };
    for (number, figure) in study.figures.iter().enumerate() {
        for (index, curve) in figure.curves.iter().enumerate() {
            checker.quantity(&format!("figures.{number}.curves.{index}.of"), &curve.of, true);
        }
    }
    for (number, table) in study.tables.iter().enumerate() {
        for (index, row) in table.rows.iter().enumerate() {
            checker.row(&format!("tables.{number}.rows.{index}"), row);
        }
        for (index, column) in table.columns.iter().enumerate() {
            checker.quantity(&format!("tables.{number}.columns.{index}.of"), &column.of, false);
        }
    }
    document.checked().map_err(Error::Mistakes)
}

/// What is recorded of each run, by its name.
pub(crate) type Plans = BTreeMap<String, Plan>;

/// Reads every scenario that a study may run under its readings, so that an error is reported before anything is run:
/// each point under the best reading, the first point of each run that another reading or a counterfactual changes. A
/// `quick` study has its own points.
pub(crate) fn read_scenarios(
    maker: &Maker<'_>,
    readings: &Readings,
    quick: bool,
) -> Result<Plans, Error> {
    let study = maker.study;
    let mut plans = Plans::new();
    for run in &study.runs {
        for x in run.points(quick) {
            let point = maker.point(run, *x, &readings.best)?;
            plans.insert(run.name.clone(), plan(&point.scenario));
        }
        let tried = study.readings.iter().chain(&study.counterfactuals);
        let tried = tried.filter(|change| change.changes(run));
        let tried = tried.map(|change| readings.best.with(change));
        let mut others = readings.others.iter().cloned().chain(tried);
        if let Some(x) = run.points(quick).first() {
            others.try_for_each(|variant| maker.point(run, *x, &variant).map(|_| ()))?;
        }
    }
    counterfactuals_differ(maker, &readings.best)?;
    Ok(plans)
}

/// Refuses counterfactuals that set values already in effect, in all runs that they change: nothing would be tested.
fn counterfactuals_differ(maker: &Maker<'_>, best: &Variant) -> Result<(), Error> {
    let mut document = document(maker.files, STUDY)?;
    let simulated = |run: &RunSpec, variant: &Variant| -> Result<String, Error> {
        let x = run.points(false).first().copied().unwrap_or_default();
        let scenario = maker.point(run, x, variant)?.scenario;
        let (name, description) = (String::new(), String::new());
        Ok(format!("{:?}", Scenario { inputs: Inputs::default(), name, description, ..scenario }))
    };
    for (index, change) in maker.study.counterfactuals.iter().enumerate() {
        let mut differs = false;
        for run in maker.study.runs.iter().filter(|run| change.changes(run)) {
            differs = simulated(run, best)? != simulated(run, &best.with(change))?;
            if differs {
                break;
            }
        }
        if !differs {
            let message = format!("`{}` changes no run", change.name);
            let help = "its settings are already in effect, perhaps through the calibrated reading";
            document.mistake(&format!("counterfactuals.{index}.name"), message, help);
        }
    }
    document.checked().map_err(Error::Mistakes)
}

/// Reads the claims of a study, whose quantities must name runs, points, workloads and changes that
/// there are.
pub(crate) fn read_claims(
    files: &StudyFiles,
    study: &Study,
    plans: &Plans,
) -> Result<Claims, Error> {
    let mut document = document(files, "claims.toml")?;
    let claims: Claims = document.read().map_err(Error::Mistakes)?;
    let ids = claims.claims.iter().map(|claim| claim.id.as_str());
    check_unique(&mut document, "claim", "id", "claim", ids);
    if claims.claims.is_empty() {
        document.mistake("claim", "there is no claim to judge", "add a `[[claim]]`");
    }
    let mut checker = Checker { document: &mut document, study, plans };
    for (number, claim) in claims.claims.iter().enumerate() {
        let path = format!("claim.{number}");
        checker.some(&format!("{path}.check"), "check", claim.checks.len());
        let changes = &claim.counterfactuals;
        checker.changes(&format!("{path}.counterfactuals"), changes, &claim.checks);
        for (index, check) in claim.checks.iter().enumerate() {
            checker.check(&format!("{path}.check.{index}"), check);
        }
        for (index, seen) in claim.observations.iter().enumerate() {
            let path = format!("{path}.observation.{index}");
            checker.compared(&path, &seen.ours, seen.than.as_ref());
            let looked_at = Cases { x: seen.x.as_deref(), class: seen.class.as_deref() };
            checker.cases(&path, &seen.ours, seen.than.as_ref(), looked_at);
        }
    }
    document.checked().map_err(Error::Mistakes)?;
    Ok(claims)
}

/// Reads the calibration of a study, whose quantities must name existing runs and points, and whose readings must
/// have unique names.
pub(crate) fn read_calibration(
    files: &StudyFiles,
    study: &Study,
) -> Result<CalibrationSpec, Error> {
    let mut document = document(files, calibration::SPEC)?;
    let spec: CalibrationSpec = document.read().map_err(Error::Mistakes)?;
    let plans = Plans::new();
    let mut checker = Checker { document: &mut document, study, plans: &plans };
    for (number, target) in spec.targets.iter().enumerate() {
        let path = format!("targets.{number}");
        checker.quantity(&format!("{path}.ours"), &target.ours, true);
        checker.factor(&format!("{path}.within"), target.within);
        checker.above_zero(&format!("{path}.paper"), target.paper);
        checker.one_point(&format!("{path}.ours"), &target.ours.run, target.ours.x);
    }
    checker.some("targets", "target", spec.targets.len());
    if let Some(keep) = &spec.keep {
        checker.keep("keep", keep);
    }
    for (number, parameter) in spec.parameters.iter().enumerate() {
        checker.some(&format!("parameters.{number}.readings"), "reading", parameter.readings.len());
    }
    if !(1..=MAX_REPLICAS).contains(&spec.replicas) {
        let message = format!("replicas must be from 1 to {MAX_REPLICAS}; found {}", spec.replicas);
        document.mistake("replicas", message, "use 4, for example");
    }
    for (number, parameter) in spec.parameters.iter().enumerate() {
        let readings = parameter.readings.iter().map(|reading| reading.name.as_str());
        check_unique(
            &mut document,
            &format!("parameters.{number}.readings"),
            "name",
            "reading",
            readings,
        );
        for (index, reading) in parameter.readings.iter().enumerate() {
            let path = format!("parameters.{number}.readings.{index}");
            names::files(&mut document, &path, reading, study);
            names::settings(&mut document, &path, reading);
            let named = spec.targets.iter().filter_map(|target| study.run(&target.ours.run));
            if let Some(run) = named.into_iter().find(|run| reading.is_overridden(run)) {
                let message = format!(
                    "the run `{}`, whose figures are the target, sweeps this key",
                    run.name
                );
                let help = "its sweep overrides the values of a reading";
                document.mistake(&format!("{path}.set"), message, help);
            }
        }
    }
    document.checked().map_err(Error::Mistakes)?;
    Ok(spec)
}

/// Reads every scenario of a calibration's grid, and checks that the runs have what its targets are taken of.
pub(crate) fn check_grid(maker: &Maker<'_>, spec: &CalibrationSpec) -> Result<(), Error> {
    let mut plans = Plans::new();
    let targets = spec.targets.iter().map(|target| &target.ours);
    let of_targets =
        targets.flat_map(|of| [(Some(&of.run), of.x), (of.over.as_ref(), of.over_x.or(of.x))]);
    let kept = spec.keep.iter().map(|keep| (Some(&keep.run), Some(keep.x)));
    let each: Vec<(&RunSpec, Option<f64>)> =
        of_targets.chain(kept).filter_map(|(name, x)| Some((maker.study.run(name?)?, x))).collect();
    for variant in spec.grid().iter().filter_map(|names| spec.variant(names)) {
        for (run, x) in &each {
            let x = x.or(run.values.first().copied()).unwrap_or_default();
            let point = maker.point(run, x, &variant)?;
            plans.entry(run.name.clone()).or_insert_with(|| plan(&point.scenario));
        }
    }
    let mut document = document(maker.files, calibration::SPEC)?;
    let mut checker = Checker { document: &mut document, study: maker.study, plans: &plans };
    for (number, target) in spec.targets.iter().enumerate() {
        checker.subject(&format!("targets.{number}.ours"), &target.ours, None);
    }
    if let Some(keep) = &spec.keep {
        checker.workload("keep.workload", &keep.run, &keep.workload);
    }
    document.checked().map_err(Error::Mistakes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn claims_of(files: &StudyFiles) -> Result<Claims, Error> {
        let study = read_study(files)?;
        let maker = Maker::new(files, &study, &study.full.duration, "1");
        let plans = read_scenarios(&maker, &Readings::load(&maker)?, false)?;
        check_shown(files, &study, &plans)?;
        read_claims(files, &study, &plans)
    }

    #[test]
    fn the_claims_of_all_studies_name_what_there_is() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            let claims = claims_of(files).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!claims.claims.is_empty(), "{name}");
        }
    }

    /// A copy of the study cm05 without its claims, and the name of its first run.
    fn copy_of_cm05(home: &Path) -> String {
        let of_study = StudyFiles::find("cm05").unwrap();
        for name in ["study.toml", "single.toml", "multi.toml"] {
            std::fs::write(home.join(name), of_study.text(name).unwrap()).unwrap();
        }
        let study: Study = toml::from_str(of_study.text("study.toml").unwrap()).unwrap();
        std::fs::create_dir(home.join("policies")).unwrap();
        for run in &study.runs {
            std::fs::write(home.join(&run.policy), of_study.text(&run.policy).unwrap()).unwrap();
        }
        study.runs[0].name.clone()
    }

    /// What is told of a claim with this check, of the study in `home`.
    fn mistakes_of_check(home: &Path, check: &str) -> String {
        let claim = "[[claim]]\nid = \"c.1\"\nclaim = \"c\"\n[[claim.check]]\nwhat = \"w\"\npaper = \"p\"\n";
        std::fs::write(home.join("claims.toml"), format!("{claim}{check}\n")).unwrap();
        claims_of(&StudyFiles::read(home).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn a_check_of_what_its_measure_or_rule_does_not_take_is_told_with_its_line() {
        let home = tempfile::tempdir().unwrap();
        let run = copy_of_cm05(home.path());
        let ours = format!("ours = {{ run = \"{run}\" }}");
        let of = |more: &str| {
            format!("rule = \"fair\"\nours = {{ run = \"{run}\", {more} }}").replace(", }", " }")
        };
        for (check, message, line) in [
            (of("measure = \"share-over\""), "`share-over` requires a limit", 8),
            (of("measure = \"bytes-above\""), "`bytes-above` requires a size class", 8),
            (of("measure = \"counter\""), "`counter` requires a counter", 8),
            (of("at = \"r1->r2\""), "`completion` has no values by port", 8),
            (of("measure = \"goodput\", class = \"7\""), "`goodput` has no values by class", 8),
            (of(&format!("over = \"{run}\", form = \"ratio\", over_x = 7.5")), "no point 7.5", 8),
            (of("over_x = 1"), "no run to compare with", 8),
            (of("measure = \"goodput\""), "this rule requires Jain's index", 8),
            (format!("{}\nclass = [\"all\", \"all\"]", of("")), "duplicate class", 9),
            (
                format!("rule = {{ minimum-within = [1e6, 1e7] }}\n{ours}"),
                "points inside and outside",
                7,
            ),
            (
                format!(
                    "rule = \"slower-one-by-one\"\n{ours}\nthan = {{ run = \"{run}\", unit = 2 }}"
                ),
                "requires completion times",
                9,
            ),
        ] {
            let reported = mistakes_of_check(home.path(), &check);
            assert!(reported.contains(message), "{reported}");
            assert!(reported.contains(&format!("claims.toml:{line}:")), "{reported}");
        }
    }

    #[test]
    fn a_mistaken_claim_is_told_with_its_line_and_what_there_is() {
        let home = tempfile::tempdir().unwrap();
        let run = copy_of_cm05(home.path());
        let ours = format!("ours = {{ run = \"{run}\" }}");
        let unmoved = "table-100";
        for (check, message, line) in [
            ("rule = \"fair\"\nours = { run = \"none\" }".to_owned(), "unknown run `none`", 8),
            (format!("rule = \"above\"\n{ours}"), "this rule compares `ours`", 7),
            (format!("rule = \"fair\"\nx = [12345]\n{ours}"), "has no point 12345", 8),
            (
                format!("rule = \"fair\"\nours = {{ run = \"{run}\", workload = \"tea\" }}"),
                "unknown workload `tea`",
                8,
            ),
            (format!("rule = \"fair\"\nclass = [\"12 seg\"]\n{ours}"), "unknown class `12 seg`", 8),
            (
                format!("rule = \"fair\"\nours = {{ run = \"{run}\", class = \"tea\" }}"),
                "unknown class `tea`",
                8,
            ),
            (
                format!("rule = \"fair\"\nours = {{ run = \"{run}\", stream = \"a->b\" }}"),
                "unknown stream `a->b`",
                8,
            ),
            (
                format!(
                    "rule = \"fair\"\nours = {{ run = \"{run}\", measure = \"loss\", at = \"r9->r1\" }}"
                ),
                "unknown port `r9->r1`",
                8,
            ),
            (
                format!("rule = \"fair\"\nours = {{ run = \"{run}\", measure = \"utilisation\" }}"),
                "`utilisation` requires a port",
                8,
            ),
            (
                format!(
                    "rule = \"fair\"\nours = {{ run = \"{run}\", measure = \"share-over\", limit = 7.5 }}"
                ),
                "does not measure the limit 7.5",
                8,
            ),
            (format!("rule = \"sideways\"\n{ours}"), "unknown name `sideways`", 7),
            (
                format!("rule = \"fair\"\n{ours}\ncounterfactuals = [\"{unmoved}\"]"),
                "changes none of the runs",
                9,
            ),
        ] {
            let reported = mistakes_of_check(home.path(), &check);
            assert!(reported.contains(message), "{reported}");
            assert!(reported.contains(&format!("claims.toml:{line}:")), "{reported}");
        }
    }

    const STUDY: &str = r#"title = "a line"
full = { looks = [2], duration = "1 s" }
quick = { looks = [2], duration = "1 s" }
[[runs]]
name = "a"
scenario = "line.toml"
policy = "fifo.toml"
sweep = ["parameters.load"]
values = [1, 2]
[[counterfactuals]]
name = "less"
says = "half the delay"
set = ["parameters.delay=0.5"]
"#;

    /// What is told of the study with this behind it.
    fn mistakes_of(more: &str) -> Option<String> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("study.toml"), format!("{STUDY}{more}\n")).unwrap();
        let files = StudyFiles::read(home.path()).unwrap();
        let study = read_study(&files);
        let study = study.and_then(|study| check_shown(&files, &study, &Plans::new()));
        study.err().map(|error| error.to_string())
    }

    #[test]
    fn a_mistake_in_a_study_is_told_with_its_line() {
        assert_eq!(mistakes_of(""), None);
        let run = "[[runs]]\nname = \"b\"\nscenario = \"line.toml\"\npolicy = \"fifo.toml\"";
        let change = "[[readings]]\nname = \"wide\"\nsays = \"\"";
        let figure = "title = \"\"\nx = \"\"\ny = \"\"";
        let table = "[[tables]]\nname = \"t\"\ntitle = \"\"\ncolumns = []";
        for (more, message, line) in [
            (run.replace("\"b\"", "\"a\"") + "\nsweep = []\nvalues = [1]", "duplicate run", 15),
            (format!("{run}\nsweep = []\nvalues = [1, 2]"), "without a sweep", 19),
            (format!("{run}\nsweep = []\nvalues = []"), "one point or more", 19),
            (format!("{run}\nsweep = [\"a\"]\nvalues = [1, 1]"), "duplicate point", 19),
            (format!("{run}\nsweep = []\nvalues = [1]\nquick = [2]"), "has no point 2", 20),
            (format!("{run}\nsweep = []\nvalues = [1]\nat_most = 0"), "1 replica or more", 20),
            (format!("{change}\nset = [\"a=1\"]\nonly = [\"fif.toml\"]"), "`fif.toml`", 18),
            (format!("{change}\npolicies = {{ \"x\" = \"y\" }}"), "file `x`", 17),
            (change.to_owned(), "changes no run", 15),
            (format!("{change}\nset = [\"parameters.load=3\"]"), "sweeps the key that it sets", 15),
            (
                format!("{change}\nset = [\" parameters.load = 3\"]"),
                "sweeps the key that it sets",
                15,
            ),
            (
                format!("{change}\nset = [\"parameters={{load=3}}\"]"),
                "sweeps the key that it sets",
                15,
            ),
            (format!("{change}\nset = [\"a=1\"]\nonly = []"), "no run has one of", 15),
            (format!("{change}\nset = [\"a\"]"), "must have the form key=value", 17),
            (format!("{change}\nset = [\"policy=red.toml\"]"), "cannot be changed by `set`", 17),
            (format!("{change}\nset = [\"replicas=3\"]"), "the same for all runs", 17),
            (change.replace("wide", "less") + "\nset = [\"a=1\"]", "duplicate", 11),
            (format!("[[figures]]\nname = \"../evil\"\n{figure}\ncurves = []"), "a name is", 15),
            (
                format!(
                    "[[figures]]\nname = \"f\"\n{figure}\ncurves = [{{ label = \"\", of = {{ run = \"z\" }} }}]"
                ),
                "unknown run `z`",
                19,
            ),
            (format!("{table}\nrows = [{{ label = \"\", run = \"a\" }}]"), "has 2 points", 18),
            (format!("{table}\nrows = [{{ label = \"\", run = \"a\", x = 3 }}]"), "no point 3", 18),
        ] {
            let reported = mistakes_of(&more).unwrap_or_else(|| panic!("{more}"));
            assert!(reported.contains(message), "{reported}");
            assert!(reported.contains(&format!("study.toml:{line}:")), "{reported}");
        }
    }

    #[test]
    fn a_mistake_in_what_is_set_is_told_where_the_study_sets_it() {
        let home = tempfile::tempdir().unwrap();
        let scenario = r#"
            duration = "1 s"
            hosts = { a = {}, b = {} }
            bind = [{ role = "core", at = "a", to = "b" }]
            parameters = { load = 1, delay = 1 }
            links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
            workloads.file.bulk = { from = "a", to = "b" }
        "#;
        std::fs::write(home.path().join("line.toml"), scenario).unwrap();
        let policy = "[roles.core]\nqueue.fifo.limit = \"9 pkt\"\n";
        std::fs::write(home.path().join("fifo.toml"), policy).unwrap();
        let reported = |study: &str| {
            std::fs::write(home.path().join("study.toml"), study).unwrap();
            let files = StudyFiles::read(home.path()).unwrap();
            let study = read_study(&files).unwrap();
            let maker = Maker::new(&files, &study, &study.full.duration, "1");
            let read = Readings::load(&maker).and_then(|r| read_scenarios(&maker, &r, true));
            read.map(|_| ()).unwrap_err().to_string()
        };
        let changed = reported(&STUDY.replace("parameters.delay=0.5", "parameters.dellay=0.5"));
        assert!(changed.contains("study.toml:13:"), "{changed}");
        assert!(changed.contains("dellay"), "{changed}");
        let length = reported(&STUDY.replacen("\"1 s\"", "\"soon\"", 1));
        assert!(length.contains("study.toml:2:"), "{length}");
        let swept = reported(
            &STUDY.replace("sweep = [\"parameters.load\"]", "sweep = [\"parameters.laod\"]"),
        );
        assert!(swept.contains("study.toml:8:"), "{swept}");
    }

    /// What is told of a calibration of the study above with these lines.
    fn mistakes_of_calibration(keep: &str, setting: &str) -> Option<String> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("study.toml"), STUDY).unwrap();
        let text = format!(
            "says = \"\"\nreplicas = 1\n[[parameters]]\nname = \"p\"\nopen = \"\"\n\
             readings = [{{ name = \"r\", says = \"\", set = [\"{setting}\"] }}]\n\
             [[targets]]\nwhat = \"\"\npaper = 1\nwithin = 2\nours = {{ run = \"a\", x = 1 }}\n\
             [keep]\nsays = \"\"\nworkload = \"web\"\n{keep}\n"
        );
        std::fs::write(home.path().join("calibration.toml"), text).unwrap();
        let files = StudyFiles::read(home.path()).unwrap();
        let study = read_study(&files).unwrap();
        read_calibration(&files, &study).err().map(|error| error.to_string())
    }

    #[test]
    fn a_mistake_in_a_calibration_is_told_with_its_line() {
        let keep = "replicas = 2\nof = 4\nrun = \"a\"\nx = 1\nflows = [1, 2]\nbytes = [1, 2]";
        assert_eq!(mistakes_of_calibration(keep, "a=1"), None);
        for (keep, setting, message, line) in [
            (keep.replace("\"a\"", "\"zz\""), "a=1", "unknown run `zz`", 17),
            (keep.replace("x = 1", "x = 7"), "a=1", "no point 7", 18),
            (keep.replace("= 2\n", "= 0\n"), "a=1", "found 0", 15),
            (keep.replace("of = 4", "of = 1"), "a=1", "cannot be kept if 1", 16),
            (keep.replace("flows = [1, 2]", "flows = [2, 1]"), "a=1", "the range must", 19),
            (
                format!("{keep}\nabove = [{{ size = 1, share = [0, 2] }}]"),
                "a=1",
                "the range must",
                21,
            ),
            (keep.to_owned(), "parameters.load=2", "sweeps this key", 6),
        ] {
            let reported =
                mistakes_of_calibration(&keep, setting).unwrap_or_else(|| panic!("{keep}"));
            assert!(reported.contains(message), "{reported}");
            assert!(reported.contains(&format!("calibration.toml:{line}:")), "{reported}");
        }
    }

    #[test]
    fn a_grid_is_checked_to_its_last_reading_before_any_is_run() {
        let reported = |was: &str, is: &str| {
            let home = tempfile::tempdir().unwrap();
            for name in ["study.toml", "testbed.toml", "policies/best-effort.toml"] {
                let text = StudyFiles::find("lhl03").unwrap().text(name).unwrap();
                std::fs::create_dir_all(home.path().join("policies")).unwrap();
                std::fs::write(home.path().join(name), text).unwrap();
            }
            let text = r#"says = ""
replicas = 2
[[parameters]]
name = "load"
open = ""
readings = [
    { name = "8", says = "", set = ["parameters.load=8"] },
    { name = "9", says = "", set = ["parameters.load=9"] },
]
[[targets]]
what = ""
paper = 1
within = 2
ours = { run = "best-effort", x = 1, workload = "ftp" }
"#;
            std::fs::write(home.path().join("calibration.toml"), text.replacen(was, is, 1))
                .unwrap();
            let files = StudyFiles::read(home.path()).unwrap();
            let study = Study { counterfactuals: Vec::new(), ..read_study(&files).unwrap() };
            let spec = read_calibration(&files, &study);
            let maker = Maker::new(&files, &study, &study.full.duration, "1");
            spec.and_then(|spec| check_grid(&maker, &spec)).err().map(|error| error.to_string())
        };
        assert_eq!(reported("", ""), None);
        for (was, is, message, line) in [
            ("load=9", "lod=9", "`lod`", 8),
            ("\"ftp\"", "\"tea\"", "unknown workload `tea`", 14),
            ("x = 1, ", "", "has 2 points", 14),
            ("= 2\n[", "= 20000\n[", "from 1 to 10000", 2),
            ("x = 1", "x = 1, class = \"9 KB\"", "unknown class `9 KB`", 14),
        ] {
            let reported = reported(was, is).unwrap_or_else(|| panic!("{message}"));
            assert!(reported.contains(message), "{reported}");
            assert!(reported.contains(&format!("calibration.toml:{line}:")), "{reported}");
        }
    }
}
