//! Reproduces a study: its runs, its verdicts, its figures and tables.

use std::sync::atomic::AtomicBool;

use shortflow_measure::Warning;
use shortflow_run::{Engine, Progress, which_tcp};

use crate::calibration::Readings;
use crate::error::Error;
use crate::judge::judged_by;
use crate::ledger::{self, Judged, Judging, Ledger};
use crate::options::{Options, Part};
use crate::part::{committed, judge_part};
use crate::present::{Figure, Reproduced, figure, table};
use crate::runs::{Bench, Distribution, Maker, Wanted};
use crate::spec::{Effort, Looks, Rule, Study, StudyFiles, mistakes};

/// Runs a study by an engine and judges its claims.
///
/// # Errors
/// When a file of the study is mistaken, or when results cannot be kept.
pub fn reproduce(
    engine: &dyn Engine,
    files: &StudyFiles,
    options: &Options<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Reproduced, Error> {
    let mut study = mistakes::read_study(files)?;
    let effort = if options.quick { study.quick.clone() } else { study.full.clone() };
    let (readings, mut claims) = judged_by(engine, files, &study, &effort, options.quick)?;
    study.name_workload(claims.quantities_mut());
    let committed = committed(files, &claims, &readings, &options.part)?;
    if let Part::Claims(ids) = &options.part {
        claims.claims.retain(|claim| ids.contains(&claim.id));
    }
    let alike = Distribution::compared(&claims, Rule::DistributionsAlike);
    let one_by_one = Distribution::compared(&claims, Rule::SlowerOneByOne);
    let maker = Maker {
        files,
        study: &study,
        duration: &effort.duration,
        compared: &alike,
        one_by_one: &one_by_one,
        engine: engine.identity().to_owned(),
        numbers: readings.kept.as_ref().map(|kept| kept.replicas.clone()),
    };
    let warnings = maker.warnings(&readings.best, options.quick)?;
    let mut bench = Bench::new(engine, options, stop, progress)?;
    let judging = Judging {
        study: &study,
        claims: &claims,
        looks: &effort.looks,
        maker: &maker,
        quick: options.quick,
    };
    let mut about = about(files, &study, &effort, options.quick);
    if readings.is_stale {
        about += " Its scenarios or policies have changed since it was calibrated (run --calibrate \
            again).";
    }
    let mut reproduced = Reproduced {
        title: study.title.clone(),
        about,
        ledger: None,
        figures: Vec::new(),
        tables: Vec::new(),
        is_part: committed.is_some(),
        finished: 0,
        stale: 0,
    };
    let ledger = match committed {
        Some(mut ledger) => {
            let is_complete = judge_part(&judging, &readings, &mut ledger, options, &mut bench)?;
            is_complete.then_some(ledger)
        }
        None => judge_all(&judging, &readings, warnings, &mut reproduced, &mut bench)?,
    };
    (reproduced.finished, reproduced.stale) = (bench.finished, bench.stale);
    reproduced.ledger = ledger.map(|mut ledger| {
        ledger::write_beside(&mut ledger, files);
        if !options.quick {
            ledger::join(&mut ledger, files);
        }
        ledger
    });
    Ok(reproduced)
}

/// Judges all claims, and adds figures and tables. `None` when it was interrupted.
fn judge_all(
    judging: &Judging<'_>,
    readings: &Readings,
    warnings: Vec<Warning>,
    reproduced: &mut Reproduced,
    bench: &mut Bench<'_>,
) -> Result<Option<Ledger>, Error> {
    let Judging { study, looks, maker, quick, .. } = *judging;
    let shown = shown(study, looks, quick);
    let Some(Judged { claims, runs }) = judging.judge(readings, &shown, bench)? else {
        return Ok(None);
    };
    let data = runs.data();
    let figures = study.figures.iter().map(|spec| figure(spec, data));
    reproduced.figures = figures.filter(has_points).collect();
    reproduced.tables = study.tables.iter().map(|spec| table(spec, data)).collect();
    Ok(Some(Ledger {
        study: maker.files.id.to_string(),
        quick,
        looks: looks.replicas().to_vec(),
        duration: maker.duration.to_owned(),
        tcp: which_tcp(runs.points().iter().map(|point| &point.scenario)),
        warnings,
        reading: readings.best.name(),
        reading_misses: readings.best_misses,
        rehearsed: String::new(),
        claims,
    }))
}

/// What figures and tables show: every point of their runs, at the first look.
fn shown(study: &Study, looks: &Looks, quick: bool) -> Wanted {
    let replicas = looks.replicas().first().copied().unwrap_or_default();
    let mut wanted = Wanted::default();
    for run in &study.runs {
        let curves = study.figures.iter().flat_map(|figure| &figure.curves).map(|curve| &curve.of);
        let is_drawn = curves.flat_map(|of| std::iter::once(&of.run).chain(&of.over));
        let is_set = study.tables.iter().flat_map(|table| &table.rows).map(|row| &row.run);
        let others = study.tables.iter().flat_map(|table| &table.columns);
        let over = others.filter_map(|column| column.of.over.as_ref());
        if is_drawn.chain(is_set).chain(over).any(|name| *name == run.name) {
            run.points(quick).iter().for_each(|x| wanted.add(&run.name, *x, replicas));
        }
    }
    wanted
}

/// Which study it is, and how much of it is run.
fn about(files: &StudyFiles, study: &Study, effort: &Effort, quick: bool) -> String {
    let mut about = match study.about.as_str() {
        "" => files.description(),
        paper => format!("{paper}. {}", files.description()),
    };
    if quick {
        let Effort { looks, duration } = effort;
        about += &format!(
            " This is the short form, with {} replicas of {duration}: its verdicts may differ from \
                those of the full run. Notes on the full run are omitted.",
            looks.max_replicas()
        );
    }
    about
}

/// A short study may have run none of a figure's points.
fn has_points(figure: &Figure) -> bool {
    figure.curves.iter().any(|curve| !curve.points.is_empty())
}
