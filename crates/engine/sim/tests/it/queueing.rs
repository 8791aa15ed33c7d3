//! Mean waits in a queue against M/G/1 theory: Pollaczek & Khinchine, and Cobham's priorities.
//!
//! All waits of all tests here stand in one joint interval of 99.9 % (Bonferroni).

use std::fmt::Write;

use shortflow_measure::Replica;
use shortflow_models::queueing::{CustomerClass, fcfs_wait, priority_waits};

use crate::bench::{replicas, scenario, scenario_under, workload};
use crate::statistics::Interval;

/// The link: 1 Mbit/s, so 8 µs for each byte.
const SECONDS_PER_BYTE: f64 = 8e-6;
/// Propagation on the link.
const PROPAGATION: f64 = 1e-3;
/// A mean packet.
const MEAN_PACKET: f64 = 1000.0;

/// The waits tested in all: three FCFS queues at three loads, two and eight priorities at three.
const CELLS: f64 = (3 * 3 + 2 * 3 + 8 * 3) as f64;
/// The risk that an interval misses its mean.
const RISK: f64 = 0.001 / CELLS;
/// Independent runs of each case.
const REPLICAS: u32 = 40;

/// A distribution of packet sizes: how a scenario writes it, and its first two moments in bytes.
#[derive(Clone)]
struct Sizes {
    text: String,
    mean: f64,
    square: f64,
}

impl Sizes {
    /// M/D/1.
    fn constant() -> Sizes {
        let text = "{ constant = \"1000 B\" }".to_owned();
        Sizes { text, mean: MEAN_PACKET, square: MEAN_PACKET * MEAN_PACKET }
    }

    /// M/M/1, but that a packet has a whole number of bytes: round(X), at least 1. The moments are
    /// those of the whole numbers.
    fn exponential() -> Sizes {
        // P(round(X) > k) = exp(−(k + ½)/m), and the least is 1.
        let beyond = |k: f64| if k < 1.0 { 1.0 } else { (-(k + 0.5) / MEAN_PACKET).exp() };
        let terms = || (0..60_000).map(f64::from);
        Sizes {
            text: "{ exponential = { mean = \"1000 B\" } }".to_owned(),
            mean: terms().map(beyond).sum(),
            square: terms().map(|k| (2.0 * k + 1.0) * beyond(k)).sum(),
        }
    }

    /// M/G/1: many small packets, few large ones, a mean of 1000 bytes and a variation coefficient
    /// of 1.2.
    fn bimodal() -> Sizes {
        let (small, large) = (200.0, 3200.0);
        let share = (MEAN_PACKET - small) / (large - small);
        Sizes {
            text: "{ choice = { sizes = [\"200 B\", \"3200 B\"], weights = [11, 4] } }".to_owned(),
            mean: small + share * (large - small),
            square: (1.0 - share) * small * small + share * large * large,
        }
    }

    /// The class that loads the link by `load`.
    fn class(&self, load: f64) -> CustomerClass {
        CustomerClass {
            arrival_rate: self.rate(load),
            mean_service: self.mean * SECONDS_PER_BYTE,
            second_moment: self.square * SECONDS_PER_BYTE * SECONDS_PER_BYTE,
        }
    }

    fn rate(&self, load: f64) -> f64 {
        load / (self.mean * SECONDS_PER_BYTE)
    }
}

/// How many packets the runs of a case have in all: the estimate of a mean wait settles with
/// 1/(1 − ρ)² packets.
fn packets(load: f64) -> f64 {
    if load > 0.9 { 8e6 } else { 4e6 }
}

/// One link, and a Poisson workload for each class.
fn text(loads: &[f64], sizes: &Sizes) -> String {
    let total: f64 = loads.iter().sum();
    let seconds = packets(total) / f64::from(REPLICAS) / sizes.rate(total);
    // From the empty queue to the stationary one: some relaxation times, 1/(μ(1 − √ρ)²).
    let relaxation = sizes.mean * SECONDS_PER_BYTE / (1.0 - total.sqrt()).powi(2);
    let warm_up = 4.0 * relaxation;
    let mut text = format!(
        r#"
        duration = "{:.3} s"
        warm_up = "{warm_up:.3} s"
        drain = "20 s"
        hosts.a = {{}}
        hosts.b = {{}}
        [links.line]
        between = ["a", "b"]
        rate = "1 Mbit/s"
        delay = "1 ms"
        queue = "10000000 pkt"
        "#,
        warm_up + seconds,
    );
    for (index, load) in loads.iter().enumerate() {
        let (rate, sizes) = (sizes.rate(*load), &sizes.text);
        write!(
            text,
            "[workloads.class{index}.poisson]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate} /s\"\n\
             size = {sizes}\ndscp = \"{}\"\n",
            CODE_POINTS[index],
        )
        .unwrap();
    }
    text
}

