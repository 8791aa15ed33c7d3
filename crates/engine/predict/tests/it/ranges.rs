//! Where models do not hold there is no figure, but a reason.

use shortflow_predict::Prediction;
use shortflow_scenario::{Overrides, Scenario, from_texts};

use crate::against_simulations::{holds, predicted, simulated};

/// A line from `b` to `a`, behind a policy's queue, and what is sent over it.
fn scenario(policy: &str, line: &str, workloads: &str) -> Scenario {
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "200 s"
        warm_up = "20 s"
        bind = [{{ role = "core", at = "b", to = "a" }}, {{ role = "edge", at = "b", from = "c" }}]
        hosts = {{ a = {{}}, c = {{}} }}
        routers.b = {{}}
        links.c = {{ between = ["b", "c"], rate = "1 Gbit/s", delay = "1 us" }}
        [links.line]
        between = ["a", "b"]
        {line}
        {workloads}
        "#
    );
    let policy = format!("{policy}\n[roles.edge]\n");
    let policy = if policy.contains("roles.edge.classes") {
        policy.replace("\n[roles.edge]\n", "\n")
    } else {
        policy
    };
    let loaded = from_texts(&[("line.toml", &text), ("p.toml", &policy)], &Overrides::default());
    loaded.unwrap_or_else(|reported| panic!("{reported}")).into_points().swap_remove(0).scenario
}

/// Why nothing at all is told.
fn refused(policy: &str, line: &str, workloads: &str) -> String {
    match Prediction.answers(&scenario(policy, line, workloads)) {
        Err(why) => why.to_string(),
        Ok(()) => panic!("it is told"),
    }
}

const FAST: &str = "rate = \"20 Mbit/s\"\ndelay = \"50 ms\"";
const USUAL: &str = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"";
const FIFO: &str = "[roles.core.queue.fifo]\nlimit = \"50 pkt\"";
const FAIR: &str = "[roles.core.queue.fq-codel]";
const RED: &str = "[roles.core.queue.red]\nlimit = \"200 pkt\"\nmin_threshold = \"5 pkt\"\nmax_threshold = \"60 pkt\"\nmax_probability = 0.1";
const FORGETS: &str = r#"
    [[roles.edge.classes]]
    name = "all"
    marker.dstf = { per = "flow", decay = "100 kbit/s" }
    [roles.core.queue.shared-priority]
    limit = "200 pkt"
    bands = ["CS7", "CS6", "CS5", "CS4", "CS3", "CS2", "CS1", "rest"]
"#;

fn bulk(name: &str, rest: &str) -> String {
    format!("[workloads.{name}.bulk]\nfrom = \"c\"\nto = \"a\"\n{rest}\n")
}

fn stream(rate: &str) -> String {
    format!(
        "[workloads.stream.poisson]\nfrom = \"c\"\nto = \"a\"\nrate = \"{rate}\"\nsize.constant = \"1000 B\"\n"
    )
}

#[test]
fn flows_that_a_cut_leaves_too_small_to_fill_their_line_have_no_closed_form() {
    let reno = bulk("long", "flows = 1\ntcp.congestion = \"reno\"");
    let left = "the packets in flight after a cut of the windows, relative to those that fill the \
        line, must be at least";
    for policy in [FIFO, RED, FAIR] {
        let reported = refused(policy, FAST, &reno);
        assert!(
            reported.contains("no closed form for `long`: the arrivals at b->a: ")
                && reported.contains(left),
            "{reported}"
        );
    }
}

#[test]
fn flows_that_their_acknowledgements_hold_back_have_no_closed_form() {
    let narrow = "rate = { back = \"50 Mbit/s\", forward = \"200 kbit/s\" }\ndelay = \"5 ms\"";
    let reported = refused(FIFO, narrow, &bulk("long", "flows = 4"));
    assert!(
        reported.contains("long flows whose acknowledgements fill a->b and are delayed there"),
        "{reported}"
    );
}

#[test]
fn reno_beside_cubic_at_a_plain_buffer_has_no_closed_form() {
    let both =
        bulk("old", "tcp.congestion = \"reno\"") + &bulk("new", "tcp.congestion = \"cubic\"");
    let reported = refused(FIFO, USUAL, &both);
    assert!(
        reported.contains(
            "long flows that keep different fractions of their windows, at a plain buffer"
        ),
        "{reported}"
    );
}

#[test]
fn what_comes_or_goes_while_it_is_measured_has_no_closed_form_nor_what_it_meets() {
    let late = bulk("late", "start = \"100 s\"") + &stream("10 /s");
    let reported = refused(FIFO, USUAL, &late);
    assert!(
        reported.contains(
            "`late`: a workload that starts or stops during the measurement, such as `late`"
        ),
        "{reported}"
    );
    assert!(reported.contains("`stream`: it shares c->b with `late`"), "{reported}");
}

#[test]
fn a_stream_that_wants_more_than_its_turn_has_no_closed_form_nor_who_shares_with_it() {
    let greedy = bulk("long", "flows = 4") + &stream("500 /s");
    let reported = refused(FAIR, USUAL, &greedy);
    assert!(
        reported
            .contains("`long`: sharing b->a with a stream that needs more than half of its share"),
        "{reported}"
    );
    // Alone it waits for itself.
    let reported = refused(FAIR, USUAL, &stream("1000 /s"));
    assert!(reported.contains("a stream's own waiting time relative to its delay"), "{reported}");
}

#[test]
fn long_flows_that_are_hardly_faster_than_what_is_forgotten_have_no_closed_form() {
    let many = bulk("long", "flows = 60");
    let reported = refused(FORGETS, USUAL, &many);
    assert!(
        reported.contains("long flows close to the rate that the marker forgets at b->a"),
        "{reported}"
    );
}

#[test]
fn packets_one_by_one_are_told_up_to_a_load_of_98_in_100() {
    let reported = refused(RED, USUAL, &stream("1240 /s"));
    assert!(
        reported.contains("at b->a the load including all earlier bands must be at most 0.98"),
        "{reported}"
    );
}

#[test]
fn a_short_queue_delays_and_loses_poisson_packets_as_its_chain_says() {
    let policy = FIFO.replace("50 pkt", "5 pkt");
    let scenario = scenario(&policy, USUAL, &stream("1125 /s"));
    let (model, simulation) = (predicted(&scenario), simulated(&scenario, 4));
    let of = |summary: &shortflow_measure::Summary| summary.workloads[0].datagrams.clone().unwrap();
    let (model, simulation) = (of(&model), of(&simulation));
    holds("loss", model.loss.unwrap().mean, simulation.loss.unwrap().mean, 0.03);
    holds("delay", model.delay.unwrap().mean, simulation.delay.unwrap().mean, 0.01);
    assert_eq!(model.percentiles.delay_p99, None, "the tail is that of a queue without a bound");
}

#[test]
fn percentiles_beside_long_flows_are_left_out_and_losses_in_bursts_are_told_by_their_mean() {
    let beside = scenario(FIFO, USUAL, &(bulk("long", "flows = 4") + &stream("50 /s")));
    let reported = predicted(&beside).workloads[1].datagrams.clone().unwrap();
    assert!(
        reported.delay.unwrap().at_least && reported.percentiles.delay_p99.is_none(),
        "{reported:?}"
    );
    let bursts = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nloss.gilbert-elliott = { to_bad = 0.01, to_good = 0.24 }";
    let lossy = scenario(FIFO, bursts, &stream("50 /s"));
    let reported = predicted(&lossy).workloads[0].datagrams.clone().unwrap();
    assert!((reported.loss.unwrap().mean - 0.04).abs() < 1e-9, "{reported:?}");
}
