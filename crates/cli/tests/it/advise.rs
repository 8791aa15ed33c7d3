//! `advise` as a user meets it.

use std::fs;

use crate::interrupt::interrupted;
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
    let reason = "\nSignificantly better than today: call, going out, 99 %; ";
    assert!(ended.out.contains(reason), "{}", ended.out);
    let (_, prose) = ended.out.split_once("\nSimulated").unwrap();
    let prose = prose.lines().filter(|line| !line.starts_with("  s"));
    prose.for_each(|line| assert!(line.chars().count() <= 100, "{line}"));
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
    // What is said of the modem's buffer is no warning about the policy.
    assert_eq!(found["warnings"], serde_json::json!([]));
    assert!(delay(0) > 2.0, "{}", delay(0));
    assert!(delay(1) < 0.1, "{}", delay(1));
    // What was written can be run as it is.
    let scenario = out.join("scenario.toml");
    assert_eq!(run(&["check", scenario.to_str().unwrap()]).code, Some(0));
}

// On ADSL the way takes 18 ms, a full packet 17.5 ms at the gateway and 16.7 ms in the modem, the call's own 3 ms: 55 ms.
#[test]
fn on_a_slow_line_calls_wait_no_longer_than_the_line_itself_asks_for() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let network = ["--up", "0.84 Mbit/s", "--down", "8 Mbit/s", "--users", "3", "--link", "dsl"];
    let place = ["--uses", "web,voice,backup", "--json", "--out", out.to_str().unwrap()];
    let ended = run(&[&["advise"], &network[..], &place].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let of = |policy: &str, goal: &str| {
        let uses = found["uses"].as_array().unwrap();
        let one = uses.iter().find(|one| one["policy"] == policy).unwrap();
        let mut figures = one["figures"].as_array().unwrap().iter();
        figures.find(|one| one["of"] == goal).unwrap()["found"]["mean"].as_f64().unwrap()
    };
    let advised = found["policy"].as_str().unwrap();
    let delay = of(advised, "p99:calls_up");
    assert!(delay < 0.06, "{advised}: {delay}");
    let [uploads, plain] = [advised, "FQ-CoDel"].map(|policy| of(policy, "goodput:backups"));
    assert!(uploads > 0.85 * plain, "{uploads} and {plain}");
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
    assert_eq!(files(&out), ["plain-queue.toml", "scenario.toml", "tune.json"]);
}

#[test]
fn on_a_line_on_which_no_page_arrives_there_is_no_advice_and_nothing_to_deploy() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let network = ["--up", "64 kbit/s", "--down", "64 kbit/s", "--users", "1", "--link", "dsl"];
    let place = ["--uses", "web", "--out", out.to_str().unwrap()];
    let ended = run(&[&["advise"], &network[..], &place].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let message = "1 user on 64 kbit/s up, 64 kbit/s down (dsl): no advice\n";
    assert!(ended.out.starts_with(message), "{}", ended.out);
    assert!(!ended.out.contains("deploy"), "{}", ended.out);
}

#[test]
fn limits_that_only_the_current_queue_keeps_are_not_called_broken() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let network = ["--up", "10 Gbit/s", "--down", "64 kbit/s", "--users", "2"];
    let uses = ["--uses", "games,shell", "--link", "satellite", "--out", out.to_str().unwrap()];
    let ended = run(&[&["advise"], &network[..], &uses].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let keeps =
        "The current queue keeps the limits of calls and similar traffic, and no policy does.";
    assert!(ended.out.contains(keeps), "{}", ended.out);
    for wrong in ["The line is too slow", "No policy keeps the limits"] {
        assert!(!ended.out.contains(wrong), "{}", ended.out);
    }
}

