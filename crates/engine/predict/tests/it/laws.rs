//! What predictions must obey: hand values where nothing is lost and nobody else sends, and no less time with more.

use shortflow_measure::Summary;
use shortflow_predict::Prediction;
use shortflow_run::{Measured, Task, run_tasks};
use shortflow_scenario::{Overrides, from_texts};

/// The means of a line of 10 Mbit/s and 20 ms with these workloads under this policy.
fn predicted(workloads: &str, policy: &str) -> Summary {
    let text = format!(
        r#"
        policy = "p.toml"
        duration = "100 s"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "10 Mbit/s", delay = "20 ms", queue = "1000 pkt" }}
        bind = [{{ role = "core", at = "b", to = "a" }}]
        measure.size_classes = ["1 seg", "4 seg", "16 seg"]
        [tcp]
        era = "ns2-2005"
        {workloads}
        "#
    );
    let texts = [("line.toml", text.as_str()), ("p.toml", policy)];
    let loaded =
        from_texts(&texts, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    let task = Task { scenario: &loaded.points()[0].scenario, replica: 0 };
    let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0).unwrap();
    match outcome.measured {
        Measured::Means(summary) => *summary,
        Measured::Replica(_) => panic!("there are means only"),
    }
}

const PLAIN: &str = "[roles.core]\n";

/// By bytes sent in two bands.
const DSTF: &str = r#"
    [[roles.core.classes]]
    name = "all"
    marker.dstf = { thresholds = ["6 KB"], code_points = ["CS1", "BE"] }
    [roles.core.queue.shared-priority]
    limit = "1000 pkt"
    bands = ["CS1", "rest"]
"#;

fn web(load: &str, bytes: &str) -> String {
    format!(
        r#"
        [workloads.web.transfers]
        client = "a"
        server = "b"
        load = "{load}"
        request.constant = "1 seg"
        reply.choice = {{ sizes = [{bytes}] }}
        "#
    )
}

fn times(summary: &Summary) -> Vec<f64> {
    let means = summary.workloads[0].classes.iter().map(|class| class.mean.unwrap());
    means.filter(|mean| !mean.at_least).map(|mean| mean.mean).collect()
}

#[test]
fn without_load_and_loss_a_transfer_takes_what_a_hand_adds_up() {
    // Round trips of 40 ms and two packets of headers; a segment with its headers takes 0.832 ms, headers 0.032 ms.
    // A handshake, a segment there, and two windows of two: a round trip, then a way with one behind another.
    let summary = predicted(&web("1 bit/s", "\"4 seg\""), PLAIN);
    let (headers, segment, line) = (0.000_032, 0.000_832, 0.020);
    let hand = 2.0 * (line + headers)
        + (line + segment)
        + (2.0 * line + segment + headers)
        + (line + segment)
        + segment;
    let found = times(&summary)[0];
    assert!((found - hand).abs() < 1e-6, "{found} against {hand}");
}

#[test]
fn no_transfer_is_faster_under_more_load() {
    let sizes = "\"1 seg\", \"4 seg\", \"16 seg\"";
    for policy in [
        PLAIN,
        DSTF,
        "[roles.core.queue.fq-codel]\n",
        "[roles.core.queue.stf]\nlimit = \"1000 pkt\"\nflows = 100\nidle_timeout = \"60 s\"\n",
    ] {
        let mut before = vec![0.0; 3];
        for load in ["1 bit/s", "1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "6 Mbit/s", "8 Mbit/s"] {
            let now = times(&predicted(&web(load, sizes), policy));
            // Of the greatest size nothing is told where too much goes before it.
            let mut each = now.iter().zip(&before);
            assert!(each.all(|(now, before)| now >= before), "{load}: {now:?} after {before:?}");
            before[..now.len()].copy_from_slice(&now);
        }
        assert!(before[2] > 0.17, "a load is waited for: {before:?}");
    }
}

