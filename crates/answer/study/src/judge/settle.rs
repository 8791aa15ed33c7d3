//! Judges claims look by look, until they are settled or the replicas are used up.

use std::collections::BTreeSet;

use super::case::Case;
use super::check::{Check, checks};
use super::evidence::Shown;
use super::sequence::Sequence;
use super::verdict::Verdict;
use crate::error::Error;
use crate::runs::{Bench, Data, Runs, Wanted};
use crate::spec::{ChangeSpec, ClaimSpec, Looks, RunSpec, Study};

/// A claim on its way to a verdict.
pub(crate) struct Pending<'c> {
    checks: Vec<Check<'c>>,
    looks: &'c Looks,
    sequence: Sequence,
    /// What the last look at each check said.
    seen: Vec<Option<Seen>>,
    /// The replicas of the last look.
    replicas: u32,
}

/// What a look said of a check.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// What was checked, with its point and class.
    pub(crate) what: String,
    /// The number; `None` where it was not measured.
    pub(crate) shown: Option<Shown>,
    /// The replicas that say so.
    pub(crate) replicas: u32,
    /// The number of replicas that would decide, if known.
    pub(crate) needs: Option<u32>,
}

/// A check and what became of it.
pub(crate) struct Settled<'p, 'c> {
    pub(crate) check: &'p Check<'c>,
    pub(crate) verdict: Verdict,
    pub(crate) seen: Option<&'p Seen>,
}

impl<'c> Pending<'c> {
    /// A claim of which nothing is known.
    pub(crate) fn claim(
        claim: &'c ClaimSpec,
        study: &Study,
        quick: bool,
        looks: &'c Looks,
    ) -> Self {
        let of = |spec| checks(spec, study, quick);
        Pending::checks(claim.checks.iter().flat_map(of).collect(), looks)
    }

    /// Some checks that are judged together.
    pub(crate) fn checks(checks: Vec<Check<'c>>, looks: &'c Looks) -> Self {
        let (sequence, seen) = (Sequence::new(looks, checks.len()), vec![None; checks.len()]);
        Pending { checks, looks, sequence, seen, replicas: 0 }
    }

    /// What became of it so far.
    pub(crate) fn verdict(&self) -> Verdict {
        self.sequence.verdict()
    }

    /// The replicas that it took.
    pub(crate) fn replicas(&self) -> u32 {
        self.replicas
    }

    /// Its checks, and what became of each.
    pub(crate) fn settled<'p>(&'p self) -> impl Iterator<Item = Settled<'p, 'c>> {
        let each = self.checks.iter().zip(self.sequence.checks()).zip(&self.seen);
        each.map(|((check, verdict), seen)| Settled { check, verdict, seen: seen.as_ref() })
    }

    /// Whether a change can be tried on all that it is about.
    pub(crate) fn is_of(&self, change: &ChangeSpec, study: &Study) -> bool {
        let runs = self.checks.iter().flat_map(Check::runs);
        let runs: Vec<&RunSpec> = runs.filter_map(|run| study.run(&run)).collect();
        change.is_for(&runs)
    }

    /// Whether there is a look at this number of replicas.
    fn is_due(&self, look: u32) -> bool {
        self.verdict() == Verdict::Unsettled && self.looks.replicas().contains(&look)
    }

    /// The checks that are not decided, with their places.
    fn open(&self) -> impl Iterator<Item = (usize, &Check<'c>)> {
        let each = self.checks.iter().zip(self.sequence.checks()).enumerate();
        each.filter(|(_, (_, verdict))| *verdict == Verdict::Unsettled)
            .map(|(place, (check, _))| (place, check))
    }

    fn want(&self, wanted: &mut Wanted, look: u32, study: &Study) {
        self.open().for_each(|(_, check)| check.want(wanted, at_most(check, look, study)));
    }

    fn take_in(&mut self, data: &Data, look: u32, study: &Study) {
        let open: Vec<usize> = self.open().map(|(place, _)| place).collect();
        let level = self.looks.level();
        let mut tests = vec![None; self.checks.len()];
        for place in open {
            let check = &mut self.checks[place];
            let replicas = at_most(check, look, study);
            let text = &check.spec.what;
            let found = check.test(data, replicas, level);
            let what = |case: &Case| case.fill(text);
            self.seen[place] = Some(match &found {
                Ok((look, case)) => {
                    let (shown, needs) = (Some(look.shown), look.needs);
                    let mut what = what(case);
                    if look.shown.ours.is_infinite() {
                        what += " (which is zero)";
                    }
                    Seen { what, shown, replicas, needs }
                }
                Err((missing, case)) => {
                    let what = format!("{} ({missing})", what(case));
                    Seen { what, shown: None, replicas, needs: None }
                }
            });
            tests[place] = found.ok().map(|(look, _)| look.tested);
        }
        self.sequence.look(&tests);
        self.replicas = self.seen.iter().flatten().map(|seen| seen.replicas).max().unwrap_or(look);
    }
}

/// The replicas of a look at a check, some of whose runs may have no more than a few.
fn at_most(check: &Check<'_>, look: u32, study: &Study) -> u32 {
    let of_run = |run: String| study.run(&run).and_then(|run| run.at_most);
    check.runs().filter_map(of_run).fold(look, u32::min)
}

/// Looks at claims, each at its own looks, until it is settled or the last of them is over; the first look has
/// what is in `shown` too, without which nothing could be drawn. False when it was interrupted.
///
/// # Errors
/// When a replica fails, or results cannot be kept.
pub(crate) fn settle(
    claims: &mut [&mut Pending<'_>],
    shown: &Wanted,
    study: &Study,
    runs: &mut Runs<'_>,
    bench: &mut Bench<'_>,
) -> Result<bool, Error> {
    let of_all = claims.iter().flat_map(|claim| claim.looks.replicas());
    let looks: Vec<u32> = of_all.copied().collect::<BTreeSet<_>>().into_iter().collect();
    for (number, &look) in (1..).zip(&looks) {
        let mut due: Vec<&mut &mut Pending<'_>> =
            claims.iter_mut().filter(|claim| claim.is_due(look)).collect();
        if due.is_empty() && number > 1 {
            continue;
        }
        let look = look.min(runs.max_replicas());
        let mut wanted = if number == 1 { shown.clone() } else { Wanted::default() };
        due.iter().for_each(|claim| claim.want(&mut wanted, look, study));
        bench.progress.stage(&stage(&runs.variant().name(), number, looks.len()));
        if !runs.raise(&wanted, bench)? {
            return Ok(false);
        }
        for claim in &mut due {
            claim.take_in(runs.data(), look, study);
        }
    }
    Ok(true)
}

fn stage(variant: &str, number: usize, of: usize) -> String {
    let under = if variant.is_empty() { String::new() } else { format!("{variant}, ") };
    format!("{under}look {number} of {of}")
}
