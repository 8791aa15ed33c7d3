//! How evenly long flows get through: throughput samples, taken at regular intervals.

use shortflow_measure::{LongFlows, Replica};

use crate::bench::{run, scenario, workload};

/// A long flow over a link of 2 Mbit/s, measured from 4 s to 24 s, and `more`.
fn long(more: &str) -> String {
    format!(
        r#"
        duration = "24 s"
        warm_up = "4 s"
        drain = "3 s"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "2 Mbit/s", delay = "10 ms", queue = "20 pkt" }}
        [workloads.long.bulk]
        from = "a"
        to = "b"
        {more}
        "#
    )
}

const SAMPLED: &str = "[measure]\nflow_samples = \"2 s\"";

fn flows<'a>(replica: &'a Replica, name: &str) -> &'a LongFlows {
    workload(replica, name).long_flows.as_ref().expect("long flows")
}

#[test]
fn samples_cover_the_measured_time_so_their_mean_is_the_goodput() {
    let replica = run(&scenario(&long(SAMPLED))).replica;
    let long = flows(&replica, "long");
    let throughput = long.samples[0].throughput;
    assert_eq!((long.samples.len(), throughput.n(), long.idle_samples()), (1, 10, Some(0)));
    assert!((throughput.mean().unwrap() / long.rates[0] - 1.0).abs() < 1e-12);
    assert!(long.throughput_variation().unwrap() < 0.1, "nobody else is on the link");
}

#[test]
fn looking_at_long_flows_changes_nothing() {
    let mut sampled = run(&scenario(&long(SAMPLED))).replica;
    let plain = run(&scenario(&long(""))).replica;
    assert_eq!(flows(&plain, "long").throughput_variation(), None);
    assert_eq!(flows(&plain, "long").idle_samples(), None);
    sampled.workloads[0].long_flows.as_mut().unwrap().samples.clear();
    assert_eq!(sampled, plain);
}

#[test]
fn a_flow_has_samples_from_the_first_whole_interval_after_its_start() {
    let late = |start: &str| {
        let late = format!("[workloads.late.bulk]\nfrom = \"a\"\nto = \"b\"\nstart = \"{start}\"");
        let replica = run(&scenario(&long(&format!("{late}\n{SAMPLED}")))).replica;
        let [samples] = flows(&replica, "late").samples[..] else { panic!("one flow") };
        assert_eq!(flows(&replica, "long").samples[0].throughput.n(), 10);
        samples.throughput.n()
    };
    assert_eq!(late("12.5 s"), 5, "from 14 s to 24 s");
    assert_eq!(late("21.5 s"), 1, "from 22 s to 24 s");
    assert_eq!(late("23.5 s"), 0, "no whole interval is left");
}

/// Where two packets of five are lost, the timer backs off to many seconds.
#[test]
fn intervals_in_which_nothing_came_through_are_counted() {
    let lossy = long(SAMPLED).replace("delay = \"10 ms\"", "delay = \"10 ms\", loss = 0.4");
    let replica = run(&scenario(&lossy)).replica;
    let long = flows(&replica, "long");
    let idle = long.idle_samples().unwrap();
    assert!(idle > 0 && idle < 10, "{idle} of 10 idle");
    assert!(long.throughput_variation().unwrap() > 0.5);
}
