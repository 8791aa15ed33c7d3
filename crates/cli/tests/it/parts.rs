//! Runs in parts, joined, resumed and run again: the results have the same bits as those of one run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{POLICIES, SMALL, rehearsed, run, shortflow};

/// The command with its options and its folder for results; it must succeed.
fn done(arguments: &[&str], out: &Path) {
    let arguments = [arguments, &["--quiet", "--brief", "--out", out.to_str().unwrap()]].concat();
    let ended = run(&arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
}

/// All files of results below a folder, by name. The command line of a manifest is left out, and so is the report, which has it.
fn results(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name != Path::new("report.html") {
                let text = fs::read_to_string(&path).unwrap();
                let lines = text.lines().filter(|line| !line.starts_with("command = "));
                all.insert(name, lines.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    all
}

fn assert_same(found: &Path, expected: &Path) {
    let (found, expected) = (results(found), results(expected));
    let names = |all: &BTreeMap<PathBuf, String>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected));
    for (name, text) in &expected {
        assert!(found[name] == *text, "{} differs", name.display());
    }
}

/// A comparison of two policies, with time series and tables, in seven replicas.
const COMPARE: [&str; 10] = [
    "compare",
    SMALL,
    POLICIES[0],
    POLICIES[1],
    "--replicas",
    "7",
    "--set",
    "measure.series_interval=1 s",
    "--format",
    "csv",
];

#[test]
fn shards_that_are_merged_are_one_run_and_a_folder_can_be_run_again() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    done(&COMPARE, &at("whole"));
    for shard in ["1/3", "2/3", "3/3"] {
        done(&[&COMPARE[..], &["--shard", shard]].concat(), &at(&shard[..1]));
    }
    let parts = [at("3"), at("1"), at("2")].map(|part| part.to_str().unwrap().to_owned());
    done(&["merge", &parts[0], &parts[1], &parts[2]], &at("merged"));
    assert_same(&at("merged"), &at("whole"));
    done(&["rerun", at("merged").to_str().unwrap()], &at("again"));
    assert_same(&at("again"), &at("whole"));
    let version = run(&["-V"]).out.trim_end().replacen("shortflow ", "version = \"", 1) + "\"\n";
    let manifest = fs::read_to_string(at("whole/1-best-effort/manifest.toml")).unwrap();
    assert!(manifest.contains(&version), "the commit: {version} {manifest}");

    let twice =
        run(&["merge", &parts[0], at("whole").to_str().unwrap(), "-o", at("x").to_str().unwrap()]);
    assert_eq!(twice.code, Some(2), "{}", twice.err);
    assert!(twice.err.contains("both have replica 2\n"), "{}", twice.err);
    assert!(!at("x").exists());
    let inside = at("3/1-best-effort/new");
    for out in [at("3"), inside, home.path().to_owned()] {
        for command in ["merge", "rerun"] {
            let over = run(&[command, &parts[0], "--out", out.to_str().unwrap(), "--force"]);
            assert_eq!(over.code, Some(2), "{}", over.err);
            assert!(over.err.contains("are in one another"), "{}", over.err);
        }
    }
}

#[test]
fn a_run_is_continued_by_first_replica_and_by_resume() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let simulate = |replicas: &'static str| ["simulate", SMALL, "--replicas", replicas];
    done(&simulate("5"), &at("whole"));
    done(&simulate("2"), &at("first"));
    done(&[&simulate("3")[..], &["--first-replica", "2"]].concat(), &at("then"));
    let parts = ["first", "then"].map(|part| at(part).to_str().unwrap().to_owned());
    done(&["merge", &parts[0], &parts[1]], &at("merged"));
    let [merged, whole] = [at("merged"), at("whole")].map(|folder| results(&folder));
    let summary = Path::new("summary.json");
    assert_eq!(merged[summary], whole[summary]);
    done(&["rerun", at("merged").to_str().unwrap()], &at("again"));
    assert_eq!(results(&at("again"))[summary], whole[summary]);

    done(&[&simulate("5")[..], &["--resume"]].concat(), &at("first"));
    assert_same(&at("first"), &at("whole"));
    // All is there: nothing runs, and nothing changes.
    done(&[&simulate("5")[..], &["--resume"]].concat(), &at("first"));
    assert_same(&at("first"), &at("whole"));

    let other = run(&["simulate", SMALL, "--resume", "--seed", "9", "-o", &parts[0]]);
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("it differs in the seed (1 and 9)\n"), "{}", other.err);
    assert_same(&at("first"), &at("whole"));
    let none = run(&["simulate", SMALL, "--replicas", "2", "--shard", "3/3", "-o", &parts[0]]);
    assert_eq!(none.code, Some(2), "{}", none.err);
    assert!(none.err.contains("this part has no replica, as there are 2"), "{}", none.err);
}

