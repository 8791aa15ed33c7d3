//! Calibration: selects the reading of a paper's open parameters that matches the paper's description of its set-up.
//!
//! The readings, the target figures and the tolerance are in `calibration.toml`, which is committed before any claim
//! is checked. The grid of all readings is run once; its result is kept in `calibration.json`, and claims are judged
//! at the reading that fits best.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shortflow_measure::mean;
use shortflow_measure::results::{self, Folder};
use shortflow_report::significant;

use crate::checks::want;
use crate::library::StudyFiles;
use crate::mistakes;
use crate::points::Maker;
use crate::replica_selection::{self, SelectedReplicas};
use crate::reproduce::Error;
use crate::runs::{Bench, Runs, Wanted};
use crate::spec::{CalibrationSpec, ChangeSpec, TargetSpec};
use crate::variant::Variant;

/// The file with the readings and the targets.
pub(crate) const SPEC: &str = "calibration.toml";
/// The file with what came of the grid.
pub(crate) const OUTCOME: &str = "calibration.json";
/// The same for a person.
const TABLE: &str = "calibration.md";
/// What a person reads first of a study.
const README: &str = "README.md";

/// What came of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// What `calibration.toml` said, as a digest: an outcome belongs to it alone.
    pub of: String,
    /// What the grid ran, as a digest of its scenarios and policies; empty where that was not noted.
    #[serde(default)]
    pub ran: String,
    /// Replicas of each point.
    pub replicas: u32,
    /// What was to be met.
    pub targets: Vec<Target>,
    /// The replicas that are kept, where the paper says what its users asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<SelectedReplicas>,
    /// Every reading, the one that fits best first.
    pub grid: Vec<Fit>,
}

/// A figure that a reading must meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What it is.
    pub what: String,
    /// The paper's figure.
    pub paper: f64,
    /// Ours must lie within this factor of it.
    pub within: f64,
}

/// A reading, and how well it fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The names of the readings of all parameters.
    pub reading: Vec<String>,
    /// The measured value of each target; `None` if nothing was measured.
    pub ours: Vec<Option<f64>>,
    /// The root of the mean square of ln(ours/paper)/ln(within): 1 is just as far off as is allowed.
    /// `None` where some target was not measured.
    pub misfit: Option<f64>,
    /// Whether every target is met.
    pub passes: bool,
}

/// The readings under which claims are judged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readings {
    /// The one that fits best.
    pub(crate) best: Variant,
    /// Whether that one misses a figure, too.
    pub(crate) best_misses: bool,
    /// The others that pass.
    pub(crate) others: Vec<Variant>,
    /// The replicas that are kept; all when absent.
    pub(crate) kept: Option<SelectedReplicas>,
    /// Whether the scenarios or policies of the grid have changed since it was run.
    pub(crate) is_stale: bool,
}

impl Readings {
    /// Those that the study's calibration gave; one, without any change, where nothing is calibrated.
    ///
    /// # Errors
    /// When the calibration was not run, or is of another `calibration.toml`.
    pub(crate) fn load(maker: &Maker<'_>) -> Result<Readings, Error> {
        let files = maker.files;
        let Some(text) = files.text(SPEC) else { return Ok(Readings::default()) };
        let spec: CalibrationSpec = mistakes::read(files, SPEC)?;
        let is_missing = |message: &str| Error::Study {
            file: files.place(OUTCOME),
            message: format!(
                "{message}; run `shortflow reproduce {} --calibrate`",
                files.argument()
            ),
        };
        let outcome =
            files.text(OUTCOME).ok_or_else(|| is_missing("the study is not calibrated"))?;
        let outcome: Calibration =
            serde_json::from_str(outcome).map_err(|error| is_missing(&error.to_string()))?;
        if outcome.of != digest(text) {
            return Err(is_missing("calibration.toml has changed since the grid was run"));
        }
        let variant = |fit: &Fit| spec.variant(&fit.reading);
        let best = outcome.grid.first().and_then(variant);
        let best = best.ok_or_else(|| is_missing("it names no reading of calibration.toml"))?;
        let best_misses = outcome.grid.first().is_some_and(|fit| !fit.passes);
        let others = outcome.grid.iter().skip(1).filter(|fit| fit.passes).filter_map(variant);
        let others = others.collect();
        let is_stale = !outcome.ran.is_empty() && outcome.ran != ran(&spec, maker, &best)?;
        Ok(Readings { best, best_misses, others, kept: outcome.kept, is_stale })
    }
}

impl CalibrationSpec {
    /// The changes that these readings make, one for each parameter.
    pub(crate) fn variant(&self, names: &[String]) -> Option<Variant> {
        let reading = |(parameter, name): (&crate::spec::ParameterSpec, &String)| {
            parameter.readings.iter().find(|reading| reading.name == *name).cloned()
        };
        let is_complete = names.len() == self.parameters.len();
        let changes: Option<Vec<ChangeSpec>> =
            self.parameters.iter().zip(names).map(reading).collect();
        changes.filter(|_| is_complete).map(Variant::new)
    }

