//! `tune` as a user meets it.

use std::fs;
use std::path::Path;

use crate::interrupt::interrupted;
use crate::support::{Ended, files, run};

/// Half as many packets again as the line carries, so that they wait as long as the queue lets them: a packet takes 8 ms.
const LINE: &str = r#"
name = "line"
policy = "queue.toml"
replicas = 4
duration = "20 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
bind = [{ role = "core", at = "a", to = "b" }]
[workloads.packets.poisson]
from = "a"
to = "b"
rate = "187 /s"
size.constant = "1000 B"
"#;

const QUEUE: &str = r#"
name = "Queue"
[parameters]
limit = "40 pkt" # as much as the line holds
[roles.core]
queue.fifo = { limit = "$limit" }
"#;

const LIMITS: &str = "policy.parameters.limit=5 pkt,20 pkt,80 pkt";

/// Runs `tune` for the line in `home` into its folder `out`.
fn tune(home: &Path, more: &[&str]) -> Ended {
    fs::write(home.join("line.toml"), LINE).unwrap();
    fs::write(home.join("queue.toml"), QUEUE).unwrap();
    let (file, out) = (home.join("line.toml"), home.join("out"));
    let arguments = ["tune", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    run(&[&arguments, more].concat())
}

#[test]
fn the_shortest_queue_waits_least_and_becomes_a_policy_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let ended = tune(home.path(), &["--for", "mean:packets", "--vary", LIMITS]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let few = "\nConfirmed by 4 replicas (the minimum) with other seeds";
    assert!(ended.out.contains(few), "{}", ended.out);
    let best = "Queue, limit = 5 pkt is first by mean:packets.";
    assert!(ended.out.starts_with(best), "{}", ended.out);
    let winner = home.path().join("out/winner.toml");
    let text = fs::read_to_string(&winner).unwrap();
    assert!(text.starts_with("# Chosen by `shortflow tune "), "{text}");
    assert!(text.contains("limit = \"5 pkt\" # as much as the line holds"), "{text}");
    assert_eq!(run(&["check", winner.to_str().unwrap()]).code, Some(0));
    // 5 packets and the one that is sent, 8 ms each, and the way of 1 ms.
    let found: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(home.path().join("out/tune.json")).unwrap())
            .unwrap();
    let mean = found["found"]["confirmed"]["standings"][0]["goals"][0]["mean"].as_f64().unwrap();
    assert!((0.03..0.049).contains(&mean), "{mean}");
}

#[test]
fn what_to_type_next_is_told_where_a_device_can_do_what_the_winner_says_and_why_where_none_can() {
    let home = tempfile::tempdir().unwrap();
    let next = |policies: &str| {
        let more = ["--for", "mean:packets", "--policies", policies, "--force"];
        let ended = tune(home.path(), &more);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended.out
    };
    let message = next("dstf");
    assert!(
        message.contains("winner.toml --role edge,core --dev DEVICE --rate RATE --dry-run\n"),
        "{message}"
    );
    let message = next("fq-codel");
    assert!(message.contains("winner.toml --dev DEVICE --rate RATE --dry-run\n"), "{message}");
    // A plain queue of 200 packets waits longer, though it stands before.
    let others =
        "Among the candidates that any Linux can deploy FQ-CoDel is first by mean:packets.\n";
    let message = next("stf");
    let needs = "--dry-run\nIt needs a BPF qdisc (Linux 6.16 or newer, CONFIG_NET_SCH_BPF).\n";
    assert!(message.contains(&format!("{needs}{others}")), "{message}");
    let message = next("source-scheduler");
    let why = "No device can deploy Source Scheduler: ";
    assert!(message.contains(why) && !message.contains("--dry-run"), "{message}");
    assert!(message.contains(others), "{message}");
}

