//! `predict` as a user meets it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::{Ended, run, shortflow};

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

/// A folder with a scenario, where that is, and where results may go.
fn written(scenario: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let (file, out) = (home.path().join("scenario.toml"), home.path().join("out"));
    fs::write(&file, scenario).unwrap();
    (home, file, out)
}

#[test]
fn a_prediction_is_a_table_of_means_with_what_they_rest_on() {
    let (_home, file, out) = written(LINE);
    let ended = run(&["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    // 8 ms to send, a wait of 16 ms at a load of 0.8, 1 ms on the way.
    assert!(ended.out.contains("Datagrams of packets took 25.0 ms on average"), "{}", ended.out);
    assert!(ended.out.contains("Pollaczek and Khinchine"), "{}", ended.out);
    assert!(!ended.out.contains('±'), "{}", ended.out);
    assert!(out.join("report.html").exists());
    let out = out.to_str().unwrap();
    let quiet = run(&["predict", "--quiet", file.to_str().unwrap(), "--out", out, "--force"]);
    assert_eq!(quiet.code, Some(0), "{}", quiet.err);
    assert!(ended.out.contains("note: ") && !quiet.out.contains("note: "), "{}", quiet.out);
}

/// The same prediction for machines.
fn json_of(file: &Path, out: &Path) -> String {
    let given = ["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let ended = run(&[&given[..], &["--force", "--json"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.out
}

#[test]
fn what_has_no_closed_form_is_told_as_a_bound_with_the_reason() {
    let (_home, file, out) = written(&LINE.replace("\"100 /s\"", "\"130 /s\""));
    let ended = run(&["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let message = ended.out.replace("\n  ", " ");
    let why = "No closed form for `packets`: the arrivals at a->b: the load, including what is \
        served before it, must be below 1 for the model to hold; found 1.04";
    assert!(message.contains(why), "{message}");
    // 8 ms to send, 1 ms on the way.
    assert!(message.contains("≥ 9.00"), "{message}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("≥ 9.00") && page.contains("No closed form for"), "no bound on the page");
    let json = json_of(&file, &out);
    assert!(json.contains("\"at_least\": true") || json.contains("\"at_least\":true"), "{json}");
    assert!(json.contains("No closed form for `packets`"), "{json}");
}

#[test]
fn a_goodput_without_a_closed_form_has_an_upper_bound_in_every_output() {
    let long = "[workloads.long.bulk]\nfrom = \"a\"\nto = \"b\"\nstart = \"50 s\"\n";
    let (_home, file, out) = written(&format!("{LINE}{long}"));
    let ended = run(&["predict", file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    // 1448 of 1500 bytes of 1 Mbit/s.
    assert!(ended.out.contains("long got at most 966 kbit/s"), "{}", ended.out);
    assert!(ended.out.contains("≤ 966"), "{}", ended.out);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("≤ 966"), "no bound on the page");
    let json = json_of(&file, &out);
    assert!(json.contains("\"at_most\": true") || json.contains("\"at_most\":true"), "{json}");
}

#[test]
fn a_prediction_stands_beside_a_simulation_with_how_far_off_it_is() {
    let (_home, file, out) = written(LINE);
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

/// Pages that fill a line, of which closed forms find no rest.
const RESTLESS: &str = r#"
name = "restless"
duration = "20 s"
warm_up = "5 s"
hosts = { client = { count = 30 }, server = {} }
routers = { isp = {}, gw = {} }
links.c = { between = ["client", "gw"], rate = "10 Gbit/s", delay = "1 us" }
links.s = { between = ["server", "isp"], rate = "10 Gbit/s", delay = "1 us" }
links.line = { between = ["isp", "gw"], rate = "2 Mbit/s", delay = "10 ms" }
[workloads.pages.web]
client = "client"
server = "server"
http = "1.1"
request.constant = "400 B"
page.index.constant = "20 KB"
page.objects.constant = 5
page.object.constant = "10 KB"
think.exponential.mean = "2 s"
start_window = "2 s"
"#;

#[test]
fn where_nothing_settles_bounds_are_told_with_the_reason_and_the_other_engine_is_run() {
    let (_home, file, out) = written(RESTLESS);
    let given = [file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let both = ["--engines", "predict,simulate", "--replicas", "2"];
    let ended = run(&[&["compare"], &given[..], &both].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let message = ended.out.replace("\n  ", " ");
    let why = "warning: restless, predicted: No closed form for `pages`: the waits and rates of the network did not settle in \
               500 steps; the last residual is ";
    let (_, residual) = message.split_once(why).unwrap_or_else(|| panic!("{message}"));
    assert!(residual.find(".\n").is_some_and(|digits| digits <= 5), "{message}");
    assert!(message.contains("restless, simulated"), "{message}");
    assert!(message.contains("The one bound (≥ or ≤) holds."), "{message}");
    // Without another engine the bounds are reported, too.
    let alone = ["--engines", "predict", "--bind", "core=isp->gw", "--force"];
    let policies = ["--policies", "policies/best-effort.toml,policies/fq-codel.toml"];
    let ended = run(&[&["compare"], &given[..], &alone, &policies].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("did not settle") && ended.out.contains("≥ "), "{}", ended.out);
}

#[test]
fn prose_is_as_wide_as_the_terminal_and_neither_too_wide_nor_too_narrow_to_be_read() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let longest = |columns: Option<&str>| {
        let mut command = shortflow(&["predict", "scenarios/voice-and-web.toml", "--force"]);
        command.args(["--out", out.to_str().unwrap()]);
        columns.map(|columns| command.env("COLUMNS", columns));
        let ended: Ended = command.output().unwrap().into();
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let (_, message) = ended.out.split_once("warning: ").unwrap();
        let (message, _) = message.split_once("\n\n").unwrap();
        assert!(message.contains("\n  "), "{message}");
        format!("warning: {message}").lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!((81..=100).contains(&longest(None)));
    assert!((61..=100).contains(&longest(Some("500"))));
    assert!((50..=60).contains(&longest(Some("60"))));
    assert!((31..=40).contains(&longest(Some("7"))));
}

#[test]
fn every_shipped_scenario_is_predicted_in_no_time_with_the_reason_where_figures_are_bounds() {
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
        // A workload without a mean. What shares its line is unknown with it.
        let bounded = match file.file_stem().and_then(|stem| stem.to_str()).unwrap() {
            // Their policy has RED, with much load and no long flow.
            "contract" | "hoster-uplink" => Some("No closed form for `shop"),
            // The load of what goes before is too high.
            "browsing-telnet-ftp" => Some("No closed form for `old`"),
            "flow-splitting" => Some("No closed form for `splitter`"),
            "modem" => Some("No closed form for `pages`"),
            // Browsing beside downloads without an end, at a plain buffer.
            "office" => Some("No closed form for `pages`"),
            _ => None,
        };
        assert_eq!(ended.code, Some(0), "{}: {}", file.display(), ended.err);
        let message = ended.out.replace("\n  ", " ");
        assert!(
            bounded.is_none_or(|why| message.contains(why) && message.contains("≥ ")),
            "{message}"
        );
        assert!(!ended.out.contains("replica"), "nothing was drawn: {}", ended.out);
        // 50 ms where the build is optimised and nothing else runs.
        assert!(taken < Duration::from_secs(5), "{}: {taken:?}", file.display());
        count += 1;
    }
    assert!(count >= 10, "there are {count} scenarios");
}
