//! The value of a quantity at a point: one number per replica.

use std::collections::BTreeMap;

use shortflow_measure::{Estimate, Measure, Reading, relative_gain};
use shortflow_text::suggestion;

use super::measure::measure;
use super::missing::Missing;
use super::stored_replica::StoredReplica;
use crate::spec::{Form, Quantity, is_same};

/// The replicas of all runs, by run and point.
#[derive(Debug, Default)]
pub struct Data(BTreeMap<String, Vec<(f64, Vec<StoredReplica>)>>);

impl Data {
    /// Takes in more replicas of `run` at `x`, after those that there are. Points of a run come in the
    /// order of its sweep.
    pub fn extend<R: Into<StoredReplica>>(&mut self, run: &str, x: f64, replicas: Vec<R>) {
        let replicas = replicas.into_iter().map(Into::into);
        let points = self.0.entry(run.to_owned()).or_default();
        match points.iter_mut().find(|(at, _)| is_same(*at, x)) {
            Some((_, there)) => there.extend(replicas),
            None => points.push((x, replicas.collect())),
        }
    }

    /// The points of a run.
    pub fn points(&self, run: &str) -> Vec<f64> {
        self.0.get(run).into_iter().flatten().map(|(x, _)| *x).collect()
    }

    /// The replicas of `run` at `x`, or at its only point; and that point.
    pub(crate) fn point(&self, run: &str, x: Option<f64>) -> Option<(f64, &[StoredReplica])> {
        let x = match (x, self.0.get(run)?.as_slice()) {
            (Some(x), _) => x,
            (None, [(only, _)]) => *only,
            (None, _) => return None,
        };
        Some((x, self.replicas(run, x)?))
    }

    /// The replicas of `run` at `x`.
    pub(crate) fn replicas(&self, run: &str, x: f64) -> Option<&[StoredReplica]> {
        let points = self.0.get(run)?;
        points.iter().find(|(at, _)| is_same(*at, x)).map(|(_, r)| r.as_slice())
    }

    /// What each replica says, of as many as all runs have. `class` holds where the quantity names none.
    ///
    /// # Errors
    /// When a point or a measurement is missing, or bounds cannot be combined.
    pub fn readings(
        &self,
        quantity: &Quantity,
        x: f64,
        class: Option<&str>,
    ) -> Result<Vec<Reading>, Missing> {
        let x = quantity.x.unwrap_or(x);
        let class = quantity.class.as_deref().or(class);
        let ours = self.of_run(quantity, &quantity.run, x, class)?;
        let Some(over) = &quantity.over else { return Ok(ours) };
        let reference = self.of_run(quantity, over, quantity.over_x.unwrap_or(x), class)?;
        let join = |(ours, reference): (f64, f64)| match quantity.form {
            Form::Value => ours - reference,
            Form::Ratio => ours / reference,
            Form::Gain => relative_gain(reference, ours),
        };
        let pairs = exact(&quantity.run, &ours)?.into_iter().zip(exact(over, &reference)?);
        Ok(pairs.map(join).map(Reading::Exact).collect())
    }

    /// The quantity in its unit, of one run at one point.
    fn of_run(
        &self,
        quantity: &Quantity,
        run: &str,
        x: f64,
        class: Option<&str>,
    ) -> Result<Vec<Reading>, Missing> {
        let no_point = || Missing::Point { run: run.to_owned(), x };
        let replicas = self.replicas(run, x).ok_or_else(no_point)?;
        let values: Option<Vec<Reading>> =
            replicas.iter().map(|replica| measure(quantity, replica, class)).collect();
        let nothing = || match unknown_counter(quantity, replicas) {
            Some((counter, known)) => Missing::Counter { run: run.to_owned(), x, counter, known },
            None => {
                let quantity = quantity.describe(class);
                Missing::Measurement { run: run.to_owned(), x, quantity }
            }
        };
        let mut values = values.ok_or_else(nothing)?;
        if let Some(per) = &quantity.per {
            let per = per.within(quantity, run);
            let divisors = exact(run, &self.readings(&per, x, class)?)?;
            if divisors.contains(&0.0) {
                let quantity = per.describe(class);
                return Err(Missing::Divisor { run: run.to_owned(), x, quantity });
            }
            let divide = |(value, divisor): (&mut Reading, f64)| {
                *value = value.map(|value| value / divisor);
            };
            values.truncate(divisors.len());
            values.iter_mut().zip(divisors).for_each(divide);
        }
        let unit = quantity.unit.unwrap_or(1.0);
        Ok(values.into_iter().map(|value| value.map(|value| value / unit)).collect())
    }

    /// The estimate over replicas.
    ///
    /// # Errors
    /// When a point or a measurement is missing, or bounds cannot be combined.
    pub fn estimate(
        &self,
        quantity: &Quantity,
        x: f64,
        class: Option<&str>,
    ) -> Result<Estimate, Missing> {
        let readings = self.readings(quantity, x, class)?;
        Estimate::of_readings(&readings).ok_or(Missing::Replica)
    }
}

/// The counter that a quantity names and no replica has, and those that there are: they are the parts' own, so that
/// only a run tells their names.
fn unknown_counter(quantity: &Quantity, replicas: &[StoredReplica]) -> Option<(String, String)> {
    let name = quantity.at.as_deref()?;
    let is_counter = matches!(quantity.measure, Measure::Counter | Measure::CounterRate);
    let first = replicas.first().filter(|_| is_counter)?;
    let known: Vec<&str> = first.counters.keys().map(String::as_str).collect();
    Some((name.to_owned(), suggestion(name, "its counters", &known)))
}

