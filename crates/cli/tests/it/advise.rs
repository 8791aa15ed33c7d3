//! `advise` as a user meets it.

use std::fs;

use crate::support::{files, run};

#[test]
fn a_home_with_a_backup_is_told_what_to_deploy_and_what_each_use_gains() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let network = ["--up", "1 Mbit/s", "--down", "8 Mbit/s", "--users", "2", "--link", "dsl"];
    let place = ["--uses", "voice,backup", "--out", out.to_str().unwrap()];
    let ended = run(&[&["advise"], &network[..], &place].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.out.starts_with("2 users on 1 Mbit/s up, 8 Mbit/s down (dsl): "),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("sudo shortflow deploy "), "{}", ended.out);
    assert_eq!(files(&out), ["scenario.toml", "tune.json", "winner.toml"]);
    // Today the modem's buffer stands full, 1000 packets of 12 ms each; as advised a call waits for a packet or two.
    let found = fs::read_to_string(out.join("tune.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let delay = |policy: usize| {
        let figure = &found["uses"][policy]["figures"][0];
        assert_eq!(figure["of"], "p99:calls_up");
        figure["found"]["mean"].as_f64().unwrap()
    };
    assert_eq!(found["uses"][0]["policy"], "today");
    assert!(delay(0) > 2.0, "{}", delay(0));
    assert!(delay(1) < 0.1, "{}", delay(1));
    // What was written can be run as it is.
    let scenario = out.join("scenario.toml");
    assert_eq!(run(&["check", scenario.to_str().unwrap()]).code, Some(0));
}

#[test]
fn where_nothing_waits_the_advice_is_to_leave_it_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let network = ["--up", "5 Mbit/s", "--down", "5 Mbit/s", "--users", "1", "--link", "fibre"];
    let place = ["--uses", "voice,shell", "--out", out.to_str().unwrap()];
    let ended = run(&[&["advise"], &network[..], &place].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains(": leave it as it is\n"), "{}", ended.out);
    assert!(!ended.out.contains("deploy"), "{}", ended.out);
    assert_eq!(files(&out), ["scenario.toml", "tune.json", "winner.toml"]);
}

#[test]
fn what_is_missing_or_misspelt_is_told_before_anything_is_run() {
    let line = ["--up", "1 Mbit/s", "--down", "8 Mbit/s"];
    for (arguments, told) in [
        (vec![], "--up and --down are needed"),
        (
            [&line[..], &["--uses", "web,vioce"]].concat(),
            "there is no use `vioce`\n  did you mean `voice`?",
        ),
        (
            [&line[..], &["--link", "pppo"]].concat(),
            "there is no link `pppo`\n  did you mean `pppoe`?",
        ),
        ([&line[..], &["--users", "0"]].concat(), "0 is not in 1..=1000"),
        ([&line[..], &["--from", "nowhere.csv"]].concat(), "cannot read nowhere.csv"),
        (
            vec!["--up", "1 kbit/s", "--down", "8 Mbit/s"],
            "the line must have 64 kbit/s to 10 Gbit/s",
        ),
    ] {
        let ended = run(&[vec!["advise"], arguments.clone()].concat());
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.out);
        assert!(ended.err.contains(told), "{arguments:?}: {}", ended.err);
    }
}
