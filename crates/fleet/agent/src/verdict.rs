//! A first machine's verdict on a version, for the machines that wait.

use serde::{Deserialize, Serialize};

use crate::sanitize::sanitize;

/// What a machine has found a version to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The machine.
    pub machine: String,
    /// The digest of the version's texts.
    pub digest: String,
    /// Whether it is worse than the version before.
    pub is_worse: bool,
    /// By which measures, or by whose order.
    pub why: String,
}

impl Verdict {
    /// The same, in words that may be shown.
    pub(crate) fn sanitized(&self) -> Verdict {
        let Verdict { machine, digest, is_worse, why } = self;
        let [machine, digest, why] = [machine, digest, why].map(|text| sanitize(text));
        Verdict { machine, digest, is_worse: *is_worse, why }
    }
}

/// What the machines that are first have said of a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Heard<'v> {
    /// Those that find it no worse.
    pub(crate) good: Vec<&'v Verdict>,
    /// Those that find it worse.
    pub(crate) worse: Vec<&'v Verdict>,
    /// How many have to find it no worse.
    pub(crate) needed: usize,
}

impl<'v> Heard<'v> {
    /// The verdicts on the version with this digest by these first machines; others are ignored.
    pub(crate) fn new(verdicts: &'v [Verdict], digest: &str, first: &[String]) -> Heard<'v> {
        let counts = |it: &&Verdict| it.digest == digest && first.contains(&it.machine);
        let (worse, good) = verdicts.iter().filter(counts).partition(|verdict| verdict.is_worse);
        Heard { good, worse, needed: first.len() / 2 + 1 }
    }

    /// Whether more than half of those that are first find it no worse, and none worse.
    pub(crate) fn let_it_go_on(&self) -> bool {
        self.worse.is_empty() && self.good.len() >= self.needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(machine: &str, digest: &str, is_worse: bool) -> Verdict {
        Verdict { machine: machine.into(), digest: digest.into(), is_worse, why: String::new() }
    }

    #[test]
    fn a_version_goes_on_when_more_than_half_find_it_no_worse_and_nobody_worse() {
        let first = ["a", "b", "c"].map(str::to_owned);
        let goes = |verdicts: &[Verdict]| Heard::new(verdicts, "new", &first).let_it_go_on();
        let (a, b) = (verdict("a", "new", false), verdict("b", "new", false));
        assert!(!goes(&[]) && !goes(std::slice::from_ref(&a)));
        assert!(goes(&[a.clone(), b.clone()]));
        assert!(!goes(&[a.clone(), b.clone(), verdict("c", "new", true)]));
        assert!(!goes(&[a.clone(), verdict("b", "old", false)]), "of another version");
        assert!(!goes(&[a.clone(), verdict("d", "new", false)]), "of a machine that is not first");
        assert!(goes(&[a, b, verdict("d", "new", true)]), "nor does its word halt anything");
    }
}
