//! The checks of a claim: the runs that each needs, and the evidence of the replicas.

use shortflow_measure::Reading;

use super::case::{Case, cases};
use super::distance::greatest_distance;
use super::evidence::{Evidence, Shown};
use super::region::{Bound, Region, Tested};
use crate::runs::paired_transfers::share_slower;
use crate::runs::{Data, Distribution, StoredReplica, Wanted};
use crate::spec::{CheckSpec, Points, Quantity, Rule, Study};

/// Greatest factor between ours and a paper's figure.
const FIGURE_FACTOR: f64 = 1.5;
/// Greatest ratio that is "far below".
const FAR_BELOW: f64 = 0.5;
/// By what share alike things may differ.
const ALIKE: f64 = 0.1;
/// Least fairness index that is "fair".
const FAIR: f64 = 0.95;
/// Greatest distance of distributions that are alike.
const DISTANCE: f64 = 0.1;
/// Of a thing that is slower, more than this share of what it is made of is.
const HALF: f64 = 0.5;

/// A check with a vote of its own: at one point of a sweep and for one class of transfers, or over
/// several together.
#[derive(Debug, Clone)]
pub(crate) struct Check<'c> {
    pub(crate) spec: &'c CheckSpec,
    cases: Vec<Case>,
    /// The cases that a look has ruled out, of a check that is about the least of them.
    ruled_out: Vec<bool>,
}

/// What a look says of a check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) tested: Tested,
    /// The number itself.
    pub(crate) shown: Shown,
    /// The number of replicas that would decide, if known.
    pub(crate) needs: Option<u32>,
}

/// The checks of `spec`. A short study omits some points, and their checks.
pub(crate) fn checks<'c>(spec: &'c CheckSpec, study: &Study, quick: bool) -> Vec<Check<'c>> {
    let cases = cases(&spec.ours, spec.x.as_deref(), spec.class.as_deref(), study, quick);
    let has_one_vote = spec.points != Points::All || matches!(spec.rule, Rule::MinimumWithin(..));
    let check = |cases: Vec<Case>| Check { spec, ruled_out: vec![false; cases.len()], cases };
    match has_one_vote {
        true if cases.is_empty() => Vec::new(),
        true => vec![check(cases)],
        false => cases.into_iter().map(|case| check(vec![case])).collect(),
    }
}

