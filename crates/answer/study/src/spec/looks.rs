//! Looks at more and more replicas.

use serde::Deserialize;

/// The greatest probability to hold or to refuse a claim wrongly.
pub const ERROR: f64 = 0.05;

/// The most replicas that there are of a point: as many as a run of a scenario may have.
pub const MAX_REPLICAS: u32 = 10_000;

/// The numbers of replicas at which a claim is looked at, each of which may decide it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<u32>")]
pub struct Looks(Vec<u32>);

/// Numbers of replicas that are no looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("looks must be increasing numbers of replicas from 2 to 10000, such as [8, 16, 32, 64]")]
pub struct InvalidLooks;

impl TryFrom<Vec<u32>> for Looks {
    type Error = InvalidLooks;

    fn try_from(replicas: Vec<u32>) -> Result<Looks, Self::Error> {
        Looks::at(replicas).ok_or(InvalidLooks)
    }
}

impl Looks {
    /// Looks at these numbers of replicas; `None` unless there are some and they rise from 2 on, since one
    /// replica decides nothing, to [`MAX_REPLICAS`].
    pub fn at(replicas: Vec<u32>) -> Option<Looks> {
        let rises = replicas.is_sorted_by(|a, b| a < b);
        let is_allowed = |replicas: &u32| (2..=MAX_REPLICAS).contains(replicas);
        (rises && !replicas.is_empty() && replicas.iter().all(is_allowed))
            .then_some(Looks(replicas))
    }

    /// The numbers of replicas.
    pub fn replicas(&self) -> &[u32] {
        &self.0
    }

    /// The greatest.
    pub fn max_replicas(&self) -> u32 {
        self.0.last().copied().unwrap_or_default()
    }

    /// The level of each test at each look: by Bonferroni's inequality over the looks.
    pub fn level(&self) -> f64 {
        ERROR / self.0.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_rise_from_2_replicas_on() {
        for good in [vec![2], vec![8, 16, 32], vec![2, MAX_REPLICAS]] {
            assert_eq!(Looks::at(good.clone()).unwrap().replicas(), good);
        }
        for bad in [vec![], vec![0, 8], vec![1, 8], vec![8, 8], vec![9, 8], vec![8, 10_001]] {
            assert!(Looks::at(bad.clone()).is_none(), "{bad:?}");
        }
    }
}
