//! `reproduce`: runs published studies again, and shows the ledgers of their claims.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use shortflow_measure::results::COMPARISON;
use shortflow_sim::Simulator;
use shortflow_study::judge::Verdict;
use shortflow_study::{self as study, Calibration, Ledger, Reproduced, StudyFiles, files};

use crate::args::Reproduce;
use crate::console::Console;
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::rehearse::rehearsal_over_ipv4;

/// What stands for all built-in studies.
const ALL: &str = "all";

/// `shortflow reproduce`.
pub(crate) fn reproduce(console: &Console, args: &Reproduce) -> Result<(), Failure> {
    if args.study != ALL {
        if args.renew {
            let run = format!("`shortflow reproduce {}` runs the study as it is", args.study);
            return Err(Failure::Input(format!("--renew is for `reproduce all`; {run}")));
        }
        let found = study::find(&args.study)?;
        let out = args.out.clone().unwrap_or_else(|| results(args).join(&*found.id));
        let one = One { console, args, files: &found, out, stop: stop_on_interrupt()? };
        return match (args.calibrate, args.rehearse, args.models) {
            (true, _, _) => one.calibrate(),
            (_, true, _) => one.rehearse(),
            (_, _, true) => one.models(),
            _ => verdict(&[one.reproduce()?]),
        };
    }
    if args.changes || !args.claims.is_empty() {
        let message = "--claims and --changes are for one study, in whose committed ledger they judge a part again";
        return Err(Failure::Input(message.to_owned()));
    }
    if args.rehearse {
        let message = "--rehearse is for one study; the study selects what is rehearsed";
        return Err(Failure::Input(message.to_owned()));
    }
    if args.models {
        let message =
            "--models is for one study; the study says what its formulas are compared with";
        return Err(Failure::Input(message.to_owned()));
    }
    let runs = args.renew || args.quick || args.calibrate;
    if !runs && (args.out.is_some() || args.jobs.is_some()) {
        let message = "`reproduce all` prints the committed ledgers and runs nothing; --renew, --quick or \
                       --calibrate runs all studies";
        return Err(Failure::Input(message.to_owned()));
    }
    let ledgers = match runs {
        true => every(console, args)?,
        false => {
            let ledgers = StudyFiles::committed();
            if args.json {
                console.print_json(&serde_json::json!(ledgers))?;
            } else {
                console.print(&study::overview(&ledgers, console.color_out))?;
            }
            ledgers
        }
    };
    verdict(&ledgers)
}

/// The folder of a study's results, by its name: short forms separate from full ones.
fn results(args: &Reproduce) -> &'static Path {
    Path::new(if args.quick { "results/quick" } else { "results" })
}

/// Every built-in study, one after the other.
fn every(console: &Console, args: &Reproduce) -> Result<Vec<Ledger>, Failure> {
    let stop = stop_on_interrupt()?;
    let results = args.out.clone().unwrap_or_else(|| results(args).to_owned());
    let mut ledgers = Vec::new();
    for name in StudyFiles::names() {
        let found = study::find(name)?;
        let one = One { console, args, files: &found, out: results.join(name), stop };
        if !args.calibrate {
            ledgers.push(one.reproduce()?);
        } else if one.files.is_calibrated() {
            one.calibrate()?;
        }
    }
    Ok(ledgers)
}

/// Whether no claim fails.
fn verdict(ledgers: &[Ledger]) -> Result<(), Failure> {
    let mut claims = ledgers.iter().flat_map(|ledger| &ledger.claims);
    match claims.any(|claim| claim.verdict == Verdict::Fails) {
        true => Err(Failure::Check),
        false => Ok(()),
    }
}

/// One study on its way.
struct One<'a> {
    console: &'a Console,
    args: &'a Reproduce,
    files: &'a StudyFiles,
    out: PathBuf,
    stop: &'a AtomicBool,
}

