//! The file format of claims.

use serde::Deserialize;

use super::{Looks, Quantity};

/// The claims of a study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// In the order of the ledger.
    #[serde(rename = "claim")]
    pub claims: Vec<ClaimSpec>,
}

/// One claim of the paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// Its number, such as `cm05.1`.
    pub id: String,
    /// What the paper claims.
    pub claim: String,
    /// The same in a few words, for lists.
    pub short: Option<String>,
    /// What a reader must know: a choice that was made, or the cause of a failure.
    #[serde(default)]
    pub note: String,
    /// The numbers of replicas at which it is looked at in full; those of the study when absent.
    pub looks: Option<Looks>,
    /// The changes that are tried, in this order, for each of its checks that fails; names of
    /// `counterfactuals` in `study.toml`.
    #[serde(default)]
    pub counterfactuals: Vec<String>,
    /// All must hold.
    #[serde(rename = "check")]
    pub checks: Vec<CheckSpec>,
    /// What is reported beside it, without a vote.
    #[serde(default, rename = "observation")]
    pub observations: Vec<ObservationSpec>,
}

/// One computed check, repeated for every `x` and every `class`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// What is checked; `{x}` and `{class}` are filled in.
    pub what: String,
    /// The paper's figure or assertion, as a person reads it.
    pub paper: String,
    /// How it is judged.
    pub rule: Rule,
    /// The points of the sweep; all of the run when absent.
    pub x: Option<Vec<f64>>,
    /// The classes of transfers; all transfers together when absent.
    pub class: Option<Vec<String>>,
    /// At how many of these it must hold.
    #[serde(default)]
    pub points: Points,
    /// What is tried where it fails, instead of what the claim names.
    pub counterfactuals: Option<Vec<String>>,
    /// A statement of the paper that contradicts it, with its section: why it may fail whatever is changed.
    pub excluded: Option<String>,
    /// What is measured.
    pub ours: Quantity,
    /// What it is compared with, for the rules that compare.
    pub than: Option<Quantity>,
}

/// At how many of its points a check must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Points {
    /// At each, which is a check of its own.
    #[default]
    All,
    /// At one, as where the paper says that something can be.
    Some,
    /// At more than half of them, as where it says that something typically is.
    Most,
    /// Over all of them together, by the geometric mean of each replica, as where it says that something is on
    /// the whole.
    Together,
}

/// A number beside a claim, which says nothing of whether it holds; repeated for every `x` and `class`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservationSpec {
    /// What is measured; `{x}` and `{class}` are filled in.
    pub what: String,
    /// What the paper has, if anything.
    #[serde(default)]
    pub paper: String,
    /// The points of the sweep; all of the run when absent.
    pub x: Option<Vec<f64>>,
    /// The classes of transfers; all transfers together when absent.
    pub class: Option<Vec<String>>,
    /// What is measured.
    pub ours: Quantity,
    /// What it is divided by, replica by replica.
    pub than: Option<Quantity>,
}

/// How a check is judged (see [`judge`](crate::judge)).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Within a factor of 1.5 of this figure.
    Figure(f64),
    /// Below `than`.
    Below,
    /// Above `than`.
    Above,
    /// At most half of `than`.
    FarBelow,
    /// Within 10 % of `than`.
    Alike,
    /// At most 10 % above `than`.
    NoWorse,
    /// At most 10 % below `than`.
    NoBetter,
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Jain's index of at least 0.95.
    Fair,
    /// Completion times are distributed as those of `than`: their survival functions differ by at most 0.1
    /// everywhere.
    DistributionsAlike,
    /// More than half of the common transfers take longer than in `than`, each compared with itself.
    SlowerOneByOne,
    /// Over the whole sweep, the least value lies at an x from the first to the second number.
    MinimumWithin(f64, f64),
}

impl Rule {
    /// Whether the rule needs a second quantity.
    pub const fn compares(self) -> bool {
        match self {
            Rule::Below
            | Rule::Above
            | Rule::FarBelow
            | Rule::Alike
            | Rule::NoWorse
            | Rule::NoBetter
            | Rule::DistributionsAlike
            | Rule::SlowerOneByOne => true,
            Rule::Figure(_)
            | Rule::AtMost(_)
            | Rule::AtLeast(_)
            | Rule::Fair
            | Rule::MinimumWithin(..) => false,
        }
    }
}

impl Claims {
    /// Every quantity of its checks and observations, to be changed.
    pub(crate) fn quantities_mut(&mut self) -> impl Iterator<Item = &mut Quantity> {
        self.claims.iter_mut().flat_map(|claim| {
            let checks = claim.checks.iter_mut().map(|check| (&mut check.ours, &mut check.than));
            let seen = claim.observations.iter_mut().map(|seen| (&mut seen.ours, &mut seen.than));
            checks.chain(seen).flat_map(|(ours, than)| std::iter::once(ours).chain(than))
        })
    }
}
