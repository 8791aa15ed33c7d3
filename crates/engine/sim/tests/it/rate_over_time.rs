//! Links whose rate changes, against what can be sent by hand.

use crate::bench::{run, scenario_under, workload};

/// A flood of datagrams over a line of 8 Mbit/s that is idle for 2 s and then has 4 Mbit/s, with this queue in front of it.
fn delivered(queue: &str, rates: &str) -> u64 {
    let text = format!(
        r#"
        policy = "policy.toml"
        duration = "20 s"
        hosts = {{ a = {{}}, b = {{}} }}
        routers.r = {{}}
        bind = [{{ role = "core", at = "r", to = "b" }}]
        links.near = {{ between = ["a", "r"], rate = "1 Gbit/s", delay = "1 us" }}
        links.line = {{ between = ["r", "b"], rate = "8 Mbit/s", delay = "5 ms", rate_over_time = {{ {rates} }} }}
        workloads.flood.cbr = {{ from = "a", to = "b", rate = "16 Mbit/s", packet = "1000 B" }}
        "#
    );
    let policy = format!("name = \"p\"\n[roles.core]\nqueue.{queue}\n");
    let outcome = run(&scenario_under(&policy, &text));
    workload(&outcome.replica, "flood").datagrams.as_ref().unwrap().delivered
}

const STEPS: &str = r#"forward = { steps = [{ at = "10 s", rate = "0 bit/s" }, { at = "12 s", rate = "4 Mbit/s" }] }"#;

#[test]
fn a_line_carries_the_sum_of_its_rates_whatever_queue_is_before_it() {
    // 10 s at 8 Mbit/s, 8 s at 4, less 5 ms and a millisecond at the start.
    let by_hand = 10_000 + 4000;
    for queue in [
        r#"fifo.limit = "20 pkt""#,
        r#"red = { limit = "40 pkt", min_threshold = "5 pkt", max_threshold = "30 pkt", max_probability = 0.1, weight = 0.1 }"#,
        "fq-codel = {}",
        r#"strict-priority.bands = [{ queue.fifo.limit = "20 pkt" }]"#,
    ] {
        let found = delivered(queue, STEPS);
        assert!(found <= by_hand && found + 10 > by_hand, "{queue}: {found}");
    }
}

#[test]
fn only_the_direction_that_is_meant_changes_and_steps_repeat() {
    let fifo = r#"fifo.limit = "20 pkt""#;
    let back = delivered(fifo, &STEPS.replace("forward", "back"));
    assert!(back > 19_980, "{back}");
    // 5 s at 8 Mbit/s and 5 s at 4, twice.
    let again = r#"repeat = "10 s", steps = [{ at = "5 s", rate = "4 Mbit/s" }]"#;
    let found = delivered(fifo, again);
    assert!((14_990..=15_000).contains(&found), "{found}");
}