impl Check<'_> {
    /// Wants what it is made of, but for what is ruled out.
    pub(crate) fn want(&self, wanted: &mut Wanted, replicas: u32) {
        let open = self.cases.iter().zip(&self.ruled_out).filter(|(_, is_out)| !**is_out);
        for (case, _) in open {
            for quantity in std::iter::once(&self.spec.ours).chain(&self.spec.than) {
                wanted.add_quantity(quantity, case.x, replicas);
            }
        }
    }

    /// Whether a result of this name is of one of its cases.
    pub(crate) fn is_named(&self, what: &str) -> bool {
        self.cases.iter().any(|case| what.starts_with(&case.fill(&self.spec.what)))
    }

    /// The runs that it is made of.
    pub(crate) fn runs(&self) -> impl Iterator<Item = String> {
        let mut wanted = Wanted::default();
        self.want(&mut wanted, 1);
        wanted.runs()
    }

    /// What the first `replicas` replicas say, tested at `level`, and the case that says it.
    pub(crate) fn test(
        &mut self,
        data: &Data,
        replicas: u32,
        level: f64,
    ) -> Result<(Look, &Case), (String, &Case)> {
        if let Rule::MinimumWithin(from, to) = self.spec.rule {
            return self.test_minimum((from, to), data, replicas, level);
        }
        if self.spec.points == Points::Together {
            return self.test_together(data, replicas, level);
        }
        let mut all = Vec::new();
        for case in &self.cases {
            all.push((self.test_at(case, data, replicas, level).map_err(|why| (why, case))?, case));
        }
        // At least so many must hold.
        let wanted = match self.spec.points {
            Points::All => all.len(),
            Points::Some | Points::Together => 1,
            Points::Most => all.len() / 2 + 1,
        };
        all.sort_by(|(a, _), (b, _)| a.tested.p_holds.total_cmp(&b.tested.p_holds));
        let p_holds = at_least(wanted, all.iter().map(|(look, _)| look.tested.p_holds));
        // It fails when so many fail that too few are left.
        let too_many = all.len() - wanted + 1;
        let p_fails = at_least(too_many, all.iter().map(|(look, _)| look.tested.p_fails));
        // Shown is the last one that is needed.
        let (look, case) = all[wanted - 1];
        Ok((Look { tested: Tested { p_holds, p_fails }, ..look }, case))
    }

    /// What all points say together.
    fn test_together(
        &self,
        data: &Data,
        replicas: u32,
        level: f64,
    ) -> Result<(Look, &Case), (String, &Case)> {
        let case = &self.cases[0];
        let each = self.cases.iter().map(|case| self.evidence(case, data, replicas));
        let each: Result<Vec<(Evidence, Region)>, String> = each.collect();
        let (each, regions): (Vec<_>, Vec<_>) =
            each.map_err(|why| (why, case))?.into_iter().unzip();
        let together = Evidence::together(&each).ok_or("some point is not above zero");
        let look = together
            .map_err(str::to_owned)
            .and_then(|evidence| self.look(&evidence, regions[0], replicas, level));
        Ok((look.map_err(|why| (why, case))?, case))
    }

    fn test_at(&self, case: &Case, data: &Data, replicas: u32, level: f64) -> Result<Look, String> {
        let (evidence, region) = self.evidence(case, data, replicas)?;
        self.look(&evidence, region, replicas, level)
    }

    fn look(
        &self,
        evidence: &Evidence,
        region: Region,
        replicas: u32,
        level: f64,
    ) -> Result<Look, String> {
        let shown = evidence.shown(level).ok_or_else(|| evidence.without_number())?;
        let needs = region.needs(evidence, &shown, level);
        // What was not complete may keep as many from telling.
        let needs = needs.filter(|needs| *needs > replicas);
        // A figure is shown as it is, and judged as a ratio.
        let shown = match self.spec.rule {
            Rule::Figure(figure) => shown.scaled(figure),
            _ => shown,
        };
        Ok(Look { tested: region.test(evidence), shown, needs })
    }

    /// What is judged, and where it must lie.
    fn evidence(
        &self,
        case: &Case,
        data: &Data,
        replicas: u32,
    ) -> Result<(Evidence, Region), String> {
        let than = || self.spec.than.as_ref().ok_or("the check names nothing to compare with");
        let ours = || self.first(&self.spec.ours, case, data, replicas);
        let value = || Ok::<_, String>(Evidence::of_values(&ours()?));
        let ratio = || {
            let (ours, theirs) = (ours()?, self.first(than()?, case, data, replicas)?);
            Ok::<_, String>(Evidence::of_ratios(&ours, &theirs))
        };
        Ok(match self.spec.rule {
            Rule::Figure(figure) => {
                let region = Region::within(1.0 / FIGURE_FACTOR, FIGURE_FACTOR);
                (Evidence::of_ratio_to(&ours()?, figure), region)
            }
            Rule::Below => (ratio()?, Region::to(Bound::open(1.0))),
            Rule::Above => (ratio()?, Region::from(Bound::open(1.0))),
            Rule::FarBelow => (ratio()?, Region::to(Bound::closed(FAR_BELOW))),
            Rule::Alike => (ratio()?, Region::within(1.0 - ALIKE, 1.0 + ALIKE)),
            Rule::NoWorse => (ratio()?, Region::to(Bound::closed(1.0 + ALIKE))),
            Rule::NoBetter => (ratio()?, Region::from(Bound::closed(1.0 - ALIKE))),
            Rule::AtMost(bound) => (value()?, Region::to(Bound::closed(bound))),
            Rule::AtLeast(bound) => (value()?, Region::from(Bound::closed(bound))),
            Rule::Fair => (value()?, Region::from(Bound::closed(FAIR))),
            Rule::DistributionsAlike => {
                let distance =
                    |ours: (&StoredReplica, &Distribution),
                     theirs: (&StoredReplica, &Distribution)| {
                        let (ours, theirs) = (ours.1.times(ours.0)?, theirs.1.times(theirs.0)?);
                        greatest_distance(ours, theirs).map(Reading::Exact)
                    };
                let distances = self.pairs(than()?, case, data, replicas, distance)?;
                (Evidence::of_values(&distances), Region::to(Bound::closed(DISTANCE)))
            }
            Rule::SlowerOneByOne => {
                let share = |ours: (&StoredReplica, &Distribution),
                             theirs: (&StoredReplica, &Distribution)| {
                    share_slower(ours.0.items(ours.1)?, theirs.0.items(theirs.1)?)
                };
                let shares = self.pairs(than()?, case, data, replicas, share)?;
                (Evidence::of_ranges(&shares), Region::from(Bound::open(HALF)))
            }
            Rule::MinimumWithin(..) => return Err("a minimum needs the whole sweep".to_owned()),
        })
    }

    /// What each of the first replicas says.
    fn first(
        &self,
        quantity: &Quantity,
        case: &Case,
        data: &Data,
        replicas: u32,
    ) -> Result<Vec<Reading>, String> {
        let readings = data.readings(quantity, case.x, case.class.as_deref());
        let mut readings = readings.map_err(|missing| missing.to_string())?;
        readings.truncate(replicas as usize);
        Ok(readings)
    }

    /// What the classes of transfers that ours and `than` mean say together, replica by replica.
    fn pairs<T>(
        &self,
        than: &Quantity,
        case: &Case,
        data: &Data,
        replicas: u32,
        of: impl Fn((&StoredReplica, &Distribution), (&StoredReplica, &Distribution)) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let side = |quantity: &Quantity| {
            let x = quantity.x.unwrap_or(case.x);
            let class = Distribution::named(quantity, case.class.as_deref());
            let of_point = data.replicas(&quantity.run, x).map(|all| (all, class));
            of_point.ok_or_else(|| format!("run {} has no point {x}", quantity.run))
        };
        let ((ours, of_ours), (theirs, of_theirs)) = (side(&self.spec.ours)?, side(than)?);
        let pairs = ours.iter().zip(theirs).take(replicas as usize);
        let said = pairs.map(|(ours, theirs)| of((ours, &of_ours), (theirs, &of_theirs)));
        let said: Option<Vec<T>> = said.collect();
        said.ok_or_else(|| format!("nothing to compare in some replica of {}", self.spec.ours.run))
    }

    /// Whether the sweep has its least value inside the range. It has when each point outside is above some point inside:
    /// a point that a look has found so is ruled out, needs no more replicas, and stays ruled out, as a decided check stays
    /// decided; the one that had the least would have to be ruled out too, which is wrong in as few cases as over all
    /// looks together one test is. It has not when some point outside is below every point inside; which point it is is not
    /// known beforehand.
    fn test_minimum(
        &mut self,
        (from, to): (f64, f64),
        data: &Data,
        replicas: u32,
        level: f64,
    ) -> Result<(Look, &Case), (String, &Case)> {
        let mut inside = Vec::new();
        let mut outside = Vec::new();
        let mut outsiders = 0;
        for (at, case) in self.cases.iter().enumerate() {
            let is_inside = (from..=to).contains(&case.x);
            outsiders += usize::from(!is_inside);
            if self.ruled_out[at] {
                continue;
            }
            let values = self.first(&self.spec.ours, case, data, replicas);
            let values = values.map_err(|why| (why, case))?;
            if is_inside { &mut inside } else { &mut outside }.push((at, values));
        }
        if inside.is_empty() || outside.is_empty() {
            let why = format!("there must be points inside and outside {from} to {to}");
            return Err((why, &self.cases[0]));
        }
        let p_below = |ours: &[Reading], theirs: &[Reading]| {
            Evidence::of_ratios(ours, theirs).p_below(1.0, false)
        };
        // That it is above some point inside, of which it is not known beforehand which one.
        let above_some = |theirs: &[Reading]| {
            let best = inside.iter().map(|(_, ours)| p_below(ours, theirs)).fold(1.0, f64::min);
            (best * inside.len() as f64).min(1.0)
        };
        let below_all = |ours: &[Reading]| {
            let worst = inside.iter().map(|(_, theirs)| p_below(ours, theirs)).fold(0.0, f64::max);
            (worst * outsiders as f64).min(1.0)
        };
        let each: Vec<f64> = outside.iter().map(|(_, values)| above_some(values)).collect();
        let tested = Tested {
            p_holds: each.iter().copied().fold(0.0, f64::max),
            p_fails: outside.iter().map(|(_, values)| below_all(values)).fold(1.0, f64::min),
        };
        let mean = |values: &[Reading]| {
            values.iter().map(|value| value.value()).sum::<f64>() / values.len() as f64
        };
        let min = inside.iter().chain(&outside);
        let min = min.min_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
        let (at, values) = min.expect("there are points");
        let is_inside = (from..=to).contains(&self.cases[*at].x);
        let (near, far) = if is_inside { (&inside, &outside) } else { (&outside, &inside) };
        let needs = min_replicas_to_decide(values, far, level / near.len() as f64);
        let needs = needs.filter(|needs| *needs > replicas);
        let shown = Shown { ours: self.cases[*at].x, low: None, high: None };
        let at = *at;
        for ((out, _), p) in outside.iter().zip(&each) {
            self.ruled_out[*out] = *p <= level;
        }
        Ok((Look { tested, shown, needs }, &self.cases[at]))
    }
}