#[test]
fn the_first_bytes_wait_less_where_they_go_first() {
    let sizes = "\"1 seg\", \"4 seg\", \"16 seg\"";
    let (plain, dstf) =
        (predicted(&web("7 Mbit/s", sizes), PLAIN), predicted(&web("7 Mbit/s", sizes), DSTF));
    assert!(times(&dstf)[0] < times(&plain)[0]);
    assert!(times(&dstf)[1] < times(&plain)[1]);
}

const PACKETS: &str = r#"
    [workloads.packets.poisson]
    from = "b"
    to = "a"
    rate = "1000 /s"
    size.constant = "1000 B"
"#;

#[test]
fn constant_packets_have_the_percentiles_of_m_d_1() {
    let summary = predicted(PACKETS, PLAIN);
    let datagrams = summary.workloads[0].datagrams.as_ref().unwrap();
    // 0.8 ms each at a load of 0.8: a wait of 1.6 ms, 20 ms on the way.
    assert!((datagrams.delay.unwrap().mean - 0.0224).abs() < 1e-9);
    // Franx 2001: P(W ≤ 2.1 D) is 0.66 at this load, and of the tail 99 % lies below 9.9 D.
    let of = |at: Option<shortflow_measure::Estimate>| (at.unwrap().mean - 0.0208) / 0.0008;
    let [median, p99] =
        [datagrams.percentiles.delay_median, datagrams.percentiles.delay_p99].map(of);
    assert!((1.0..1.6).contains(&median) && (9.0..10.5).contains(&p99), "{median} and {p99}");
}

#[test]
fn voice_in_the_first_band_waits_for_one_packet_of_those_behind_it() {
    let policy = r#"
        [[roles.core.queue.strict-priority.bands]]
        match = { dscp = ["EF"] }
        queue.fifo = { limit = "100 pkt" }
        [[roles.core.queue.strict-priority.bands]]
        queue.fifo = { limit = "1000 pkt" }
    "#;
    let voice = r#"
        [workloads.voice.cbr]
        from = "b"
        to = "a"
        rate = "1 kbit/s"
        packet = "200 B"
        dscp = "EF"
    "#;
    let summary = predicted(&format!("{voice}{PACKETS}"), policy);
    // Half a packet of 0.8 ms in eight of ten cases; 0.16 ms for its own.
    let delay = summary.workload("voice").unwrap().datagrams.as_ref().unwrap().delay.unwrap();
    assert!((delay.mean - (0.020 + 0.000_16 + 0.8 * 0.0004)).abs() < 1e-7, "{delay:?}");
}

/// Behind transfers of 100 segments a call of 50 packets a second waits for some milliseconds: its room
/// of 50 packets stays empty, however small they are beside those that they wait for.
#[test]
fn a_call_behind_transfers_waits_and_loses_nothing() {
    let policy = r#"
        [[roles.core.queue.strict-priority.bands]]
        match = { protocol = "tcp" }
        queue.fifo = { limit = "1000 pkt" }
        [[roles.core.queue.strict-priority.bands]]
        queue.fifo = { limit = "50 pkt" }
    "#;
    let call = r#"
        [workloads.call.cbr]
        from = "b"
        to = "a"
        rate = "80 kbit/s"
        packet = "200 B"
    "#;
    let summary = predicted(&format!("{call}{}", web("3.5 Mbit/s", "\"100 seg\"")), policy);
    let call = summary.workload("call").unwrap().datagrams.as_ref().unwrap();
    assert!(call.delay.unwrap().mean > 0.022, "{:?}", call.delay);
    assert!(call.loss.unwrap().mean < 1e-6, "{:?}", call.loss);
}

#[test]
fn who_takes_turns_with_flows_without_an_end_gets_an_equal_share() {
    let bulk = r#"
        [workloads.long.bulk]
        from = "b"
        to = "a"
        flows = 3
    "#;
    let fair = "[roles.core.queue.fq-codel]\n";
    let summary = predicted(&format!("{bulk}{}", web("1 bit/s", "\"1 seg\"")), fair);
    let goodput = summary.workload("long").unwrap().goodput.unwrap().mean;
    // All of the line but headers of 40 B a segment of 1000 B.
    assert!((goodput / 1e7 - 1000.0 / 1040.0).abs() < 1e-3, "{goodput}");
}