#[test]
fn a_folder_is_run_again_without_its_files_and_with_its_bindings() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let scenario =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/small.toml"));
    let scenario = scenario.unwrap().replace("../../../../", "");
    fs::write(at("s.toml"), scenario).unwrap();
    done(
        &["simulate", at("s.toml").to_str().unwrap(), "-p", "red", "--bind", "core=west->east"],
        &at("out"),
    );
    fs::remove_file(at("s.toml")).unwrap();
    done(&["rerun", at("out").to_str().unwrap()], &at("again"));
    assert_same(&at("again"), &at("out"));
}

#[test]
fn replicas_are_added_until_intervals_are_as_narrow_as_asked() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let precise = at("precise");
    let out = precise.to_str().unwrap();
    let ended =
        run(&["simulate", SMALL, "--replicas", "2", "--precision", "12%", "--brief", "--out", out]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let (replicas, said) =
        ended.err.split_once(" replicas: intervals are at most ±12.00 %;").expect(&ended.err);
    assert!(said.contains("the mean completion time of "), "{said}");
    let replicas = replicas.rsplit(' ').next().unwrap();
    assert!(replicas.parse::<u32>().unwrap() > 3, "{replicas}");
    done(&["simulate", SMALL, "--replicas", replicas], &at("whole"));
    assert_same(&precise, &at("whole"));
}

#[test]
fn a_resumed_folder_says_nothing_of_the_interruption_that_it_had() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let part = at("part");
    done(&["simulate", SMALL, "--replicas", "2"], &part);
    let manifest = part.join("manifest.toml");
    let warned = "[[warnings]]\nkind = \"interrupted\"\nmessage = \"Interrupted: 2 of 4 replicas are complete.\"\n\n[[inputs]]";
    let text = fs::read_to_string(&manifest).unwrap().replacen("[[inputs]]", warned, 1);
    fs::write(&manifest, text).unwrap();
    let summary = part.join("summary.json");
    let warned = r#""warnings":[{"kind":"interrupted","message":"Interrupted: 2 of 4 replicas are complete."}]"#;
    let text = fs::read_to_string(&summary).unwrap().replacen(r#""warnings":[]"#, warned, 1);
    assert!(text.contains(warned));
    fs::write(&summary, text).unwrap();
    done(&["simulate", SMALL, "--replicas", "4", "--resume"], &part);
    done(&["simulate", SMALL, "--replicas", "4"], &at("whole"));
    assert_same(&part, &at("whole"));
}

#[test]
fn damaged_parts_are_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let part = at("part");
    done(&["simulate", SMALL, "--replicas", "2"], &part);
    let (replicas, histograms) = (part.join("replicas.json"), part.join("histograms.json"));
    let whole = fs::read_to_string(&replicas).unwrap();
    let refused = |why: &str| {
        let part = part.to_str().unwrap();
        let resumed = ["simulate", SMALL, "--replicas", "3", "--resume", "--out", part];
        for arguments in [&["merge", part, "--out", at("x").to_str().unwrap()][..], &resumed] {
            let ended = run(arguments);
            assert_eq!(ended.code, Some(2), "{arguments:?} {}", ended.err);
            assert!(ended.err.contains(why), "{arguments:?} {}", ended.err);
        }
    };
    fs::write(&replicas, "[]").unwrap();
    refused("0 replicas where the summary has 2");
    fs::write(&replicas, whole.replace("\"number\":1", "\"number\":0")).unwrap();
    refused("replica 0 is there twice");
    fs::write(&replicas, whole.replacen("\"name\":\"shop\"", "\"name\":\"stop\"", 1)).unwrap();
    refused("replica 0 has other workloads than the summary");
    fs::write(&replicas, &whole).unwrap();
    fs::write(&histograms, "[]").unwrap();
    refused("it has 0 distributions");
}

