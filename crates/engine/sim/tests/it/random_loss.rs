//! One long flow under independent random loss, against the model of Padhye, Firoiu, Towsley &
//! Kurose (2000).
//!
//! The link is fast, so the round trip is its propagation of 100 ms to a few microseconds, and
//! every segment is lost with the same probability. There is an acknowledgement for each segment
//! (b = 1) and the window is no limit. Reno repairs one loss per window, as the model has it. T₀ is what the connection really has: with a constant round
//! trip RTTVAR falls to nothing, RTO = 110 ms (the sample in ticks of 10 ms) + 10 ms, and the
//! minimum RTO, 200 ms or 1 s, is what counts.
//!
//! Sent is held against sent: all segments that left, against B(p), their eq. 32. What the model
//! calls throughput (eq. 37) takes all of a round after a first loss as lost as well, which is not
//! so under independent losses; the goodput here is the send rate without its losses and its
//! needless retransmissions, so it is held against B(p), too, as the usual claim has it.

use shortflow_models::pftk;

use crate::bench::{counts, replicas, scenario, workload};
use crate::statistics::Interval;

const LOSSES: [f64; 4] = [0.001, 0.003, 0.01, 0.03];
const REPLICAS: u32 = 4;

struct Rates {
    sent: Interval,
    goodput: Interval,
}

/// Segments per second of one flow.
fn rates(recovery: &str, rto_min: &str, loss: f64) -> Rates {
    let text = format!(
        r#"
        duration = "1020 s"
        warm_up = "20 s"
        hosts = {{ a = {{}}, b = {{}} }}
        measure.ports = ["a->b"]
        [tcp]
        recovery = "{recovery}"
        rto_min = "{rto_min}"
        [links.line]
        between = ["a", "b"]
        rate = "1 Gbit/s"
        delay = "50 ms"
        queue = "100000 pkt"
        loss = {{ forward = {loss} }}
        [workloads.long.bulk]
        from = "a"
        to = "b"
        "#
    );
    let runs = replicas(&scenario(&text), REPLICAS);
    let of = |rate: &dyn Fn(&shortflow_measure::Replica) -> f64| {
        Interval::from_values(&runs.iter().map(rate).collect::<Vec<_>>(), 0.05)
    };
    Rates {
        sent: of(&|run| counts(run, "a->b", "BE").arrived.packets as f64 / run.measured),
        goodput: of(&|run| workload(run, "long").long_flows.as_ref().unwrap().rates[0] / 8000.0),
    }
}

fn stays_within(tolerance: f64, recovery: &str, rto_min: &str, timeout: f64) {
    for loss in LOSSES {
        let path =
            pftk::Path { rtt: 0.1, timeout, segments_per_ack: 1.0, max_window: f64::INFINITY };
        let model = pftk::send_rate(&path, loss).unwrap();
        let Rates { sent, goodput } = rates(recovery, rto_min, loss);
        let off = |rate: f64| 100.0 * (rate / model - 1.0);
        println!(
            "{recovery}, RTO from {rto_min}, loss {loss}: sent {:.2} ± {:.2} ({:+.1} %), \
             goodput {:.2} ± {:.2} ({:+.1} %); B(p) {model:.2}, T(p) {:.2} segments/s",
            sent.mean,
            sent.half_width,
            off(sent.mean),
            goodput.mean,
            goodput.half_width,
            off(goodput.mean),
            pftk::throughput(&path, loss).unwrap(),
        );
        for rate in [sent, goodput] {
            assert!(off(rate.mean).abs() <= 100.0 * tolerance, "{recovery} at {loss}: {rate:?}");
        }
    }
}

#[test]
fn newreno_stays_within_15_percent_of_the_model_at_a_minimum_rto_of_200_ms() {
    stays_within(0.15, "newreno", "200 ms", 0.2);
}

#[test]
fn sack_stays_within_15_percent_of_the_model_at_a_minimum_rto_of_200_ms() {
    stays_within(0.15, "sack", "200 ms", 0.2);
}

#[test]
fn reno_stays_within_10_percent_of_the_model_at_a_minimum_rto_of_1_s() {
    stays_within(0.10, "reno", "1 s", 1.0);
}
