//! `bench`: the speed of the simulator, on workloads that other simulators also run.
//!
//! Each workload runs in its own process, so that its memory and time are measured separately.

use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use shortflow_measure::Replica;
use shortflow_scenario::{Overrides, from_texts};
use shortflow_sim::run_replica;

use crate::bench_args::{Bench, OtherBench, Work};
use crate::bench_router::Router;
use crate::console::Console;
use crate::failure::Failure;
use crate::{bench_ebpf, bench_router};

/// `shortflow bench`.
pub(crate) fn bench(console: &Console, args: &Bench) -> Result<(), Failure> {
    match &args.other {
        Some(OtherBench::Router(args)) => {
            return bench_router::bench(console, Router::OfRehearsals, args);
        }
        Some(OtherBench::Inline(args)) => {
            return bench_router::bench(console, Router::Inline, args);
        }
        Some(OtherBench::Ebpf(args)) => return bench_ebpf::bench(console, args),
        None => {}
    }
    if let ([work], true) = (&args.works[..], args.json) {
        return console.print_json(&measure(*work)?);
    }
    let works = if args.works.is_empty() { &ALL[..] } else { &args.works };
    let mut results = Vec::new();
    if !args.json {
        console.print(&format!("{HEAD}\n"))?;
    }
    for work in works {
        let result = measure_apart(*work)?;
        if !args.json {
            console.print(&format!("{}\n", row(&result)))?;
        }
        results.push(result);
    }
    if args.json { console.print_json(&json!({ "works": results })) } else { Ok(()) }
}

/// Measures in a process of its own: this program again, with one piece of work.
fn measure_apart(work: Work) -> Result<Value, Failure> {
    let failed = |what: String| Failure::Machine(format!("cannot measure {work:?}: {what}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["bench", "--json", &format!("{work:?}")]).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("it exited with {}", output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

/// Runs a piece of work in this process, and says what the process has used.
fn measure(work: Work) -> Result<Value, Failure> {
    let (texts, ports) = inputs(work);
    let loaded = from_texts(texts, &Overrides::default())?;
    let scenario = &loaded.points()[0].scenario;
    let started = std::time::Instant::now();
    let outcome = run_replica(scenario, 0, None, |_| true)?;
    let elapsed = started.elapsed().as_secs_f64();
    let packets: u64 = ports.iter().map(|port| forwarded(&outcome.replica, port)).sum();
    let usage = getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|error| Failure::Machine(format!("cannot read the CPU time: {error}")))?;
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    Ok(json!({
        "work": format!("{work:?}"),
        "simulated_s": scenario.duration.as_secs_f64() + scenario.drain.as_secs_f64(),
        "cpu_s": cpu,
        "elapsed_s": elapsed,
        "packets": packets,
        "packets_per_cpu_s": packets as f64 / cpu,
        "packet_hops": outcome.totals.hops,
        "packet_hops_per_cpu_s": outcome.totals.hops as f64 / cpu,
        "transfers": outcome.replica.workloads.iter().map(|w| w.all.completion.n()).sum::<u64>(),
        "peak_memory_bytes": peak_memory(),
    }))
}

/// What a port has forwarded until arrivals ended.
fn forwarded(replica: &Replica, port: &str) -> u64 {
    let port = replica.port(port).expect("the work measures its bottleneck");
    port.code_points.iter().map(|counts| counts.forwarded.packets).sum()
}

/// The peak memory of this process, in bytes; `None` if the system does not report it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The texts of a piece of work, and the ports whose data packets count.
fn inputs(work: Work) -> (&'static [(&'static str, &'static str)], &'static [&'static str]) {
    match work {
        Work::A => (&[("works/a.toml", include_str!("../../../bench/works/a.toml"))], &["r1->r2"]),
        Work::B => (&[("works/b.toml", include_str!("../../../bench/works/b.toml"))], &["r1->r2"]),
        Work::S => (
            &[
                ("works/s.toml", include_str!("../../../bench/works/s.toml")),
                ("works/red.toml", include_str!("../../../bench/works/red.toml")),
            ],
            &["r2->r1"],
        ),
        Work::D => (
            &[
                ("bench/works/d.toml", include_str!("../../../bench/works/d.toml")),
                (
                    "papers/cm05/policies/tsw2cm.toml",
                    include_str!("../../../papers/cm05/policies/tsw2cm.toml"),
                ),
            ],
            &["r1->r2", "r2->r1"],
        ),
        Work::H => (
            &[
                ("works/h.toml", include_str!("../../../bench/works/h.toml")),
                ("works/red-gigabit.toml", include_str!("../../../bench/works/red-gigabit.toml")),
            ],
            &["r1->r2"],
        ),
        Work::H1 => (
            &[
                ("works/h1.toml", include_str!("../../../bench/works/h1.toml")),
                ("works/red-gigabit.toml", include_str!("../../../bench/works/red-gigabit.toml")),
            ],
            &["sender->receiver"],
        ),
    }
}

const ALL: [Work; 6] = [Work::A, Work::B, Work::S, Work::D, Work::H, Work::H1];

const HEAD: &str = "work  CPU s  packets, M  M packets/CPU s  M packet-hops/CPU s  peak memory, MB";

fn row(result: &Value) -> String {
    let number = |key: &str| result[key].as_f64().unwrap_or(f64::NAN);
    format!(
        "{:<4}  {:>5.2}  {:>10.3}  {:>15.2}  {:>19.2}  {:>15.1}",
        result["work"].as_str().unwrap_or_default(),
        number("cpu_s"),
        number("packets") / 1e6,
        number("packets_per_cpu_s") / 1e6,
        number("packet_hops_per_cpu_s") / 1e6,
        number("peak_memory_bytes") / 1e6,
    )
}
