//! The runs of a study at the points of their sweeps, as scenarios.

use shortflow_measure::Warning;
use shortflow_run::{fingerprint, input_warning};
use shortflow_scenario::{Loaded, Overrides, Scenario, from_texts};

use super::distribution::Distribution;
use crate::error::Error;
use crate::spec::{BusySpec, RunSpec, Study, StudyFiles, Variant, is_same, mistakes, names};

/// One run at one point of its sweep.
pub(crate) struct PointOfRun {
    pub(crate) run: String,
    pub(crate) x: f64,
    pub(crate) scenario: Scenario,
    /// The scenario with the requests that it replays, once they are drawn.
    pub(crate) replaying: Option<Scenario>,
    /// Where its replicas are kept among those of other variants.
    pub(crate) place: String,
    /// The run and the point whose requests are replayed, and what a client does that is loading.
    pub(crate) replays: Option<(String, f64, BusySpec)>,
    /// The distributions of completion times that are wanted.
    pub(crate) distributions: Vec<Distribution>,
    /// The classes of transfers that are wanted one by one.
    pub(crate) items: Vec<Distribution>,
}

impl PointOfRun {
    /// The scenario that is run.
    pub(crate) fn to_run(&self) -> &Scenario {
        self.replaying.as_ref().unwrap_or(&self.scenario)
    }
}

/// What a point is made from.
#[derive(Clone)]
pub(crate) struct Maker<'s> {
    pub(crate) files: &'s StudyFiles,
    pub(crate) study: &'s Study,
    /// Simulated duration, where a run sets none itself.
    pub(crate) duration: &'s str,
    /// The distributions that claims ask for, with the run whose it is.
    pub(crate) compared: &'s [(String, Distribution)],
    /// The classes whose transfers claims compare one by one, likewise.
    pub(crate) one_by_one: &'s [(String, Distribution)],
    /// What tells the engine's results from those of another.
    pub(crate) engine: String,
    /// The numbers of the replicas that are kept; all when absent.
    pub(crate) numbers: Option<Vec<u32>>,
}

impl<'s> Maker<'s> {
    /// Of a study whose claims are not known: of every replica, and nothing is kept to be compared.
    pub(crate) fn new(
        files: &'s StudyFiles,
        study: &'s Study,
        duration: &'s str,
        engine: &str,
    ) -> Maker<'s> {
        let (engine, compared, one_by_one) = (engine.to_owned(), &[], &[]);
        Maker { files, study, duration, compared, one_by_one, engine, numbers: None }
    }
}