#[test]
fn a_folder_without_a_run_is_not_resumed() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("tune.json"), "{}").unwrap();
    let ended = run(&["simulate", SMALL, "--resume", "--out", home.path().to_str().unwrap()]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("it has files, but no run\n"), "{}", ended.err);
    assert!(home.path().join("tune.json").exists());
}

#[test]
fn a_run_that_is_killed_is_resumed_from_what_it_has_saved() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let compare = ["compare", SMALL, POLICIES[0], POLICIES[1], "--replicas", "16"];
    done(&compare, &at("whole"));
    let killed = at("killed");
    let options = ["--jobs", "1", "--quiet", "--save-every", "10 ms"];
    let mut child =
        shortflow(&[&compare[..], &options, &["--out", killed.to_str().unwrap()]].concat())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
    let saved = || fs::read_to_string(killed.join("1-best-effort/manifest.toml"));
    while saved().is_err() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before anything was saved");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let manifest = saved().unwrap();
    assert!(manifest.contains("of 16 replicas are complete"), "killed before its end: {manifest}");
    done(&[&compare[..], &["--resume"]].concat(), &killed);
    assert_same(&killed, &at("whole"));
    // Saving on the way changes no bit.
    done(&[&compare[..], &["--save-every", "10 ms"]].concat(), &at("saved"));
    assert_same(&at("saved"), &at("whole"));
}

#[test]
fn a_prediction_given_twice_is_refused_and_another_version_is_named() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let ended = run(&["predict", "scenarios/contract.toml", "--brief", "--out", &at("one")]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let twice = run(&["merge", &at("one"), &at("one/"), "--out", &at("two")]);
    assert_eq!(twice.code, Some(2), "{}", twice.err);
    assert!(twice.err.contains("is given twice"), "{}", twice.err);
    let manifest = home.path().join("one/manifest.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let version = text.lines().find(|line| line.starts_with("version = ")).unwrap();
    fs::write(&manifest, text.replace(version, "version = \"0.0.1\"")).unwrap();
    let ended = run(&["rerun", &at("one"), "--brief", "--out", &at("again")]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let named = "the folder was written by version 0.0.1; results may differ";
    assert!(ended.err.contains(named), "{}", ended.err);
}

#[test]
fn replay_names_the_replicas_of_a_folder_without_replica_0() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    done(&["simulate", SMALL, "--replicas", "2", "--first-replica", "3"], &out);
    let ended = run(&["replay", out.to_str().unwrap(), "--console", "127.0.0.1:0"]);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    let named = "replica 0 does not exist: use 3 to 4";
    assert!(ended.err.contains(named), "{}", ended.err);
}

#[test]
fn a_rehearsal_runs_in_parts_too_and_goes_on_from_what_is_there() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (first, both) = (at("first"), at("both"));
    let begun =
        ["rehearse", SMALL, "--set", "duration=2 s", "--quiet", "--brief", "--replicas", "2"];
    let with = |more: &[&str]| rehearsed(&[&begun[..], more].concat());
    let Some(part) = with(&["--shard", "1/2", "--out", &first]) else { return };
    assert_eq!(part.code, Some(0), "{}", part.err);
    let resumed = with(&["--resume", "--out", &first]).unwrap();
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let other = with(&["--shard", "2/2", "--out", &at("second")]).unwrap();
    assert_eq!(other.code, Some(0), "{}", other.err);
    let numbers = |folder: &str| -> Vec<u64> {
        let text = fs::read_to_string(Path::new(folder).join("replicas.json")).unwrap();
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        let replicas = found[0].as_array().unwrap();
        replicas.iter().map(|replica| replica["number"].as_u64().unwrap()).collect()
    };
    assert_eq!((numbers(&first), numbers(&at("second"))), (vec![0, 1], vec![1]));
    let twice = run(&["merge", &first, &at("second"), "--out", &both]);
    assert_eq!(twice.code, Some(2), "replica 1 is in both: {}", twice.err);

    let traced = with(&["--resume", "--out", &first, "--trace", &at("t.pcap")]).unwrap();
    assert_eq!(traced.code, Some(2), "{}", traced.err);
}