#[test]
fn a_limit_may_rule_out_what_would_be_best_by_the_goal() {
    let home = tempfile::tempdir().unwrap();
    // A queue of 5 holds 40 ms, one of 20 holds 160 ms.
    let keep = ["--keep", "packets.delay.mean >= 100 ms"];
    let ended =
        tune(home.path(), &[&["--for", "mean:packets", "--vary", LIMITS], &keep[..]].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.out);
    assert!(ended.err.contains("would prevent `delay` from improving"), "{}", ended.err);
    let keep = ["--keep", "packets.delay.p99 <= 100 ms"];
    let ended =
        tune(home.path(), &[&["--for", "loss:packets", "--vary", LIMITS], &keep[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("breaks packets.delay.p99 <= 100 ms"), "{}", ended.out);
    assert!(ended.out.starts_with("Queue, limit = 5 pkt is first"), "{}", ended.out);
}

#[test]
fn where_nothing_keeps_the_limits_the_nearest_is_told_and_no_policy_is_written() {
    let home = tempfile::tempdir().unwrap();
    let keep = ["--for", "mean:packets", "--vary", LIMITS, "--keep", "packets.delay.mean <= 2 ms"];
    let ended = tune(home.path(), &keep);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(
        ended.out.starts_with("No candidate keeps the limits.\nQueue, limit = 5 pkt comes nearest")
    );
    assert_eq!(files(&home.path().join("out")), ["tune.json"]);
    let two = [&keep[..], &["--for", "loss:packets", "--force"]].concat();
    assert_eq!(tune(home.path(), &two).code, Some(1));
    assert_eq!(files(&home.path().join("out")), ["tune.json"], "no figure of nobody");
}

#[test]
fn two_goals_make_a_figure_and_any_number_of_threads_the_same_results() {
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let goals = ["--for", "mean:packets", "--for", "loss:packets", "--vary", LIMITS];
    for (home, jobs) in [(&one, "1"), (&two, "2")] {
        let ended = tune(home.path(), &[&goals[..], &["--jobs", jobs]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert_eq!(files(&home.path().join("out")), ["front.svg", "tune.json", "winner.toml"]);
    }
    let found = |home: &Path| {
        let found = fs::read_to_string(home.join("out/tune.json")).unwrap();
        found.replace(home.to_str().unwrap(), "HOME")
    };
    assert_eq!(found(one.path()), found(two.path()));
}

#[test]
fn where_the_goal_cannot_be_measured_nobody_wins() {
    let home = tempfile::tempdir().unwrap();
    let (datagrams, rest) = ("packets.poisson", "rate = \"187 /s\"\nsize.constant = \"1000 B\"");
    // The first comes when the run is over.
    let rare = LINE
        .replace(datagrams, "packets.transfers")
        .replace("from = \"a\"\nto", "client = \"a\"\nserver")
        .replace(
            rest,
            "rate = \"0.0001 /s\"\nrequest.constant = \"9 B\"\nreply.constant = \"9 B\"",
        );
    fs::write(home.path().join("rare.toml"), rare).unwrap();
    fs::write(home.path().join("queue.toml"), QUEUE).unwrap();
    let (file, out) = (home.path().join("rare.toml"), home.path().join("out"));
    let place = [file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let ended = run(&[&["tune"], &place[..], &["--for", "p99:packets", "--vary", LIMITS]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.out.starts_with("p99:packets could not be measured"), "{}", ended.out);
    assert_eq!(files(&out), ["tune.json"]);
}

#[test]
fn what_is_misspelt_is_told_before_anything_is_run() {
    let home = tempfile::tempdir().unwrap();
    for (arguments, message) in [
        (vec!["--for", "p98:packets"], "unknown goal `p98`\n  did you mean `p99`?"),
        (
            vec!["--for", "p99:packet"],
            "the scenario has no workload `packet`\n  did you mean `packets`?",
        ),
        (vec!["--for", "p99:packets", "--policies", "fqcodel"], "did you mean `fq-codel`?"),
        (
            vec!["--for", "p99:packets", "--vary", "policy.parameters.limt=1 pkt,2 pkt"],
            "did you mean `limit`?",
        ),
        (
            vec!["--for", "p99:packets", "--vary", "policy.parameters.nope=1,2"],
            "--> --vary 'policy.parameters.nope=1,2'\n",
        ),
        (
            vec!["--for", "p99:packets", "--vary", "policy.parameters.limit=20-400 pkt"],
            "a range is written with two dots: policy.parameters.limit=20..400 pkt",
        ),
        (
            vec!["--for", "p99:packets", "--keep", "packets.loss <= 1 %"],
            "unknown measure `loss`\n  did you mean `datagram-loss`? measures of `packets`:",
        ),
        (
            vec!["--for", "p99:packets", "--keep", "packets.datagram-loss <= 1"],
            "has no effect: `datagram-loss` never exceeds 100 %\n  did you mean `1 %`?",
        ),
        (
            vec!["--for", "goodput:packets"],
            "`packets` has no measure `goodput`\n  its measures are `mean`, `median`, `p95`, \
                `p99`, `loss`",
        ),
        (
            vec!["--for", "loss:packets", "--keep", "packets.completion.p99 <= 1 s"],
            "`packets` has no measure `completion.p99` to limit\n  its measures are `delay`",
        ),
        (
            vec!["--for", "p99:packets", "--vary", "duration=1 s,2 s"],
            "the key must begin with `policy.`",
        ),
    ] {
        let ended = tune(home.path(), &arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.out);
        assert!(ended.err.contains(message), "{arguments:?}: {}", ended.err);
        assert!(!home.path().join("out").exists(), "{arguments:?}");
    }
}

#[test]
fn what_is_far_behind_by_closed_forms_is_run_where_it_alone_may_keep_a_limit() {
    let home = tempfile::tempdir().unwrap();
    // At 94 % of the load a queue of one loses a quarter; one of 300 loses nothing, and its wait is many times as long.
    let arguments = [
        ["--for", "mean:packets", "--keep", "packets.datagram-loss <= 2 %"],
        [
            "--vary",
            "policy.parameters.limit=1 pkt,300 pkt",
            "--set",
            "workloads.packets.poisson.rate=118 /s",
        ],
    ]
    .concat();
    let ended = tune(home.path(), &arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    assert!(ended.out.starts_with("Queue, limit = 300 pkt is first"), "{}", ended.out);
}

#[test]
fn what_is_set_in_all_candidates_is_in_the_winner_and_not_in_what_it_is_held_against() {
    let home = tempfile::tempdir().unwrap();
    let set = ["--for", "mean:packets", "--policies", "best-effort"];
    let ended =
        tune(home.path(), &[&set[..], &["--set", "policy.parameters.limit=7 pkt"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let winner = fs::read_to_string(home.path().join("out/winner.toml")).unwrap();
    assert!(winner.contains("limit = \"7 pkt\""), "{winner}");
    assert!(ended.out.contains("Better than Best Effort, as shipped by "), "{}", ended.out);
}

#[test]
fn a_varied_policy_stands_beside_itself_as_it_is_set() {
    let home = tempfile::tempdir().unwrap();
    let ended = tune(home.path(), &["--for", "mean:packets", "--vary", LIMITS]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    // 40 packets wait twice as long as 20 do, and are none of what is tried.
    assert!(ended.out.contains("Better than Queue, as set by "), "{}", ended.out);
    let tries_it = "policy.parameters.limit=40 pkt,80 pkt";
    let ended = tune(home.path(), &["--for", "mean:packets", "--vary", tries_it]);
    assert!(ended.out.starts_with("Queue, limit = 40 pkt is first"), "{}", ended.out);
    assert!(!ended.out.contains("as set"), "{}", ended.out);
}

#[test]
fn a_combination_that_cannot_be_is_left_out_with_the_reason() {
    let home = tempfile::tempdir().unwrap();
    let limits = "policy.parameters.limit=5 pkt,0 pkt,20 pkt";
    let ended = tune(home.path(), &["--for", "mean:packets", "--vary", limits]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("Searched among 2,"), "{}", ended.out);
    assert!(ended.out.contains("Omitted: its own policy, limit = 0 pkt: "), "{}", ended.out);
    let none = ["--for", "mean:packets", "--vary", "policy.parameters.limit=0 pkt,0 B"];
    let ended = tune(home.path(), &none);
    assert_eq!(ended.code, Some(2), "{}", ended.out);
    assert!(ended.err.contains("limit"), "{}", ended.err);
}

#[test]
fn what_is_given_twice_is_refused_or_left_out() {
    let home = tempfile::tempdir().unwrap();
    for (arguments, message) in [
        (vec!["--for", "p99:packets", "--for", "p99:packets"], "`p99:packets` is given twice"),
        (
            vec!["--for", "p99:packets", "--policies", "red,best-effort,red"],
            "the policy `red` is given twice",
        ),
        (
            vec!["--for", "p99:packets", "--vary", LIMITS, "--vary", LIMITS],
            "`policy.parameters.limit` is varied twice",
        ),
        (
            vec![
                "--for",
                "p99:packets",
                "--keep",
                "packets.delay.p99 <= 1 s",
                "--keep",
                "packets.delay.p99 <= 2 s",
            ],
            "`packets.delay.p99 <= 2 s` limits a measure that already has a limit",
        ),
    ] {
        let ended = tune(home.path(), &arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.out);
        assert!(ended.err.contains(message), "{arguments:?}: {}", ended.err);
    }
    // Two names of one policy.
    fs::write(home.path().join("same.toml"), QUEUE).unwrap();
    let [one, same] = ["queue.toml", "same.toml"].map(|file| home.path().join(file));
    let policies = format!("{},{}", one.display(), same.display());
    let ended = tune(home.path(), &["--for", "mean:packets", "--policies", &policies]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("the same as Queue, which is already a candidate"), "{}", ended.out);
}

#[test]
fn a_search_goes_on_where_it_was_interrupted_and_finds_the_same() {
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let long = ["--for", "mean:packets", "--vary", LIMITS, "--set", "duration=3000 s"];
    let long = [&long[..], &["--jobs", "1"]].concat();
    let at_once = tune(one.path(), &long);
    assert_eq!(at_once.code, Some(0), "{}", at_once.err);

    fs::write(two.path().join("line.toml"), LINE).unwrap();
    fs::write(two.path().join("queue.toml"), QUEUE).unwrap();
    let (file, out) = (two.path().join("line.toml"), two.path().join("out"));
    let store = out.join(".shortflow-search");
    let kept = || fs::read_dir(&store).map_or(0, |files| files.flatten().count());
    let place = ["tune", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let ended = interrupted(&[&place[..], &long[..]].concat(), || kept() >= 3);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("finished replicas are kept in"), "{}", ended.err);
    assert!(ended.err.contains("the same command continues from them"), "{}", ended.err);
    assert!(kept() >= 3);
    let goes_on = tune(two.path(), &long);
    assert_eq!(goes_on.code, Some(0), "{}", goes_on.err);
    let found = |home: &Path| {
        let found = fs::read_to_string(home.join("out/tune.json")).unwrap();
        found.replace(home.to_str().unwrap(), "HOME")
    };
    assert_eq!(found(one.path()), found(two.path()));
    assert!(!store.exists(), "what was kept is left though the search is over");
}

#[test]
fn what_is_wrong_with_the_scenario_is_told_once_and_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("line.toml");
    fs::write(&file, LINE.replace("duration", "durration")).unwrap();
    let ended = run(&["tune", file.to_str().unwrap(), "--for", "mean:packets"]);
    assert_eq!(ended.code, Some(2), "{}", ended.out);
    assert!(ended.err.contains("line.toml:5:1"), "{}", ended.err);
    assert_eq!(ended.err.matches("durration").count(), 2, "{}", ended.err);
}