impl Maker<'_> {
    /// `run` at `x` in a variant, checked before anything is run.
    pub(crate) fn point(
        &self,
        run: &RunSpec,
        x: f64,
        variant: &Variant,
    ) -> Result<PointOfRun, Error> {
        let mut scenario = self.scenario(run, x, variant)?;
        let mut place = variant.name_for(&[run]);
        let mut replays = None;
        if let Some(accesses) = &run.accesses {
            let from = self.drawn(run, &accesses.run)?;
            let at = accesses.x.unwrap_or(x);
            if !from.values.iter().any(|value| is_same(*value, at)) {
                let message = format!("run {}: the run {} has no point {at}", run.name, from.name);
                return Err(self.mistake(message));
            }
            // What it replays is an input of it.
            let drawn = fingerprint(&self.scenario(from, at, variant)?, &self.engine);
            scenario.inputs.files.push((format!("requests of {} at {at}", from.name), drawn));
            place = variant.name_for(&[run, from]);
            replays = Some((from.name.clone(), at, accesses.busy));
        }
        let mut distributions = Distribution::shown(&self.study.figures, &run.name, x);
        let compared = self.compared.iter().filter(|(of, _)| *of == run.name);
        for (_, wanted) in compared {
            if !distributions.contains(wanted) {
                distributions.push(wanted.clone());
            }
        }
        let items = self.one_by_one.iter().filter(|(of, _)| *of == run.name);
        let items = items.map(|(_, wanted)| wanted.clone()).collect();
        let (run, replaying) = (run.name.clone(), None);
        Ok(PointOfRun { run, x, scenario, replaying, place, replays, distributions, items })
    }

    /// The run called `name`, which draws the requests that `run` replays.
    fn drawn(&self, run: &RunSpec, name: &str) -> Result<&RunSpec, Error> {
        let from = self.study.run(name).ok_or_else(|| {
            self.mistake(format!("run {}: the run {name} to replay does not exist", run.name))
        })?;
        match &from.accesses {
            None => Ok(from),
            Some(_) => Err(self.mistake(format!(
                "run {name} replays requests, so {} cannot draw requests from it",
                run.name
            ))),
        }
    }

    /// The warnings about the policies and scenarios of all runs in a variant, each once.
    pub(crate) fn warnings(&self, variant: &Variant, quick: bool) -> Result<Vec<Warning>, Error> {
        let mut found = Vec::new();
        for run in &self.study.runs {
            let Some(x) = run.points(quick).first() else { continue };
            for one in &self.loaded(run, *x, variant)?.warnings.0 {
                let mut warning = input_warning(one);
                if let Some(place) = &mut warning.place {
                    place.file = self.files.place(&place.file);
                }
                if !found.contains(&warning) {
                    found.push(warning);
                }
            }
        }
        Ok(found)
    }

    fn scenario(&self, run: &RunSpec, x: f64, variant: &Variant) -> Result<Scenario, Error> {
        let point = self.loaded(run, x, variant)?.into_points().into_iter().next();
        Ok(point.expect("a scenario without sweep has one point").scenario)
    }

    fn loaded(&self, run: &RunSpec, x: f64, variant: &Variant) -> Result<Loaded, Error> {
        let text = |name: &str| {
            self.files.text(name).ok_or_else(|| Error::Study {
                file: self.files.place(name),
                message: format!("run {} needs this file, which does not exist", run.name),
            })
        };
        let policy = variant.policy(run);
        let texts = [(run.scenario.as_str(), text(&run.scenario)?), (policy, text(policy)?)];
        let mut set = vec![("duration".to_owned(), self.duration.to_owned())];
        for setting in variant.settings(run) {
            let (key, value) = setting.split_once('=').ok_or_else(|| {
                self.mistake(format!(
                    "run {}: \"{setting}\" must have the form key=value",
                    run.name
                ))
            })?;
            set.push((key.to_owned(), value.to_owned()));
        }
        let draws = |other: &RunSpec| other.accesses.as_ref().is_some_and(|a| a.run == run.name);
        if self.study.runs.iter().any(draws) {
            set.push(("measure.accesses".to_owned(), "true".to_owned()));
        }
        set.extend(run.sweep.iter().map(|key| (key.clone(), x.to_string())));
        let overrides = Overrides { policy: Some(policy.into()), set, ..Overrides::default() };
        from_texts(&texts, &overrides).map_err(|found| {
            Error::Mistakes(mistakes::at_their_places(self.files, self.study, found))
        })
    }

    /// The number of the replica that comes at this place.
    pub(crate) fn number(&self, place: u32) -> u32 {
        self.numbers.as_ref().map_or(place, |numbers| numbers[place as usize])
    }

    /// The most replicas that there can be of any point.
    pub(crate) fn max_replicas(&self) -> u32 {
        self.numbers.as_ref().map_or(u32::MAX, |numbers| numbers.len() as u32)
    }

    /// A claim whose checks are others than those of the committed ledger.
    pub(crate) fn other_checks(&self, claim: &str) -> Error {
        let file = self.files.place(names::LEDGER);
        let message =
            format!("other checks of {claim} than in claims.toml; judge it with --claims {claim}");
        Error::Study { file, message }
    }

    fn mistake(&self, message: String) -> Error {
        Error::Study { file: self.files.place(names::STUDY), message }
    }
}
