//! `simulate`, `compare` and `report`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Ended, POLICIES, SMALL, command, files, run, shortflow, simulate};

fn summary(folder: &Path) -> String {
    fs::read_to_string(folder.join("summary.json")).expect("a run writes its summary")
}

fn compare(out: &Path) -> Ended {
    run(&[&["compare", SMALL, "--out", out.to_str().unwrap()][..], &POLICIES].concat())
}

#[test]
fn results_are_the_same_bits_on_any_number_of_threads_and_differ_by_seed() {
    let home = tempfile::tempdir().unwrap();
    let [one, two, other] = ["one", "two", "other"].map(|name| home.path().join(name));
    assert_eq!(simulate(&one, &["--jobs", "1"]).code, Some(0));
    assert_eq!(simulate(&two, &["--jobs", "2"]).code, Some(0));
    assert_eq!(simulate(&other, &["--seed", "2"]).code, Some(0));
    assert_eq!(summary(&one), summary(&two));
    let transfers = "transfers-000-002.csv";
    assert_eq!(fs::read(one.join(transfers)).unwrap(), fs::read(two.join(transfers)).unwrap());
    assert_ne!(summary(&one), summary(&other));
}

#[test]
fn a_run_prints_its_table_and_names_a_report_that_is_there() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let ended = simulate(&out, &[]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "no progress into a pipe");
    assert!(ended.out.contains("shop: completion time by reply size, in ms"), "{}", ended.out);
    let report = out.join("report.html");
    assert!(ended.out.ends_with(&format!("Report: {}\n", report.display())), "{}", ended.out);
    assert!(fs::read_to_string(report).unwrap().starts_with("<!DOCTYPE html>"));
    let written = files(&out);
    for name in ["manifest.toml", "summary.json", "replicas.json", "series.csv"] {
        assert!(written.iter().any(|file| file == name), "{name} is not among {written:?}");
    }
    assert_eq!(written.iter().filter(|name| name.starts_with("transfers-")).count(), 3);
    assert!(!written.iter().any(|name| name.contains(".shortflow-")), "{written:?}");
}

#[test]
fn a_comparison_prints_both_policies_and_their_difference() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let ended = compare(&out);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("ms with Fair Marker and "), "{}", ended.out);
    let (_, tables) = ended.out.split_once("completion time by reply size").unwrap();
    let row = |name| tables.lines().find(|line| line.contains(name)).unwrap();
    assert!(row("  Best Effort  ").contains("reference"));
    assert!(["%", "slower"].iter().any(|gain| row("  Fair Marker  ").contains(gain)));
    // The report is made anew from the folder as it was made from the run.
    let page = out.join("report.html");
    let first = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    fs::remove_dir_all(out.join("figures")).unwrap();
    assert_eq!(run(&["report", out.to_str().unwrap()]).code, Some(0));
    assert_eq!(fs::read_to_string(&page).unwrap(), first);
}

#[test]
fn a_policy_that_is_no_longer_compared_leaves_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let place = ["--out", out.to_str().unwrap()];
    let others = ["--policies", "policies/best-effort.toml,policies/red.toml"];
    assert_eq!(run(&[&["compare", SMALL][..], &POLICIES, &place].concat()).code, Some(0));
    fs::write(out.join("1-best-effort/notes.txt"), "mine").unwrap();
    assert_eq!(run(&[&["compare", SMALL][..], &others, &place].concat()).code, Some(0));
    assert!(out.join("2-red/manifest.toml").exists());
    assert!(!out.join("2-fair-marker").exists());
    assert!(out.join("1-best-effort/notes.txt").exists(), "what no run wrote stays");
    // A run of one policy takes the place of a comparison.
    assert_eq!(simulate(&out, &[]).code, Some(0));
    let written = files(&out);
    assert!(!written.iter().any(|name| name.ends_with("red/manifest.toml")), "{written:?}");
}

#[test]
fn the_same_arrivals_come_under_each_policy() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    assert_eq!(compare(&out).code, Some(0));
    let arrivals = |policy: &str| -> BTreeMap<String, String> {
        let text = fs::read_to_string(out.join(policy).join("transfers-000-001.csv")).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            (format!("{} {}", cells[0], cells[1]), cells[2].to_owned())
        };
        text.lines().map(row).collect()
    };
    let (ours, other) = (arrivals("1-best-effort"), arrivals("2-fair-marker"));
    // A transfer that one policy left open has no row there.
    let both: Vec<_> = ours.keys().filter(|name| other.contains_key(*name)).collect();
    assert!(both.len() > 200, "{}", both.len());
    assert!(both.iter().all(|name| ours[*name] == other[*name]));
}

#[test]
fn a_sweep_has_its_points_in_the_table_and_in_json() {
    let home = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(SMALL)).unwrap();
    let text = text.replace("../../../../policies", root.join("policies").to_str().unwrap());
    let sweep = "\n[sweep]\nkey = \"parameters.alpha\"\nvalues = [0.5, 0.7]\n";
    fs::write(home.path().join("swept.toml"), text + sweep).unwrap();
    let arguments = ["simulate", "swept.toml", "--out", "out", "--json", "--no-transfers"];
    let output = shortflow(&arguments).current_dir(home.path()).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = found["runs"][0]["points"].as_array().unwrap();
    let alphas: Vec<_> = points.iter().map(|p| p["settings"][0]["value"].clone()).collect();
    assert_eq!(alphas, ["0.5", "0.7"]);
    let completed = points[0]["summary"]["workloads"][0]["completed"].as_u64().unwrap();
    assert!(completed > 100, "{completed}");
    assert!(files(&home.path().join("out")).iter().all(|name| !name.starts_with("transfers")));
}

