//! Tests of the whole path: recorder, replica, summary, results on disk.

mod recording;
mod results;

use shortflow_measure::{Plan, SizeClass, Transfer, WorkloadPlan};
use shortflow_units::{Duration, Instant};

/// A second of simulated time.
fn at(seconds: f64) -> Instant {
    Instant::default() + Duration::from_secs_f64(seconds)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Measured from 10 s to 110 s; one workload with classes up to 1000 and up to 11,000 bytes.
fn plan() -> Plan {
    let class = |label: &str, max_bytes| SizeClass { label: label.into(), max_bytes };
    Plan {
        workloads: vec![WorkloadPlan {
            name: "web".into(),
            size_classes: vec![class("1 pkt", 1000), class("11 pkt", 11_000)],
            ..Default::default()
        }],
        streams: vec![],
        limits: vec![],
        ports: vec!["r1->r2".into()],
        code_points: vec!["BE".into(), "AF11".into()],
        drop_reasons: vec!["overlimit".into(), "early".into()],
        warm_up: at(10.0),
        end: at(110.0),
        drain: Duration::ZERO,
        series_interval: None,
        idle_delays: vec![],
    }
}

/// A transfer with 40 ms of handshake and 60 ms of request.
fn transfer(start: f64, reply: Duration, reply_bytes: u64) -> Transfer {
    Transfer {
        start: at(start),
        handshake: ms(40),
        request: ms(60),
        reply,
        reply_bytes,
        ..Default::default()
    }
}
