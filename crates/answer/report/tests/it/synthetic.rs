//! Runs made up for looking at reports: plausible, but no simulation.

use shortflow_measure::Run;
use shortflow_measure::results::{Input, Setting, Sweep};
use shortflow_measure::{
    CodePointCounts, Count, End, Manifest, Plan, Point, PortCounts, Recorder, Replica, Sample,
    SizeClass, Transfer, WorkloadPlan,
};
use shortflow_units::{Duration, Instant, Rng};

/// Reply sizes in packets, as in WETMO's list.
const SIZES: [u64; 8] = [1, 2, 3, 5, 7, 11, 20, 91];

/// How the made-up network behaves.
pub(crate) struct Behaviour {
    /// The run's name.
    pub(crate) label: &'static str,
    /// How much longer a transfer takes than on an empty network; grows with the load.
    pub(crate) slowness: f64,
    /// The share of best-effort packets that are dropped.
    pub(crate) loss: f64,
}

/// Without protection.
pub(crate) const BEST_EFFORT: Behaviour =
    Behaviour { label: "best effort", slowness: 6.0, loss: 0.06 };
/// With short flows protected.
pub(crate) const FAIR_MARKER: Behaviour =
    Behaviour { label: "fair marker", slowness: 2.0, loss: 0.05 };

/// A run of `replicas` at one point, with a time series.
pub(crate) fn single(behaviour: &Behaviour, replicas: u64) -> Run {
    run(behaviour, &["0.8"], replicas, false)
}

/// A run along a sweep.
pub(crate) fn sweep(behaviour: &Behaviour) -> Run {
    run(behaviour, &["0.60", "0.70", "0.80", "0.90", "0.95"], 4, true)
}

fn run(behaviour: &Behaviour, loads: &[&str], replicas: u64, swept: bool) -> Run {
    let point = |load: &&str| {
        let number: f64 = load.parse().unwrap();
        let found = (0..replicas)
            .map(|seed| Replica { number: seed as u32, ..replica(behaviour, number, seed) })
            .collect();
        let setting = Setting { key: "alpha".into(), value: (*load).into() };
        Point::new(if swept { vec![setting] } else { vec![] }, found)
    };
    let manifest = Manifest {
        label: behaviour.label.into(),
        engine: "simulate".into(),
        policy: None,
        version: "0.1.0".into(),
        command: "shortflow compare scenarios/web.toml --policies be.toml,fm.toml".into(),
        seed: 1,
        replicas: replicas as u32,
        duration: 120.0,
        warm_up: 20.0,
        tcp: String::new(),
        timing: None,
        sweep: swept.then(|| Sweep {
            key: "alpha".into(),
            values: loads.iter().map(|load| (*load).to_owned()).collect(),
        }),
        bind: Vec::new(),
        tables: None,
        design: None,
        tcp_info: None,
        settings: vec![],
        warnings: vec![],
        inputs: vec![Input {
            kept: None,
            name: "scenarios/web.toml".into(),
            text: "seed = 1\nduration = \"120 s\"\n\n[links]\nr1-r2 = \"10 Mbit/s\"\n".into(),
        }],
    };
    Run::new(manifest, loads.iter().map(point).collect())
}

fn at(seconds: f64) -> Instant {
    Instant::default() + Duration::from_secs_f64(seconds)
}

fn plan() -> Plan {
    let class = |n: &u64| SizeClass { label: format!("{n} pkt"), max_bytes: n * 1000 };
    let workload = |name: &str, size_classes| WorkloadPlan {
        name: name.into(),
        size_classes,
        // The backup sends to who did not open the connection.
        data_to: if name == "backup" { End::Server } else { End::Client },
        ..Default::default()
    };
    Plan {
        workloads: vec![
            workload("web", SIZES.iter().map(class).collect()),
            workload("voice", vec![]),
            workload("backup", vec![]),
        ],
        streams: vec![],
        limits: vec![],
        ports: vec!["r1->r2".into(), "r2->r1".into()],
        code_points: ["BE", "AF11", "AF12"].map(String::from).into(),
        drop_reasons: ["overlimit", "early", "forced"].map(String::from).into(),
        warm_up: at(20.0),
        end: at(120.0),
        drain: Duration::ZERO,
        series_interval: Some(Duration::from_millis(200)),
        idle_delays: vec![],
    }
}

