//! The checks of a study over real kernels: a column next to the simulated numbers, which does not decide.
//!
//! A rehearsal runs in real time, so it covers a few replicas of some runs, possibly shorter than those of the full
//! study. Its results are kept in `rehearsed.json`, and are part of every ledger of the study until its claims
//! change.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use shortflow_measure::results;
use shortflow_run::{Engine, Progress};

use super::entries::{Ledger, RehearsedNumber};
use crate::digest::digest;
use crate::error::Error;
use crate::json_file::write_json;
use crate::judge::{Pending, checks, ends, judged_by, settle};
use crate::number::number;
use crate::options::Options;
use crate::runs::{Bench, Distribution, Maker, Runs, Wanted};
use crate::spec::names::{CLAIMS, REHEARSED, STUDY};
use crate::spec::{ChangeSpec, Effort, RehearsedSpec, Rule, StudyFiles, mistakes};

/// What came of a rehearsal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rehearsed {
    /// What `claims.toml` said, as a digest: the places of checks are those of it.
    pub of: String,
    /// Which TCP ran.
    pub tcp: String,
    /// How long each replica was, as in a scenario.
    pub duration: String,
    /// The checks that were rehearsed.
    pub checks: Vec<RehearsedCheck>,
}

/// A check that was rehearsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RehearsedCheck {
    /// The claim whose it is.
    pub claim: String,
    /// Its place among those of the claim.
    pub place: usize,
    /// What is checked.
    pub what: String,
    /// Its result.
    pub found: RehearsedNumber,
}

/// Runs what a study has rehearsed, by an engine, at the reading that fits best. `None` when it was interrupted.
///
/// # Errors
/// When the study has nothing rehearsed, a file of it is mistaken, the machine lacks something or was too late, or
/// results cannot be kept.
pub fn rehearse(
    engine: &dyn Engine,
    files: &StudyFiles,
    options: &Options<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Option<Rehearsed>, Error> {
    let mut study = mistakes::read_study(files)?;
    let Some(spec) = study.rehearsed.clone() else {
        let message =
            "the study has no section [rehearsed], which names the runs to rehearse".to_owned();
        return Err(Error::Study { file: files.place(STUDY), message });
    };
    let RehearsedSpec { looks, duration, set, runs: meant } = spec;
    let effort = Effort { looks, duration };
    let (readings, mut claims) = judged_by(engine, files, &study, &effort, false)?;
    study.name_workload(claims.quantities_mut());
    let alike = Distribution::compared(&claims, Rule::DistributionsAlike);
    let one_by_one = Distribution::compared(&claims, Rule::SlowerOneByOne);
    let maker = Maker {
        compared: &alike,
        one_by_one: &one_by_one,
        numbers: readings.kept.as_ref().map(|kept| kept.replicas.clone()),
        ..Maker::new(files, &study, &effort.duration, engine.identity())
    };
    let change = ChangeSpec::of_settings("rehearsed", set);
    let mut pending = Vec::new();
    for claim in &claims.claims {
        let all = claim.checks.iter().flat_map(|spec| checks(spec, &study, false)).enumerate();
        let is_meant = |run: String| meant.contains(&run);
        let (places, checks): (Vec<_>, Vec<_>) =
            all.filter(|(_, check)| check.runs().all(is_meant)).unzip();
        if !checks.is_empty() {
            pending.push((&claim.id, places, Pending::checks(checks, &effort.looks)));
        }
    }
    let mut runs = Runs::new(&maker, readings.best.with(&change));
    let mut all: Vec<&mut Pending<'_>> = pending.iter_mut().map(|(_, _, all)| all).collect();
    let mut bench = Bench::new(engine, options, stop, progress)?;
    if !settle(&mut all, &Wanted::default(), &study, &mut runs, &mut bench)? {
        return Ok(None);
    }
    let mut found = Vec::new();
    for (claim, places, checks) in &pending {
        for (&place, settled) in places.iter().zip(checks.settled()) {
            let (ours, low, high) = ends(settled.seen.and_then(|seen| seen.shown));
            let (verdict, replicas) =
                (settled.verdict, settled.seen.map_or(0, |seen| seen.replicas));
            let found_here = RehearsedNumber { ours, low, high, verdict, replicas };
            let what = settled.seen.map_or_else(String::new, |seen| seen.what.clone());
            found.push(RehearsedCheck { claim: (*claim).clone(), place, what, found: found_here });
        }
    }
    let mut scenarios = runs.points().iter().map(|point| &point.scenario);
    Ok(Some(Rehearsed {
        of: digest(files.text(CLAIMS).unwrap_or_default()),
        tcp: engine.tcp(&mut scenarios),
        duration: effort.duration.clone(),
        checks: found,
    }))
}

impl Rehearsed {
    /// Writes it into a folder; gives the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, out: &Path) -> Result<PathBuf, results::Error> {
        write_json(out, REHEARSED, self)
    }

    /// Every check and its result, one line each.
    pub fn describe(&self) -> String {
        let line = |check: &RehearsedCheck| {
            let RehearsedNumber { ours, low, high, verdict, replicas } = &check.found;
            let number = number(*ours, *low, *high);
            format!(
                "{:<10}{} {}: {number}, {replicas} replicas\n",
                verdict.name(),
                check.claim,
                check.what
            )
        };
        let lines: String = self.checks.iter().map(line).collect();
        format!("{lines}\nReplicas of {}. TCP: {}.\n", self.duration, self.tcp)
    }

    /// That of a study, if it is of the study's claims as they are.
    fn load(files: &StudyFiles) -> Option<Rehearsed> {
        let rehearsed: Rehearsed = serde_json::from_str(files.text(REHEARSED)?).ok()?;
        (rehearsed.of == digest(files.text(CLAIMS)?)).then_some(rehearsed)
    }
}

/// Writes what was rehearsed of a study beside the checks of its ledger. Those of a short form are others.
pub(crate) fn write_beside(ledger: &mut Ledger, files: &StudyFiles) {
    let Some(rehearsed) = Rehearsed::load(files).filter(|_| !ledger.quick) else { return };
    for RehearsedCheck { claim, place, found, .. } in &rehearsed.checks {
        let claim = ledger.claims.iter_mut().find(|of_ledger| of_ledger.id == *claim);
        if let Some(check) = claim.and_then(|claim| claim.checks.get_mut(*place)) {
            check.rehearsed = Some(found.clone());
        }
    }
    ledger.rehearsed = format!("{}, replicas of {}", rehearsed.tcp, rehearsed.duration);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_of_the_claims_as_they_are_and_finds_its_checks() {
        for name in StudyFiles::names() {
            let files = StudyFiles::find(name).unwrap();
            if files.text(REHEARSED).is_none() {
                continue;
            }
            let rehearsed = Rehearsed::load(files);
            let rehearsed = rehearsed.unwrap_or_else(|| panic!("{name}: rehearse it again"));
            let ledgers = StudyFiles::committed();
            let ledger = ledgers.iter().find(|ledger| ledger.study == name).unwrap();
            let checks = ledger.claims.iter().flat_map(|claim| &claim.checks);
            let with_column = checks.filter(|check| check.rehearsed.is_some()).count();
            assert_eq!((with_column, with_column > 0), (rehearsed.checks.len(), true), "{name}");
        }
    }
}