#[test]
fn where_a_call_does_not_fit_there_is_no_advice_and_no_winner_and_the_reason_is_given() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let network = ["--up", "64 kbit/s", "--down", "64 kbit/s", "--users", "1"];
    let place = ["--uses", "voice", "--out", out.to_str().unwrap()];
    // As after an earlier advice.
    fs::create_dir(&out).unwrap();
    for name in ["tune.json", "winner.toml"] {
        fs::write(out.join(name), "").unwrap();
    }
    let ended = run(&[&["advise"], &network[..], &place].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let message = "1 user on 64 kbit/s up, 64 kbit/s down (ethernet): no advice\n\
                80 kbit/s of a call do not fit 64 kbit/s.\n";
    assert!(ended.out.starts_with(message), "{}", ended.out);
    let words: Vec<&str> = ended.out.split_whitespace().collect();
    let words = words.join(" ");
    let next = format!(
        "edit {0}/scenario.toml and run `shortflow simulate {0}/scenario.toml`",
        out.display()
    );
    assert!(words.contains("Ask again with less traffic or a faster line"), "{}", ended.out);
    assert!(words.contains(&next), "{}", ended.out);
    assert!(!ended.out.contains("deploy"), "{}", ended.out);
    assert_eq!(files(&out), ["plain-queue.toml", "scenario.toml", "tune.json"]);
    let found = fs::read_to_string(out.join("tune.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["unusable"], "80 kbit/s of a call do not fit 64 kbit/s.");
    let policy = fs::read_to_string(out.join("plain-queue.toml")).unwrap();
    assert!(policy.starts_with("# No advice. scenario.toml needs a policy"), "{policy}");
    let scenario = out.join("scenario.toml");
    let checked = run(&["check", scenario.to_str().unwrap()]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
}

#[test]
fn a_policy_with_the_rate_of_one_line_is_not_advised_for_another() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let network = ["--up", "4 Mbit/s", "--down", "3 Mbit/s", "--users", "1", "--link", "cable"];
    let place = ["--uses", "voice,backup", "--json", "--out", out.to_str().unwrap()];
    let ended = run(&[&["advise"], &network[..], &place].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let searched = found["found"]["searched"].as_array().unwrap();
    let names: Vec<&str> = searched.iter().map(|one| one["label"].as_str().unwrap()).collect();
    assert!(names.contains(&"FQ-CoDel") && !names.contains(&"Shaper"), "{names:?}");
}

#[test]
fn what_is_missing_or_misspelt_is_told_before_anything_is_run() {
    let line = ["--up", "1 Mbit/s", "--down", "8 Mbit/s"];
    for (arguments, message) in [
        (vec![], "missing --up and --down"),
        (
            [&line[..], &["--uses", "web,vioce"]].concat(),
            "unknown use `vioce`\n  did you mean `voice`?",
        ),
        ([&line[..], &["--link", "pppo"]].concat(), "unknown link `pppo`\n  did you mean `pppoe`?"),
        ([&line[..], &["--users", "0"]].concat(), "write a whole number from 1 to 1000"),
        ([&line[..], &["--from", "nowhere.csv"]].concat(), "cannot read nowhere.csv"),
        (
            vec!["--up", "1 kbit/s", "--down", "8 Mbit/s"],
            "the line must have 64 kbit/s to 10 Gbit/s",
        ),
    ] {
        let ended = run(&[vec!["advise"], arguments.clone()].concat());
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.out);
        assert!(ended.err.contains(message), "{arguments:?}: {}", ended.err);
    }
}

/// What users fetch and what they send: 5 KB five times a second, and 9 KB twice.
const OWN: &str = r#"
name = "own"
duration = "60 s"
warm_up = "0 s"
hosts = { user = {}, site = {} }
routers.gateway = {}
links.inside = { between = ["user", "gateway"], rate = "1 Gbit/s", delay = "1 ms" }
links.outside = { between = ["gateway", "site"], rate = "1 Gbit/s", delay = "10 ms", loss = 0.01 }
[workloads]
fetch.transfers = { client = "user", server = "site", rate = "5 /s", request.constant = "300 B", reply.constant = "5000 B" }
send.transfers = { client = "user", server = "site", rate = "2 /s", request.constant = "9000 B", reply.constant = "100 B", port = 8080 }
"#;

#[test]
fn flows_of_a_capture_are_those_that_were_sent_by_size_rate_and_direction() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("own.toml"), OWN).unwrap();
    // Packets stand in it twice, at either end, and some were lost and sent again.
    let own = ["simulate", &path("own.toml"), "--replicas", "1", "--trace", &path("own.pcapng")];
    let ends = ["--trace-at", "user", "--trace-at", "site", "--out", &path("run")];
    let ended = run(&[&own[..], &ends].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let line = ["--up", "5 Mbit/s", "--down", "5 Mbit/s", "--users", "1", "--uses", "voice"];
    let place = ["--from", &path("own.pcapng"), "--out", &path("out")];
    let ended = run(&[&["advise"], &line[..], &place].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let scenario = fs::read_to_string(path("out/scenario.toml")).unwrap();
    let of = |workload: &str| {
        let text = scenario.split(&format!("[workloads.{workload}.transfers]")).nth(1).unwrap();
        let rate = text.split("rate = \"").nth(1).unwrap().split(' ').next().unwrap();
        (rate.parse::<f64>().unwrap(), text.to_owned())
    };
    let (down, up) = (of("own_down"), of("own_up"));
    // Poisson: 300 in 60 s, give or take 17, and 120 give or take 11.
    assert!((4.1..5.9).contains(&down.0) && (1.4..2.6).contains(&up.0), "{down:?} {up:?}");
    assert!(down.1.contains("reply.constant = \"5000 B\"\n"), "{scenario}");
    assert!(up.1.contains("request.constant = \"9000 B\"\n"), "{scenario}");
}

#[test]
fn what_is_no_whole_capture_is_told() {
    let home = tempfile::tempdir().unwrap();
    let line = ["advise", "--up", "5 Mbit/s", "--down", "5 Mbit/s", "--uses", "voice"];
    for (bytes, message) in [
        (&[0x0a, 0x0d, 0x0d, 0x0a, 1, 2, 3][..], "the file is not a packet capture"),
        // A header of pcap for Ethernet, and nothing behind it.
        (
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0],
            "0 flows are too few",
        ),
    ] {
        let file = home.path().join("some.pcap");
        fs::write(&file, bytes).unwrap();
        let ended = run(&[&line[..], &["--from", file.to_str().unwrap()]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.out);
        assert!(ended.err.contains(message), "{}", ended.err);
    }
}

#[test]
fn what_is_interrupted_is_kept_and_told_truthfully() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let store = out.join(".shortflow-search");
    let kept = || fs::read_dir(&store).map_or(0, |files| files.flatten().count());
    let network = ["advise", "--up", "20 Mbit/s", "--down", "20 Mbit/s", "--uses", "web,backup"];
    let ended =
        interrupted(&[&network[..], &["--out", out.to_str().unwrap()]].concat(), || kept() > 0);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("the same command continues from them"), "{}", ended.err);
    assert!(kept() > 0);
}
