//! Memory does not grow with simulated time under a load that settles.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use crate::bench::{run, scenario};

/// Transfers at half the capacity of a link, for `seconds`.
fn text(seconds: u64) -> String {
    format!(
        r#"
        duration = "{seconds} s"
        warm_up = "10 s"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "10 Mbit/s", delay = "5 ms" }}
        [workloads.web.transfers]
        client = "a"
        server = "b"
        load = "5 Mbit/s"
        request.constant = "300 B"
        reply.exponential.mean = "10 KB"
        "#
    )
}

/// Simulates for so many seconds and says what memory that took at most. A process of its own,
/// since tests that run beside it have memory too. Does nothing unless the test below started it;
/// an ignored test would look to CI like one that was skipped.
#[test]
fn peak_of_a_run() {
    let Ok(seconds) = std::env::var(SECONDS) else { return };
    let seconds = seconds.parse().expect("seconds");
    let outcome = run(&scenario(&text(seconds)));
    assert!(outcome.totals.delivered > 500 * seconds);
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    println!("peak:{peak}");
}

const SECONDS: &str = "SHORTFLOW_TEST_SECONDS";

/// The peak memory of a process that simulates `seconds`, in KiB.
fn peak(seconds: u64) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::peak_of_a_run", "--nocapture"])
        .env(SECONDS, seconds.to_string())
        .output()
        .expect("the tests start themselves");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once("peak:")).expect("the child says so").1;
    line.trim().trim_end_matches(" kB").parse().expect("KiB")
}

/// 60 000 transfers instead of 6 000: a connection forgotten, or 20 bytes of each, would be seen.
#[test]
fn ten_times_the_time_takes_no_more_memory() {
    let (short, long) = (peak(100), peak(1000));

    assert!(long < short + 1024, "{short} KiB for 100 s, {long} KiB for 1000 s");
}
