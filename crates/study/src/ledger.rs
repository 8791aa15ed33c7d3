//! The ledger of a study: every claim, its checks, and the verdict on each.

use serde::{Deserialize, Serialize};
use shortflow_measure::{Estimate, Reading, paired};

use crate::judge::{self, Verdict};
use crate::quantity::Data;
use crate::spec::{CheckSpec, ClaimSpec, Claims, Rule};

/// The ledger as `reproduce --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The study's name.
    pub study: String,
    /// Whether it was the short variant.
    pub quick: bool,
    /// Replicas of each point.
    pub replicas: u32,
    /// Simulated duration of each, as in a scenario.
    pub duration: String,
    /// Which TCP ran: its era and what differs from it, each once; empty when nothing used TCP. A
    /// ledger of earlier versions does not say.
    #[serde(default)]
    pub tcp: Option<String>,
    /// Its claims.
    pub claims: Vec<ClaimResult>,
}

impl Ledger {
    /// Which TCP ran, in a sentence.
    pub fn tcp_in_words(&self) -> String {
        match self.tcp.as_deref() {
            None => "TCP: unknown; the ledger does not record it.".to_owned(),
            Some("") => "TCP: none.".to_owned(),
            Some(tcp) => format!("TCP: {tcp}."),
        }
    }
}

/// A claim and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Its number.
    pub id: String,
    /// What the paper claims.
    pub claim: String,
    /// The same in a few words.
    pub short: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What a reader must know.
    pub note: String,
    /// Its checks.
    pub checks: Vec<CheckResult>,
}

/// A check and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// What was checked.
    pub what: String,
    /// The paper's figure or assertion.
    pub paper: String,
    /// Our value: a ratio to the reference under `far-below`, the difference from it under
    /// `above` and `below`, the quantity itself otherwise.
    pub ours: Option<f64>,
    /// The lower end of its 95 % interval.
    pub low: Option<f64>,
    /// The upper end of its 95 % interval.
    pub high: Option<f64>,
    /// Whether it holds; nothing when the intervals decide neither way.
    pub holds: Option<bool>,
}

/// Judges all claims of a study.
pub fn judge_all(claims: &Claims, data: &Data) -> Vec<ClaimResult> {
    claims.claims.iter().map(|claim| judge_claim(claim, data)).collect()
}

fn judge_claim(claim: &ClaimSpec, data: &Data) -> ClaimResult {
    let judged: Vec<(CheckResult, Verdict)> =
        claim.checks.iter().flat_map(|check| judge_check(check, data)).collect();
    ClaimResult {
        id: claim.id.clone(),
        claim: claim.claim.clone(),
        short: claim.short.clone().unwrap_or_else(|| claim.claim.clone()),
        verdict: Verdict::on_all(judged.iter().map(|(_, verdict)| *verdict)),
        note: claim.note.trim().to_owned(),
        checks: judged.into_iter().map(|(result, _)| result).collect(),
    }
}

/// Judges a check at each of its points and classes.
fn judge_check(check: &CheckSpec, data: &Data) -> Vec<(CheckResult, Verdict)> {
    let classes: Vec<Option<&str>> = match &check.class {
        None => vec![None],
        Some(classes) => classes.iter().map(|class| Some(class.as_str())).collect(),
    };
    let whole_sweep = matches!(check.rule, Rule::MinimumWithin(..));
    let run = data.points(&check.ours.run);
    let was_run = |x: &f64| check.ours.x.is_some() || run.iter().any(|at| (at - x).abs() < 1e-9);
    let points = match (&check.x, check.ours.x) {
        // A quick study leaves out some points; the others are judged.
        (Some(x), _) => x.iter().copied().filter(was_run).collect(),
        (None, Some(x)) => vec![x],
        (None, None) => run.clone(),
    };
    let mut results = Vec::new();
    for class in classes {
        if whole_sweep {
            results.push(result(check, None, class, judge_minimum(check, data, class)));
            continue;
        }
        for &x in &points {
            results.push(result(check, Some(x), class, judge_at(check, data, x, class)));
        }
    }
    results
}

type Judged = Result<(Estimate, Verdict), String>;

