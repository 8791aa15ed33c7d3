//! A warning reaches every reader: on the terminal, on the page, in JSON, in the manifest and in CSV.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Ended, run};

/// Two endless flows that begin together: nothing in it is random.
const LINE: &str = r#"
name = "line"
policy = "core.toml"
replicas = 3
duration = "4 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "2 Mbit/s", delay = "1 ms" }
bind = [{ role = "core", at = "a", to = "b" }]
workloads.long.bulk = { from = "a", to = "b" }
workloads.calls.cbr = { from = "a", to = "b", rate = "80 kbit/s", packet = "200 B" }
"#;

const CORE: &str = "name = \"Plain\"\nroles.core.queue.fifo = { limit = \"20 pkt\" }\n";

/// The same queue, and a marker.
const MARKED: &str = "name = \"Marked\"\nroles.core.queue.fifo = { limit = \"20 pkt\" }\n\
                      roles.edge.classes = [{ name = \"all\", marker.fixed = { dscp = \"AF11\" } }]\n";

fn with_files(home: &Path, command: &str, line: &str, more: &[&str]) -> Ended {
    for (name, text) in [("line.toml", line), ("core.toml", CORE), ("marked.toml", MARKED)] {
        fs::write(home.join(name), text).unwrap();
    }
    let (file, out) = (home.join("line.toml"), home.join("out"));
    run(&[&[command, file.to_str().unwrap(), "--out", out.to_str().unwrap()], more].concat())
}

fn policies(home: &Path) -> String {
    ["core.toml", "marked.toml"].map(|name| home.join(name).display().to_string()).join(",")
}

/// The words of a text, however they are broken into lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is said of the marker, of a file anywhere.
fn says_unbound(text: &str) -> bool {
    let text = words(text).replace("&#39;", "'");
    text.contains("conditions packets, but it is not bound to a port")
        && text.contains("role `edge`")
}

