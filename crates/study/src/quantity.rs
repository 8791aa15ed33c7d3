//! The value of a quantity at a point: one number per replica.

use std::collections::BTreeMap;

use shortflow_measure::{Estimate, Replica, relative_gain};

use crate::measure::measure;
use crate::spec::{Form, Quantity};

/// The replicas of all runs, by run and point.
#[derive(Debug, Default)]
pub struct Data(BTreeMap<String, Vec<(f64, Vec<Replica>)>>);

impl Data {
    /// Takes in the replicas of `run` at `x`. Points of a run come in the order of its sweep.
    pub fn insert(&mut self, run: &str, x: f64, replicas: Vec<Replica>) {
        self.0.entry(run.to_owned()).or_default().push((x, replicas));
    }

    /// The points of a run.
    pub fn points(&self, run: &str) -> Vec<f64> {
        self.0.get(run).into_iter().flatten().map(|(x, _)| *x).collect()
    }

    fn replicas(&self, run: &str, x: f64) -> Option<&[Replica]> {
        let points = self.0.get(run)?;
        points.iter().find(|(at, _)| (at - x).abs() < 1e-9).map(|(_, r)| r.as_slice())
    }

    /// One number per replica, or what is missing. `class` holds where the quantity names none.
    pub fn values(
        &self,
        quantity: &Quantity,
        x: f64,
        class: Option<&str>,
    ) -> Result<Vec<f64>, String> {
        let x = quantity.x.unwrap_or(x);
        let class = quantity.class.as_deref().or(class);
        let of = |run: &str, x: f64| -> Result<Vec<f64>, String> {
            let replicas =
                self.replicas(run, x).ok_or_else(|| format!("run {run} has no point {x}"))?;
            let values: Option<Vec<f64>> =
                replicas.iter().map(|replica| measure(quantity, replica, class)).collect();
            values.ok_or_else(|| format!("run {run} at {x} measured nothing: {quantity:?}"))
        };
        let ours = of(&quantity.run, x)?;
        let Some(over) = &quantity.over else { return Ok(ours) };
        let reference = of(over, quantity.over_x.unwrap_or(x))?;
        Ok(ours
            .iter()
            .zip(reference)
            .map(|(ours, reference)| match quantity.form {
                Form::Value => ours - reference,
                Form::Ratio => ours / reference,
                Form::Gain => relative_gain(reference, *ours),
            })
            .collect())
    }

    /// The estimate over replicas, or what is missing.
    pub fn estimate(
        &self,
        quantity: &Quantity,
        x: f64,
        class: Option<&str>,
    ) -> Result<Estimate, String> {
        Estimate::of(&self.values(quantity, x, class)?).ok_or_else(|| "no replica".to_owned())
    }
}
