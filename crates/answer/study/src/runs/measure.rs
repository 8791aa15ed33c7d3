//! Measurements of one replica.

use shortflow_measure::{Reading, Replica, Subject};

use crate::spec::{ALL, Quantity};

/// What one replica measured, or `None` when it has nothing of this kind.
pub(crate) fn measure(
    quantity: &Quantity,
    replica: &Replica,
    class: Option<&str>,
) -> Option<Reading> {
    let subject = Subject {
        workload: quantity.workload_name(),
        class: Some(class.unwrap_or(ALL)),
        stream: quantity.stream.as_deref(),
        at: quantity.at.as_deref(),
        code_point: quantity.code_point.as_deref(),
        limit: quantity.limit,
        above: quantity.above.as_deref(),
    };
    quantity.measure.read(replica, &subject)
}

#[cfg(test)]
mod tests {
    use shortflow_measure::{
        ClassResult, LongFlows, Moments, OverLimit, PortResult, StreamResult, ThroughputSamples,
        WorkloadResult,
    };

    use super::*;

    fn moments(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|value| moments.add(*value));
        moments
    }

    fn samples(bytes: &[u64]) -> ThroughputSamples {
        let mut samples = ThroughputSamples::default();
        bytes.iter().for_each(|bytes| samples.add(*bytes, 2.0));
        samples
    }

    /// Ten seconds, in which pages took 1, 2 and 6 s and three long flows got 1, 3 and 0 Mbit/s.
    fn replica() -> Replica {
        let over = vec![
            OverLimit { limit: 5.0, completed: 0, open: 3, estimated: None },
            OverLimit { limit: 10.0, completed: 0, open: 0, estimated: None },
        ];
        let completion = moments(&[1.0, 2.0, 6.0]);
        let small = ClassResult {
            label: "up to 10 KB".to_owned(),
            reply_bytes: 8_000,
            completion: moments(&[1.0, 2.0]),
            ..ClassResult::default()
        };
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
            all: ClassResult { over, completion, reply_bytes: 32_000, ..ClassResult::default() },
            classes: vec![small],
            streams: vec![stream],
            sent: 200,
            dropped: 3,
            ..WorkloadResult::default()
        };
        let long = WorkloadResult {
            name: "long".to_owned(),
            delivered_bytes: 5_000_000,
            long_flows: Some(LongFlows {
                rates: vec![1e6, 3e6, 0.0],
                shares: vec![1e6, 3e6, 1e6],
                samples: vec![samples(&[1, 1]), samples(&[0, 2, 4]), samples(&[0, 0])],
            }),
            ..WorkloadResult::default()
        };
        let port = PortResult {
            name: "r1->r2".to_owned(),
            utilisation: 0.97,
            code_points: Vec::new(),
            ecn_marks: 0,
            mean_queue_packets: 0.0,
            mean_queue_bytes: 0.0,
            mean_wait: 0.0,
            max_wait: 0.0,
        };
        Replica {
            number: 0,
            measured: 10.0,
            code_points: Vec::new(),
            drop_reasons: Vec::new(),
            workloads: vec![web, long],
            ports: vec![port],
            counters: Default::default(),
            series: Vec::new(),
            accesses: Default::default(),
        }
    }

    fn value_of(workload: &str, quantity: &str, class: Option<&str>) -> Option<f64> {
        let text = format!("run = \"a\"\nworkload = \"{workload}\"\n{quantity}");
        measure(&toml::from_str(&text).unwrap(), &replica(), class)?.exact()
    }

    fn value(quantity: &str) -> Option<f64> {
        value_of("web", quantity, None)
    }

    #[test]
    fn a_share_over_a_limit_is_found_by_the_limit_that_was_measured() {
        assert_eq!(value("measure = \"share-over\"\nlimit = 10.0"), Some(0.0));
        assert_eq!(value("measure = \"share-over\"\nlimit = 5.0"), Some(0.5));
        assert_eq!(value("measure = \"share-over\"\nlimit = 7.0"), None, "not measured");
        assert_eq!(value("measure = \"share-over\""), None, "no limit is named");
    }

    #[test]
    fn a_stream_has_its_own_delay_and_loss() {
        let value_of = |measure: &str, stream: &str| {
            value(&format!("measure = \"{measure}\"\nstream = \"{stream}\""))
        };
        assert_eq!(value_of("delay", "a->b #4"), Some(0.079));
        assert_eq!(value_of("delay-max", "a->b #4"), Some(0.172));
        assert_eq!(value_of("datagram-loss", "a->b #4"), Some(0.1));
        assert_eq!(value_of("delay", "a->b #5"), None);
    }

    #[test]
    fn completion_times_have_a_longest_a_spread_and_a_rate() {
        let near = |quantity: &str, expected: f64| {
            let value = value(quantity).unwrap();
            assert!((value - expected).abs() < 1e-12, "{quantity}: {value} for {expected}");
        };
        near("measure = \"completion-max\"", 6.0);
        // Mean 3, squared differences 4 + 1 + 9, over 3 − 1.
        near("measure = \"completion-deviation\"", 7.0_f64.sqrt());
        near("measure = \"completion-variation\"", 7.0_f64.sqrt() / 3.0);
        near("measure = \"completed-rate\"", 0.3);
        let small = |quantity| value_of("web", quantity, Some("up to 10 KB"));
        assert_eq!(small("measure = \"completion-max\""), Some(2.0));
        assert_eq!(small("measure = \"completed-rate\""), Some(0.2));
        assert_eq!(value_of("web", "measure = \"completion-max\"", Some("all")), Some(6.0));
        assert_eq!(value_of("long", "measure = \"completion-max\"", None), None, "none completed");
    }

    #[test]
    fn what_is_unfinished_bounds_the_longest_time() {
        let mut replica = replica();
        let all = &mut replica.workloads[0].all;
        (all.unfinished, all.oldest_unfinished) = (1, 7.5);
        let longest = "run = \"a\"\nworkload = \"web\"\nmeasure = \"completion-max\"";
        let reading = measure(&toml::from_str(longest).unwrap(), &replica, None);
        assert_eq!(reading, Some(Reading::at_least(7.5)));
    }

    #[test]
    fn packet_loss_is_of_all_packets_of_completed_transfers() {
        assert_eq!(value("measure = \"packet-loss\""), Some(0.015));
        assert_eq!(
            value_of("long", "measure = \"packet-loss\"", None),
            None,
            "no packet is counted"
        );
    }

    #[test]
    fn bytes_above_are_those_of_replies_larger_than_the_class_that_is_named() {
        assert_eq!(value("measure = \"bytes-above\"\nabove = \"10 KB\""), Some(0.75));
        assert_eq!(value("measure = \"bytes-above\"\nabove = \"20 KB\""), None, "no such class");
        assert_eq!(value("measure = \"bytes-above\""), None, "no class is named");
    }

    #[test]
    fn long_flows_have_goodput_a_mean_rate_and_fairness() {
        let long = |quantity| value_of("long", quantity, None);
        assert_eq!(long("measure = \"goodput\""), Some(4.0));
        assert_eq!(long("measure = \"long-flow-rate\""), Some(4.0 / 3.0));
        // (1 + 3 + 0)² / (3·(1 + 9 + 0))
        assert_eq!(long("measure = \"fairness\""), Some(16.0 / 30.0));
        // (1 + 1 + 0)²/(3 · 2)
        assert_eq!(long("measure = \"max-min-fairness\""), Some(4.0 / 6.0));
        assert_eq!(value("measure = \"fairness\""), None, "pages are no long flows");
    }

    #[test]
    fn a_long_flow_that_got_nothing_has_idle_samples_and_no_variation() {
        let long = |quantity| value_of("long", quantity, None);
        // Of 0, 2, 4 the mean is 2 and the deviation 2; of 1, 1 it is 0.
        assert_eq!(long("measure = \"throughput-variation\""), Some(0.5));
        assert_eq!(long("measure = \"idle-samples\""), Some(3.0));
        assert_eq!(value("measure = \"idle-samples\""), None, "pages are no long flows");
    }

    #[test]
    fn a_counter_is_known_by_its_name_and_nothing_stands_for_one_that_is_not() {
        let mut replica = replica();
        replica.counters.insert("web/reordered packets".to_owned(), 0.0);
        let counter = |at: &str| {
            let quantity = format!("run = \"a\"\nmeasure = \"counter\"\nat = \"{at}\"");
            measure(&toml::from_str(&quantity).unwrap(), &replica, None)?.exact()
        };
        assert_eq!(counter("web/reordered packets"), Some(0.0));
        assert_eq!(counter("web/recorded packets"), None);
    }

    #[test]
    fn utilisation_is_of_the_port_that_is_named() {
        assert_eq!(value("measure = \"utilisation\"\nat = \"r1->r2\""), Some(0.97));
        assert_eq!(value("measure = \"utilisation\"\nat = \"r2->r1\""), None);
        assert_eq!(value("measure = \"utilisation\""), None, "no port is named");
    }
}