impl One<'_> {
    /// Refuses a folder in which results would overwrite something else.
    fn check_out(&self) -> Result<(), Failure> {
        for (name, whose) in [
            ("study.toml", "a study's own"),
            ("manifest.toml", "a simulation's"),
            (COMPARISON, "a comparison's"),
        ] {
            if self.out.join(name).exists() {
                let folder = self.out.display();
                return Err(Failure::Input(format!(
                    "the folder {folder} is {whose}, whose files would be overwritten; choose another with --out"
                )));
            }
        }
        match files::study_of(&self.out) {
            Some((other, _)) if other != self.files.id => Err(Failure::Input(format!(
                "the folder {} holds the results of the study {other}, whose report would be overwritten; choose \
                 another with --out",
                self.out.display()
            ))),
            Some((_, false)) if self.args.quick => Err(Failure::Input(format!(
                "the folder {} holds the ledger of a full run, which this short run would replace; choose another \
                 with --out",
                self.out.display()
            ))),
            _ => Ok(()),
        }
    }

    fn reproduce(&self) -> Result<Ledger, Failure> {
        self.check_out()?;
        let kept = self.out.join(if self.args.quick { "replicas-quick" } else { "replicas" });
        let bar = Bar::new(self.console);
        let options = self.options(&kept);
        let reproduced = study::reproduce(&Simulator, self.files, &options, self.stop, &bar);
        bar.end();
        let reproduced = reproduced?;
        if let Some(note) = stale(reproduced.stale) {
            self.console.note(&note);
        }
        let Some(ledger) = &reproduced.ledger else { return Err(interrupted(reproduced.finished)) };
        let page = files::write(&self.out, &reproduced, ledger)?;
        self.tell(&reproduced, ledger, &page)?;
        Ok(ledger.clone())
    }

    fn tell(&self, reproduced: &Reproduced, ledger: &Ledger, page: &Path) -> Result<(), Failure> {
        if self.args.json {
            return self.console.print(&files::json(ledger));
        }
        self.console.print(&study::text(reproduced, ledger, self.console.color_out))?;
        self.console.file("Report", page)
    }

    fn calibrate(&self) -> Result<(), Failure> {
        self.check_out()?;
        let kept = self.out.join("replicas-calibration");
        let bar = Bar::new(self.console);
        let options = self.options(&kept);
        let calibrated = study::calibrate(&Simulator, self.files, &options, self.stop, &bar);
        bar.end();
        let Some(calibrated) = calibrated? else { return Err(interrupted_between()) };
        let written = calibrated.write(&self.out, self.files)?;
        if self.args.json {
            return self.console.print_json(&serde_json::json!(calibrated));
        }
        self.console.print(&describe(&calibrated))?;
        written.iter().try_for_each(|path| self.console.file("Calibration", path))
    }

    fn rehearse(&self) -> Result<(), Failure> {
        self.check_out()?;
        let engine = rehearsal_over_ipv4()?;
        let kept = self.out.join("replicas-rehearsed");
        let bar = Bar::new(self.console);
        let options = self.options(&kept);
        let rehearsed = study::rehearse(engine, self.files, &options, self.stop, &bar);
        bar.end();
        let Some(rehearsed) = rehearsed? else { return Err(interrupted_between()) };
        let written = rehearsed.write(&self.out)?;
        if self.args.json {
            return self.console.print_json(&serde_json::json!(rehearsed));
        }
        self.console.print(&rehearsed.describe())?;
        self.console.file("Rehearsed", &written)
    }

    fn models(&self) -> Result<(), Failure> {
        self.check_out()?;
        let options = self.options(&self.out);
        let Some(modelled) = study::model(&Simulator, self.files, &options, self.stop)? else {
            return Err(interrupted_between());
        };
        let written = modelled.write(&self.out)?;
        if self.args.json {
            return self.console.print_json(&serde_json::json!(modelled));
        }
        self.console.print(&modelled.describe())?;
        self.console.file("Models", &written)
    }

    fn options<'o>(&self, folder: &'o Path) -> study::Options<'o> {
        let threads = self.args.jobs.map_or(0, usize::from);
        let part = match (self.args.changes, self.args.claims.is_empty()) {
            (true, _) => study::Part::Changes,
            (false, false) => study::Part::Claims(self.args.claims.clone()),
            (false, true) => study::Part::All,
        };
        study::Options { part, quick: self.args.quick, threads, folder }
    }
}

/// The grid, and whether any reading passes.
fn describe(calibrated: &Calibration) -> String {
    let passing = calibrated.grid.iter().filter(|fit| fit.passes).count();
    let best = calibrated.grid.first().map(|fit| fit.reading.join(", ")).unwrap_or_default();
    let many = calibrated.grid.len();
    let passing = match passing {
        0 => format!("None of {many} readings meets every figure; the best fit is {best}."),
        n => format!("{n} of {many} readings meet every figure; the best fit is {best}."),
    };
    format!("{}\n{passing}\n", calibrated.table())
}

/// What is said of replicas that were kept and could not be used.
fn stale(count: usize) -> Option<String> {
    let (are, were) =
        if count == 1 { ("replica is", "it was") } else { ("replicas are", "they were") };
    (count > 0).then(|| {
        format!(
            "{count} kept {are} out of date, because the program or the study's files have changed; \
             {were} discarded"
        )
    })
}

fn interrupted_between() -> Failure {
    let message = "interrupted: complete replicas are kept; the same command continues from there";
    Failure::Interrupted(message.to_owned())
}

fn interrupted(finished: usize) -> Failure {
    Failure::Interrupted(format!(
        "interrupted: {finished} replicas are complete and kept; the same command continues from there"
    ))
}