#[test]
fn a_marker_that_is_bound_nowhere_is_told_by_compare_in_every_form() {
    let home = tempfile::tempdir().unwrap();
    let named = policies(home.path());
    let ended = with_files(home.path(), "compare", LINE, &["--policies", &named]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(says_unbound(&ended.err) && says_unbound(&ended.out), "{}", ended.out);
    let read = |name: &str| fs::read_to_string(home.path().join("out").join(name)).unwrap();
    assert!(says_unbound(&read("report.html")));
    for name in ["summary.json", "manifest.toml", "warnings.csv"] {
        assert!(says_unbound(&read(&format!("2-marked/{name}"))), "{name}");
        let of_other = fs::read_to_string(home.path().join("out/1-plain").join(name));
        assert!(!of_other.is_ok_and(|text| says_unbound(&text)), "{name}");
    }
    let ended = with_files(home.path(), "compare", LINE, &["--policies", &named, "--json"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let comparison: Value = serde_json::from_str(&read("comparison.json")).unwrap();
    assert_eq!(comparison["warnings"], found["warnings"]);
    let warnings = found["warnings"].as_array().unwrap();
    let unbound = warnings.iter().find(|warning| warning["kind"] == "input").unwrap();
    assert_eq!(unbound["about"], "Marked");
    assert!(says_unbound(unbound["message"].as_str().unwrap()), "{unbound}");
}

#[test]
fn every_command_writes_the_warnings_that_it_prints() {
    let home = tempfile::tempdir().unwrap();
    let line = LINE.replace("core.toml", "marked.toml");
    let named = policies(home.path());
    for (command, more, json) in [
        ("simulate", vec![], None),
        ("predict", vec![], None),
        ("compare", vec!["--policies", &named], Some("comparison.json")),
        ("compare", vec!["--engines", "predict,simulate"], Some("comparison.json")),
        ("tune", vec!["--policies", &named, "--for", "mean:calls"], Some("tune.json")),
    ] {
        let ended = with_files(home.path(), command, &line, &[&more[..], &["--json"]].concat());
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.err);
        let printed: Value = serde_json::from_str(&ended.out).unwrap();
        let printed = printed["warnings"].as_array().unwrap();
        assert!(says_unbound(&format!("{printed:?}")), "{command}: {printed:?}");
        let read = |name: &str| fs::read_to_string(home.path().join("out").join(name)).unwrap();
        if let Some(name) = json {
            let written: Value = serde_json::from_str(&read(name)).unwrap();
            assert_eq!(written["warnings"].as_array(), Some(printed), "{command}");
        } else {
            // A head, and a row for each.
            assert_eq!(read("warnings.csv").lines().count(), 1 + printed.len(), "{command}");
            assert!(says_unbound(&read("manifest.toml")), "{command}");
        }
    }
}

#[test]
fn settings_without_effect_are_warned_of_in_every_form() {
    let home = tempfile::tempdir().unwrap();
    let lossy = LINE.replace("delay = \"1 ms\" }", "delay = \"1 ms\", loss = { AF11 = 0.1 } }");
    let more = "measure.series_interval = \"60 s\"\n[parameters]\nspare = 1\n";
    let line = lossy + more;
    let expected = [
        "no packet has the code point AF11",
        "series_interval 60 s is longer than the run, 4 s",
        "no value uses the parameter `spare`",
    ];
    for command in ["simulate", "predict"] {
        let ended = with_files(home.path(), command, &line, &[]);
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.err);
        let read = |name: &str| fs::read_to_string(home.path().join("out").join(name)).unwrap();
        let page = read("report.html").replace("&#96;", "`");
        let texts =
            [ended.out, page, read("warnings.csv"), read("manifest.toml"), read("summary.json")];
        for (text, what) in texts.iter().flat_map(|text| expected.map(|what| (text, what))) {
            assert!(words(text).contains(what), "{command}: {what}: {text}");
        }
    }
    let ended = with_files(home.path(), "simulate", &line, &["--json"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let reported = |what: &&str| {
        let all = found["warnings"].as_array().unwrap();
        all.iter().any(|one| one["message"].as_str().unwrap().contains(what))
    };
    assert!(expected.iter().all(reported), "{}", found["warnings"]);
    let ended = run(&["check", home.path().join("line.toml").to_str().unwrap(), "--json"]);
    assert!(expected.iter().all(|what| ended.out.contains(what)), "{}", ended.out);
}

#[test]
fn a_warning_is_shown_once_where_output_and_errors_are_one_stream() {
    let home = tempfile::tempdir().unwrap();
    let line = LINE.replace("80 kbit/s", "3 Mbit/s");
    let ended = with_files(home.path(), "simulate", &line, &[]);
    let times = |text: &str| words(text).matches("the load offered from a to b is 150 %").count();
    assert_eq!((times(&ended.out), times(&ended.err)), (1, 1), "{}{}", ended.out, ended.err);
    let script = "exec \"$0\" simulate line.toml --out out --force 2>&1";
    let mut shell = crate::support::command("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_shortflow")]).current_dir(home.path());
    let ended: Ended = shell.output().unwrap().into();
    assert_eq!((ended.code, times(&ended.out)), (Some(0), 1), "{}", ended.out);
}

#[test]
fn a_marker_that_is_bound_nowhere_is_told_by_tune() {
    let home = tempfile::tempdir().unwrap();
    let named = policies(home.path());
    let search = ["--policies", &named, "--for", "mean:calls"];
    let ended = with_files(home.path(), "tune", LINE, &search);
    assert!(says_unbound(&ended.out), "{}{}", ended.out, ended.err);
    let found = fs::read_to_string(home.path().join("out/tune.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["warnings"][0]["about"], "Marked", "{found}");
    assert_eq!(found["warnings"][0]["kind"], "input");
}

#[test]
fn replicas_that_are_one_run_have_no_interval_and_are_told() {
    let home = tempfile::tempdir().unwrap();
    let line = LINE.lines().filter(|line| !line.contains("cbr")).collect::<Vec<_>>().join("\n");
    let ended = with_files(home.path(), "simulate", &line, &["--json"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let summary = &found["runs"][0]["points"][0]["summary"];
    let goodput = &summary["workloads"][0]["data_goodput"];
    assert_eq!((&goodput["n"], &goodput["low"]), (&1.into(), &Value::Null), "{goodput}");
    assert_eq!(found["warnings"][0]["kind"], "identical-replicas");
    assert!(found["warnings"][0]["help"].as_str().unwrap().contains("start_window"));
    // Each stream of calls begins at random.
    let ended = with_files(home.path(), "simulate", LINE, &["--json"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["warnings"], serde_json::json!([]));
}

#[test]
fn a_sweep_goes_on_past_a_point_that_fails_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let line = LINE.replace("replicas = 3", "replicas = 1").replace("4 s", "100 ms");
    // A host has 64,512 ports.
    let sweep = "\n[[sweep]]\nkey = \"workloads.long.bulk.flows\"\nvalues = [1, 70000, 2]\n";
    let ended = with_files(home.path(), "simulate", &(line + sweep), &[]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("1 of 3 points failed"), "{}", ended.err);
    let is_row = |line: &&str| line.contains("70000") && !line.starts_with("warning");
    let row = ended.out.lines().find(is_row).unwrap();
    assert!(row.contains("failed"), "{}", ended.out);
    let why = "70000: this point has no results: a has 64512 connections to port 20 of b";
    assert!(words(&ended.out).contains(why), "{}", ended.out);
    let read = |name: &str| fs::read_to_string(home.path().join("out").join(name)).unwrap();
    assert!(read("report.html").contains(why) && read("report.html").contains(">failed<"));
    let points: Value = serde_json::from_str(&read("summary.json")).unwrap();
    let has_failed = |at: usize| points[at]["failure"].is_string();
    assert_eq!([0, 1, 2].map(has_failed), [false, true, false]);
    assert!(read("manifest.toml").contains("kind = \"failed\""));
    assert!(read("warnings.csv").contains("70000,failed,"), "{}", read("warnings.csv"));
    // The rows of transfers are those of the points that they are named by.
    assert!(home.path().join("out/transfers-002-000.csv").exists());
    assert!(!home.path().join("out/transfers-001-000.csv").exists());
    let again = run(&["report", home.path().join("out").to_str().unwrap()]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(read("report.html").contains(why));
}

/// A flood that leaves no room for others.
const STARVED: &str = r#"
name = "starved"
replicas = 3
duration = "4 s"
warm_up = "1 s"
hosts = { a = {}, b = {}, x = {} }
routers = { r = {} }
[links]
line = { between = ["r", "b"], rate = "1 Mbit/s", delay = "1 ms", queue = "20 pkt" }
near = { between = ["a", "r"], rate = "1 Gbit/s", delay = "1 us" }
far = { between = ["x", "r"], rate = "1 Gbit/s", delay = "1 us" }
[workloads]
long.bulk = { from = "a", to = "b", flows = 2, start = "1 s" }
typing.telnet = { client = "b", server = "a", packet = "100 B", pause.constant = "0.1 s" }
files.ftp = { from = "a", to = "b", size.constant = "20 KB", pause.constant = "0.1 s" }
flood.poisson = { from = "x", to = "b", load = "200 Mbit/s", size.constant = "300 B" }
"#;

#[test]
fn a_flow_that_ends_within_the_warm_up_is_in_no_table_and_in_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let short = ["--set", "workloads.long.bulk.size=1 B", "--set", "warm_up=2 s"];
    let ended = with_files(home.path(), "simulate", LINE, &short);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let expected = "nothing of long was measured: it sent nothing after the warm-up";
    assert!(words(&ended.out).contains(expected), "{}", ended.out);
    let whole = with_files(home.path(), "simulate", LINE, &["--set", "warm_up=2 s", "--force"]);
    assert!(!whole.out.contains("was measured"), "{}", whole.out);
}

#[test]
fn transfers_that_were_all_aborted_have_begun() {
    let home = tempfile::tempdir().unwrap();
    let pages = "workloads.pages.transfers = { client = \"b\", server = \"a\", rate = \"5 /s\", request.constant = \"300 B\", \
                 reply.constant = \"5 KB\" }\ntcp.rto_initial = \"1 ns\"\n";
    let line: String = LINE
        .lines()
        .filter(|line| !line.starts_with("workloads"))
        .fold(String::new(), |text, line| text + line + "\n");
    let ended = with_files(home.path(), "simulate", &format!("{line}{pages}"), &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("were aborted by their TCP"), "{}", ended.out);
    assert!(ended.out.starts_with("No transfer completed.\n"), "{}", ended.out);
}

#[test]
fn what_gets_nothing_through_stays_in_every_table() {
    let home = tempfile::tempdir().unwrap();
    let ended = with_files(home.path(), "simulate", STARVED, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let (_, traffic) = ended.out.split_once("Traffic: goodput").unwrap();
    // Those who wait for a connection since before the warm-up count, too.
    for name in ["long", "typing", "files"] {
        let row = format!("{name} ");
        assert!(traffic.lines().any(|line| line.starts_with(&row)), "{}", ended.out);
        let starved = format!(
            "{name} was starved: nothing was delivered in 3 of 3 replicas, which counts as zero"
        );
        assert!(words(&ended.out).contains(&starved), "{}", ended.out);
    }
    let found = fs::read_to_string(home.path().join("out/summary.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    let long = &found[0]["summary"]["workloads"][0];
    assert_eq!(
        (&long["data_goodput"]["mean"], &long["data_goodput"]["n"]),
        (&0.0.into(), &3.into())
    );
    assert_eq!(
        (&long["fairness"]["n"], &long["fairness"]["high"]),
        (&3.into(), &1.0.into()),
        "{long}"
    );
}

/// Two classes before the rest: one for addresses that no host has, one for a code point that nobody writes.
const CLASSES: &str = r#"name = "Classes"
[[roles.core.queue.strict-priority.bands]]
match.src = "203.0.113.0/24"
queue.fifo.limit = "20 pkt"
[[roles.core.queue.strict-priority.bands]]
match.dscp = "EF"
queue.fifo.limit = "20 pkt"
[[roles.core.queue.strict-priority.bands]]
queue.fifo.limit = "20 pkt"
"#;

const UNREACHABLE: &str = "class 1 of `strict-priority` in the role `core` never matches: no host has an address in \
                           203.0.113.0/24 (`src`)";
const UNMATCHED: &str = "no packet matched class 2 of `strict-priority` in the role `core`";

#[test]
fn a_class_that_matches_nothing_is_told_once_in_every_form() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("classes.toml"), CLASSES).unwrap();
    let line = LINE.replace("core.toml", "classes.toml");
    let ended = with_files(home.path(), "simulate", &line, &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let read = |name: &str| fs::read_to_string(home.path().join("out").join(name)).unwrap();
    let times = |text: &str, what: &str| words(text).matches(what).count();
    assert_eq!(
        (times(&ended.out, UNMATCHED), times(&ended.out, UNREACHABLE)),
        (1, 1),
        "{}",
        ended.out
    );
    for name in ["report.html", "manifest.toml", "warnings.csv"] {
        let text = read(name).replace("&#39;", "'").replace("&#96;", "`");
        assert!(times(&text, UNMATCHED) >= 1 && times(&text, UNREACHABLE) >= 1, "{name}");
        assert!(!text.contains("no packet matched class 1"), "{name}");
        assert!(!text.contains("class 3"), "{name}: the rest is no class that asks for something");
    }
    let ended = with_files(home.path(), "simulate", &line, &["--json"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let warnings = found["warnings"].as_array().unwrap();
    let reported: Vec<_> =
        warnings.iter().map(|one| (&one["kind"], &one["message"], &one["line"])).collect();
    let expected = [("input", UNREACHABLE, 3), ("unmatched-class", UNMATCHED, 6)];
    let expected = expected.map(|(kind, message, line)| (kind.into(), message.into(), line.into()));
    assert_eq!(reported, expected.each_ref().map(|(kind, message, line)| (kind, message, line)));
    let ended = with_files(
        home.path(),
        "tune",
        &line,
        &["--for", "mean:calls", "--policies", home.path().join("classes.toml").to_str().unwrap()],
    );
    assert_eq!(times(&ended.out, UNMATCHED), 1, "{}{}", ended.out, ended.err);
    let found = fs::read_to_string(home.path().join("out/tune.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    let warnings = found["warnings"].as_array().unwrap();
    let unmatched = |one: &&Value| one["kind"] == "unmatched-class" && one["message"] == UNMATCHED;
    assert_eq!(warnings.iter().filter(unmatched).count(), 1, "{found}");
    for command in ["check", "predict"] {
        let file = home.path().join("line.toml");
        let ended = run(&[command, file.to_str().unwrap()]);
        assert!(words(&(ended.err + &ended.out)).contains(UNREACHABLE), "{command}");
    }
}

#[test]
fn a_class_that_hosts_are_given_addresses_for_matches() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("classes.toml"), CLASSES).unwrap();
    let line = LINE
        .replace("core.toml", "classes.toml")
        .replace("a = {}", "a = { address = \"203.0.113.0/24\" }");
    let line = line.replace("packet = \"200 B\"", "packet = \"200 B\", dscp = \"EF\"");
    let ended = with_files(home.path(), "simulate", &line, &["--json"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    // The first class takes all: nothing is left for the second.
    let reported: Vec<_> =
        found["warnings"].as_array().unwrap().iter().map(|one| &one["message"]).collect();
    assert_eq!(reported, [UNMATCHED]);
}
