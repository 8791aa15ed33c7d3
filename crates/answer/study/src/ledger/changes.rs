//! Changes that are tried for checks that fail, in the order of the study.

use super::entries::{ClaimResult, Counterfactual, Ledger, Trial};
use super::judging::Judging;
use crate::error::Error;
use crate::judge::{Check, Pending, Settled, Verdict, checks, ends, settle};
use crate::runs::{Bench, Runs, Wanted};
use crate::spec::{ChangeSpec, ClaimSpec, Variant};

/// A check that fails, and what was tried for it.
struct Failing<'a> {
    claim: &'a ClaimSpec,
    check: Check<'a>,
    tried: Vec<Trial>,
}

impl Failing<'_> {
    /// Whether this change is the claim's, and still to be tried.
    fn is_due(&self, change: &ChangeSpec) -> bool {
        let names = self.check.spec.counterfactuals.as_ref().unwrap_or(&self.claim.counterfactuals);
        let is_over =
            |trial: &Trial| trial.verdict == Verdict::Holds || trial.change == change.says;
        names.contains(&change.name) && !self.tried.iter().any(is_over)
    }
}

impl<'a> Judging<'a> {
    /// For each check that fails, in the order of the claims, what was tried. `None` when it was
    /// interrupted.
    pub(super) fn changes_for(
        &self,
        claims: &[Pending<'a>],
        best: &Variant,
        bench: &mut Bench<'_>,
    ) -> Result<Option<Vec<Option<Counterfactual>>>, Error> {
        let specs = self.claims.claims.iter().zip(claims);
        let failing = specs.flat_map(|(claim, pending)| {
            let failing = pending.settled().filter(|check| check.verdict == Verdict::Fails);
            failing.map(move |settled| Failing {
                claim,
                check: settled.check.clone(),
                tried: Vec::new(),
            })
        });
        let mut failing: Vec<Failing<'a>> = failing.collect();
        let is_complete = self.try_changes(&mut failing, best, bench)?;
        let found = failing.into_iter().map(|check| counterfactual(check.tried));
        Ok(is_complete.then(|| found.collect()))
    }

    /// Tries, for the checks that fail in a ledger, the changes that it does not have. False when it was interrupted.
    ///
    /// # Errors
    /// When the ledger is of other checks, a replica fails, or results cannot be kept.
    pub(crate) fn try_more_changes(
        &self,
        ledger: &mut Ledger,
        best: &Variant,
        bench: &mut Bench<'_>,
    ) -> Result<bool, Error> {
        let (mut failing, mut places) = (Vec::new(), Vec::new());
        for claim in &self.claims.claims {
            let at = ledger.claims.iter().position(|judged| judged.id == claim.id);
            let at = at.filter(|at| self.is_of(claim, &ledger.claims[*at]));
            let at = at.ok_or_else(|| self.maker.other_checks(&claim.id))?;
            let all = claim.checks.iter().flat_map(|spec| checks(spec, self.study, false));
            for (number, check) in all.enumerate() {
                let result = &ledger.claims[at].checks[number];
                if result.verdict == Verdict::Fails {
                    let tried = trials(result.counterfactual.clone());
                    failing.push(Failing { claim, check, tried });
                    places.push((at, number));
                }
            }
        }
        let is_complete = self.try_changes(&mut failing, best, bench)?;
        for (check, (claim, number)) in failing.into_iter().zip(places) {
            let result = &mut ledger.claims[claim].checks[number];
            result.excluded = check.check.spec.excluded.clone();
            result.counterfactual = counterfactual(check.tried);
        }
        Ok(is_complete)
    }

    /// Whether a result is of the checks of a claim.
    fn is_of(&self, claim: &ClaimSpec, result: &ClaimResult) -> bool {
        let all = claim.checks.iter().flat_map(|spec| checks(spec, self.study, false));
        let all: Vec<Check<'_>> = all.collect();
        let mut each = all.iter().zip(&result.checks);
        all.len() == result.checks.len() && each.all(|(check, result)| check.is_named(&result.what))
    }

    /// Tries the changes that are due. False when it was interrupted.
    fn try_changes(
        &self,
        failing: &mut [Failing<'a>],
        best: &Variant,
        bench: &mut Bench<'_>,
    ) -> Result<bool, Error> {
        for change in &self.study.counterfactuals {
            // All checks for which this is the next to be tried share its runs.
            let mut due: Vec<(usize, Pending<'a>)> = Vec::new();
            for (place, check) in
                failing.iter().enumerate().filter(|(_, check)| check.is_due(change))
            {
                let looks = self.looks_of(check.claim);
                due.push((place, Pending::checks(vec![check.check.clone()], looks)));
            }
            if due.is_empty() {
                continue;
            }
            let mut runs = Runs::new(self.maker, best.with(change));
            let mut all: Vec<&mut Pending<'a>> = due.iter_mut().map(|(_, claim)| claim).collect();
            if !settle(&mut all, &Wanted::default(), self.study, &mut runs, bench)? {
                return Ok(false);
            }
            for (place, pending) in &due {
                let trials = pending.settled().map(|settled| trial(change, &settled));
                failing[*place].tried.extend(trials);
            }
        }
        Ok(true)
    }
}

/// The change under which the check holds, or those tried without success.
fn counterfactual(mut tried: Vec<Trial>) -> Option<Counterfactual> {
    match tried.iter().position(|trial| trial.verdict == Verdict::Holds) {
        Some(place) => Some(Counterfactual::Found(tried.swap_remove(place))),
        None if tried.is_empty() => None,
        None => Some(Counterfactual::Tried { tried }),
    }
}

fn trials(counterfactual: Option<Counterfactual>) -> Vec<Trial> {
    match counterfactual {
        Some(Counterfactual::Found(trial)) => vec![trial],
        Some(Counterfactual::Tried { tried }) => tried,
        None => Vec::new(),
    }
}

fn trial(change: &ChangeSpec, settled: &Settled<'_, '_>) -> Trial {
    let shown = settled.seen.and_then(|seen| seen.shown);
    let (ours, low, high) = ends(shown);
    Trial { change: change.says.clone(), ours, low, high, verdict: settled.verdict }
}
