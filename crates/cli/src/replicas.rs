//! Which replicas of a scenario run: those that the options select, those that a folder lacks, or as many as a precision needs.

use std::path::Path;

use shortflow_measure::Run;
use shortflow_measure::results::{self, COMPARISON, Folder, MANIFEST};
use shortflow_run::{
    Case, Interruption, Origin, OutputFolder, ReplicaNumbers, Results, Shard, Widest,
    different_inputs, join, lacking, manifest_of, numbers_in, read_runs,
};
use shortflow_scenario::{Loaded, MAX_REPLICAS};

use crate::console::Console;
use crate::failure::Failure;
use crate::replica_args::ReplicaOptions;

/// Which replicas run.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Their numbers, for each point; `None` for all.
    numbers: Option<ReplicaNumbers>,
    /// Whether those in the folder are kept.
    resumes: bool,
    /// How narrow intervals are to be, as a share of means; more replicas run until they are.
    pub(crate) precision: Option<f64>,
}

impl Selection {
    /// These replicas.
    pub(crate) fn only(numbers: ReplicaNumbers) -> Selection {
        Selection { numbers: Some(numbers), ..Selection::default() }
    }

    /// What the options say of a scenario.
    pub(crate) fn new(args: &ReplicaOptions, loaded: &Loaded) -> Result<Selection, Failure> {
        let (part, parts) = args.shard.unwrap_or((1, 1));
        let shard = Shard::new(args.first_replica, part, parts).unwrap_or_default();
        let numbers = numbers_in(shard, loaded);
        if numbers.iter().any(Vec::is_empty) {
            let fewest = loaded.points().iter().map(|point| point.scenario.replicas).min();
            let fewest = fewest.unwrap_or(0);
            return Err(Failure::Input(format!(
                "--shard {part}/{parts}: this part has no replica, as there are {fewest}\n\
                 give at most as many parts as replicas, or more --replicas"
            )));
        }
        let (numbers, resumes, precision) = (Some(numbers), args.resume, args.precision);
        Ok(Selection { numbers, resumes, precision })
    }

    /// The numbers of the replicas that run, and the runs in the folder that keep theirs.
    pub(crate) fn resume(
        self,
        cases: &[Case<'_>],
        target: &Path,
        origin: Origin<'_>,
    ) -> Result<(ReplicaNumbers, Vec<Run>), Failure> {
        let all = || numbers_in(Shard::default(), &cases[0].loaded);
        let numbers = self.numbers.unwrap_or_else(all);
        let folder = Folder::open(target);
        if !self.resumes || !(folder.has(MANIFEST) || folder.has(COMPARISON)) {
            return Ok((numbers, Vec::new()));
        }
        let kept = read_runs(&[target.to_owned()])?;
        let differs = |what: &str| {
            Failure::Input(format!(
                "cannot resume the run in {}: it differs in {what}\n\
                 give the same scenario, policies and settings, or another folder with --out",
                target.display()
            ))
        };
        if kept.len() != cases.len() {
            return Err(differs("the number of compared runs"));
        }
        for (case, run) in cases.iter().zip(&kept) {
            if let Some(what) = different_inputs(&manifest_of(case, origin), &run.manifest) {
                return Err(differs(what));
            }
        }
        Ok((lacking(numbers, &kept), kept))
    }
}

/// Runs more replicas until the widest interval is at most this share of its mean.
pub(crate) fn narrow(
    console: &Console,
    precision: f64,
    mut results: Results,
    mut numbers: ReplicaNumbers,
    run: &dyn Fn(&ReplicaNumbers) -> Result<Results, Failure>,
    command: &str,
) -> Result<Results, Failure> {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let mut replicas = numbers.iter().map(Vec::len).max().unwrap_or(0) as u32;
    loop {
        let is_whole = results.interruption.is_none() && results.failure.is_none();
        let Some(widest) = Widest::find(&results.runs).filter(|_| is_whole) else {
            if is_whole {
                let remedy =
                    "give two --replicas or more, of a scenario in which something is random";
                console.warning("--precision has no effect: no mean has an interval", remedy);
            }
            return Ok(results);
        };
        let is_reached = widest.share <= precision;
        if is_reached || replicas >= MAX_REPLICAS {
            let (what, share, goal) = (widest.what, percent(widest.share), percent(precision));
            let said = if is_reached { "at most" } else { "not" };
            console.note(&format!(
                "{replicas} replicas: intervals are {said} ±{goal}; the widest is ±{share}, {what}"
            ));
            return Ok(results);
        }
        // Intervals of few replicas are uncertain, so their number at most doubles at once.
        let wanted = widest.replicas_for(precision).clamp(replicas + 1, 2 * replicas);
        let more = wanted.min(MAX_REPLICAS) - replicas;
        for numbers in &mut numbers {
            let next = numbers.last().map_or(0, |last| last + 1);
            *numbers = (next..next + more).collect();
        }
        let Results { runs, interruption, failure } = match run(&numbers) {
            Err(Failure::Interrupted(_)) => {
                let (kept, all) = (replicas as usize, (replicas + more) as usize);
                results.interruption = Some(Interruption { kept, all });
                return Ok(results);
            }
            results => results?,
        };
        let both = results.runs.into_iter().zip(runs);
        let joined = both.map(|(before, after)| join(vec![before, after], command));
        let runs = joined.collect::<Result<_, _>>()?;
        results = Results { runs, interruption, failure };
        replicas += more;
    }
}

/// The runs, joined with those that are kept, whose rows are copied.
pub(crate) fn with_kept(
    output: &OutputFolder,
    cases: &[Case<'_>],
    kept: Vec<Run>,
    runs: Vec<Run>,
    command: &str,
) -> Result<(Vec<Run>, Result<(), results::Error>), Failure> {
    if kept.is_empty() {
        return Ok((runs, Ok(())));
    }
    let copy = |(case, run): (&Case<'_>, &Run)| match &run.folder {
        Some(from) => output.copy_rows(from, case.folder.as_deref()),
        None => Ok(()),
    };
    let copied = cases.iter().zip(&kept).try_for_each(copy);
    let both = kept.into_iter().zip(runs);
    let joined = both.map(|(kept, run)| join(vec![kept, run], command));
    Ok((joined.collect::<Result<_, _>>()?, copied))
}
