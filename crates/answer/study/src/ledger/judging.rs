//! Judges all claims of a study: under the best-fitting reading, under other readings that pass, and, if a check
//! fails, under changes that might make it hold.

use super::entries::{CheckResult, ClaimResult, Counterfactual, ObservationResult, ReadingResult};
use crate::calibration::Readings;
use crate::error::Error;
use crate::judge::{
    Case, Pending, Seen, Settled, Shown, Verdict, cases_of_observation, ends, observe, settle,
    want_observation,
};
use crate::runs::{Bench, Maker, Runs, Wanted};
use crate::spec::{ClaimSpec, Claims, Looks, ObservationSpec, Study};

/// What claims are judged with.
pub(crate) struct Judging<'a> {
    pub(crate) study: &'a Study,
    pub(crate) claims: &'a Claims,
    pub(crate) looks: &'a Looks,
    pub(crate) maker: &'a Maker<'a>,
    pub(crate) quick: bool,
}

/// The verdicts, and the runs that they are made from.
pub(crate) struct Judged<'a> {
    pub(crate) claims: Vec<ClaimResult>,
    pub(crate) runs: Runs<'a>,
}

impl<'a> Judging<'a> {
    /// Judges all claims, and has replicas of what is `shown` beside them. `None` when it was
    /// interrupted.
    ///
    /// # Errors
    /// When a scenario is mistaken, a replica fails, or results cannot be kept.
    pub(crate) fn judge(
        &self,
        readings: &Readings,
        shown: &Wanted,
        bench: &mut Bench<'_>,
    ) -> Result<Option<Judged<'a>>, Error> {
        let mut shown = shown.clone();
        let first = self.looks.replicas().first().copied().unwrap_or_default();
        for (spec, case) in self.claims.claims.iter().flat_map(|claim| self.observed(claim)) {
            want_observation(&mut shown, spec, &case, first);
        }
        let mut runs = Runs::new(self.maker, readings.best.clone());
        let Some(best) = self.settle_all(&shown, &mut runs, bench)? else { return Ok(None) };
        let mut others: Vec<Vec<ReadingResult>> = best.iter().map(|_| Vec::new()).collect();
        let mut counterfactuals = Vec::new();
        // The short form is a first look.
        if !self.quick {
            if !self.read_otherwise(readings, &mut others, bench)? {
                return Ok(None);
            }
            match self.changes_for(&best, &readings.best, bench)? {
                None => return Ok(None),
                Some(found) => counterfactuals = found,
            }
        }
        let mut counterfactuals = counterfactuals.into_iter();
        let claims = self.claims.claims.iter().zip(&best).zip(others);
        let claims = claims.map(|((spec, pending), readings)| {
            let checks = pending.settled().map(|settled| {
                let fails = settled.verdict == Verdict::Fails;
                check(&settled, if fails { counterfactuals.next().flatten() } else { None })
            });
            let observations = self.observed(spec).map(|(spec, case)| {
                observation(
                    &spec.what,
                    &spec.paper,
                    &case,
                    observe(spec, &case, runs.data(), 0.025),
                )
            });
            ClaimResult {
                id: spec.id.clone(),
                claim: spec.claim.clone(),
                short: spec.short.clone().unwrap_or_else(|| spec.claim.clone()),
                verdict: Verdict::over_readings(
                    pending.verdict(),
                    readings.iter().map(|reading| reading.verdict),
                ),
                // Notes speak of the numbers of a full run.
                note: if self.quick { String::new() } else { spec.note.trim().to_owned() },
                replicas: pending.replicas(),
                checks: checks.collect(),
                observations: observations.collect(),
                readings,
            }
        });
        let claims = claims.collect();
        Ok(Some(Judged { claims, runs }))
    }

    fn observed<'c>(
        &'c self,
        claim: &'c ClaimSpec,
    ) -> impl Iterator<Item = (&'c ObservationSpec, Case)> {
        claim.observations.iter().flat_map(|spec| {
            let cases = cases_of_observation(spec, self.study, self.quick);
            cases.into_iter().map(move |case| (spec, case))
        })
    }

    /// Judges claims under other readings: those that the calibration passes too, and those that no
    /// figure can decide, each of which concerns the claims about runs that it changes. False when it
    /// was interrupted.
    fn read_otherwise(
        &self,
        readings: &Readings,
        results: &mut [Vec<ReadingResult>],
        bench: &mut Bench<'_>,
    ) -> Result<bool, Error> {
        let passing = readings.others.iter().map(|reading| (reading.clone(), reading.name(), None));
        let undecided = self
            .study
            .readings
            .iter()
            .map(|change| (readings.best.with(change), change.says.clone(), Some(change)));
        for (variant, name, change) in passing.chain(undecided) {
            let mut claims: Vec<(usize, Pending<'a>)> = self
                .claims
                .claims
                .iter()
                .map(|claim| self.pending(claim))
                .enumerate()
                .filter(|(_, claim)| change.is_none_or(|change| claim.is_of(change, self.study)))
                .collect();
            let mut runs = Runs::new(self.maker, variant);
            let mut all: Vec<&mut Pending<'a>> =
                claims.iter_mut().map(|(_, claim)| claim).collect();
            if !settle(&mut all, &Wanted::default(), self.study, &mut runs, bench)? {
                return Ok(false);
            }
            for (place, claim) in &claims {
                let (reading, verdict) = (name.clone(), claim.verdict());
                results[*place].push(ReadingResult { reading, verdict });
            }
        }
        Ok(true)
    }

    /// Where a claim is looked at: by its own looks where it has some, in the short form as all others.
    pub(super) fn looks_of(&self, claim: &'a ClaimSpec) -> &'a Looks {
        claim.looks.as_ref().filter(|_| !self.quick).unwrap_or(self.looks)
    }

    fn pending(&self, claim: &'a ClaimSpec) -> Pending<'a> {
        Pending::claim(claim, self.study, self.quick, self.looks_of(claim))
    }

    fn settle_all(
        &self,
        shown: &Wanted,
        runs: &mut Runs<'_>,
        bench: &mut Bench<'_>,
    ) -> Result<Option<Vec<Pending<'a>>>, Error> {
        let mut claims: Vec<Pending<'a>> =
            self.claims.claims.iter().map(|claim| self.pending(claim)).collect();
        let mut all: Vec<&mut Pending<'a>> = claims.iter_mut().collect();
        let is_complete = settle(&mut all, shown, self.study, runs, bench)?;
        Ok(is_complete.then_some(claims))
    }
}

fn check(settled: &Settled<'_, '_>, counterfactual: Option<Counterfactual>) -> CheckResult {
    let seen = settled.seen;
    let (ours, low, high) = ends(seen.and_then(|seen| seen.shown));
    let is_open = settled.verdict == Verdict::Unsettled;
    CheckResult {
        what: seen.map_or_else(|| settled.check.spec.what.clone(), |seen| seen.what.clone()),
        paper: settled.check.spec.paper.clone(),
        ours,
        low,
        high,
        verdict: settled.verdict,
        replicas: seen.map_or(0, |seen| seen.replicas),
        needs: seen.and_then(|seen: &Seen| seen.needs).filter(|_| is_open),
        counterfactual,
        excluded: settled.check.spec.excluded.clone().filter(|_| settled.verdict == Verdict::Fails),
        rehearsed: None,
    }
}

fn observation(
    what: &str,
    paper: &str,
    case: &Case,
    seen: Result<Shown, String>,
) -> ObservationResult {
    let what = match &seen {
        Ok(_) => case.fill(what),
        Err(missing) => format!("{} ({missing})", case.fill(what)),
    };
    let (ours, low, high) = ends(seen.ok());
    ObservationResult { what, paper: paper.to_owned(), ours, low, high }
}
