//! `shortflow rehearse` as a user meets it.

#![cfg(target_os = "linux")]

use std::path::Path;

use crate::support::{Ended, SMALL, command, files, run};

fn arguments(out: &Path) -> [String; 7] {
    let out = out.to_str().unwrap();
    ["rehearse", SMALL, "--out", out, "--replicas", "1", "--json"].map(str::to_owned)
}

#[test]
fn a_rehearsal_tells_whose_tcp_it_had_and_how_late_packets_were() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let ended = run(&arguments(&out).each_ref().map(String::as_str));
    if ended.code == Some(3) && std::env::var_os("CI").is_none() {
        eprintln!("skipped: needs hosts: {}", ended.err);
        return;
    }
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let run = &found["runs"][0];
    assert!(run["tcp"].as_str().unwrap().starts_with("the kernel's own, of Linux "), "{run}");
    assert!(run["timing"]["p99"].as_f64().unwrap() > 0.0, "{}", run["timing"]);
    assert!(files(&out).contains(&"report.html".to_owned()));
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
