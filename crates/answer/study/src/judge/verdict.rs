//! The verdict on a check or a claim.

use serde::{Deserialize, Serialize};

/// The verdict on a check or a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not hold.
    Fails,
    /// It holds under one reading of what the paper leaves open and fails under another.
    Depends,
    /// The replicas decide neither way.
    Unsettled,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 4] =
        [Verdict::Holds, Verdict::Fails, Verdict::Depends, Verdict::Unsettled];

    /// The verdict on a claim that has these checks: it fails when one does, and holds when all do.
    /// Where nothing was checked, nothing is settled.
    pub fn on_all(checks: impl IntoIterator<Item = Verdict>) -> Verdict {
        let worse = |a, b| match (a, b) {
            (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
            (Verdict::Fails, _) | (_, Verdict::Fails) => Verdict::Fails,
            _ => Verdict::Unsettled,
        };
        checks.into_iter().reduce(worse).unwrap_or(Verdict::Unsettled)
    }

    /// The verdict on a claim, from the verdict `best` under the best-fitting reading, and those under other readings
    /// that pass. An unsettled verdict of another reading is ignored.
    pub fn over_readings(best: Verdict, others: impl IntoIterator<Item = Verdict>) -> Verdict {
        let contrary = match best {
            Verdict::Holds => Verdict::Fails,
            Verdict::Fails => Verdict::Holds,
            Verdict::Depends | Verdict::Unsettled => return best,
        };
        if others.into_iter().any(|other| other == contrary) { Verdict::Depends } else { best }
    }

    /// Its name in the ledger.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Depends => "depends",
            Verdict::Unsettled => "unsettled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{self, Depends, Fails, Holds, Unsettled};

    #[test]
    fn a_claim_fails_with_its_first_failing_check() {
        assert_eq!(Verdict::on_all([Holds, Holds]), Holds);
        assert_eq!(Verdict::on_all([Holds, Unsettled]), Unsettled);
        assert_eq!(Verdict::on_all([Unsettled, Fails]), Fails);
        assert_eq!(Verdict::on_all([]), Unsettled);
    }

    #[test]
    fn a_claim_that_another_reading_turns_over_depends() {
        assert_eq!(Verdict::over_readings(Holds, [Holds, Unsettled]), Holds);
        assert_eq!(Verdict::over_readings(Holds, [Unsettled, Fails]), Depends);
        assert_eq!(Verdict::over_readings(Fails, [Holds]), Depends);
        assert_eq!(Verdict::over_readings(Unsettled, [Holds, Fails]), Unsettled);
    }
}
