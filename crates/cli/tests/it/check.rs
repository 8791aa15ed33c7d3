//! `check`, and how mistakes are told.

use crate::support::{SMALL, run};

#[test]
fn a_right_file_is_recognised_and_described() {
    let ended = run(&["check", SMALL, "policies/fair-marker.toml"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    // The lines that begin with blanks tell the load of links.
    let lines: String =
        ended.out.split_inclusive('\n').filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        lines,
        "crates/cli/tests/it/small.toml: ok — scenario \"Small\": 3 hosts, 2 routers, 4 links, \
         2 workloads; policy \"Fair Marker\" in 2 places; 3 replicas of 4 s\n\
         policies/fair-marker.toml: ok — policy \"Fair Marker\" with 3 roles: source \
         (does nothing), edge (conditions), core (queues)\n"
    );
}

#[test]
fn a_mistake_is_shown_with_its_place_and_gives_code_2() {
    let bad = "crates/traffic/scenario/tests/bad/unknown-key.toml";
    let ended = run(&["check", "policies/best-effort.toml", bad]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains(&format!("--> {bad}:")), "{}", ended.err);
    assert!(ended.err.contains("did you mean"), "{}", ended.err);
    assert!(ended.out.contains("policies/best-effort.toml: ok"), "the right file is told of too");
}

#[test]
fn a_file_that_is_neither_policy_nor_scenario_is_told_what_both_have() {
    let ended = run(&["check", "rustfmt.toml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("rustfmt.toml is neither a policy nor a scenario"));
    assert!(ended.err.contains("a policy has [roles]"));
}

#[test]
fn mistakes_can_be_read_by_a_machine() {
    let ended = run(&["check", "--json", "crates/traffic/scenario/tests/bad/zero-rate.toml"]);
    assert_eq!(ended.code, Some(2));
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(found["ok"], false);
    let mistake = &found["files"][0]["mistakes"][0];
    assert!(mistake["line"].as_u64().unwrap() > 1 && mistake["column"].as_u64().unwrap() > 1);
    assert!(!mistake["message"].as_str().unwrap().is_empty());
}

#[test]
fn keys_are_set_before_the_check() {
    let ended = run(&["check", SMALL, "--set", "duration=7 s"]);
    assert!(ended.out.contains("3 replicas of 7 s"), "{}{}", ended.out, ended.err);
    let ended = run(&["check", SMALL, "--set", "duratoin=7 s"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("did you mean `duration`?"), "{}", ended.err);
    let policy = "policies/red.toml";
    let ended = run(&["check", policy, "--set", "policy.name=Early"]);
    assert!(ended.out.contains("policy \"Early\""), "{}{}", ended.out, ended.err);
}

#[test]
fn an_option_that_changes_nothing_is_refused() {
    let policy = "policies/red.toml";
    for (option, value) in
        [("--bind", "core=a->b"), ("--set", "duration=1 s"), ("--policy", "policies/drr.toml")]
    {
        let ended = run(&["check", policy, option, value]);
        assert_eq!(ended.code, Some(2), "{option}: {}", ended.out);
        assert!(ended.err.contains("has no effect: it changes scenarios"), "{}", ended.err);
    }
}

#[test]
fn what_a_run_is_given_wrongly_gives_code_2_before_anything_runs() {
    for (arguments, message) in [
        (&["simulate", "nowhere.toml"][..], "cannot read nowhere.toml: the file does not exist"),
        (&["simulate", SMALL, "--set", "duration"], "write KEY=VALUE"),
        (&["simulate", SMALL, "--set", "duratoin=1 s"], "`duration`"),
        (&["simulate", SMALL, "--replicas", "0"], "replicas must be 1 to 10000"),
        (&["simulate", SMALL, "--set", "replicas=0"], "replicas must be 1 to 10000; found 0"),
        (
            &["simulate", SMALL, "--set", "replicas=x", "--replicas", "1"],
            "`replicas` is given twice: by --set replicas=x and by --replicas 1",
        ),
        (&["compare", SMALL, "--policies", "a.toml,b.toml,"], "remove the extra comma"),
        (&["simulate", SMALL, "--policy", "none.toml"], "none.toml"),
        (&["compare", SMALL, "--policies", "a.toml"], "give several policies"),
        (&["compare", SMALL, "--policies", "a.toml,a.toml"], "given twice"),
        (&["simulate", "policies/red.toml"], "red.toml is a policy, not a scenario"),
        (
            &["simulate", "scenarios/ring.toml", "--policy", "scenarios/contract.toml"],
            "contract.toml is a scenario, not a policy",
        ),
        (
            &[
                "compare",
                "scenarios/ring.toml",
                "--policies",
                "policies/red.toml,./policies/red.toml",
            ],
            "./policies/red.toml is given twice",
        ),
        (&["report", "nowhere"], "the folder nowhere does not exist"),
        (&["frobnicate"], "unrecognized subcommand"),
    ] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert!(ended.err.contains(message), "{arguments:?} gives\n{}", ended.err);
        assert_eq!(ended.out, "");
    }
}
