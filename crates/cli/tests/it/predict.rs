//! `predict` as a user meets it.

use std::fs;

use crate::support::run;

const LINE: &str = r#"
name = "line"
duration = "100 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
[workloads.packets.poisson]
from = "a"
to = "b"
rate = "100 /s"
size.constant = "1000 B"
"#;

#[test]
fn a_prediction_is_a_table_of_means_with_what_they_rest_on() {
    let home = tempfile::tempdir().unwrap();
    let (file, out) = (home.path().join("line.toml"), home.path().join("out"));
    fs::write(&file, LINE).unwrap();
    let ended = run(&["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    // 8 ms to send, a wait of 16 ms at a load of 0.8, 1 ms on the way.
    assert!(ended.out.contains("Datagrams of packets took 25.0 ms on average"), "{}", ended.out);
    assert!(ended.out.contains("Pollaczek and Khinchine"), "{}", ended.out);
    assert!(!ended.out.contains('±'), "{}", ended.out);
    assert!(out.join("report.html").exists());
}

#[test]
fn what_has_no_closed_form_is_refused_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let (file, out) = (home.path().join("line.toml"), home.path().join("out"));
    fs::write(&file, LINE.replace("\"100 /s\"", "\"130 /s\"")).unwrap();
    let ended = run(&["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let told = "no closed form for this scenario: at a->b the load must be at least 0 and below 1; found 1.04";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert!(!out.exists());
}
