//! The distributions of completion times for figures, which a replica's own file omits.

use serde::{Deserialize, Serialize};
use shortflow_measure::{Replica, Survival};

use crate::spec::{ALL, Claims, FigureKind, FigureSpec, Quantity, Rule};

/// The completion times of a class of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Distribution {
    workload: String,
    class: String,
}

impl Distribution {
    /// Those of `run` at `x` that some figure shows.
    pub(crate) fn shown(figures: &[FigureSpec], run: &str, x: f64) -> Vec<Distribution> {
        let figures = figures.iter().filter(|figure| figure.kind == FigureKind::Distribution);
        let curves = figures.flat_map(|figure| &figure.curves).map(|curve| &curve.of);
        let here = curves.filter(|of| of.run == run && of.x.is_none_or(|at| (at - x).abs() < 1e-9));
        let mut shown = Vec::new();
        for of in here {
            let distribution = Distribution::named(of, None);
            if !shown.contains(&distribution) {
                shown.push(distribution);
            }
        }
        shown
    }

    /// The classes of transfers that checks of a rule compare, each once with the run whose it is.
    pub(crate) fn compared(claims: &Claims, rule: Rule) -> Vec<(String, Distribution)> {
        let checks = claims.claims.iter().flat_map(|claim| &claim.checks);
        let compared = checks.filter(|check| check.rule == rule);
        let each = compared.flat_map(|check| {
            let classes: Vec<Option<&str>> = match &check.class {
                None => vec![None],
                Some(classes) => classes.iter().map(|class| Some(class.as_str())).collect(),
            };
            let sides = std::iter::once(&check.ours).chain(&check.than);
            sides.flat_map(move |quantity| {
                let named = |class| (quantity.run.clone(), Distribution::named(quantity, class));
                classes.clone().into_iter().map(named)
            })
        });
        let mut classes = Vec::new();
        for class in each {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        classes
    }

    /// Those that a quantity means, of `class` where it names none.
    pub(crate) fn named(quantity: &Quantity, class: Option<&str>) -> Distribution {
        Distribution {
            workload: quantity.workload_name().to_owned(),
            class: quantity.class.as_deref().or(class).unwrap_or(ALL).to_owned(),
        }
    }

    /// Whether a transfer of this workload and size belongs to it, by the classes of `replica`.
    pub(crate) fn has(&self, replica: &Replica, workload: &str, bytes: u64) -> bool {
        let found = replica.workload(workload).filter(|_| workload == self.workload);
        let Some((found, wanted)) =
            found.and_then(|found| Some((found, found.class(&self.class)?)))
        else {
            return false;
        };
        let is_up_to = |up_to: Option<u64>| up_to.is_none_or(|max| bytes <= max);
        let class = found.classes.iter().find(|class| is_up_to(class.up_to));
        self.class == ALL || class.is_some_and(|class| class.label == wanted.label)
    }

    /// The completion times themselves, if a replica has such a class.
    pub(crate) fn times<'a>(&self, replica: &'a Replica) -> Option<&'a Survival> {
        let workload = replica.workload(&self.workload)?;
        Some(&workload.class(&self.class)?.times)
    }

    /// Takes all other completion times out of a replica: they are the most of what it holds.
    pub(crate) fn forget_others(shown: &[Distribution], replica: &mut Replica) {
        let each = shown.iter().map(|shown| shown.find_mut(replica).map(std::mem::take));
        let kept: Vec<Option<Survival>> = each.collect();
        for workload in &mut replica.workloads {
            for class in workload.classes.iter_mut().chain([&mut workload.all]) {
                class.times = Survival::default();
            }
        }
        for (shown, kept) in shown.iter().zip(kept) {
            if let (Some(place), Some(kept)) = (shown.find_mut(replica), kept) {
                *place = kept;
            }
        }
    }

    /// Its place in a replica, if that has such a class.
    pub(crate) fn find_mut<'a>(&self, replica: &'a mut Replica) -> Option<&'a mut Survival> {
        let workload = replica.workloads.iter_mut().find(|w| w.name == self.workload)?;
        Some(&mut workload.class_mut(&self.class)?.times)
    }
}
