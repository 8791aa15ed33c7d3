//! Points from a CSV file, limits of time, and what is recorded of points that fail.

use std::fs;
use std::path::Path;

use crate::support::{Ended, SMALL, run};

fn simulate(home: &Path, out: &str, more: &[&str]) -> Ended {
    let out = home.join(out);
    let short =
        ["simulate", SMALL, "--replicas", "1", "--set", "duration=2 s", "--quiet", "--brief"];
    run(&[&short[..], &["--no-transfers", "--out", out.to_str().unwrap()], more].concat())
}

fn written(home: &Path, text: &str) -> String {
    let path = home.join("design.csv");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The columns of a table of results, by name.
fn column(table: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(table).unwrap();
    let at = text.lines().next().unwrap().split(',').position(|one| one == name);
    let at = at.unwrap_or_else(|| panic!("no column {name}"));
    text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().to_owned()).collect()
}

#[test]
fn each_row_of_a_design_is_a_point_with_the_results_of_its_settings() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let design = written(
        home,
        "parameters.alpha,links.bottleneck.rate,policy.roles.core.queue.multi-red.limit\n\
         0.7,10 Mbit/s,200 pkt\n0.5,\"5 Mbit/s\",150 pkt\n",
    );
    let ended = simulate(home, "design", &["--design", &design, "--format", "csv"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let table = home.join("design/tables/replicas.csv");
    let (points, rates) = (column(&table, "point"), column(&table, "rate_bits_per_s"));
    let mut both: Vec<_> = points.iter().zip(&rates).collect();
    both.dedup();
    assert_eq!(both, [(&"0".into(), &"10000000".into()), (&"1".into(), &"5000000".into())]);
    assert!(column(&table, "limit_packets").contains(&"150".to_owned()));
    // The second row by hand.
    let set = ["alpha", "rate", "limit"].map(|_| "--set");
    let values = [
        "parameters.alpha=0.5",
        "links.bottleneck.rate=5 Mbit/s",
        "policy.roles.core.queue.multi-red.limit=150 pkt",
    ];
    let by_hand: Vec<&str> = set.into_iter().zip(values).flat_map(|(a, b)| [a, b]).collect();
    assert_eq!(simulate(home, "hand", &by_hand).code, Some(0));
    let replica = |out: &str, point: usize| {
        let text = fs::read_to_string(home.join(out).join("replicas.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()[point][0].clone()
    };
    assert_eq!(replica("design", 1), replica("hand", 0));
    assert_ne!(replica("design", 0), replica("design", 1));
    // The folder has all that is needed to run it again.
    fs::remove_file(&design).unwrap();
    let folder = home.join("design");
    let again = home.join("again");
    let arguments = ["rerun", folder.to_str().unwrap(), "-o", again.to_str().unwrap()];
    let ended = run(&[&arguments[..], &["--no-transfers", "--brief", "--quiet"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(replica("again", 1), replica("hand", 0));
}

#[test]
fn a_mistake_in_a_design_has_its_file_line_and_column() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let refused = |text: &str, place: &str, what: &str| {
        let design = written(home, text);
        let ended = simulate(home, "out", &["--design", &design]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let place = format!("design.csv:{place}\n");
        assert!(ended.err.contains(&place) && ended.err.contains(what), "{text}: {}", ended.err);
        assert!(!home.join("out").exists());
    };
    refused("parameters.alpha\n0.5\n0.6,1\n", "3:1", "this row has 2 values");
    refused("parameters.alpa\n0.5\n", "1:1", "unknown parameter `alpa`");
    refused("parameters.alpha,links.bottleneck.rate\n0.5,10 apples\n", "2:5", "10 apples");
    refused("parameters.alpha,duration\n0.5,3 s\n", "1:18", "set twice");
    refused("parameters.alpha\n", "1:1", "the design has no points");
    let missing = simulate(home, "out", &["--design", "no-such.csv"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("no-such.csv"), "{}", missing.err);
}

#[test]
fn a_warning_about_one_row_is_at_its_point_and_a_byte_order_mark_is_accepted() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let design = written(home, "\u{feff}links.bottleneck.loss\r\n0\r\n1\r\n");
    let ended = simulate(home, "out", &["--design", &design, "--set", "drain=0 s"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let summary = fs::read_to_string(home.join("out/summary.json")).unwrap();
    let points: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let says = |point: usize| {
        points[point]["summary"]["warnings"].to_string().contains("loses every packet")
    };
    assert_eq!([says(0), says(1)], [false, true], "{summary}");
}

#[test]
fn a_repeated_point_is_named_and_a_design_of_many_points_runs() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let mut text = "parameters.alpha\n0.5\n0.25\n0.5\n".to_owned();
    text.extend((0..60).map(|at| format!("0.{:04}\n", 1001 + at * 131 % 8000)));
    let design = written(home, &text);
    let ended =
        simulate(home, "out", &["--design", &design, "--set", "warm_up=0 s", "--set", "drain=0 s"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let named = "this point is the same as that of line 2";
    assert!(ended.err.contains(named) && ended.err.contains("design.csv:4:1"), "{}", ended.err);
    let summary = fs::read_to_string(home.join("out/summary.json")).unwrap();
    let points: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(points.as_array().unwrap().len(), 63);
}

#[test]
fn entries_of_lists_are_set_by_their_number() {
    let home = tempfile::tempdir().unwrap();
    let reply = "workloads.shop.transfers.reply.choice.sizes";
    let set = |entry: &str, out: &str| {
        simulate(home.path(), out, &["--set", &format!("{reply}.{entry}=40 seg")])
    };
    assert_eq!(set("2", "out").code, Some(0));
    let manifest = fs::read_to_string(home.path().join("out/manifest.toml")).unwrap();
    assert!(manifest.contains(&format!("{reply}.2")), "{manifest}");
    let refused = set("3", "no");
    assert_eq!(refused.code, Some(2));
    let what = "unknown entry `3` in the list";
    assert!(refused.err.contains(what) && refused.err.contains("0 to 2"), "{}", refused.err);
    let design = written(home.path(), &format!("{reply}.0,{reply}.1\n1 seg,5 seg\n2 seg,9 seg\n"));
    let ended = simulate(home.path(), "design", &["--design", &design]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[test]
fn a_point_that_takes_too_long_is_recorded_and_resumed_with_more_time() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    // A second of simulated time takes milliseconds, a hundred thousand take minutes.
    let design =
        written(home, "duration,links.bottleneck.rate\n2 s,10 Mbit/s\n100000 s,10 Mbit/s\n");
    let out = home.join("out");
    let command = |design: &str, more: &[&str]| {
        let base = ["simulate", SMALL, "--replicas", "1", "--quiet", "--brief", "--no-transfers"];
        let out = ["--out", out.to_str().unwrap(), "--design", design, "--format", "csv"];
        run(&[&base[..], &out, more].concat())
    };
    let ended = command(&design, &["--time-limit", "2 s"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let failures = fs::read_to_string(out.join("tables/failures.csv")).unwrap();
    let row = "stopped,replica 0: it took longer than the time limit of 2 s\n";
    assert!(failures.ends_with(row) && failures.lines().count() == 2, "{failures}");
    let manifest = fs::read_to_string(out.join("manifest.toml")).unwrap();
    assert!(manifest.contains("took longer than the time limit"), "{manifest}");
    let points = column(&out.join("tables/replicas.csv"), "point");
    assert!(!points.is_empty() && points.iter().all(|point| point == "0"), "{points:?}");
    // Nothing but the point that was stopped runs again.
    let ended = command(&design, &["--time-limit", "1 s", "--resume"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let alone = written(home, "duration\n100000 s\n");
    let ended = run(&[
        "simulate",
        SMALL,
        "--design",
        &alone,
        "--time-limit",
        "1 s",
        "--out",
        home.join("x").to_str().unwrap(),
    ]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("it took longer than the time limit of 1 s"), "{}", ended.err);
    assert!(!home.join("x").exists());
}
