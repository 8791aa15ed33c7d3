//! Ctrl-C.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Ended, SMALL, files, shortflow};

/// Starts a run that would take long, and interrupts it as soon as `is_time`.
pub(crate) fn interrupted(arguments: &[&str], is_time: impl Fn() -> bool) -> Ended {
    let child = begun(arguments, is_time);
    signal(&child, "INT");
    child.wait_with_output().unwrap().into()
}

/// Starts a run, and stops it for a while as soon as `is_time`.
#[cfg(target_os = "linux")]
pub(crate) fn stopped_for(time: Duration, arguments: &[&str], is_time: impl Fn() -> bool) -> Ended {
    let child = begun(arguments, is_time);
    signal(&child, "STOP");
    std::thread::sleep(time);
    signal(&child, "CONT");
    child.wait_with_output().unwrap().into()
}

pub(crate) fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

/// Starts a run and waits until `is_time`.
fn begun(arguments: &[&str], is_time: impl Fn() -> bool) -> Child {
    let mut child =
        shortflow(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !is_time() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run gets nowhere");
        assert!(child.try_wait().unwrap().is_none(), "the run has ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn simulating<'a>(out: &'a Path, settings: &[&'a str]) -> Vec<&'a str> {
    [&["simulate", SMALL, "--out", out.to_str().unwrap()], settings].concat()
}

#[test]
fn replicas_that_are_complete_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let settings = ["--set", "duration=10 s", "--replicas", "1000", "--jobs", "1"];
    // The transfers of a replica get their name when it is complete.
    let second_is_complete =
        || out.exists() && files(&out).iter().any(|name| name.ends_with("transfers-000-001.csv"));
    let ended = interrupted(&simulating(&out, &settings), second_is_complete);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("interrupted: kept the "), "{}", ended.err);
    assert!(ended.out.contains("of 1000 replicas are complete"), "{}", ended.out);
    let folder = shortflow_measure::results::Folder::open(&out);
    let (manifest, points) = folder.read().unwrap();
    assert!((2..1000).contains(&manifest.replicas), "{}", manifest.replicas);
    assert_eq!(points[0].replicas.len() as u32, manifest.replicas);
    assert!(!files(&out).iter().any(|name| name.contains(".shortflow-")));
}

#[test]
fn without_a_complete_replica_nothing_is_written() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let settings = ["--set", "duration=100000 s", "--replicas", "1"];
    let has_begun = || out.exists() && !files(&out).is_empty();
    let ended = interrupted(&simulating(&out, &settings), has_begun);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("nothing is kept"), "{}", ended.err);
    assert!(!out.exists(), "a folder is left");
}

#[test]
fn of_a_comparison_a_replica_is_kept_that_is_complete_in_every_case() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let policies = "policies/best-effort.toml,policies/fq-codel.toml";
    let out_path = out.to_str().unwrap();
    let arguments = [
        &["compare", "scenarios/contract.toml", "--policies", policies][..],
        &["--set", "duration=100000 s", "--replicas", "1", "--out", out_path],
    ]
    .concat();
    let ended = interrupted(&arguments, || out.exists() && !files(&out).is_empty());
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("complete in every compared case"), "{}", ended.err);
    assert!(!out.exists(), "a folder is left");
}