fn result(
    check: &CheckSpec,
    x: Option<f64>,
    class: Option<&str>,
    judged: Judged,
) -> (CheckResult, Verdict) {
    let mut what = check.what.replace("{class}", class.unwrap_or("all"));
    if let Some(x) = x {
        what = what.replace("{x}", &x.to_string());
    }
    let (ours, verdict) = match judged {
        Ok((ours, verdict)) => (Some(ours), verdict),
        Err(missing) => {
            what = format!("{what} ({missing})");
            (None, Verdict::Unsettled)
        }
    };
    let check = CheckResult {
        what,
        paper: check.paper.clone(),
        ours: ours.map(|ours| ours.mean),
        low: ours.and_then(|ours| ours.low),
        high: ours.and_then(|ours| ours.high),
        holds: verdict.as_bool(),
    };
    (check, verdict)
}

fn judge_at(check: &CheckSpec, data: &Data, x: f64, class: Option<&str>) -> Judged {
    let values = data.values(&check.ours, x, class)?;
    let ours = Estimate::of(&values).ok_or("no replica")?;
    let than = || -> Result<Vec<f64>, String> {
        let than = check.than.as_ref().ok_or("the check names nothing to compare with")?;
        data.values(than, x, class)
    };
    let estimate = |values: &[f64]| Estimate::of(values).ok_or("no replica");
    let unsettled = Verdict::Unsettled;
    let verdict = match check.rule {
        Rule::Figure(figure) => judge::figure(&ours, figure),
        Rule::AboutZero => judge::about_zero(&ours),
        Rule::AtMost(bound) => judge::at_most(&ours, bound),
        Rule::AtLeast(bound) => judge::at_least(&ours, bound),
        Rule::FarBelow => {
            let than = than()?;
            let verdict = judge::far_below(&than, &values).unwrap_or(unsettled);
            let ratios: Vec<f64> = values.iter().zip(&than).map(|(a, b)| a / b).collect();
            return Ok((estimate(&ratios)?, verdict));
        }
        Rule::Below | Rule::Above => {
            let than = than()?;
            let (upper, lower) =
                if check.rule == Rule::Below { (&than, &values) } else { (&values, &than) };
            let verdict = judge::below(upper, lower).unwrap_or(unsettled);
            return Ok((paired(&than, &values).ok_or("no replica")?, verdict));
        }
        Rule::PerceptiblyBelow => judge::perceptibly_below(&estimate(&than()?)?, &ours),
        Rule::PerceptiblyAbove => judge::perceptibly_below(&ours, &estimate(&than()?)?),
        Rule::MinimumWithin(..) => return Err("a minimum needs the whole sweep".to_owned()),
    };
    Ok((ours, verdict))
}

/// Whether the sweep has its least value inside the range: the best point inside is below the best
/// point outside, replica by replica.
fn judge_minimum(check: &CheckSpec, data: &Data, class: Option<&str>) -> Judged {
    let Rule::MinimumWithin(from, to) = check.rule else {
        return Err("not a rule over the whole sweep".to_owned());
    };
    let mut inside: Option<(f64, Vec<f64>)> = None;
    let mut outside: Option<(f64, Vec<f64>)> = None;
    for x in data.points(&check.ours.run) {
        let values = data.values(&check.ours, x, class)?;
        let side = if (from..=to).contains(&x) { &mut inside } else { &mut outside };
        if side.as_ref().is_none_or(|(_, best)| mean(&values) < mean(best)) {
            *side = Some((x, values));
        }
    }
    let (x_inside, inside) = inside.ok_or("no point inside the range")?;
    let (x_outside, outside) = outside.ok_or("no point outside the range")?;
    let verdict = judge::below(&outside, &inside).unwrap_or(Verdict::Unsettled);
    let x = if mean(&inside) <= mean(&outside) { x_inside } else { x_outside };
    Ok((Estimate::pooled(Reading::Exact(x), inside.len() as u32), verdict))
}