fn replica(behaviour: &Behaviour, load: f64, seed: u64) -> Replica {
    let mut rng = Rng::stream(seed, "synthetic");
    let mut recorder = Recorder::new(&plan(), None);
    let weather = 1.0 + 0.1 * (rng.uniform() - 0.5);
    let mut now = 20.0;
    while now < 118.0 {
        now += rng.exponential(0.03);
        let packets = SIZES[rng.below(8) as usize];
        let rounds = (packets as f64).log2().ceil() + 1.0;
        let crowd = behaviour.slowness * weather * load / (1.6 - load);
        let wait = rng.exponential(0.02 * rounds * crowd)
            + if rng.uniform() < 0.02 * crowd { 1.0 } else { 0.0 };
        let transfer = Transfer {
            start: at(now),
            handshake: Duration::from_millis(41),
            request: Duration::from_millis(21),
            reply: Duration::from_secs_f64(0.04 * rounds + wait),
            reply_bytes: packets * 1000,
            retransmissions: u32::from(wait > 1.0),
            timeouts: u32::from(wait > 1.0),
            ..Default::default()
        };
        recorder.goodput(at(now), 0, End::Client, transfer.reply_bytes);
        recorder.transfer(&transfer);
        let delay = 0.02 + rng.exponential(0.004 * crowd);
        recorder.datagram_sent(at(now), 1, 0);
        if rng.uniform() > 0.01 {
            recorder.datagram(at(now), 1, 0, Duration::from_secs_f64(delay));
        } else {
            recorder.datagram_dropped(at(now), 1, 0);
        }
    }
    recorder.open_transfer(&Transfer {
        start: at(117.0),
        reply_bytes: 91_000,
        ..Default::default()
    });
    recorder.goodput(at(60.0), 2, End::Server, (20e6 * weather) as u64);
    (0..3).for_each(|flow| recorder.long_flow(2, 6_000_000 + flow * 500_000, None));
    queue(&mut recorder, &mut rng, behaviour, load);
    (0..2).for_each(|port| recorder.port(port, counts(behaviour, load * weather)));
    recorder.finish().unwrap()
}

fn queue(recorder: &mut Recorder, rng: &mut Rng, behaviour: &Behaviour, load: f64) {
    let (mut queue, mut average) = (0.0_f64, 0.0);
    for step in 0..600 {
        let level = 12.0 * behaviour.slowness * load;
        queue = (queue + 0.3 * (level - queue) + 30.0 * (rng.uniform() - 0.5)).clamp(0.0, 200.0);
        average += 0.05 * (queue - average);
        recorder.sample(Sample {
            port: 0,
            at: at(0.2 * f64::from(step)),
            queue_packets: queue as u32,
            queue_bytes: 1040 * queue as u64,
            average: Some(average),
            utilisation: 0.9,
            open_transfers: 20,
        });
    }
}

fn counts(behaviour: &Behaviour, load: f64) -> PortCounts {
    let count = |packets: f64| Count { packets: packets as u64, bytes: packets as u64 * 1040 };
    let class = |packets: f64, loss: f64| CodePointCounts {
        arrived: count(packets),
        forwarded: count(packets * (1.0 - loss)),
        dropped: vec![count(0.0), count(packets * loss * 0.9), count(packets * loss * 0.1)],
    };
    PortCounts {
        code_points: vec![
            class(40_000.0 * load, behaviour.loss * load),
            class(30_000.0 * load, 0.0004 * load),
            class(9_000.0 * load, behaviour.loss * load * 0.8),
        ],
        busy: Duration::from_secs_f64(100.0 * (0.8 + 0.2 * load).min(1.0)),
        mean_queue_packets: 12.0 * behaviour.slowness * load,
        mean_queue_bytes: 12_000.0 * behaviour.slowness * load,
        mean_wait: Duration::from_secs_f64(0.01 * behaviour.slowness * load),
        ..Default::default()
    }
}
