//! `predict` as a user meets it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

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
fn what_has_no_closed_form_at_all_is_refused_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let (file, out) = (home.path().join("line.toml"), home.path().join("out"));
    fs::write(&file, LINE.replace("\"100 /s\"", "\"130 /s\"")).unwrap();
    let ended = run(&["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let told = "no closed form for `packets`: what comes to a->b: the load, with what goes before it, must be at least 0 and below 1; found 1.04";
    assert!(ended.err.contains(told), "{}", ended.err);
    assert!(!out.exists());
}

#[test]
fn a_prediction_stands_beside_a_simulation_with_how_far_off_it_is() {
    let home = tempfile::tempdir().unwrap();
    let (file, out) = (home.path().join("line.toml"), home.path().join("out"));
    fs::write(&file, LINE).unwrap();
    let arguments = ["compare", file.to_str().unwrap(), "--engines", "simulate,predict"];
    let more = ["--replicas", "2", "--out", out.to_str().unwrap(), "--json"];
    let ended = run(&[&arguments[..], &more].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let ended = run(&["report", out.join("1-line-simulated").to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let ended = run(&[&arguments[..], &more[..4], &["--force"]].concat());
    assert!(ended.out.contains("How many times as much as simulated"), "{}", ended.out);
    assert!(ended.out.contains("A prediction has no"), "{}", ended.out);
}

#[test]
fn every_scenario_that_is_shipped_has_an_answer_in_no_time_but_transfers_alone_at_red() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let home = tempfile::tempdir().unwrap();
    let mut count = 0;
    for entry in fs::read_dir(scenarios).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let out = home.path().join(file.file_stem().unwrap());
        let begun = Instant::now();
        let ended = run(&["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let taken = begun.elapsed();
        // Their policy has RED, with much load and no long flow.
        let is_alone = ["contract", "hoster-uplink"]
            .map(Some)
            .contains(&file.file_stem().and_then(|stem| stem.to_str()));
        let code = if is_alone { 2 } else { 0 };
        assert_eq!(ended.code, Some(code), "{}: {}", file.display(), ended.err);
        assert_eq!(is_alone, ended.err.contains("no closed form for `shop"), "{}", ended.err);
        assert!(!ended.out.contains("replica"), "nothing was drawn: {}", ended.out);
        // 50 ms where the build is optimised and nothing else runs.
        assert!(taken < Duration::from_secs(5), "{}: {taken:?}", file.display());
        count += 1;
    }
    assert!(count >= 10, "there are {count} scenarios");
}