/// The measured mean waits of the class `index`: delays without transmission and propagation.
fn waits(replicas: &[Replica], index: usize, sizes: &Sizes) -> Vec<f64> {
    let service = sizes.mean * SECONDS_PER_BYTE;
    replicas
        .iter()
        .map(|replica| {
            let datagrams = workload(replica, &format!("class{index}")).datagrams.unwrap();
            assert_eq!(datagrams.sent, datagrams.delivered, "the buffer is ample");
            datagrams.delay.unwrap() - service - PROPAGATION
        })
        .collect()
}

/// Holds a measured wait against theory; in units of a mean service time.
fn holds(what: &str, load: f64, values: &[f64], theory: f64) {
    let found = Interval::from_values(values, RISK);
    let unit = MEAN_PACKET * SECONDS_PER_BYTE;
    println!(
        "{what}, load {load}: wait {:.4} ± {:.4} ({:.1} %), theory {:.4}",
        found.mean / unit,
        found.half_width / unit,
        100.0 * found.half_width / theory,
        theory / unit,
    );
    assert!(found.contains(theory), "{what} at load {load}: {found:?} against {theory}");
    if load <= 0.5 {
        // The test has the power to tell a theory that is wrong by a twentieth.
        assert!(!found.contains(1.05 * theory) && !found.contains(0.95 * theory), "{what}");
    }
}

/// First come first served: Pollaczek–Khinchine.
fn first_come_first_served(what: &str, sizes: &Sizes) {
    for load in [0.5, 0.8, 0.95] {
        let runs = replicas(&scenario(&text(&[load], sizes)), REPLICAS);
        let theory = fcfs_wait(&[sizes.class(load)]).unwrap();
        holds(what, load, &waits(&runs, 0, sizes), theory);
    }
}

/// Strict priorities, the first class served first: Cobham.
fn strict_priorities(what: &str, sizes: &Sizes, loads: &[f64]) {
    let text = format!(
        "policy = \"policy.toml\"\n{}\n[[bind]]\nrole = \"line\"\nat = \"a\"\nto = \"b\"\n",
        text(loads, sizes),
    );
    let runs = replicas(&scenario_under(&priority_policy(loads.len()), &text), REPLICAS);
    let classes: Vec<CustomerClass> = loads.iter().map(|load| sizes.class(*load)).collect();
    let total: f64 = loads.iter().sum();
    for (index, theory) in priority_waits(&classes).unwrap().into_iter().enumerate() {
        let what = format!("{what}, class {}", index + 1);
        holds(&what, total, &waits(&runs, index, sizes), theory.unwrap());
    }
}

/// A band for each class.
fn priority_policy(classes: usize) -> String {
    let mut policy = "[roles.line.queue.strict-priority]\nbands = [\n".to_owned();
    for code_point in &CODE_POINTS[..classes] {
        writeln!(
            policy,
            "{{ match = {{ dscp = [\"{code_point}\"] }}, queue.fifo = {{ limit = \"10000000 pkt\" }} }},"
        )
        .unwrap();
    }
    policy + "]\n"
}

/// The code point of each class.
const CODE_POINTS: [&str; 8] = ["CS7", "CS6", "CS5", "CS4", "CS3", "CS2", "CS1", "BE"];

#[test]
fn m_m_1_waits_as_theory_says() {
    first_come_first_served("M/M/1", &Sizes::exponential());
}

#[test]
fn m_d_1_waits_as_theory_says() {
    first_come_first_served("M/D/1", &Sizes::constant());
}

#[test]
fn m_g_1_waits_as_theory_says() {
    first_come_first_served("M/G/1", &Sizes::bimodal());
}

#[test]
fn each_of_two_priorities_waits_as_theory_says() {
    for loads in [[0.25, 0.25], [0.4, 0.4], [0.5, 0.45]] {
        strict_priorities("M/G/1 with 2 priorities", &Sizes::bimodal(), &loads);
    }
}

#[test]
fn each_of_eight_priorities_waits_as_theory_says() {
    let sizes = Sizes::bimodal();
    strict_priorities("M/G/1 with 8 priorities", &sizes, &[0.0625; 8]);
    strict_priorities("M/G/1 with 8 priorities", &sizes, &[0.1; 8]);
    // The loads of Guo et al. (2005), Table 1.
    let table_1 = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.25];
    strict_priorities("M/G/1 with 8 priorities", &sizes, &table_1);
}
