//! Which replicas of a scenario run: those that the options select, those that a folder lacks, or as many as a precision needs.

use std::path::{Path, PathBuf};

use shortflow_measure::results::{COMPARISON, Folder, MANIFEST};
use shortflow_measure::{Point, Run, WarningKind};
use shortflow_run::{
    Case, Interruption, Origin, OutputFolder, ReplicaNumbers, Results, Shard, Widest,
    different_inputs, finish_moving, join, lacking, manifest_of, numbers_in, read_runs,
    renew_warnings,
};
use shortflow_scenario::{Loaded, MAX_REPLICAS};

use crate::console::Console;
use crate::failure::Failure;
use crate::replica_args::ReplicaOptions;
use crate::tables::TableFormat;

/// Which replicas run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Their numbers, for each point; `None` for all.
    numbers: Option<ReplicaNumbers>,
    /// Whether those in the folder are kept.
    resumes: bool,
    /// Whether it was this run that wrote the folder: it retries no points that it stopped.
    is_own: bool,
    /// How narrow intervals are to be, as a share of means; more replicas run until they are.
    pub(crate) precision: Option<f64>,
}

impl Selection {
    /// Continues what this run has saved.
    pub(crate) fn resume_own(&mut self) {
        (self.resumes, self.is_own) = (true, true);
    }

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
        Ok(Selection { numbers, resumes, is_own: false, precision })
    }

    /// What runs, and what is kept of the folder.
    pub(crate) fn resume(
        self,
        cases: &[Case<'_>],
        target: &Path,
        origin: Origin<'_>,
    ) -> Result<Work, Failure> {
        let all = || numbers_in(Shard::default(), &cases[0].loaded);
        let wanted = self.numbers.unwrap_or_else(all);
        let asked: Vec<usize> = wanted.iter().map(Vec::len).collect();
        let mut kept = if self.resumes { kept_runs(cases, target, origin)? } else { Vec::new() };
        if !self.is_own {
            kept.iter_mut().for_each(retry_stopped);
        }
        let numbers = if kept.is_empty() { wanted } else { lacking(wanted, &kept) };
        Ok(Work { numbers, asked, kept })
    }
}

/// The replicas that run, and those that are kept.
#[derive(Debug)]
pub(crate) struct Work {
    /// The numbers of those that run, for each point.
    pub(crate) numbers: ReplicaNumbers,
    /// How many are asked for at each point.
    asked: Vec<usize>,
    /// The runs that are kept, one for each case; none without `--resume`.
    kept: Vec<Run>,
}

/// The runs in the folder of results; none if it is new or empty.
fn kept_runs(cases: &[Case<'_>], target: &Path, origin: Origin<'_>) -> Result<Vec<Run>, Failure> {
    finish_moving(target)?;
    let name = target.display();
    let folder = Folder::open(target);
    if !folder.has(MANIFEST) && !folder.has(COMPARISON) {
        let names = folder.dir().and_then(|dir| dir.names()).unwrap_or_default();
        let is_empty = names.iter().all(|name| name.to_string_lossy().starts_with('.'));
        return if is_empty {
            Ok(Vec::new())
        } else {
            let what = format!("cannot resume in {name}: it has files, but no run\n");
            Err(Failure::Input(what + "give the folder of a run with --out, or omit --resume"))
        };
    }
    let kept = read_runs(&[target.to_owned()])?;
    let differs = |what: String| {
        let what = format!("cannot resume the run in {name}: it differs in {what}\n");
        Failure::Input(
            what + "give the same scenario, policies and settings, or another folder with --out",
        )
    };
    if kept.len() != cases.len() {
        let what = format!("the number of runs ({} there and {} now)", kept.len(), cases.len());
        return Err(differs(what));
    }
    for (case, run) in cases.iter().zip(&kept) {
        if let Some(what) = different_inputs(&run.manifest, &manifest_of(case, origin)) {
            return Err(differs(what));
        }
        if run.points.len() != case.loaded.points().len() {
            return Err(differs("the points of the sweep".to_owned()));
        }
    }
    Ok(kept)
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

impl Work {
    /// The format of the tables in the folder that is resumed, if it has some.
    pub(crate) fn format(&self) -> Option<TableFormat> {
        self.kept.first().and_then(TableFormat::of_run)
    }

    /// The results of what ran, joined with what is kept, whose rows are copied.
    pub(crate) fn with_kept(
        self,
        console: &Console,
        output: &OutputFolder,
        cases: &[Case<'_>],
        results: Results,
        command: &str,
    ) -> Result<Results, Failure> {
        if self.kept.is_empty() {
            return Ok(results);
        }
        let complete =
            self.asked.iter().sum::<usize>() - self.numbers.iter().map(Vec::len).sum::<usize>();
        let Results { runs, interruption, failure } = results;
        let interruption = interruption.map(|Interruption { kept, all }| Interruption {
            kept: kept + complete,
            all: all + complete,
        });
        let mut joined = Vec::new();
        for ((case, kept), run) in cases.iter().zip(self.kept).zip(runs) {
            let folder = case.folder.as_deref();
            if let Some(from) = &kept.folder {
                output.copy_rows(from, folder)?;
            }
            let mut run = join(vec![run, kept], command)?;
            renew_warnings(&mut run, case, Some(&self.asked));
            warn_of_transfers(console, output, &run, folder)?;
            joined.push(run);
        }
        Ok(Results { runs: joined, interruption, failure })
    }
}

/// Has points run again that were stopped.
fn retry_stopped(kept: &mut Run) {
    for point in kept.points.iter_mut().filter(|point| point.was_stopped()) {
        let settings = std::mem::take(&mut point.settings);
        *point = Point::failed(settings, WarningKind::Interrupted, String::new());
    }
}

/// Warns where only some replicas of a run have a file of transfers.
pub(crate) fn warn_of_transfers(
    console: &Console,
    output: &OutputFolder,
    run: &Run,
    folder: Option<&str>,
) -> Result<(), Failure> {
    let without = output.without_transfers(run, folder)?;
    if without > 0 {
        let what = format!("{}: {without} replicas have no file of single transfers", run.label);
        console.warning(&what, "they ran with --no-transfers, or their files were removed");
    }
    Ok(())
}

/// Refuses a folder for results that is inside one that is read, or around it, whose files would be lost.
pub(crate) fn refuse_overlap(out: &Path, read: &[PathBuf]) -> Result<(), Failure> {
    let target = place(out);
    let overlaps = |folder: &&PathBuf| {
        let folder = place(folder);
        folder.starts_with(&target) || target.starts_with(&folder)
    };
    read.iter().find(overlaps).map_or(Ok(()), |folder| {
        Err(Failure::Input(format!(
            "--out {} and {} are in one another, so that results would be lost\ngive another folder with --out",
            out.display(),
            folder.display()
        )))
    })
}

/// Where a path is, as far as it is there, without links.
fn place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, found)) = there else { return path };
    match path.strip_prefix(above) {
        Ok(rest) if !rest.as_os_str().is_empty() => found.join(rest),
        _ => found,
    }
}