#[test]
fn json_is_all_that_stands_on_standard_output() {
    let home = tempfile::tempdir().unwrap();
    let ended = simulate(&home.path().join("out"), &["--json"]);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["runs"][0]["tcp"], "Linux today (CUBIC, RACK)");
    assert_eq!(found["interrupted"], false);
    assert_eq!(found["runs"][0]["label"], "Fair Marker");
    let mean = &found["runs"][0]["points"][0]["summary"]["workloads"][0]["all"]["mean"]["mean"];
    assert!((0.08..0.5).contains(&mean.as_f64().unwrap()), "{mean} s");
}

#[test]
fn colours_go_to_a_terminal_unless_no_color_is_set() {
    let home = tempfile::tempdir().unwrap();
    let colored = |text: &str| text.contains("\x1b[1m") || text.contains("\x1b[36m");
    assert!(!colored(&simulate(&home.path().join("pipe"), &[]).out));
    assert!(colored(&simulate(&home.path().join("always"), &["--color", "always"]).out));
    // `script` gives the command a terminal.
    let on_terminal = |name: &str, no_color: &str| {
        let out = home.path().join(name);
        let binary = env!("CARGO_BIN_EXE_shortflow");
        let line = format!("'{binary}' simulate {SMALL} --out '{}'", out.display());
        let mut script = command("script");
        script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("NO_COLOR", no_color);
        let output = script.output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (Some(with), Some(without)) = (on_terminal("with", ""), on_terminal("without", "1")) else {
        eprintln!("skipped: needs script, of util-linux");
        return;
    };
    assert!(colored(&with), "{with}");
    assert!(!colored(&without), "{without}");
    assert!(with.contains("of 3 replicas"), "there is a bar on a terminal: {with}");
}

/// What one run logs, another asks for again at the same times, whatever its network.
#[test]
fn accesses_that_a_run_has_logged_are_replayed_by_another() {
    let home = tempfile::tempdir().unwrap();
    let text = |rest: &str| {
        format!(
            "duration = \"30 s\"\ndrain = \"30 s\"\nreplicas = 2\n\
             hosts = {{ user = {{ count = 3 }}, server = {{}} }}\nrouters = {{ r = {{}} }}\n\
             links.a = {{ between = [\"user\", \"r\"], rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n\
             links.b = {{ between = [\"r\", \"server\"], rate = \"1 Mbit/s\", delay = \"9 ms\" }}\n\
             [workloads.web.web]\nclient = \"user\"\nserver = \"server\"\nhttp = \"1.0\"\n\
             request.constant = \"300 B\"\n{rest}"
        )
    };
    let browse = "page.index.exponential.mean = \"3 KB\"\npage.objects.uniform = { min = 0, max = 5 }\n\
                  page.object.exponential.mean = \"5 KB\"\nthink.exponential.mean = \"1 s\"\n";
    let replay =
        "replay.file = [\"log/accesses-web-000-000.csv\", \"log/accesses-web-000-001.csv\"]\n";
    let [one, two] = ["browse.toml", "replay.toml"].map(|name| home.path().join(name));
    fs::write(&one, text(browse)).unwrap();
    fs::write(&two, text(replay)).unwrap();
    let run = |scenario: &Path, out: &Path, set: &str| {
        let paths = [scenario, out].map(|path| path.to_str().unwrap().to_owned());
        run(&["simulate", &paths[0], "--out", &paths[1], "--set", set])
    };
    let starts = |out: &Path, replica: usize| -> Vec<String> {
        let rows = fs::read_to_string(out.join(format!("transfers-000-00{replica}.csv"))).unwrap();
        let pages = rows.lines().filter(|line| line.starts_with("web,"));
        let mut starts: Vec<String> =
            pages.map(|line| line.split(',').nth(2).unwrap().to_owned()).collect();
        starts.sort();
        starts
    };

    let log = home.path().join("log");
    let logged = run(&one, &log, "measure.accesses=true");
    assert_eq!((logged.code, logged.err.as_str()), (Some(0), ""));
    let again = home.path().join("again");
    let slow = run(&two, &again, "links.b.rate=400 kbit/s");
    assert_eq!((slow.code, slow.err.as_str()), (Some(0), ""));
    for replica in 0..2 {
        assert!(starts(&log, replica).len() > 20);
        assert_eq!(starts(&again, replica), starts(&log, replica));
    }
    assert_ne!(starts(&log, 0), starts(&log, 1), "each replica has its own log");
    // The manifest names the logs, and tells whether they are still the same.
    let manifest = fs::read_to_string(again.join("manifest.toml")).unwrap();
    assert!(manifest.contains("log/accesses-web-000-001.csv") && manifest.contains("FNV-1a"));
}