/// The numbers, where every replica knows its own.
fn exact(run: &str, readings: &[Reading]) -> Result<Vec<f64>, Missing> {
    let values: Vec<f64> = readings.iter().filter_map(|reading| reading.exact()).collect();
    match (readings.len() - values.len(), Estimate::of_readings(readings)) {
        (0, _) | (_, None) => Ok(values),
        (bounds, Some(estimate)) => Err(Missing::Bounded {
            run: run.to_owned(),
            bounds,
            replicas: readings.len(),
            at_least: estimate.mean,
        }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use shortflow_measure::{ClassResult, Replica, Transfer, WorkloadResult};
    use shortflow_units::Duration;

    use super::*;

    /// A replica in which `web` completed transfers in these times.
    pub(crate) fn replica(millis: &[u64]) -> Replica {
        let mut all = ClassResult::default();
        for millis in millis {
            all.record(&Transfer { reply: Duration::from_millis(*millis), ..Transfer::default() });
        }
        let workload = WorkloadResult { name: "web".to_owned(), all, ..Default::default() };
        Replica {
            number: 0,
            measured: 4.0,
            code_points: Vec::new(),
            drop_reasons: Vec::new(),
            workloads: vec![workload],
            ports: Vec::new(),
            counters: BTreeMap::new(),
            series: Vec::new(),
            accesses: BTreeMap::new(),
        }
    }

    fn data() -> Data {
        let mut data = Data::default();
        data.extend("old", 1.0, vec![replica(&[100, 300]), replica(&[200, 200])]);
        data.extend("new", 1.0, vec![replica(&[100, 100]), replica(&[50, 150])]);
        data.extend("new", 2.0, vec![replica(&[400]), replica(&[])]);
        data
    }

    fn values(quantity: &str) -> Result<Vec<f64>, Missing> {
        let text = format!("workload = \"web\"\n{quantity}");
        let readings = data().readings(&toml::from_str(&text).unwrap(), 1.0, None)?;
        Ok(readings.iter().map(|reading| reading.exact().unwrap()).collect())
    }

    fn near(quantity: &str, expected: [f64; 2]) {
        let values = values(quantity).unwrap();
        let is_near = values.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-12);
        assert!(is_near, "{quantity}: {values:?} for {expected:?}");
    }

    #[test]
    fn a_quantity_is_divided_by_another_replica_by_replica() {
        let max_over_mean = "measure = \"completion-max\"\nper.measure = \"completion\"";
        near(&format!("run = \"old\"\n{max_over_mean}"), [1.5, 1.0]);
        near("run = \"old\"\nper.run = \"new\"", [2.0, 2.0]);
        near("run = \"old\"\nper = { measure = \"completed-rate\" }", [0.4, 0.4]);
    }

    #[test]
    fn against_another_run_each_side_is_divided_by_its_own() {
        let text = "run = \"new\"\nover = \"old\"\nform = \"ratio\"\n\
                    measure = \"completion-max\"\nper.measure = \"completion\"";
        near(text, [1.0 / 1.5, 1.5]);
    }

    #[test]
    fn what_is_bounded_is_shown_as_a_bound_and_divides_nothing() {
        let mut bounded = replica(&[100, 300]);
        let all = &mut bounded.workloads[0].all;
        (all.unfinished, all.oldest_unfinished) = (1, 0.9);
        let mut data = Data::default();
        data.extend("run", 1.0, vec![bounded, replica(&[100, 300])]);
        let longest = "run = \"run\"\nworkload = \"web\"\nmeasure = \"completion-max\"";
        let longest = toml::from_str(longest).unwrap();
        let shown = data.estimate(&longest, 1.0, None).unwrap();
        assert!(shown.at_least && (shown.mean - 0.6).abs() < 1e-12, "{shown:?}");
        let divided = "run = \"run\"\nworkload = \"web\"\nper.measure = \"completion-max\"";
        let why = data.readings(&toml::from_str(divided).unwrap(), 1.0, None).unwrap_err();
        assert!(matches!(why, Missing::Bounded { bounds: 1, replicas: 2, .. }), "{why:?}");
        let why = why.to_string();
        assert!(why.starts_with("in 1 of 2 replicas of run too many transfers"), "{why}");
    }

    #[test]
    fn a_unit_is_what_counts_as_one() {
        near("run = \"new\"\nmeasure = \"completion-max\"\nunit = 0.05", [2.0, 3.0]);
        near("run = \"new\"\nover = \"old\"\nunit = 0.05", [-2.0, -2.0]);
    }

    #[test]
    fn a_counter_that_is_not_there_is_told_with_the_nearest_that_is() {
        let mut counted = replica(&[100]);
        counted.counters.insert("web/packets shaped".to_owned(), 3.0);
        let mut data = Data::default();
        data.extend("run", 1.0, vec![counted]);
        let shaped = "run = \"run\"\nmeasure = \"counter\"\nat = \"web/packet shaped\"";
        assert_eq!(
            data.readings(&toml::from_str(shaped).unwrap(), 1.0, None).unwrap_err().to_string(),
            "run run at 1 has no counter `web/packet shaped`; did you mean `web/packets shaped`? \
             its counters: `web/packets shaped`"
        );
    }

    #[test]
    fn what_cannot_be_divided_says_why() {
        let of = |quantity: &str| values(quantity).unwrap_err().to_string();
        let nothing = of("run = \"old\"\nper = { run = \"new\", x = 2.0 }");
        assert_eq!(nothing, "run new at 2 measured no completion of web");
        let zero =
            of("run = \"old\"\nper = { run = \"new\", x = 2.0, measure = \"completed-rate\" }");
        assert_eq!(zero, "run old at 1 has no completed-rate of web to divide by");
        assert!(of("run = \"old\"\nper.run = \"other\"").contains("run other has no point 1"));
    }
}
