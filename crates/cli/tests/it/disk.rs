//! When the disk or the reader of our output is not as it should be.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Ended, SMALL, command, files, run, shortflow, simulate};

#[test]
fn a_folder_that_cannot_be_written_ends_at_once_with_code_2_where_a_file_is_in_the_way_else_3() {
    for (out, code) in [("/dev/null/out", 2), ("/dev/null", 2), ("/proc/out", 3)] {
        let ended = simulate(Path::new(out), &[]);
        assert_eq!(ended.code, Some(code), "{out}");
        assert!(ended.err.contains(&format!("cannot create the folder {out}")), "{}", ended.err);
        assert!(ended.err.contains("choose another folder with --out"), "{}", ended.err);
        assert_eq!(ended.out, "");
    }
}

/// Runs `script` in a file system of `size` at `folder`, which vanishes with it; `$shortflow` is a
/// small simulation. None where that needs rights that we have not.
fn on_small_disk(folder: &Path, size: &str, script: &str) -> Option<Ended> {
    let mount = format!("mount -t tmpfs -o size={size} none '{}'", folder.display());
    let can = command("unshare").args(["-m", "sh", "-c", &mount]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: needs root, to mount a small disk");
        return None;
    }
    let run = format!("'{}' simulate {SMALL}", env!("CARGO_BIN_EXE_shortflow"));
    let script = format!("{mount} || exit 99\n{}", script.replace("$shortflow", &run));
    Some(command("unshare").args(["-m", "sh", "-c", &script]).output().unwrap().into())
}

#[test]
fn a_full_disk_gives_code_3_and_leaves_nothing_half_written() {
    let home = tempfile::tempdir().unwrap();
    let trace = format!("--no-transfers --replicas 1 --trace '{}/trace'", home.path().display());
    for option in ["", "--no-transfers", &trace] {
        let script = format!(
            "$shortflow {option} --out '{0}/out' > /dev/null; code=$?; find '{0}' -mindepth 1; exit $code",
            home.path().display()
        );
        let Some(ended) = on_small_disk(home.path(), "64k", &script) else { return };
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains("the disk is full"), "{}", ended.err);
        assert!(ended.err.contains("make room"), "{}", ended.err);
        assert!(!ended.err.contains(".shortflow-"), "names a hidden file: {}", ended.err);
        assert_eq!(ended.out, "", "files are left");
    }
}

#[test]
fn what_a_full_disk_does_not_take_is_shown_nevertheless() {
    let home = tempfile::tempdir().unwrap();
    let run = |options: &str| {
        let script =
            format!("$shortflow --no-transfers {options} --out '{}/out'", home.path().display());
        on_small_disk(home.path(), "64k", &script)
    };
    let Some(ended) = run("") else { return };
    assert!(ended.code == Some(3) && ended.err.contains("the disk is full"), "{}", ended.err);
    assert!(
        ended.out.contains("completion time") && !ended.out.contains("Report:"),
        "{}",
        ended.out
    );
    let found: serde_json::Value = serde_json::from_str(&run("--json").unwrap().out).unwrap();
    assert!(found["report"].is_null() && found["runs"][0]["points"][0].is_object(), "{found}");
}

#[test]
fn a_full_disk_leaves_the_results_that_were_there() {
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "list() {{ find . -type f | sort | xargs md5sum; }}\n\
         $shortflow --quiet --out '{0}/out' >/dev/null || exit 98\n\
         cd '{0}'; cat /dev/zero > fill 2>/dev/null; list > /dev/shm/$$.before\n\
         cd '{1}'; $shortflow --seed 2 --out '{0}/out'; code=$?\n\
         cd '{0}'; list | cmp - /dev/shm/$$.before || code=97; rm /dev/shm/$$.before; exit $code",
        home.path().display(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").display(),
    );
    let Some(ended) = on_small_disk(home.path(), "4m", &script) else { return };
    assert_eq!(ended.code, Some(3), "{}{}", ended.out, ended.err);
}

#[test]
fn a_folder_with_other_files_is_left_alone_unless_forced() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("summary.json"), "mine").unwrap();
    let ended = simulate(home.path(), &[]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("contains a file that is not a result: summary.json"));
    assert_eq!(files(home.path()), ["summary.json"]);
    assert_eq!(simulate(home.path(), &["--force"]).code, Some(0));
    assert!(files(home.path()).contains(&"manifest.toml".to_owned()));
}

#[test]
fn a_second_run_replaces_the_first_and_leaves_what_is_not_a_result() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(simulate(home.path(), &[]).code, Some(0));
    fs::write(home.path().join("notes.txt"), "mine").unwrap();
    assert_eq!(simulate(home.path(), &["--replicas", "1", "--no-transfers"]).code, Some(0));
    let found = files(home.path());
    assert!(found.contains(&"notes.txt".to_owned()));
    assert!(!found.iter().any(|name| name.starts_with("transfers-")), "of the first: {found:?}");
}

