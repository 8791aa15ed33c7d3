//! `shortflow rehearse` as a user meets it.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::interrupt::{interrupted, stopped_for};
use crate::support::{Ended, SMALL, command, files, rehearsed, run};

fn arguments(out: &Path) -> [String; 7] {
    let out = out.to_str().unwrap();
    ["rehearse", SMALL, "--out", out, "--replicas", "1", "--json"].map(str::to_owned)
}

#[test]
fn a_rehearsal_tells_whose_tcp_it_had_and_how_late_packets_were() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let arguments = arguments(&out);
    let more = ["--tcp-info", "end"];
    let arguments = [&arguments.each_ref().map(String::as_str)[..], &more].concat();
    let Some(ended) = rehearsed(&arguments) else { return };
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let run = &found["runs"][0];
    assert!(run["tcp"].as_str().unwrap().starts_with("the kernel's own, of Linux "), "{run}");
    assert!(run["timing"]["p99"].as_f64().unwrap() > 0.0, "{}", run["timing"]);
    for name in ["report.html", "transfers-000-000.csv", "tcp-info-000-000.csv"] {
        assert!(files(&out).contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn without_the_right_to_make_hosts_it_says_what_is_lacking_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    // Root without this capability may not make namespaces; others have it neither.
    let mut restricted = command("setpriv");
    restricted.args(["--bounding-set", "-sys_admin", env!("CARGO_BIN_EXE_shortflow")]);
    let ended: Ended = match restricted.args(arguments(&out)).output() {
        Ok(output) => output.into(),
        Err(_) => return eprintln!("skipped: needs setpriv (util-linux)"),
    };
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.err.contains("run it as root (sudo)"), "{}", ended.err);
    assert!(!out.exists(), "{:?}", files(&out));
}

#[test]
fn a_rehearsal_is_traced_and_ctrl_c_leaves_no_part_of_a_trace() {
    let home = tempfile::tempdir().unwrap();
    let (out, file) = (home.path().join("out"), home.path().join("small.pcapng"));
    let places = ["--trace", file.to_str().unwrap(), "--trace-at", "west->east"];
    let arguments = arguments(&out);
    let traced = |duration| {
        let more = ["--set", duration, "--trace-snap", "96 B"];
        arguments.iter().map(String::as_str).chain(places).chain(more).collect::<Vec<_>>()
    };
    let Some(ended) = rehearsed(&traced("duration=2 s")) else { return };
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["trace"], file.to_str().unwrap());
    let whole = fs::read(&file).unwrap();
    assert_eq!(whole[..4], [0x0a, 0x0d, 0x0d, 0x0a]);

    let ended = interrupted(&traced("duration=600 s"), || is_tracing(home.path()));
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert_eq!(fs::read(&file).unwrap(), whole, "the earlier trace stays");
    assert!(!files(home.path()).iter().any(|name| name.contains(".shortflow-")));
}

/// Whether packets of a run that traces into `folder` are on the disk.
fn is_tracing(folder: &Path) -> bool {
    let mut parts = files(folder).into_iter().filter(|name| name.starts_with(".shortflow-"));
    parts.any(|part| fs::metadata(folder.join(part)).is_ok_and(|part| part.len() > 0))
}

#[test]
fn a_rehearsal_that_stood_still_is_kept_and_ends_with_what_a_machine_lacks() {
    let home = tempfile::tempdir().unwrap();
    let (out, file) = (home.path().join("out"), home.path().join("small.pcapng"));
    let arguments = arguments(&out);
    let places = ["--trace", file.to_str().unwrap(), "--trace-at", "west->east"];
    let traced = [&arguments.each_ref().map(String::as_str)[..], &places].concat();
    if rehearsed(&[&traced[..], &["--set", "duration=2 s", "--force"]].concat()).is_none() {
        return;
    }
    let still = Duration::from_millis(400);
    let ended =
        stopped_for(still, &[&traced[..], &["--force"]].concat(), || is_tracing(home.path()));
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(
        ended.err.contains("error: the machine was too slow for this rehearsal"),
        "{}",
        ended.err
    );
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let longest = found["runs"][0]["timing"]["longest_stall"].as_f64().unwrap();
    assert!((0.3..0.6).contains(&longest), "{longest}");
    assert!(files(&out).contains(&"summary.json".to_owned()), "{:?}", files(&out));
    // A program that fails does not hide it.
    let with = ["--force", "--with", "visitors", "exit 5"];
    let ended = stopped_for(still, &[&traced[..], &with].concat(), || is_tracing(home.path()));
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(
        ended.err.contains("error: the machine was too slow for this rehearsal"),
        "{}",
        ended.err
    );
}

#[test]
fn a_snap_without_a_trace_or_too_short_for_headers_is_refused() {
    let ended = run(&["rehearse", SMALL, "--trace-snap", "96 B"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("--trace <FILE>"), "{}", ended.err);
    let ended = run(&["rehearse", SMALL, "--trace", "t.pcapng", "--trace-snap", "20 B"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(
        ended.err.contains("the stored part of a packet must be 64 B to 4 GB"),
        "{}",
        ended.err
    );
}

#[test]
fn when_to_look_at_senders_is_a_time_or_the_end() {
    for wrong in ["often", "10", "10 us"] {
        let ended = run(&["rehearse", SMALL, "--tcp-info", wrong]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let allowed = "write `end`, or a time of 1 ms or more, as in `10 ms`";
        assert!(ended.err.contains(allowed), "{}", ended.err);
    }
}
