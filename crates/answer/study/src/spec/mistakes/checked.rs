//! Reads the files of a study, and checks that they name what there is.

use super::cases::Cases;
use super::checker::{Checker, Plans};
use super::document::document;
use super::names::{self, check_unique};
use crate::error::Error;
use crate::spec::names::{CALIBRATION, CLAIMS, STUDY};
use crate::spec::{CalibrationSpec, Claims, MAX_REPLICAS, Study, StudyFiles};

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

/// Reads the claims of a study, whose quantities must name runs, points, workloads and changes that
/// there are.
pub(crate) fn read_claims(
    files: &StudyFiles,
    study: &Study,
    plans: &Plans,
) -> Result<Claims, Error> {
    let mut document = document(files, CLAIMS)?;
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
    let mut document = document(files, CALIBRATION)?;
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

/// Checks that the runs of a calibration have what its targets are taken of.
pub(crate) fn check_targets(
    files: &StudyFiles,
    study: &Study,
    spec: &CalibrationSpec,
    plans: &Plans,
) -> Result<(), Error> {
    let mut document = document(files, CALIBRATION)?;
    let mut checker = Checker { document: &mut document, study, plans };
    for (number, target) in spec.targets.iter().enumerate() {
        checker.subject(&format!("targets.{number}.ours"), &target.ours, None);
    }
    if let Some(keep) = &spec.keep {
        checker.workload("keep.workload", &keep.run, &keep.workload);
    }
    document.checked().map_err(Error::Mistakes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A study of one line.
    pub(crate) const LINE: &str = r#"title = "a line"
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

    /// The mistakes found in the study with these lines at its end.
    fn mistakes_of(more: &str) -> Option<String> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("study.toml"), format!("{LINE}{more}\n")).unwrap();
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

    /// The mistakes found in a calibration of the study above with these settings.
    fn mistakes_of_calibration(keep: &str, setting: &str) -> Option<String> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("study.toml"), LINE).unwrap();
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
}