fn mean(values: &[f64]) -> f64 {
    shortflow_measure::mean(values).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use shortflow_measure::{ClassResult, Replica, Transfer, WorkloadResult};
    use shortflow_units::Duration;

    use super::*;

    /// A replica in which the transfers of `cloud0` took `millis` on average.
    fn replica(millis: u64) -> Replica {
        let mut all = ClassResult::default();
        all.record(&Transfer { reply: Duration::from_millis(millis), ..Transfer::default() });
        let workload = WorkloadResult { name: "cloud0".to_owned(), all, ..Default::default() };
        Replica {
            number: 0,
            measured: 1.0,
            code_points: Vec::new(),
            drop_reasons: Vec::new(),
            workloads: vec![workload],
            ports: Vec::new(),
            counters: Default::default(),
            series: Vec::new(),
            accesses: Default::default(),
        }
    }

    /// The mean completion times of a run, in ms: the points of its sweep, each with its replicas.
    fn run(data: &mut Data, name: &str, points: &[(f64, [u64; 3])]) {
        for (x, millis) in points {
            data.insert(name, *x, millis.iter().map(|m| replica(*m)).collect());
        }
    }

    fn judged(data: &Data, check: &str) -> Vec<(String, Option<f64>, Option<bool>)> {
        let mut check: CheckSpec = toml::from_str(check).unwrap();
        for quantity in std::iter::once(&mut check.ours).chain(&mut check.than) {
            quantity.workload.get_or_insert_with(|| "cloud0".to_owned());
        }
        judge_check(&check, data)
            .into_iter()
            .map(|(result, _)| (result.what, result.ours, result.holds))
            .collect()
    }

    #[test]
    fn a_ledger_that_does_not_say_which_tcp_ran_is_read_as_unknown() {
        let old =
            r#"{"study": "a", "quick": false, "replicas": 2, "duration": "1 s", "claims": []}"#;
        let ledger: Ledger = serde_json::from_str(old).unwrap();
        assert_eq!(ledger.tcp_in_words(), "TCP: unknown; the ledger does not record it.");
        let of = |tcp: &str| Ledger { tcp: Some(tcp.to_owned()), ..ledger.clone() }.tcp_in_words();
        assert_eq!([of("Linux today"), of("")], ["TCP: Linux today.", "TCP: none."]);
    }

    #[test]
    fn above_and_below_are_judged_on_paired_differences_at_each_point() {
        let mut data = Data::default();
        run(&mut data, "slow", &[(0.6, [100, 200, 300]), (0.9, [100, 200, 300])]);
        run(&mut data, "fast", &[(0.6, [90, 189, 291]), (0.9, [110, 211, 310])]);
        let check = |rule: &str| {
            judged(
                &data,
                &format!(
                    "what = \"at {{x}}\"\npaper = \"\"\nrule = \"{rule}\"\n\
                     ours.run = \"fast\"\nthan.run = \"slow\""
                ),
            )
        };
        let verdicts =
            |rule| check(rule).into_iter().map(|(_, _, holds)| holds).collect::<Vec<_>>();
        assert_eq!(verdicts("below"), [Some(true), Some(false)]);
        assert_eq!(verdicts("above"), [Some(false), Some(true)]);
        let (what, ours, _) = check("below").swap_remove(0);
        assert_eq!(what, "at 0.6");
        assert!((ours.unwrap() + 0.010).abs() < 1e-9, "the difference in seconds");
    }

    #[test]
    fn a_minimum_must_lie_within_its_range_and_be_told_from_what_lies_outside() {
        let judge = |outside: [u64; 3]| {
            let mut data = Data::default();
            run(&mut data, "sweep", &[(1.0, [300; 3]), (7.0, [200, 210, 220]), (30.0, outside)]);
            let check = "what = \"\"\npaper = \"\"\nrule = { minimum-within = [5.0, 15.0] }\n\
                         ours.run = \"sweep\"";
            let (_, x, holds) = judged(&data, check).swap_remove(0);
            (x, holds)
        };
        assert_eq!(judge([250, 261, 270]), (Some(7.0), Some(true)));
        assert_eq!(judge([150, 161, 170]), (Some(30.0), Some(false)));
        assert_eq!(judge([150, 260, 230]), (Some(7.0), None));
    }

    #[test]
    fn a_gain_compares_two_runs_or_two_points_of_one() {
        let mut data = Data::default();
        run(&mut data, "sweep", &[(10.0, [110; 3]), (30.0, [100; 3])]);
        let check = "what = \"\"\npaper = \"\"\nrule = \"about-zero\"\n\
                     ours = { run = \"sweep\", x = 10.0, over = \"sweep\", over_x = 30.0, form = \"gain\" }";
        let (_, gain, holds) = judged(&data, check).swap_remove(0);
        assert!((gain.unwrap() + 10.0).abs() < 1e-9 && holds == Some(true));
    }

    #[test]
    fn what_was_not_run_is_unsettled_and_says_so() {
        let mut data = Data::default();
        run(&mut data, "ours", &[(0.6, [100; 3])]);
        let check = "what = \"w\"\npaper = \"\"\nrule = \"below\"\nours.run = \"ours\"\nthan.run = \"other\"";
        assert_eq!(
            judged(&data, check),
            [("w (run other has no point 0.6)".to_owned(), None, None)]
        );
    }
}