#[test]
fn a_reader_that_stops_reading_is_no_failure() {
    let mut child = shortflow(&["schema", "scenario"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn output_that_cannot_be_written_gives_code_3() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = shortflow(&["schema", "policy"]).stdout(full).output().unwrap();
    let ended: Ended = output.into();
    assert_eq!(ended.code, Some(3));
    assert!(ended.err.contains("cannot write to standard output"), "{}", ended.err);
}

#[test]
fn the_next_run_removes_the_hidden_folder_of_a_killed_one_and_is_refused_beside_one_that_is_running()
 {
    let home = tempfile::tempdir().unwrap();
    let hidden = |name: &str| {
        let folder = home.path().join(format!(".shortflow-{name}.tmp"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("transfers-000-000.csv"), "half a").unwrap();
        folder
    };
    let (killed, running) = (hidden("killed"), hidden("running"));
    let held = fs::File::open(&running).unwrap();
    held.lock().unwrap();
    let ended = simulate(home.path(), &["--replicas", "1"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("is locked by another run"), "{}", ended.err);
    assert!(running.exists(), "{:?}", files(home.path()));
    drop(held);
    let ended = simulate(home.path(), &["--replicas", "1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!killed.exists() && !running.exists(), "{:?}", files(home.path()));
}

#[test]
fn init_says_in_plain_words_why_a_folder_cannot_be_written() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "mine").unwrap();
    let inside = file.join("x");
    for (folder, why) in [
        ("/proc/foo", "cannot create the folder /proc/foo: no folder can be created there"),
        (inside.to_str().unwrap(), "a part of the path is a file instead of a folder"),
    ] {
        let ended = run(&["init", folder]);
        assert_eq!(ended.code, Some(3), "{}", ended.err);
        assert!(ended.err.contains(why), "{}", ended.err);
        assert!(ended.err.ends_with("\n  choose another folder\n"), "{}", ended.err);
        assert!(!ended.err.contains("os error"), "{}", ended.err);
    }
}

#[test]
fn a_folder_that_is_no_result_is_told_for_what_it_is() {
    let home = tempfile::tempdir().unwrap();
    let folder = |name: &str, entry: &str| {
        let folder = home.path().join(name);
        let place = folder.join(entry);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "").unwrap();
        folder.to_str().unwrap().to_owned()
    };
    let killed = folder("killed", ".shortflow-x.tmp/transfers-000-000.csv");
    let study = folder("study", "ledger.json");
    let outer = folder("outer", "run/manifest.toml");
    let other = folder("other", "notes.txt");
    let file = home.path().join("other/notes.txt");
    for (folder, what, remedy) in [
        ("nowhere", "the folder nowhere does not exist", "name a folder that"),
        (file.to_str().unwrap(), "is a file, not a folder of results", "name a folder that"),
        (
            &killed,
            "has no complete results: its run has not ended, or was killed",
            "run its command again",
        ),
        (&study, "has the results of a study, not of a run", "shortflow reproduce"),
        (&outer, "has no results, but folders with results", "outer/run"),
        (&other, "is not a folder of results: it has no manifest.toml", "name a folder that"),
    ] {
        let ended = run(&["report", folder]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains(what) && ended.err.contains(remedy), "{}", ended.err);
    }
}

#[test]
fn the_same_run_twice_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    assert_eq!(simulate(&out, &["--replicas", "1"]).code, Some(0));
    let (out, again) = (out.to_str().unwrap(), home.path().join("./out"));
    let ended = run(&["report", out, again.to_str().unwrap()]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("is listed twice\n  name each folder once"), "{}", ended.err);
}

#[test]
fn a_report_replaces_a_report_but_not_that_of_another_run() {
    let home = tempfile::tempdir().unwrap();
    let [one, other, report] = ["one", "other", "report"].map(|name| home.path().join(name));
    assert_eq!(simulate(&one, &["--replicas", "1"]).code, Some(0));
    assert_eq!(simulate(&other, &["--replicas", "1", "--seed", "7"]).code, Some(0));
    let page = || fs::read_to_string(other.join("report.html")).unwrap();
    let before = page();
    let [one, out, report] = [&one, &other, &report].map(|path| path.to_str().unwrap());

    let refused = run(&["report", one, "--out", out]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let what = "contains the results of another run, whose report would be lost\n  choose another";
    assert!(refused.err.contains(what), "{}", refused.err);
    assert_eq!(page(), before);

    for given in [&["report", one, "--out", report][..], &["report", one, out, "--out", report]] {
        assert_eq!(run(given).code, Some(0), "a report is there or not: {given:?}");
    }
    assert_eq!(run(&["report", one, out, "--out", out]).code, Some(0), "one of those given");
    assert_eq!(run(&["report", one, "--out", out, "--force"]).code, Some(0));
    assert_ne!(page(), before);
}
