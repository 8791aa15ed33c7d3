//! Where files come from, and what is refused before it takes the machine.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Ended, SMALL, run, shortflow};

/// Runs the binary with `text` on its standard input, over a pipe.
fn run_with_input(arguments: &[&str], text: &str) -> Ended {
    let mut command = shortflow(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it is read");
    child.wait_with_output().expect("it ends").into()
}

fn small() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SMALL);
    let text = fs::read_to_string(path).expect("the scenario is there");
    // What comes over a pipe names files relative to the working folder.
    text.replace("../../../../policies", "policies")
}

#[test]
fn a_scenario_may_come_over_a_pipe_to_every_command() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("results");
    let out = out.to_str().unwrap();
    for path in ["-", "/dev/stdin"] {
        let checked = run_with_input(&["check", path], &small());
        assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""));
        assert!(checked.out.contains("ok — scenario \"Small\""), "{}", checked.out);
    }
    let short = ["--replicas", "1", "--set", "duration=2 s", "--out", out];
    let policies = ["--policies", "policies/best-effort.toml,policies/red.toml"];
    for arguments in [&["simulate", "-"][..], &["compare", "-", policies[0], policies[1]]] {
        let ended = run_with_input(&[arguments, &short[..]].concat(), &small());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    }
    let policy = fs::read_to_string("../../policies/red.toml").unwrap();
    let ended = run_with_input(&["check", SMALL, "--policy", "-"], &policy);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("policy \"RED\""), "{}", ended.out);
}

#[test]
fn standard_input_may_be_any_policy_of_a_list() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("results");
    let policy = fs::read_to_string("../../policies/red.toml").unwrap();
    let short = ["--replicas", "1", "--set", "duration=2 s", "--out", out.to_str().unwrap()];
    let goal = ["--for", "mean:shop"];
    for list in ["-,policies/best-effort.toml", "policies/best-effort.toml,-"] {
        for command in [&["compare", SMALL][..], &["tune", SMALL, goal[0], goal[1], "--force"]] {
            let line = [command, &["--policies", list][..], &short].concat();
            let ended = run_with_input(&line, &policy);
            // In so short a run `tune` may measure too little, and ends with 1 then.
            assert!(matches!(ended.code, Some(0 | 1)), "{line:?}: {}", ended.err);
            assert!(ended.out.contains("RED"), "{line:?}: {}", ended.out);
        }
    }
    let missing = run(&["compare", SMALL, "--policies", "--json"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("'--json'") && missing.err.contains("a policy is missing"));
}

#[test]
fn a_device_is_not_read_and_a_file_only_up_to_16_mb() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let device = small().replace("\"policies/fair-marker.toml\"", "\"/dev/zero\"");
    let device = write("device.toml", &device);
    let long = write("long.toml", "# ");
    fs::File::options().append(true).open(&long).unwrap().set_len(100_000_000).unwrap();
    for (path, message) in [
        (&device[..], "cannot read the policy /dev/zero: it is a device, not a file"),
        (&long, "it has 100 MB, and at most 16 MB are read"),
        ("/dev/zero", "it is a device, not a file"),
    ] {
        for command in ["check", "simulate"] {
            let ended = run(&[command, path]);
            assert_eq!(ended.code, Some(2), "{}", ended.err);
            assert!(ended.err.contains(message), "{}", ended.err);
        }
    }
}

#[test]
fn what_cannot_run_is_refused_with_the_figure_and_what_to_change() {
    for (bad, message) in [
        ("too-many-transfers", "this makes about 3.0e11 transfers, 1.0e9 per second for 300 s"),
        ("too-many-samples", "this makes about 3.0e11 samples, of 1 port every 1 ns for 300 s"),
        ("too-many-routes", "40,002 hosts and routers have several links"),
    ] {
        let path = format!("crates/traffic/scenario/tests/bad/{bad}.toml");
        for command in ["check", "simulate"] {
            let ended = run(&[command, &path]);
            assert_eq!(ended.code, Some(2), "{}", ended.err);
            assert!(ended.err.contains(message), "{}", ended.err);
        }
    }
}

