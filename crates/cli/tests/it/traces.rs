//! `simulate --trace`.

use std::fs;
use std::path::Path;

use crate::support::{Ended, files, run, simulate};

/// The small scenario, with `more` and a trace into `folder`.
fn traced(folder: &Path, more: &[&str]) -> Ended {
    let file = folder.join("small.pcapng");
    let arguments = [&["--trace", file.to_str().unwrap(), "--no-transfers"], more].concat();
    simulate(&folder.join("out"), &arguments)
}

#[test]
fn a_trace_is_named_after_the_results_and_begins_as_pcapng_does() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("small.pcapng");
    let ended = traced(home.path(), &["--replicas", "1"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.contains(&format!("\nTrace: {}\nReport: ", file.display())), "{}", ended.out);
    let first = fs::read(&file).unwrap();
    assert_eq!(first[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    assert!(!files(home.path()).iter().any(|name| name.contains(".shortflow-")));
    // Elsewhere other packets pass.
    let ended = traced(home.path(), &["--replicas", "1", "--trace-at", "west->east", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["trace"], file.to_str().unwrap());
    assert_ne!(fs::read(&file).unwrap(), first);
}

#[test]
fn several_runs_are_refused_with_what_makes_them_one() {
    let home = tempfile::tempdir().unwrap();
    let ended = traced(home.path(), &[]);
    assert_eq!(ended.code, Some(2));
    let found = "error: a trace records one replica; this scenario has 3 replicas\n  \
                 select one with --replicas 1\n";
    assert_eq!(ended.err, found);
    let file = home.path().join("lossy.pcapng");
    let swept = ["simulate", "scenarios/lossy-link.toml", "--trace", file.to_str().unwrap()];
    let ended = run(&swept);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("has 9 points of 8 replicas"), "{}", ended.err);
    let remedy = r#"--replicas 1 --set 'tcp.recovery="reno"' --set 'parameters.loss=0.001'"#;
    assert!(ended.err.contains(remedy), "{}", ended.err);
    let one =
        ["--replicas", "1", "--set", r#"tcp.recovery="reno""#, "--set", "parameters.loss=0.001"];
    let out = home.path().join("out");
    let short = ["--set", "duration=11 s", "--out", out.to_str().unwrap()];
    assert_eq!(run(&[&swept[..], &one, &short].concat()).code, Some(0));
    assert!(file.exists());
}

#[test]
fn a_place_that_is_not_there_is_told_with_those_that_are() {
    let home = tempfile::tempdir().unwrap();
    let ended = traced(home.path(), &["--replicas", "1", "--trace-at", "shops"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("unknown host or port \"shops\""), "{}", ended.err);
    assert!(ended.err.contains("such as visitors, shop, elsewhere, west->east"), "{}", ended.err);
    assert!(files(home.path()).is_empty());
}

#[test]
fn whoever_traces_both_ends_is_told_what_tools_make_of_it() {
    let home = tempfile::tempdir().unwrap();
    let both = ["--replicas", "1", "--trace-at", "shop", "--trace-at", "visitors"];
    let ended = traced(home.path(), &both);
    assert_eq!(ended.code, Some(0));
    let note = "note: connections between visitors and shop are traced at both ends";
    assert!(ended.err.starts_with(note), "{}", ended.err);
    assert_eq!(traced(home.path(), &[&both[..], &["--quiet"]].concat()).err, "");
}

#[test]
fn a_trace_that_cannot_be_written_gives_code_3_before_anything_is_simulated() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let ended = simulate(&out, &["--replicas", "1", "--trace", "/proc/nowhere/small.pcapng"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.err.contains("cannot write /proc/nowhere/small.pcapng"), "{}", ended.err);
    assert!(ended.err.contains("choose another file with --trace"), "{}", ended.err);
    assert!(!out.exists(), "a folder is left");
}

#[test]
fn a_trace_to_standard_output_is_refused_and_makes_no_file() {
    let ended = run(&["simulate", crate::support::SMALL, "--replicas", "1", "--trace", "-"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let found = "error: a trace cannot be written to standard output, which has the results\n  \
                 choose a file, or write ./- for a file with that name\n";
    assert_eq!(ended.err, found);
}
