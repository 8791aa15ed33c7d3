//! Sequential decisions: looks at more and more replicas, with a bound on the error of all looks together.

use super::region::Tested;
use super::verdict::Verdict;
use crate::spec::Looks;

/// The checks of a claim over the looks. What a look has decided stays decided.
#[derive(Debug, Clone)]
pub struct Sequence {
    level: f64,
    decided: Vec<Option<Verdict>>,
}

impl Sequence {
    /// A claim with this number of checks.
    pub fn new(looks: &Looks, checks: usize) -> Sequence {
        Sequence { level: looks.level(), decided: vec![None; checks] }
    }

    /// Takes in what a look says of each check; `None` where nothing was measured.
    ///
    /// # Panics
    /// When there are more or fewer of them than checks.
    pub fn look(&mut self, tested: &[Option<Tested>]) {
        assert_eq!(tested.len(), self.decided.len(), "a test for each check");
        for (decided, tested) in self.decided.iter_mut().zip(tested) {
            let holds = tested.is_some_and(|tested| tested.p_holds <= self.level);
            if decided.is_none() && holds {
                *decided = Some(Verdict::Holds);
            }
        }
        // Holm 1979: the least probability against the level over all, the next over those left.
        let mut against: Vec<(usize, f64)> = tested
            .iter()
            .enumerate()
            .filter_map(|(check, tested)| Some((check, tested.as_ref()?.p_fails)))
            .collect();
        against.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut left = self.decided.len();
        for (check, p) in against {
            if p > self.level / left as f64 {
                break;
            }
            self.decided[check].get_or_insert(Verdict::Fails);
            left -= 1;
        }
    }

    /// What became of each check.
    pub fn checks(&self) -> impl Iterator<Item = Verdict> + '_ {
        self.decided.iter().map(|decided| decided.unwrap_or(Verdict::Unsettled))
    }

    /// What became of the claim so far.
    pub fn verdict(&self) -> Verdict {
        Verdict::on_all(self.checks())
    }
}