#[test]
fn a_run_that_needs_more_memory_than_stated_is_refused() {
    for command in [&["check", SMALL][..], &["simulate", SMALL]] {
        let ended = run(&[command, &["--memory", "10 KB"]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains("KB of memory, but --memory allows 10 KB"), "{}", ended.err);
        assert!(ended.err.contains("--jobs"), "{}", ended.err);
    }
    assert_eq!(run(&["check", SMALL, "--memory", "1 GB"]).code, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_memory_limit_below_what_the_process_uses_is_refused_with_the_least_that_works() {
    let with = |memory: &str| run(&["check", SMALL, "--memory", memory]);
    let ended = with("1 MB");
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(
        ended.err.contains("--memory allows 1.0 MB, but shortflow itself uses"),
        "{}",
        ended.err
    );
    let (_, least) = ended.err.trim().rsplit_once("allow at least ").expect("the least that works");
    let ended = with(least);
    assert_eq!(ended.code, Some(0), "{least}: {}", ended.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_needs_more_memory_than_the_machine_has_gives_code_3() {
    // What the shell allows stands for the machine: 2 GB, and the samples take more.
    let binary = env!("CARGO_BIN_EXE_shortflow");
    for command in ["check", "simulate"] {
        let large = "--set replicas=10000 --set 'measure.series_interval=1 ms'";
        let script = format!("ulimit -v 2000000 && exec '{binary}' {command} {SMALL} {large}");
        let output = crate::support::command("sh").args(["-c", &script]).output();
        let ended: Ended = output.expect("there is a shell").into();
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains("of memory, but this machine has 2.0 GB"), "{}", ended.err);
    }
}

#[test]
fn check_tells_the_load_of_each_link_and_marks_what_is_too_much() {
    let ended = run(&["check", SMALL]);
    assert!(ended.out.contains("east->west"), "{}", ended.out);
    assert!(ended.out.contains("8 Mbit/s of 10 Mbit/s"), "{}", ended.out);
    assert!(ended.out.contains("80 %: shop 56 %, elsewhere 24 %\n"), "{}", ended.out);
    let more = small().replace("load = \"8 Mbit/s\"", "load = \"16 Mbit/s\"");
    let ended = run_with_input(&["check", "-"], &more);
    assert!(ended.out.contains("160 %: shop 112 %, elsewhere 48 %  above the link's rate"));

    let json = run(&["check", "--json", SMALL]).out;
    assert!(!json.contains("-0.0"), "an idle link is offered nothing");
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let file = &found["files"][0];
    assert_eq!(file["warnings"], serde_json::json!([]));
    let links = file["loads"][0]["links"].as_array().unwrap();
    let busy = links.iter().find(|link| link["from"] == "east" && link["to"] == "west").unwrap();
    assert!((busy["share"].as_f64().unwrap() - 0.8).abs() < 1e-9, "{busy}");
}

#[test]
fn a_role_that_is_bound_nowhere_is_warned_of_by_every_command() {
    let unbound = small().replace("role = \"edge\"", "role = \"source\"");
    let message = "the role `edge` of policies/fair-marker.toml conditions packets, but it is not bound to a port";
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("results");
    let short = ["--replicas", "1", "--set", "duration=2 s", "--out", out.to_str().unwrap()];
    for arguments in [
        vec!["check", "-"],
        [&["simulate", "-"], &short[..]].concat(),
        [
            &["compare", "-", "--policies", "policies/red.toml,policies/fair-marker.toml"],
            &short[..],
        ]
        .concat(),
    ] {
        let ended = run_with_input(&arguments, &unbound);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.err.contains(message), "{arguments:?} gives\n{}", ended.err);
    }
    let bound = [&["check", "-", "--bind", "edge=east<-shop"][..]].concat();
    assert_eq!(run_with_input(&bound, &unbound).err, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_policy_from_a_pipe_is_deployed_also_in_both_directions_of_a_line() {
    let text = "name = \"piped\"\n[roles.core]\nqueue.fifo.limit = \"50 pkt\"\n";
    let device = ["--dev", "no-such-dev", "--dry-run"];
    for rates in [&["--rate", "10 Mbit/s"][..], &["--up", "1 Mbit/s", "--down", "9 Mbit/s"]] {
        let ended = run_with_input(&[&["deploy", "-"], &device[..], rates].concat(), text);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let queues = ended.out.matches("pfifo limit 50\n").count();
        assert_eq!(queues, rates.len() / 2, "{}", ended.out);
    }
}