/// The number of replicas that would separate these values at `level` from all on the `far` side.
fn min_replicas_to_decide(
    values: &[Reading],
    far: &[(usize, Vec<Reading>)],
    level: f64,
) -> Option<u32> {
    far.iter().try_fold(0, |max, (_, theirs)| {
        let evidence = Evidence::of_ratios(values, theirs);
        Some(evidence.replicas_to_decide(1.0, level)?.max(max))
    })
}

/// The probability to see as much as this if fewer than `wanted` of several hypotheses are true, from
/// that of each (Benjamini and Heller 2008, by Bonferroni's inequality).
fn at_least(wanted: usize, each: impl Iterator<Item = f64>) -> f64 {
    let mut each: Vec<f64> = each.collect();
    each.sort_by(f64::total_cmp);
    let others = each.len() - wanted + 1;
    (each[wanted - 1] * others as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use shortflow_units::Rng;

    use super::*;
    use crate::runs::data::tests::replica;
    use crate::spec::Looks;

    const LEAST: &str = r#"
        what = "the least"
        paper = "2 to 3"
        rule = { minimum-within = [2, 3] }
        ours = { run = "sweep", workload = "web" }
    "#;

    fn sweep(spec: &CheckSpec) -> Check<'_> {
        let cases: Vec<Case> = [1.0, 2.0, 3.0, 4.0].map(|x| Case { x, class: None }).to_vec();
        Check { spec, ruled_out: vec![false; cases.len()], cases }
    }

    /// Replicas of each point that take about so many milliseconds, give or take a tenth.
    fn replicas(about: [u64; 4], count: u32, rng: &mut Rng) -> Data {
        let mut data = Data::default();
        for (x, about) in (1..).zip(about) {
            let mut one = || replica(&[about * 9 / 10 + rng.below(about / 5)]);
            data.extend("sweep", f64::from(x), (0..count).map(|_| one()).collect());
        }
        data
    }

    #[test]
    fn a_point_that_is_ruled_out_as_the_least_needs_no_more_replicas_and_stays_out() {
        let spec: CheckSpec = toml::from_str(LEAST).unwrap();
        let mut check = sweep(&spec);
        let data = replicas([9_000, 1_000, 2_000, 1_010], 8, &mut Rng::stream(1, "sweep"));
        let (look, _) = check.test(&data, 8, 0.0125).unwrap();
        assert!(look.tested.p_holds > 0.0125, "4 may be as low as 2: {look:?}");
        assert_eq!(check.ruled_out, [true, false, false, false]);
        let mut wanted = Wanted::default();
        check.want(&mut wanted, 16);
        let mut open = Wanted::default();
        [2.0, 3.0, 4.0].into_iter().for_each(|x| open.add("sweep", x, 16));
        assert_eq!(wanted, open);

        // 1 has no more than the 8 replicas, and is not asked again.
        let mut data = replicas([9_000, 1_000, 2_000, 1_500], 64, &mut Rng::stream(2, "sweep"));
        data.extend("sweep", 5.0, vec![replica(&[1])]);
        let (look, _) = check.test(&data, 64, 0.0125).unwrap();
        assert!(look.tested.p_holds <= 0.0125, "{look:?}");
    }

    /// 4 is as low as 2, so that the least is not known to lie within 2 to 3; looks are as those of a study.
    #[test]
    fn that_the_least_is_inside_is_held_wrongly_in_5_percent_at_most() {
        let spec: CheckSpec = toml::from_str(LEAST).unwrap();
        let looks = Looks::at(vec![8, 16, 32]).unwrap();
        let mut rng = Rng::stream(3, "sweep");
        let draws = 2_000;
        let wrong = (0..draws).filter(|_| {
            let mut check = sweep(&spec);
            let data = replicas([1_300, 1_000, 1_050, 1_000], 32, &mut rng);
            looks.replicas().iter().any(|&look| {
                let (look, _) = check.test(&data, look, looks.level()).unwrap();
                look.tested.p_holds <= looks.level()
            })
        });
        let share = wrong.count() as f64 / f64::from(draws);
        assert!(share <= 0.05, "{share}");
    }

    #[test]
    fn that_several_are_true_is_as_sure_as_the_least_sure_of_them() {
        let p = [0.04, 0.01, 0.5];
        let near = |wanted: usize, expected: f64| {
            let found = at_least(wanted, p.into_iter());
            assert!((found - expected).abs() < 1e-12, "{wanted}: {found}");
        };
        near(1, 0.03);
        near(2, 0.08);
        near(3, 0.5);
    }
}
