//! What claims are judged by: the readings and the claims, after everything that will be run is checked.

use shortflow_run::{Engine, plan};
use shortflow_scenario::{Inputs, Scenario};

use crate::calibration::Readings;
use crate::error::Error;
use crate::runs::Maker;
use crate::spec::mistakes::{self, Plans};
use crate::spec::{Claims, Effort, RunSpec, Study, StudyFiles, Variant, names};

/// The readings at which claims are judged, and the claims; everything that will be run is checked.
pub(crate) fn judged_by(
    engine: &dyn Engine,
    files: &StudyFiles,
    study: &Study,
    effort: &Effort,
    quick: bool,
) -> Result<(Readings, Claims), Error> {
    let maker = Maker::new(files, study, &effort.duration, engine.identity());
    let readings = Readings::load(&maker)?;
    let plans = read_scenarios(&maker, &readings, quick)?;
    mistakes::check_shown(files, study, &plans)?;
    let claims = mistakes::read_claims(files, study, &plans)?;
    Ok((readings, claims))
}

/// Reads every scenario that a study may run under its readings, so that an error is reported before anything is run:
/// each point under the best reading, the first point of each run that another reading or a counterfactual changes. A
/// `quick` study has its own points.
fn read_scenarios(maker: &Maker<'_>, readings: &Readings, quick: bool) -> Result<Plans, Error> {
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
    let mut document = mistakes::document(maker.files, names::STUDY)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::mistakes::checked::tests::LINE;

    fn plans_of(files: &StudyFiles, study: &Study) -> Result<Plans, Error> {
        let maker = Maker::new(files, study, &study.full.duration, "1");
        let plans = read_scenarios(&maker, &Readings::load(&maker)?, false)?;
        mistakes::check_shown(files, study, &plans)?;
        Ok(plans)
    }

    fn claims_of(files: &StudyFiles) -> Result<Claims, Error> {
        let study = mistakes::read_study(files)?;
        mistakes::read_claims(files, &study, &plans_of(files, &study)?)
    }

    #[test]
    fn the_claims_of_all_studies_name_what_there_is() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            let claims = claims_of(files).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!claims.claims.is_empty(), "{name}");
        }
    }

    /// A copy of the study cm05 without its claims. Its scenarios are read once for all claims.
    struct CopyOfCm05 {
        home: tempfile::TempDir,
        study: Study,
        plans: Plans,
    }

    impl CopyOfCm05 {
        fn new() -> CopyOfCm05 {
            let (home, of_study) =
                (tempfile::tempdir().unwrap(), StudyFiles::find("cm05").unwrap());
            let copy = |name: &str| {
                std::fs::write(home.path().join(name), of_study.text(name).unwrap()).unwrap();
            };
            ["study.toml", "single.toml", "multi.toml"].into_iter().for_each(copy);
            std::fs::create_dir(home.path().join("policies")).unwrap();
            let study = mistakes::read_study(of_study).unwrap();
            study.runs.iter().for_each(|run| copy(&run.policy));
            let plans = plans_of(&StudyFiles::read(home.path()).unwrap(), &study).unwrap();
            CopyOfCm05 { home, study, plans }
        }

        /// The name of its first run.
        fn run(&self) -> &str {
            &self.study.runs[0].name
        }

        /// The mistakes found in a claim with this check.
        fn mistakes_of_check(&self, check: &str) -> String {
            let claim = "[[claim]]\nid = \"c.1\"\nclaim = \"c\"\n[[claim.check]]\nwhat = \"w\"\npaper = \"p\"\n";
            std::fs::write(self.home.path().join("claims.toml"), format!("{claim}{check}\n"))
                .unwrap();
            let files = StudyFiles::read(self.home.path()).unwrap();
            mistakes::read_claims(&files, &self.study, &self.plans).unwrap_err().to_string()
        }
    }

    #[test]
    fn a_check_of_what_its_measure_or_rule_does_not_take_is_told_with_its_line() {
        let study = CopyOfCm05::new();
        let run = study.run();
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
            let reported = study.mistakes_of_check(&check);
            assert!(reported.contains(message), "{reported}");
            assert!(reported.contains(&format!("claims.toml:{line}:")), "{reported}");
        }
    }

    #[test]
    fn a_mistaken_claim_is_told_with_its_line_and_what_there_is() {
        let study = CopyOfCm05::new();
        let run = study.run();
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
            let reported = study.mistakes_of_check(&check);
            assert!(reported.contains(message), "{reported}");
            assert!(reported.contains(&format!("claims.toml:{line}:")), "{reported}");
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
            let study = mistakes::read_study(&files).unwrap();
            let maker = Maker::new(&files, &study, &study.full.duration, "1");
            let read = Readings::load(&maker).and_then(|r| read_scenarios(&maker, &r, true));
            read.map(|_| ()).unwrap_err().to_string()
        };
        let changed = reported(&LINE.replace("parameters.delay=0.5", "parameters.dellay=0.5"));
        assert!(changed.contains("study.toml:13:"), "{changed}");
        assert!(changed.contains("dellay"), "{changed}");
        let length = reported(&LINE.replacen("\"1 s\"", "\"soon\"", 1));
        assert!(length.contains("study.toml:2:"), "{length}");
        let swept = reported(
            &LINE.replace("sweep = [\"parameters.load\"]", "sweep = [\"parameters.laod\"]"),
        );
        assert!(swept.contains("study.toml:8:"), "{swept}");
    }
}
