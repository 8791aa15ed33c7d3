//! What is answered, and to whom.

use std::sync::atomic::AtomicBool;

use serde_json::Value;
use shortflow_console::{Guard, Replay, ReplayError, serve};
use shortflow_http::{Listener, Names};
use shortflow_sim::{LiveNetwork, Simulator};

use crate::support::{Over, TOKEN, asked, compared, for_others, with_replay};

const JSON: &str = "Content-Type: application/json";

fn bearer() -> String {
    format!("Authorization: Bearer {TOKEN}")
}

fn code(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

fn current(replay: &Replay<'_>) -> String {
    let choices = replay.hub().about().choices;
    choices.into_iter().find(|choice| choice.is_current).unwrap().name
}

#[test]
fn the_page_runs_nothing_but_its_own_files_is_in_no_frame_and_sets_no_cookie() {
    with_replay(1.0, |at, _| {
        for path in ["/", "/console.css", "/console.js", "/chart.js", "/icon.svg", "/nothing"] {
            let answer = asked(at, &format!("GET {path}"), &[], "");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(code(&answer), if path == "/nothing" { "404" } else { "200" }, "{path}");
            let policy =
                head.lines().find(|line| line.starts_with("Content-Security-Policy:")).unwrap();
            for part in [
                "default-src 'none'",
                "script-src 'self';",
                "frame-ancestors 'none'",
                "form-action 'none'",
            ] {
                assert!(policy.contains(part), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert!(
                head.contains("X-Content-Type-Options: nosniff") && head.contains("no-store"),
                "{head}"
            );
            assert!(!head.to_lowercase().contains("set-cookie"), "{head}");
            // Nothing in the page's text is run, or is asked for elsewhere.
            for from_elsewhere in ["<script>", "style=", "onclick", "http://", "https://", "//cdn"]
            {
                let is_namespace =
                    body.contains("www.w3.org/2000/svg") && from_elsewhere == "http://";
                assert!(is_namespace || !body.contains(from_elsewhere), "{path}: {from_elsewhere}");
            }
        }
    });
}

#[test]
fn what_is_looked_at_is_told_first_and_then_snapshot_by_snapshot() {
    with_replay(100.0, |at, _| {
        let answer = asked(at, "GET /events", &[], "");
        assert_eq!(code(&answer), "200");
        assert!(answer.contains("Content-Type: text/event-stream; charset=utf-8\r\n"), "{answer}");
        let about = answer.find("event: about").expect("it says what is looked at");
        assert!(answer.find("event: snapshot").is_some_and(|at| at > about), "{answer}");
        let line = answer.lines().find(|line| line.starts_with("data: {\"kind\"")).unwrap();
        let reported: Value = serde_json::from_str(&line[6..]).unwrap();
        assert_eq!(
            (&reported["kind"], &reported["choices"][1]["name"]),
            (&"replay".into(), &"Fair Marker".into())
        );
    });
}

#[test]
fn only_who_shows_the_token_on_a_page_of_this_console_goes_to_another_policy() {
    with_replay(1.0, |at, replay| {
        let body = "{\"to\":\"2\"}";
        let own = format!("Origin: http://{at}");
        let refused: [(&[&str], &str); 9] = [
            (&[JSON], "401"),
            (&[JSON, "Authorization: Bearer a-token-of-the-testz"], "401"),
            (&[JSON, &format!("Cookie: token={TOKEN}")], "401"),
            (&[&bearer()], "415"),
            (&["Content-Type: text/plain", &bearer()], "415"),
            (&[JSON, &bearer(), "Origin: http://evil.example"], "403"),
            (&[JSON, &bearer(), "Origin: null"], "403"),
            (&[JSON, &bearer(), "Sec-Fetch-Site: cross-site"], "403"),
            (&[JSON, &bearer(), &own, "Sec-Fetch-Site: same-site"], "403"),
        ];
        for (fields, wanted) in refused {
            let answer = asked(at, "POST /switch", fields, body);
            assert_eq!(code(&answer), wanted, "{fields:?}: {answer}");
            assert_eq!(current(replay), "Best Effort", "{fields:?}");
        }
        assert_eq!(code(&asked(at, &format!("GET /switch?to=2&token={TOKEN}"), &[], "")), "405");
        let fields = [JSON, &bearer(), &own, "Sec-Fetch-Site: same-origin"];
        let answer = asked(at, "POST /switch", &fields, body);
        assert_eq!((code(&answer), current(replay).as_str()), ("200", "Fair Marker"), "{answer}");
        let about = replay.hub().about();
        assert!(about.choices[0].is_before, "there is a way back");
        let answer = asked(at, "POST /switch", &fields, "{\"to\":\"1\"}");
        assert_eq!((code(&answer), current(replay).as_str()), ("200", "Best Effort"), "{answer}");
        let unknown = asked(at, "POST /switch", &fields, "{\"to\":\"3\"}");
        assert!(unknown.ends_with("{\"error\":\"unknown run `3`: use 1 to 2\"}"), "{unknown}");
    });
}

#[test]
fn a_preview_shows_how_the_policies_differ_and_changes_nothing() {
    with_replay(1.0, |at, replay| {
        let answer = asked(at, "GET /preview?to=2", &[], "");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let preview: Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (&preview["from"], &preview["to"]),
            (&"Best Effort".into(), &"Fair Marker".into())
        );
        let lines: Vec<&Value> = preview["lines"].as_array().unwrap().iter().collect();
        let has = |sign: &str, text: &str| {
            lines.iter().any(|line| line["sign"] == sign && line["text"] == text)
        };
        assert!(
            has("-", "name = \"Best Effort\"") && has("+", "name = \"Fair Marker\""),
            "{preview:#}"
        );
        assert_eq!(current(replay), "Best Effort");
        let none = asked(at, "GET /preview?to=%F0", &[], "");
        assert_eq!(code(&none), "400", "{none}");
    });
}

#[test]
fn time_stands_still_goes_on_and_begins_anew() {
    with_replay(0.0, |at, replay| {
        let pace = |body: &str| asked(at, "POST /pace", &[JSON, &bearer()], body);
        let speed = || replay.hub().about().pace.unwrap().speed;
        assert_eq!((code(&pace("{\"speed\":30}")), speed()), ("200", 30.0));
        assert_eq!((code(&pace("{\"speed\":0}")), speed()), ("200", 0.0));
        let run = replay.hub().about().run;
        assert_eq!(code(&pace("{\"restart\":true}")), "200");
        assert_eq!(replay.hub().about().run, run + 1);
        for malformed in ["{\"speed\":\"fast\"}", "{", "", "[]", "{\"speed\":1,\"speed\":2}"] {
            assert_eq!(code(&pace(malformed)), "400", "{malformed}");
        }
        let switch = |body: &str| asked(at, "POST /switch", &[JSON, &bearer()], body);
        for malformed in ["{\"to\":1}", "{\"too\":\"0\"}", "x"] {
            assert_eq!(code(&switch(malformed)), "400", "{malformed}");
        }
        assert_eq!(code(&switch("{\"to\":\"no such policy\"}")), "409");
        assert_eq!(code(&asked(at, "POST /pace", &[JSON], "{\"speed\":1}")), "401");
    });
}

#[test]
fn from_elsewhere_nothing_is_read_without_the_token() {
    for_others(|at| {
        assert_eq!(code(&asked(at, "GET /", &[], "")), "200", "the page itself says nothing");
        assert_eq!(code(&asked(at, "GET /events", &[], "")), "401");
        assert_eq!(code(&asked(at, "GET /preview?to=2", &[], "")), "401");
        assert_eq!(code(&asked(at, "GET /preview?to=2", &[&bearer()], "")), "200");
        assert_eq!(code(&asked(at, "GET /events", &[&bearer()], "")), "200");
    });
}

#[test]
fn another_name_that_leads_here_is_refused() {
    with_replay(1.0, |at, _| {
        let answer = asked(at, "GET /events", &["Host: evil.example"], "");
        assert_eq!(code(&answer), "400", "two hosts: {answer}");
    });
}

#[test]
fn a_console_without_a_token_shows_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("compared");
    compared(&path);
    let replay = Replay::open(&path, (0, 0), &Simulator, LiveNetwork::ports_to_watch).unwrap();
    let listener = Listener::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let guard = Guard::new(listener.names(), None);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, &guard, replay.hub(), &replay, &over));
        let _over = Over(&over);
        let at = listener.address().unwrap();
        let events = asked(at, "GET /events", &[], "");
        assert!(events.contains("event: guard\ndata: {\"may_change\":false}"), "{events}");
        for fields in [&[JSON][..], &[JSON, &bearer()], &[JSON, "Authorization: Bearer "]] {
            let answer = asked(at, "POST /switch", fields, "{\"to\":\"2\"}");
            assert_eq!(code(&answer), "403", "{answer}");
            assert!(answer.contains("this console is read-only"), "{answer}");
        }
    });
}

