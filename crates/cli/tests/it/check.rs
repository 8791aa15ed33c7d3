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
        (&["simulate", "nowhere.toml"][..], "cannot read nowhere.toml: it does not exist"),
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
        (
            &["tune", "policies/red.toml", "--for", "p99:web"],
            "red.toml is a policy, not a scenario",
        ),
        (
            &["tune", "policies/red.toml", "--for", "p99:web"],
            "name the scenario first, and the policy with --policies",
        ),
        (
            &["compare", SMALL, "--policies", "policies"],
            "give its files, separated by commas: --policies policies/aggregate.toml,policies/best-effort.toml",
        ),
        (
            &["tune", SMALL, "--for", "p99:web", "--policies", "policies"],
            "give its files, separated by commas: --policies policies/aggregate.toml,policies/best-effort.toml",
        ),
        (&["simulate", SMALL, "--policy", "redd"], "did you mean policies/red.toml?"),
        (&["compare", SMALL, "--policies", "redd,drr"], "did you mean policies/red.toml?"),
        (&["simulate", SMALL, "--policy", "pie"], "`shortflow explain pie` shows"),
        (
            &["tune", SMALL, "--for", "p99:web", "--policies", "pie"],
            "`shortflow explain pie` shows",
        ),
        (&["check", "redd"], "did you mean policies/red.toml?"),
        (&["check", "scenarios"], "give a file in it, such as scenarios/browsing-telnet-ftp.toml"),
        (&["report", "nowhere"], "the folder nowhere does not exist"),
        (&["frobnicate"], "unrecognized subcommand"),
    ] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert!(ended.err.contains(message), "{arguments:?} gives\n{}", ended.err);
        assert_eq!(ended.out, "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_scenario_in_place_of_a_policy_is_refused_with_its_policy() {
    for arguments in [
        &["deploy", "scenarios/contract.toml", "--dev", "lo"][..],
        &["reload", "scenarios/contract.toml", "--dev", "lo", "--reset"],
        &["doctor", "scenarios/contract.toml"],
    ] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
    }
    let ended = run(&["doctor", "scenarios/contract.toml"]);
    let message =
        "error: scenarios/contract.toml is a scenario, not a policy\n  its policy is policies/";
    assert!(ended.err.starts_with(message), "{}", ended.err);
}

#[test]
fn a_fleet_an_empty_file_and_comments_are_refused_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let fleet = file("fleet.toml", "[machines.a]\n[[assign]]\npolicy = \"red.toml\"\n");
    let empty = file("empty.toml", "");
    let comments = file("comments.toml", "# to do\n");
    let folder = home.path().display();
    for (arguments, message, help) in [
        (
            vec!["check", &fleet],
            "is a fleet, neither a policy nor a scenario",
            format!("`shortflow agent plan {folder}` checks a fleet"),
        ),
        (vec!["simulate", &fleet], "is a fleet, not a scenario", "agent plan".to_owned()),
        (vec!["simulate", &empty], "empty.toml is empty", "`shortflow init` writes".to_owned()),
        (vec!["check", &empty], "empty.toml is empty", "a scenario needs `duration`".to_owned()),
        (vec!["check", &comments], "has comments alone", "[roles.NAME]".to_owned()),
    ] {
        let ended = run(&arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert!(ended.err.contains(message) && ended.err.contains(&help), "{}", ended.err);
    }
    let found: serde_json::Value =
        serde_json::from_str(&run(&["check", "--json", &empty]).out).unwrap();
    let mistake = &found["files"][0]["mistakes"][0];
    assert!(mistake["message"].as_str().unwrap().ends_with("is empty"), "{found}");
    assert!(mistake["help"].as_str().unwrap().contains("shortflow init"), "{found}");
}

#[test]
fn an_unknown_parameter_is_refused_with_those_of_the_policy() {
    let ended = run(&["check", SMALL, "--set", "parameters.foo=3"]);
    assert!(ended.err.contains("unknown parameter `foo`"), "{}", ended.err);
    assert!(ended.err.contains("parameters of the policy: `policy.parameters."), "{}", ended.err);
    assert!(!ended.err.contains("--set:1"), "an option has no lines: {}", ended.err);
}
