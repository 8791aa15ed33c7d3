//! The value of a quantity at a point: one number per replica.

use std::collections::BTreeMap;

use shortflow_measure::{Estimate, Replica, relative_gain};

use crate::spec::{Form, Measure, Quantity};

/// The workload that a quantity means when it names none.
const DEFAULT_WORKLOAD: &str = "cloud0";

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

/// What one replica measured, or `None` when it has nothing of this kind.
fn measure(quantity: &Quantity, replica: &Replica, class: Option<&str>) -> Option<f64> {
    let workload = || replica.workload(quantity.workload.as_deref().unwrap_or(DEFAULT_WORKLOAD));
    let completions = || {
        let workload = workload()?;
        match class {
            Some(class) => workload.class(class),
            None => Some(&workload.all),
        }
    };
    let stream = |name: &str| workload()?.streams.iter().find(|stream| stream.name == name);
    let datagrams = || workload()?.datagrams.as_ref();
    let port = || replica.port(quantity.at.as_deref()?);
    match quantity.measure {
        Measure::Completion => completions()?.mean(),
        Measure::CompletionMedian => completions()?.median,
        Measure::CompletionP95 => completions()?.p95,
        Measure::CompletionP99 => completions()?.p99,
        Measure::ShareOver => {
            let (all, limit) = (completions()?, quantity.limit?);
            all.share_over(all.over.iter().position(|over| over.limit == limit)?)
        }
        Measure::Open => Some(workload()?.open as f64),
        Measure::Delay => match &quantity.stream {
            Some(name) => stream(name)?.delay,
            None => datagrams()?.delay,
        },
        Measure::DelayMax => match &quantity.stream {
            Some(name) => stream(name)?.delay_max,
            None => datagrams()?.delay_max,
        },
        Measure::Jitter => datagrams()?.jitter,
        Measure::DatagramLoss => match &quantity.stream {
            Some(name) => stream(name)?.loss(),
            None => datagrams()?.loss(),
        },
        Measure::MeanQueue => Some(port()?.mean_queue_packets),
        Measure::Loss => match &quantity.code_point {
            None => port()?.loss(),
            Some(name) => {
                let index = replica.code_points.iter().position(|n| n == name)?;
                port()?.code_points.get(index)?.loss()
            }
        },
        Measure::CounterRate => {
            let bytes = replica.counters.get(quantity.at.as_deref()?)?;
            Some(bytes * 8.0 / replica.measured / 1e6)
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_measure::{ClassResult, OverLimit, StreamResult, WorkloadResult};

    use super::*;

    fn replica() -> Replica {
        let over = vec![
            OverLimit { limit: 5.0, completed: 0, open: 3 },
            OverLimit { limit: 10.0, completed: 0, open: 0 },
        ];
        let stream = StreamResult {
            name: "a->b #4".to_owned(),
            delay: Some(0.079),
            delay_max: Some(0.172),
            delivered: 9,
            dropped: 1,
            ..StreamResult::default()
        };
        let web = WorkloadResult {
            name: "web".to_owned(),
            all: ClassResult { over, ..ClassResult::default() },
            streams: vec![stream],
            ..WorkloadResult::default()
        };
        Replica {
            measured: 1.0,
            code_points: Vec::new(),
            drop_reasons: Vec::new(),
            workloads: vec![web],
            ports: Vec::new(),
            counters: BTreeMap::new(),
            series: Vec::new(),
            accesses: BTreeMap::new(),
        }
    }

    fn value(quantity: &str) -> Option<f64> {
        let text = format!("run = \"a\"\nworkload = \"web\"\n{quantity}");
        measure(&toml::from_str(&text).unwrap(), &replica(), None)
    }

    #[test]
    fn a_share_over_a_limit_is_found_by_the_limit_that_was_measured() {
        assert_eq!(value("measure = \"share-over\"\nlimit = 5.0"), Some(1.0));
        assert_eq!(value("measure = \"share-over\"\nlimit = 7.0"), None, "not measured");
        assert_eq!(value("measure = \"share-over\""), None, "no limit is named");
    }

    #[test]
    fn a_stream_has_its_own_delay_and_loss() {
        let of = |measure: &str, stream: &str| {
            value(&format!("measure = \"{measure}\"\nstream = \"{stream}\""))
        };
        assert_eq!(of("delay", "a->b #4"), Some(0.079));
        assert_eq!(of("delay-max", "a->b #4"), Some(0.172));
        assert_eq!(of("datagram-loss", "a->b #4"), Some(0.1));
        assert_eq!(of("delay", "a->b #5"), None);
    }
}
