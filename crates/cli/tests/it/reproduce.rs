//! A study from the command line: interrupted, gone on with, on a terminal. `make smoke` runs one to
//! its end, which takes longer.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Ended, command, run, shortflow};

/// The finished replicas that `out` keeps, with their contents.
fn kept(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    // Replicas of the calibrated reading are in a folder of their own.
    let mut folders = vec![out.join("replicas-quick")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.insert(path.to_string_lossy().into_owned(), fs::read(path).unwrap());
            }
        }
    }
    files
}

/// Goes on with the study until `out` keeps `replicas`, then interrupts it.
fn reproduce_until(out: &Path, replicas: usize) -> Ended {
    let out_argument = out.to_str().unwrap();
    let mut child =
        shortflow(&["reproduce", "cm05", "--quick", "--jobs", "1", "--out", out_argument])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let begun = Instant::now();
    while kept(out).len() < replicas {
        assert!(begun.elapsed() < Duration::from_secs(120), "the study gets nowhere");
        assert!(child.try_wait().unwrap().is_none(), "the study has ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    child.wait_with_output().unwrap().into()
}

#[test]
fn an_interrupted_study_keeps_finished_replicas_and_goes_on_from_there() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let says = |ended: &Ended, finished: usize| {
        let message = format!("interrupted: {finished} replicas are complete and kept; ");
        assert!(ended.err.contains(&message), "{}", ended.err);
        assert_eq!((ended.code, ended.out.as_str()), (Some(130), ""), "no verdict yet");
        assert!(!out.join("ledger.json").exists() && !out.join("report.html").exists());
    };

    let first = reproduce_until(&out, 2);
    let finished = kept(&out);
    says(&first, finished.len());

    let second = reproduce_until(&out, finished.len() + 2);
    let more = kept(&out);
    says(&second, more.len());
    for (name, content) in finished {
        assert!(more[&name] == content, "{name} was run again");
    }
}

#[test]
fn the_report_of_another_study_is_not_overwritten() {
    let out = tempfile::tempdir().unwrap();
    let ledger = out.path().join("ledger.json");
    fs::write(&ledger, "{\"study\": \"nt02\"}").unwrap();
    let folder = out.path().to_str().unwrap();
    let ended = run(&["reproduce", "mtk99", "--quick", "--out", folder]);
    let reported = "holds the results of the study nt02, whose report would be overwritten";
    assert!(ended.err.contains(reported), "{}", ended.err);
    assert_eq!(ended.code, Some(2));
    assert_eq!(fs::read_to_string(&ledger).unwrap(), "{\"study\": \"nt02\"}");
}

#[test]
fn a_short_form_takes_the_place_of_no_full_ledger() {
    let out = tempfile::tempdir().unwrap();
    let ledger = out.path().join("ledger.json");
    let full = "{\"study\": \"mtk99\", \"quick\": false}";
    fs::write(&ledger, full).unwrap();
    let ended = run(&["reproduce", "mtk99", "--quick", "--out", out.path().to_str().unwrap()]);
    assert!(ended.err.contains("holds the ledger of a full run"), "{}", ended.err);
    assert_eq!(ended.code, Some(2));
    assert_eq!(fs::read_to_string(&ledger).unwrap(), full);
}

/// Reads what a child prints until it has printed `text`.
fn read_until(child: &mut Child, text: &str) -> String {
    let mut printed = Vec::new();
    let mut part = [0; 4096];
    let screen = child.stdout.as_mut().unwrap();
    while !String::from_utf8_lossy(&printed).contains(text) {
        let n = screen.read(&mut part).unwrap();
        assert!(n > 0, "it ended without `{text}`: {}", String::from_utf8_lossy(&printed));
        printed.extend(&part[..n]);
    }
    String::from_utf8(printed).unwrap()
}

#[test]
fn on_a_terminal_a_bar_tells_the_time_left_and_ctrl_c_ends_the_study() {
    let home = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_shortflow");
    let out = home.path().display();
    let line = format!("'{binary}' reproduce cm05 --quick --jobs 1 --out '{out}'");
    // `script` gives the command a terminal, and passes on what is typed.
    let script = command("script")
        .args(["-qefc", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut script) = script else {
        eprintln!("skipped: needs script, of util-linux");
        return;
    };
    let shown = read_until(&mut script, " left");
    assert!(shown.contains(" of 240 replicas"), "{shown}");
    script.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    let ended = Ended::from(script.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.out);
    assert!(ended.out.contains("interrupted: "), "{}", ended.out);
}

#[test]
fn an_unknown_study_is_answered_with_those_there_are() {
    let ended = run(&["reproduce", "cm50"]);
    assert_eq!(ended.code, Some(2));
    let reported =
        "error: unknown study \"cm50\"\n  did you mean `cm05`? there are: `cm05`, `harp05`";
    assert!(ended.err.starts_with(reported), "{}", ended.err);
    let file = run(&["reproduce", "papers/cm05/claims.toml"]);
    assert_eq!(file.code, Some(2));
    assert!(file.err.ends_with("\n  give the folder of the file: papers/cm05\n"), "{}", file.err);
}

#[test]
fn results_of_a_study_go_into_no_folder_of_something_else() {
    for (name, whose) in [
        ("study.toml", "a study's own"),
        ("manifest.toml", "a simulation's"),
        ("comparison.json", "a comparison's"),
    ] {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(name), "").unwrap();
        let ended = run(&["reproduce", "cm05", "--quick", "--out", home.path().to_str().unwrap()]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains(whose) && ended.err.contains("--out"), "{}", ended.err);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_file_of_a_study_that_is_no_text_is_a_mistake_in_the_study() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("study.toml"), [0xff, 0xfe]).unwrap();
    let ended = run(&["reproduce", home.path().to_str().unwrap()]);
    assert_eq!(ended.code, Some(2));
    let reported = "study.toml: cannot read the file: ";
    assert!(ended.err.contains(reported) && !ended.err.contains("--out"), "{}", ended.err);
}
