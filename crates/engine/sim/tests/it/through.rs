//! Ports that hand packets on at once give the results of those that do so at each arrival. Where
//! somebody looks on, no port hands packets on at once: so a run that is watched everywhere is the
//! oracle.

use shortflow_measure::results;
use shortflow_run::{Sight, Tap};
use shortflow_scenario::{NodeId, Scenario};
use shortflow_sim::{Simulated, run_replica_before};

use crate::bench::{run, scenario, scenario_under};

struct Everywhere;

impl Tap for Everywhere {
    fn watches(&self, _from: NodeId, _to: NodeId) -> bool {
        true
    }

    fn see(&mut self, _sight: &Sight<'_>) {}

    fn finish(self: Box<Self>) -> Result<(), results::Error> {
        Ok(())
    }
}

/// All that was found, as text.
fn found(outcome: &Simulated) -> String {
    let text = serde_json::to_string(&outcome.replica).expect("a replica is plain data");
    format!("{text} {:?} {:?}", outcome.replica.series, outcome.totals)
}

fn assert_the_same_when_watched(scenario: &Scenario) -> Simulated {
    let plain = run(scenario);
    let tap: Box<dyn Tap> = Box::new(Everywhere);
    let watched = run_replica_before(Some(tap), scenario, 0, None, |_| true).expect("it ends");
    assert_eq!(found(&plain), found(&watched));
    plain
}

/// Transfers and long flows from host a over three routers to host b. Only the port r0->r1 is
/// reported; the slower ones behind it, which nothing else feeds, have short queues that overflow.
fn chain(queue: &str) -> Scenario {
    scenario(&chain_text(queue))
}

/// The same under a policy with this queue for each of the three links between routers and b.
fn chain_under(queue: &str) -> Scenario {
    let policy = format!("[roles.line]\n{queue}\n");
    let binds = [("r0", "r1"), ("r1", "r2"), ("r2", "b")]
        .map(|(at, to)| format!("[[bind]]\nrole = \"line\"\nat = \"{at}\"\nto = \"{to}\"\n"));
    let head = "policy = \"policy.toml\"\ntcp.ecn = true\n";
    let text = [head, &chain_text("1 pkt"), "\n", &binds.concat()].concat();
    scenario_under(&policy, &text)
}

fn chain_text(queue: &str) -> String {
    format!(
        r#"
        duration = "20.0001 s"
        warm_up = "1.0007 s"
        drain = "1 s"
        hosts = {{ a = {{}}, b = {{}} }}
        routers = {{ r0 = {{}}, r1 = {{}}, r2 = {{}} }}
        links.a = {{ between = ["a", "r0"], rate = "100 Mbit/s", delay = "3 ms" }}
        links.one = {{ between = ["r0", "r1"], rate = "10 Mbit/s", delay = "10 ms", queue = "{queue}" }}
        links.two = {{ between = ["r1", "r2"], rate = "7 Mbit/s", delay = "10 ms", queue = "{queue}" }}
        links.b = {{ between = ["r2", "b"], rate = "6 Mbit/s", delay = "20 ms", queue = "{queue}" }}
        measure.ports = ["r0->r1"]
        measure.series_interval = "0.1 s"

        [workloads.long.bulk]
        from = "a"
        to = "b"
        flows = 3
        start_window = "0.1 s"

        [workloads.web.transfers]
        client = "b"
        server = "a"
        load = "2 Mbit/s"
        request.constant = "300 B"
        reply.exponential.mean = "10 KB"

        [workloads.probe.poisson]
        from = "a"
        to = "b"
        rate = "50 /s"
        size.uniform = {{ min = "40 B", max = "1500 B" }}
        "#
    )
}

#[test]
fn packets_that_a_later_port_refuses_are_dropped_in_their_time() {
    for queue in ["9 pkt", "12 KB"] {
        let outcome = assert_the_same_when_watched(&chain(queue));
        let text = found(&outcome);
        assert!(text.contains("r1->r2/dropped"), "the second queue overflows: {text}");
        assert!(text.contains("r2->b/dropped"), "the third queue overflows: {text}");
    }
}

#[test]
fn packets_that_a_later_gate_drops_or_marks_are_so_in_their_time() {
    for ecn in [false, true] {
        let outcome = assert_the_same_when_watched(&chain_under(&format!(
            "queue.red = {{ limit = \"20 pkt\", min_threshold = \"2 pkt\", max_threshold = \"12 pkt\", \
             max_probability = 0.1, weight = 0.1, ecn = {ecn} }}"
        )));
        let text = found(&outcome);
        assert!(text.contains("r1->r2/dropped"), "the second gate drops: {text}");
        assert!(text.contains("r2->b/dropped"), "the third gate drops: {text}");
        let marks: u64 = outcome.replica.ports.iter().map(|port| port.ecn_marks).sum();
        assert_eq!(marks > 0, ecn, "the first gate marks: {text}");
    }
}

/// A queue within another is asked at each departure. None of these draws random numbers, which would
/// be others there.
#[test]
fn a_queue_behind_a_gate_gives_the_results_of_one_that_is_asked() {
    for queue in [
        "queue.fifo = { limit = \"9 pkt\" }",
        "queue.fifo = { limit = \"12 KB\" }",
        "queue.red = { limit = \"20 pkt\", min_threshold = \"5 pkt\", max_threshold = \"6 pkt\", \
         max_probability = 0, weight = 0.3 }",
        "queue.red = { limit = \"20 KB\", min_threshold = \"5 KB\", max_threshold = \"6 KB\", \
         max_probability = 0, weight = 0.3, ecn = true, ecn_above_max = true }",
    ] {
        let gated = run(&chain_under(queue));
        let asked = run(&chain_under(&format!("queue.strict-priority.bands = [{{ {queue} }}]")));
        assert!(found(&gated).contains("r2->b/dropped"), "the third queue drops under {queue}");
        assert_eq!(found_but_averages(gated), found_but_averages(asked), "under {queue}");
    }
}

/// All that was found but the averages of AQMs, which a queue around them does not show, nor its marks.
fn found_but_averages(mut outcome: Simulated) -> String {
    outcome.replica.series.iter_mut().for_each(|sample| sample.average = None);
    outcome.replica.ports.iter_mut().for_each(|port| port.ecn_marks = 0);
    found(&outcome)
}

#[test]
fn a_queue_that_holds_everything_hides_nothing() {
    let outcome = assert_the_same_when_watched(&chain("100000 pkt"));
    assert_eq!(outcome.totals.dropped, 0);
}

#[test]
fn packets_from_several_sides_are_put_in_order_of_arrival() {
    assert_the_same_when_watched(&scenario(
        r#"
        duration = "10 s"
        drain = "1 s"
        hosts = { a = { count = 4 }, b = { count = 2 } }
        routers = { r1 = {}, r2 = {} }
        links.a = { between = ["a", "r1"], rate = "20 Mbit/s", delay = ["1 ms", "2 ms"] }
        links.b = { between = ["b", "r2"], rate = "10 Mbit/s", delay = "1 ms", queue = "10 pkt" }
        links.core = { between = ["r1", "r2"], rate = "15 Mbit/s", delay = "5 ms", queue = "20 pkt" }
        [workloads.long.bulk]
        from = "a"
        to = "b"
        flows = 8
        start_window = "1 s"
        "#,
    ));
}

/// Packets of two hosts meet at n in the same instants; those of one come over a link of 1 ns a packet,
/// the least that is allowed. Were it none, then whether they join its port ahead would decide who
/// finds room at n.
#[test]
fn packets_over_the_fastest_link_meet_others_in_the_same_order() {
    assert_the_same_when_watched(&scenario(
        r#"
        duration = "20 s"
        hosts = { a1 = {}, a2 = {}, b = {} }
        routers = { r1 = {}, n = {} }
        links.fast = { between = ["r1", "n"], rate = "224 Gbit/s", delay = "0 s" }
        links.second = { between = ["a2", "n"], rate = "10 Mbit/s", delay = "5 ms" }
        links.third = { between = ["a1", "r1"], rate = "10 Mbit/s", delay = "5 ms" }
        links.out = { between = ["n", "b"], rate = "8 Mbit/s", delay = "5 ms", queue = "20 pkt" }
        measure.ports = ["n->b"]
        workloads.first.bulk = { from = "a1", to = "b" }
        workloads.second.bulk = { from = "a2", to = "b" }
        "#,
    ));
}