    /// All readings: every way to read each parameter with every way to read the others.
    pub(crate) fn grid(&self) -> Vec<Vec<String>> {
        self.parameters.iter().fold(vec![Vec::new()], |grid, parameter| {
            let longer = |names: &Vec<String>| {
                let names = names.clone();
                let with = move |reading: &ChangeSpec| {
                    [names.as_slice(), std::slice::from_ref(&reading.name)].concat()
                };
                parameter.readings.iter().map(with).collect::<Vec<_>>()
            };
            grid.iter().flat_map(longer).collect()
        })
    }
}

/// Runs the whole grid. `None` when it was interrupted.
///
/// # Errors
/// When a scenario is mistaken, a replica fails, or results cannot be kept.
pub(crate) fn calibrate(
    spec: &CalibrationSpec,
    text: &str,
    maker: &Maker<'_>,
    bench: &mut Bench<'_>,
) -> Result<Option<Calibration>, Error> {
    let names = spec.grid();
    let variant = |names: &Vec<String>| spec.variant(names).expect("the grid is of the readings");
    let mut maker = maker.clone();
    let mut kept = None;
    if let (Some(keep), Some(first)) = (&spec.keep, names.first()) {
        let Some(found) = replica_selection::select(keep, &maker, variant(first), bench)? else {
            return Ok(None);
        };
        maker.numbers = Some(found.replicas.clone());
        kept = Some(found);
    }
    let mut wanted = Wanted::default();
    for target in &spec.targets {
        let run = maker.study.run(&target.ours.run);
        let only = run.and_then(|run| run.values.first()).copied().unwrap_or_default();
        want(&mut wanted, &target.ours, target.ours.x.unwrap_or(only), spec.replicas);
    }
    let mut grid = Vec::new();
    for (number, reading) in (1..).zip(&names) {
        let mut runs = Runs::new(&maker, variant(reading));
        bench.progress.stage(&format!("{} ({number} of {})", reading.join("+"), names.len()));
        if !runs.raise(&wanted, bench)? {
            return Ok(None);
        }
        let ours = spec.targets.iter().map(|target| {
            let x =
                target.ours.x.or_else(|| runs.data().point(&target.ours.run, None).map(|p| p.0));
            let readings = runs.data().readings(&target.ours, x?, None).ok()?;
            mean(&readings.iter().map(|reading| reading.value()).collect::<Vec<_>>())
        });
        grid.push(fit(reading.clone(), ours.collect(), &spec.targets));
    }
    grid.sort_by(|a, b| {
        let key = |fit: &Fit| fit.misfit.unwrap_or(f64::INFINITY);
        key(a).total_cmp(&key(b))
    });
    let targets = spec.targets.iter().map(|target| Target {
        what: target.what.clone(),
        paper: target.paper,
        within: target.within,
    });
    let targets = targets.collect();
    let best = grid.first().map_or_else(Variant::default, |fit| variant(&fit.reading));
    let (of, ran) = (digest(text), ran(spec, &maker, &best)?);
    Ok(Some(Calibration { of, ran, replicas: spec.replicas, targets, kept, grid }))
}

/// A digest of the scenarios and policies of what the targets measure, under the reading that fits best: the
/// same whatever engine runs them.
fn ran(spec: &CalibrationSpec, maker: &Maker<'_>, best: &Variant) -> Result<String, Error> {
    let duration = spec.duration.as_ref().unwrap_or(&maker.study.full.duration);
    let maker = Maker { duration, engine: String::new(), ..maker.clone() };
    let mut each = Vec::new();
    for target in &spec.targets {
        let Some(run) = maker.study.run(&target.ours.run) else { continue };
        let Some(x) = target.ours.x.or_else(|| run.values.first().copied()) else { continue };
        each.push(shortflow_run::fingerprint(&maker.point(run, x, best)?.scenario, ""));
    }
    Ok(shortflow_run::digest(each.iter().map(String::as_str)))
}

fn fit(reading: Vec<String>, ours: Vec<Option<f64>>, targets: &[TargetSpec]) -> Fit {
    let off = |(target, ours): (&TargetSpec, &Option<f64>)| {
        let ratio = (*ours)? / target.paper;
        (ratio > 0.0).then(|| (libm::log(ratio) / libm::log(target.within)).abs())
    };
    let off: Option<Vec<f64>> = targets.iter().zip(&ours).map(off).collect();
    let passes = off.as_ref().is_some_and(|off| off.iter().all(|off| *off <= 1.0));
    let squares = off.map(|off| off.iter().map(|off| off * off).collect::<Vec<_>>());
    let misfit = squares.and_then(|squares| mean(&squares)).map(f64::sqrt);
    Fit { reading, ours, misfit, passes }
}