#[test]
#[should_panic(expected = "who asks from elsewhere shows a token")]
fn nobody_is_let_in_from_elsewhere_without_a_token() {
    Guard::new(Names::Addresses, None);
}

#[test]
fn a_folder_without_a_simulated_run_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let open = |at: (usize, u32)| {
        let path = folder.path().join("compared");
        Replay::open(&path, at, &Simulator, LiveNetwork::ports_to_watch).err()
    };
    let reported = open((0, 0)).unwrap().to_string();
    assert!(
        reported.starts_with("the folder ") && reported.contains("does not exist"),
        "{reported}"
    );
    compared(&folder.path().join("compared"));
    assert!(open((0, 0)).is_none());
    let reported = open((1, 0)).unwrap().to_string();
    assert_eq!(reported, "Best Effort: point 1 does not exist: use 0 to 0");
    let reported = open((0, 1)).unwrap().to_string();
    assert_eq!(reported, "Best Effort: replica 1 does not exist: use 0 to 0");
    let manifest = folder.path().join("compared/1-best-effort/manifest.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("engine = \"simulate\"", "engine = \"rehearse\""))
        .unwrap();
    let other = folder.path().join("compared/1-best-effort");
    match Replay::open(&other, (0, 0), &Simulator, LiveNetwork::ports_to_watch).err().unwrap() {
        ReplayError::Nothing(reported) => {
            assert!(reported.contains("has no simulated run"), "{reported}")
        }
        other => panic!("{other}"),
    }
}

/// Waits until the replay is at its end.
fn until_over(replay: &Replay<'_>) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !replay.hub().about().pace.unwrap().is_over {
        assert!(std::time::Instant::now() < until);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_run_that_comes_out_the_same_again_says_nothing_and_its_snapshots_are_as_many_as_intervals() {
    with_replay(1000.0, |at, replay| {
        until_over(replay);
        assert_eq!(replay.hub().about().notes, [""; 0]);
        let fields = [JSON, &bearer()];
        let run = replay.hub().about().run;
        assert_eq!(code(&asked(at, "POST /switch", &fields, "{\"to\":\"2\"}")), "200");
        assert_eq!(replay.hub().about().run, run + 1, "at the end it begins anew under the other");
        until_over(replay);
        assert_eq!(replay.hub().about().notes, [""; 0]);
        let mut reported = asked(at, "GET /events", &[], "");
        reported.truncate(reported.rfind("event: ").unwrap());
        assert!(
            reported.contains("\"at_s\":0.5,") && reported.contains("\"at_s\":1.0,"),
            "{reported}"
        );
    });
}
