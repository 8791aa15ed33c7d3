//! What one replica measured.

use shortflow_measure::Replica;

use crate::spec::{Measure, Quantity};

/// The workload that a quantity means when it names none.
const DEFAULT_WORKLOAD: &str = "cloud0";

/// What one replica measured, or `None` when it has nothing of this kind.
pub(crate) fn measure(quantity: &Quantity, replica: &Replica, class: Option<&str>) -> Option<f64> {
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
            counters: Default::default(),
            series: Vec::new(),
            accesses: Default::default(),
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
