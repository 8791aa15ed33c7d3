//! Which replicas are wanted.

use std::collections::BTreeMap;

use crate::spec::{Quantity, is_same};

/// How many replicas of which points of which runs are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wanted(BTreeMap<String, Vec<(f64, u32)>>);

impl Wanted {
    /// Requests at least this number of replicas of `run` at `x`.
    pub(crate) fn add(&mut self, run: &str, x: f64, replicas: u32) {
        let points = self.0.entry(run.to_owned()).or_default();
        match points.iter_mut().find(|(at, _)| is_same(*at, x)) {
            Some((_, wanted)) => *wanted = replicas.max(*wanted),
            None => points.push((x, replicas)),
        }
    }

    /// Requests this number of replicas of every point that `quantity` needs at `x`.
    pub(crate) fn add_quantity(&mut self, quantity: &Quantity, x: f64, replicas: u32) {
        let x = quantity.x.unwrap_or(x);
        let over = quantity.over.as_ref().map(|over| (over, quantity.over_x.unwrap_or(x)));
        for (run, x) in std::iter::once((&quantity.run, x)).chain(over) {
            self.add(run, x, replicas);
            if let Some(per) = &quantity.per {
                self.add_quantity(&per.within(quantity, run), x, replicas);
            }
        }
    }

    /// The runs of which something is wanted.
    pub(crate) fn runs(self) -> impl Iterator<Item = String> {
        self.0.into_keys()
    }

    /// Each run, point and number of replicas.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, f64, u32)> {
        self.0.iter().flat_map(|(run, points)| {
            points.iter().map(move |(x, replicas)| (run.as_str(), *x, *replicas))
        })
    }
}