impl Calibration {
    /// Writes it for machines and for people into `out`; and where the study is a folder, into that
    /// and its README too, between `<!-- begin: calibration -->` and `<!-- end: calibration -->`. Gives
    /// the files that it wrote.
    ///
    /// # Errors
    /// When a file cannot be written, which then is as it was.
    pub fn write(&self, out: &Path, files: &StudyFiles) -> Result<Vec<PathBuf>, results::Error> {
        let table = self.table();
        let mut written = Vec::new();
        let mut write = |folder: &Folder, name: &str, text: &str| {
            folder.write_text(name, text)?;
            written.push(folder.path().join(name));
            Ok(())
        };
        for folder in std::iter::once(out).chain(files.folder()) {
            let folder = Folder::create(folder)?;
            write(&folder, OUTCOME, &format!("{:#}\n", serde_json::json!(self)))?;
            write(&folder, TABLE, &table)?;
        }
        let study = files.folder().map(Folder::open);
        let text = study.as_ref().and_then(|study| study.read_text(README).ok());
        let renewed = text.and_then(|text| with_block(&text, &table));
        if let (Some(study), Some(renewed)) = (study, renewed) {
            write(&study, README, &renewed)?;
        }
        Ok(written)
    }

    /// The grid as a table in Markdown, the best fit first.
    pub fn table(&self) -> String {
        let mut out = String::new();
        if let Some(SelectedReplicas { drawn, replicas }) = &self.kept {
            out += &format!("Of {drawn} replicas drawn, {} are kept.\n\n", replicas.len());
        }
        out += "| reading |";
        for target in &self.targets {
            out +=
                &format!(" {} (paper: {}, within ×{}) |", target.what, target.paper, target.within);
        }
        out += " misfit | passes |\n|---|";
        out += &"---:|".repeat(self.targets.len() + 1);
        out += "---|\n";
        for fit in &self.grid {
            out += &format!("| {} |", fit.reading.join(", "));
            for ours in fit.ours.iter().chain([&fit.misfit]) {
                out += &format!(" {} |", ours.map_or_else(|| "–".to_owned(), significant));
            }
            out += if fit.passes { " yes |\n" } else { " no |\n" };
        }
        out
    }
}

/// The document with another text in its part for the calibration, if it has one.
fn with_block(document: &str, text: &str) -> Option<String> {
    const BEGIN: &str = "<!-- begin: calibration -->";
    const END: &str = "<!-- end: calibration -->";
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{text}\n{END}{after}"))
}

/// A text in 128 bits.
pub(crate) fn digest(text: &str) -> String {
    shortflow_run::digest([text])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"
says = "the load on the number of flows"
replicas = 4
[[parameters]]
name = "load"
open = "what counts"
readings = [{ name = "all", says = "", set = ["load=1"] }, { name = "data", says = "", set = ["load=2"] }]
[[parameters]]
name = "window"
open = "how large"
readings = [{ name = "20", says = "" }, { name = "64", says = "" }]
[[targets]]
what = "flows"
paper = 20
within = 1.25
ours = { run = "a", x = 1 }
[[targets]]
what = "loss"
paper = 0.01
within = 2.0
ours = { run = "a", x = 1 }
"#;

    fn spec() -> CalibrationSpec {
        toml::from_str(SPEC).unwrap()
    }

    #[test]
    fn no_committed_calibration_is_older_than_its_scenarios_under_any_engine() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            let study = mistakes::read_study(files).unwrap();
            for engine in ["1", "2"] {
                let maker = Maker::new(files, &study, &study.full.duration, engine);
                let readings = Readings::load(&maker).unwrap();
                assert!(!readings.is_stale, "{name}: calibrate it anew");
            }
        }
    }

    #[test]
    fn the_grid_has_every_reading_of_each_parameter_with_every_other() {
        let names: Vec<String> = spec().grid().iter().map(|names| names.join("+")).collect();
        assert_eq!(names, ["all+20", "all+64", "data+20", "data+64"]);
        assert_eq!(spec().variant(&spec().grid()[2]).unwrap().name(), "data+20");
        assert!(spec().variant(&["all".to_owned()]).is_none());
        assert!(spec().variant(&["all".to_owned(), "65".to_owned()]).is_none());
    }

    #[test]
    fn a_reading_passes_when_it_meets_every_target() {
        let fit = |flows, loss| {
            let fit = super::fit(Vec::new(), vec![Some(flows), loss], &spec().targets);
            (fit.passes, fit.misfit.map(|misfit| (misfit * 1000.0).round() / 1000.0))
        };
        assert_eq!(fit(20.0, Some(0.01)), (true, Some(0.0)));
        assert_eq!(fit(25.0, Some(0.005)), (true, Some(1.0)), "each as far off as is allowed");
        assert_eq!(
            fit(20.0, Some(0.04)),
            (false, Some(2.0_f64.sqrt()).map(|m| (m * 1e3).round() / 1e3))
        );
        assert_eq!(fit(20.0, None), (false, None));
        assert_eq!(fit(20.0, Some(0.0)), (false, None), "no ratio to a figure");
    }

    #[test]
    fn the_readme_has_the_grid_between_its_marks() {
        let document = "# A\n<!-- begin: calibration -->\nold\n<!-- end: calibration -->\nafter\n";
        let renewed = with_block(document, "| new |\n").unwrap();
        let expected =
            "# A\n<!-- begin: calibration -->\n\n| new |\n\n<!-- end: calibration -->\nafter\n";
        assert_eq!(renewed, expected);
        assert_eq!(with_block("# A\n", "| new |\n"), None);
    }
}
