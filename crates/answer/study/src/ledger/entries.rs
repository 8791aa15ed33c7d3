//! The ledger of a study: every claim, its checks, and the verdict on each.

use serde::{Deserialize, Serialize};
use shortflow_measure::Warning;

use crate::judge::Verdict;

/// The ledger as `reproduce --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The study's name.
    pub study: String,
    /// Whether it was the short variant.
    pub quick: bool,
    /// The numbers of replicas at which claims were looked at.
    pub looks: Vec<u32>,
    /// Simulated duration of each, as in a scenario.
    pub duration: String,
    /// Which TCP ran: its era and what differs from it, each once; empty when nothing used TCP.
    pub tcp: String,
    /// The warnings about the study's policies and scenarios, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The reading of what the paper leaves open that fits best, by the names of its parts; empty when
    /// nothing was calibrated.
    pub reading: String,
    /// Whether that reading, like all others, misses some of the figures that the paper reports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reading_misses: bool,
    /// What was rehearsed beside it: which TCP, and for how long; empty when nothing was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rehearsed: String,
    /// Its claims.
    pub claims: Vec<ClaimResult>,
}

impl Ledger {
    /// Which TCP ran, in a sentence.
    pub fn describe_tcp(&self) -> String {
        // The runs of a study may differ in it; the report of each scenario tells its own.
        let mut each = self.tcp.split(" | ");
        match (each.next().unwrap_or_default(), each.count()) {
            ("", _) => "TCP: none.".to_owned(),
            (only, 0) => format!("TCP: {only}."),
            (first, 1) => format!("TCP: {first}; in another form where runs say so."),
            (first, others) => format!("TCP: {first}; in {others} other forms where runs say so."),
        }
    }

    /// Which reading was judged, in a sentence; empty where nothing was calibrated.
    pub fn describe_reading(&self) -> String {
        let reading = self.reading.replace('+', ", ");
        match (&*reading, self.reading_misses) {
            ("", _) => String::new(),
            (_, false) => format!("Calibrated reading: {reading}."),
            (_, true) => format!(
                "No reading meets all that the paper reports of its set-up; judged at the one that fits best: \
                 {reading}."
            ),
        }
    }

    /// How many claims have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|claim| claim.verdict == verdict).count()
    }

    /// `13 claims: 9 hold, 3 fail, 1 depends, 0 unsettled`.
    pub fn describe(&self) -> String {
        let count = |verdict| self.count(verdict);
        format!(
            "{} claims: {} hold, {} fail, {} depend, {} unsettled",
            self.claims.len(),
            count(Verdict::Holds),
            count(Verdict::Fails),
            count(Verdict::Depends),
            count(Verdict::Unsettled),
        )
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
    /// The verdicts under other readings that the calibration passes.
    pub readings: Vec<ReadingResult>,
    /// The replicas that it took.
    pub replicas: u32,
    /// Its checks.
    pub checks: Vec<CheckResult>,
    /// What is reported beside it, without a vote.
    pub observations: Vec<ObservationResult>,
}

/// The verdict on a claim under another reading of what the paper leaves open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadingResult {
    /// The reading, by the names of its parts.
    pub reading: String,
    /// Whether the claim holds there.
    pub verdict: Verdict,
}

/// A check and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// What was checked.
    pub what: String,
    /// The paper's figure or assertion.
    pub paper: String,
    /// Our number: a ratio for the rules that compare, the quantity itself otherwise.
    pub ours: Option<f64>,
    /// The lower end of its interval, of the level at which the check is judged.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The replicas that say so.
    pub replicas: u32,
    /// With how many replicas an open check would be decided, by what they spread now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<u32>,
    /// For a check that fails, the smallest change found under which it holds.
    pub counterfactual: Option<Counterfactual>,
    /// For a check that fails, a statement of the paper that contradicts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// The result over real kernels, if it was rehearsed; it does not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsed: Option<RehearsedNumber>,
}

/// The result of a check over real kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RehearsedNumber {
    /// The number.
    pub ours: Option<f64>,
    /// The lower end of its interval, of the level at which the check would be judged.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether the check would hold by it.
    pub verdict: Verdict,
    /// The replicas that say so.
    pub replicas: u32,
}

/// What was tried where a check fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Counterfactual {
    /// A change under which it holds.
    Found(Trial),
    /// Changes that were tried without success.
    Tried {
        /// Each, and what came of it.
        tried: Vec<Trial>,
    },
}

/// A check under a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What was changed.
    pub change: String,
    /// Our number then.
    pub ours: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether the check holds then.
    pub verdict: Verdict,
}

/// A number beside a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservationResult {
    /// What was measured.
    pub what: String,
    /// What the paper has, if anything.
    pub paper: String,
    /// Our number.
    pub ours: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(verdict: Verdict) -> Trial {
        let (ours, low, high) = (Some(0.4), Some(0.3), Some(0.5));
        Trial { change: "a larger window".to_owned(), ours, low, high, verdict }
    }

    #[test]
    fn what_was_found_is_told_from_what_was_tried_in_vain() {
        let found = Counterfactual::Found(trial(Verdict::Holds));
        let vain = Counterfactual::Tried { tried: vec![trial(Verdict::Fails)] };
        for (counterfactual, key) in [(found, "change"), (vain, "tried")] {
            let json = serde_json::to_value(&counterfactual).unwrap();
            assert!(json.get(key).is_some(), "{json}");
            let read: Counterfactual = serde_json::from_value(json).unwrap();
            assert_eq!(read, counterfactual);
        }
    }
}
