//! What a study runs: every run at every point of its sweep, checked before anything is run.

use shortflow_scenario::{Overrides, Scenario, from_texts};

use crate::cache::fingerprint;
use crate::distribution::Distribution;
use crate::library::StudyFiles;
use crate::reproduce::Error;
use crate::spec::{BusySpec, Effort, RunSpec, Study};

/// One run at one point of its sweep.
pub(crate) struct PointOfRun {
    pub(crate) run: String,
    pub(crate) x: f64,
    pub(crate) scenario: Scenario,
    /// The point whose requests are replayed, and what a client does that is still loading.
    pub(crate) replays: Option<(usize, BusySpec)>,
    /// The distributions of which something is drawn.
    pub(crate) distributions: Vec<Distribution>,
}

/// All runs at all their points, checked before anything is run by an engine of this identity.
pub(crate) fn points(
    files: &StudyFiles,
    study: &Study,
    quick: bool,
    engine: &str,
) -> Result<Vec<PointOfRun>, Error> {
    let effort = if quick { &study.quick } else { &study.full };
    let mut points = Vec::new();
    for run in &study.runs {
        let values = match (&run.quick, quick) {
            (Some(values), true) => values,
            _ => &run.values,
        };
        let is_drawn_from =
            |other: &RunSpec| other.accesses.as_ref().is_some_and(|a| a.run == run.name);
        let draws = study.runs.iter().any(is_drawn_from);
        if draws && run.accesses.is_some() {
            return Err(Error::Study {
                file: files.place("study.toml"),
                message: format!("run {} replays requests, so none can be drawn from it", run.name),
            });
        }
        for &x in values {
            points.push(PointOfRun {
                run: run.name.clone(),
                x,
                scenario: scenario(files, run, effort, x, draws)?,
                replays: None,
                distributions: Distribution::shown(&study.figures, &run.name, x),
            });
        }
    }
    for run in &study.runs {
        find_requests(files, run, &mut points, engine)?;
    }
    Ok(points)
}

/// Finds the points whose requests the points of `run` replay. Their inputs are inputs of these.
fn find_requests(
    files: &StudyFiles,
    run: &RunSpec,
    points: &mut [PointOfRun],
    engine: &str,
) -> Result<(), Error> {
    let Some(accesses) = &run.accesses else { return Ok(()) };
    for at in 0..points.len() {
        if points[at].run != run.name {
            continue;
        }
        let x = accesses.x.unwrap_or(points[at].x);
        let drawn = points.iter().position(|p| p.run == accesses.run && (p.x - x).abs() < 1e-9);
        let drawn = drawn.ok_or_else(|| Error::Study {
            file: files.place("study.toml"),
            message: format!("run {}: the run {} has no point {x}", run.name, accesses.run),
        })?;
        let source = (
            format!("requests of {} at {x}", accesses.run),
            fingerprint(&points[drawn].scenario, engine),
        );
        points[at].scenario.inputs.files.push(source);
        points[at].replays = Some((drawn, accesses.busy));
    }
    Ok(())
}

fn scenario(
    files: &StudyFiles,
    run: &RunSpec,
    effort: &Effort,
    x: f64,
    draws: bool,
) -> Result<Scenario, Error> {
    let text = |name: &str| {
        files.text(name).ok_or_else(|| Error::Study {
            file: files.place(name),
            message: format!("run {} needs this file, which does not exist", run.name),
        })
    };
    let texts =
        [(run.scenario.as_str(), text(&run.scenario)?), (run.policy.as_str(), text(&run.policy)?)];
    let mut set = vec![
        ("duration".to_owned(), effort.duration.clone()),
        ("replicas".to_owned(), effort.replicas.to_string()),
    ];
    for setting in &run.set {
        let (key, value) = setting.split_once('=').ok_or_else(|| Error::Study {
            file: files.place("study.toml"),
            message: format!("run {}: \"{setting}\" is not of the form key=value", run.name),
        })?;
        set.push((key.to_owned(), value.to_owned()));
    }
    if draws {
        set.push(("measure.accesses".to_owned(), "true".to_owned()));
    }
    set.extend(run.sweep.iter().map(|key| (key.clone(), x.to_string())));
    let overrides =
        Overrides { policy: Some(run.policy.clone().into()), set, ..Overrides::default() };
    let loaded = from_texts(&texts, &overrides).map_err(Error::Mistakes)?;
    let point = loaded.into_points().into_iter().next();
    Ok(point.expect("a scenario without sweep has one point").scenario)
}
