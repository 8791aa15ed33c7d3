//! The grid of a calibration: all readings of the open parameters, each run and compared with the targets.

use std::sync::atomic::AtomicBool;

use shortflow_measure::mean;
use shortflow_run::{Engine, Progress, plan};

use super::outcome::{Calibration, Fit, Target};
use super::ran::ran;
use super::replica_selection;
use crate::digest::digest;
use crate::error::Error;
use crate::options::Options;
use crate::runs::{Bench, Maker, Runs, Wanted};
use crate::spec::mistakes::{self, Plans};
use crate::spec::names::CALIBRATION;
use crate::spec::{CalibrationSpec, RunSpec, StudyFiles, TargetSpec, Variant};

/// Runs the grid of a study's calibration by an engine. `None` when it was interrupted.
///
/// # Errors
/// When there is nothing to calibrate, a file of the study is mistaken, or results cannot be kept.
pub fn calibrate(
    engine: &dyn Engine,
    files: &StudyFiles,
    options: &Options<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Option<Calibration>, Error> {
    let Some(text) = files.text(CALIBRATION) else {
        let message = "this study has no such file, so it has nothing to calibrate".to_owned();
        return Err(Error::Study { file: files.place(CALIBRATION), message });
    };
    let mut study = mistakes::read_study(files)?;
    let mut spec = mistakes::read_calibration(files, &study)?;
    study.name_workload(spec.quantities_mut());
    let duration = spec.duration.as_ref().unwrap_or(&study.full.duration);
    let maker = Maker::new(files, &study, duration, engine.identity());
    check_grid(&maker, &spec)?;
    let mut bench = Bench::new(engine, options, stop, progress)?;
    run_grid(&spec, text, &maker, &mut bench)
}

/// Reads every scenario of a calibration's grid, and checks that the runs have what its targets are taken of.
fn check_grid(maker: &Maker<'_>, spec: &CalibrationSpec) -> Result<(), Error> {
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
    mistakes::check_targets(maker.files, maker.study, spec, &plans)
}

/// Runs the whole grid. `None` when it was interrupted.
///
/// # Errors
/// When a scenario is mistaken, a replica fails, or results cannot be kept.
fn run_grid(
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
        wanted.add_quantity(&target.ours, target.ours.x.unwrap_or(only), spec.replicas);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Study;

    /// A figure of 20 within a factor of 1.25, and one of 0.01 within a factor of 2.
    fn targets() -> Vec<TargetSpec> {
        let target = |paper: f64, within: f64| {
            let text = format!(
                "what = \"\"\npaper = {paper}\nwithin = {within}\nours = {{ run = \"a\", x = 1 }}"
            );
            toml::from_str(&text).unwrap()
        };
        vec![target(20.0, 1.25), target(0.01, 2.0)]
    }

    #[test]
    fn a_reading_passes_when_it_meets_every_target() {
        let fit = |flows, loss| {
            let fit = super::fit(Vec::new(), vec![Some(flows), loss], &targets());
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
            let study =
                Study { counterfactuals: Vec::new(), ..mistakes::read_study(&files).unwrap() };
            let spec = mistakes::read_calibration(&files, &study);
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
