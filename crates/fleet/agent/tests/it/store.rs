//! Versions on disk, whole or not at all.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use shortflow_agent::{Bundle, Repair, Store, StoreError};

const AT: &str = "2026-01-01T00:00:00.000Z";

fn texts(policy: &str) -> Bundle {
    let assign = "[[assign]]\npolicy = \"policies/a.toml\"\n";
    Bundle::new(
        [("fleet.toml", assign), ("policies/a.toml", policy)]
            .map(|(path, text)| (path.to_owned(), text.to_owned())),
    )
}

fn sentences(repaired: &[Repair]) -> Vec<&str> {
    repaired.iter().map(|repair| repair.what.as_str()).collect()
}

fn keep(store: &mut Store, policy: &str) -> u64 {
    store.keep(&texts(policy), "alice", "a test", AT).unwrap().number
}

#[test]
fn what_was_kept_is_read_after_the_process_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, repaired) = Store::open(folder.path()).unwrap();
    assert_eq!((store.current().unwrap(), repaired.len()), (None, 0));
    assert_eq!((keep(&mut store, "one"), keep(&mut store, "two")), (1, 2));
    drop(store);
    let (store, repaired) = Store::open(folder.path()).unwrap();
    let (version, bundle) = store.current().unwrap().unwrap();
    assert_eq!((version.number, version.who.as_str(), repaired.len()), (2, "alice", 0));
    assert_eq!(bundle, texts("two"));
    assert_eq!(store.version(1).unwrap().1, texts("one"));
    // The folder of a version is a repository again.
    assert_eq!(Bundle::read(&folder.path().join("current/repository")).unwrap(), texts("two"));
}

#[test]
fn one_process_at_a_time_has_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _store = Store::open(folder.path()).unwrap();
    assert!(matches!(Store::open(folder.path()), Err(StoreError::Busy { .. })));
}

#[test]
fn a_version_that_was_begun_and_not_finished_is_removed_and_a_damaged_one_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path()).unwrap();
    keep(&mut store, "one");
    keep(&mut store, "two");
    drop(store);
    let versions = folder.path().join("versions");
    fs::create_dir_all(versions.join(".new-x/repository")).unwrap();
    fs::write(versions.join("000002/repository/policies/a.toml"), "tw").unwrap();
    let (store, repaired) = Store::open(folder.path()).unwrap();
    assert_eq!(
        sentences(&repaired),
        [
            "removed an incomplete version",
            "version 2 was active and is damaged; version 1 is active now"
        ]
    );
    assert_eq!(store.current().unwrap().unwrap().0.number, 1);
    assert!(!versions.join(".new-x").exists());
    assert!(store.version(2).unwrap_err().to_string().contains("the digest is"));
}

#[test]
fn without_its_link_the_last_sound_version_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path()).unwrap();
    keep(&mut store, "one");
    drop(store);
    fs::remove_file(folder.path().join("current")).unwrap();
    let (store, repaired) = Store::open(folder.path()).unwrap();
    assert_eq!(sentences(&repaired), ["no version was active; version 1 is active now"]);
    assert_eq!(store.current().unwrap().unwrap().1, texts("one"));
}

#[test]
fn going_back_holds_off_what_was_gone_back_from_until_something_new_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path()).unwrap();
    assert_eq!(
        store.roll_back(None, None).unwrap_err().to_string(),
        "no earlier version to roll back to; no version is kept yet"
    );
    for policy in ["one", "two", "three"] {
        keep(&mut store, policy);
    }
    let three = texts("three").digest();
    assert_eq!(store.roll_back(None, None).unwrap().0.number, 2);
    assert_eq!(store.held(), [three.clone()].into());
    assert_eq!(store.roll_back(None, None).unwrap().0.number, 1);
    let two = texts("two").digest();
    assert_eq!(store.held(), [two.clone(), three].into(), "the source may have either");
    assert_eq!(
        store.roll_back(None, None).unwrap_err().to_string(),
        "no earlier version to roll back to; versions 1 to 3 are kept"
    );
    assert_eq!(store.roll_back(Some(3), None).unwrap().0.number, 3);
    assert_eq!(store.held(), [two].into(), "what counts is not held off");
    store.roll_back(None, Some("of an order")).unwrap();
    assert!(store.held().contains("of an order"));
    assert_eq!(keep(&mut store, "four"), 4);
    assert_eq!(store.held(), BTreeSet::new());
}

#[test]
fn a_version_that_is_not_there_is_refused_with_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path()).unwrap();
    let mut refused = || store.roll_back(Some(99), None).unwrap_err().to_string();
    assert_eq!(refused(), "version 99 does not exist; no version is kept yet");
    let make = |number: u64| fs::create_dir(folder.path().join(format!("versions/{number:06}")));
    for (number, wanted) in [
        (1, "version 99 does not exist; only version 1 is kept"),
        (2, "version 99 does not exist; versions 1, 2 are kept"),
        (3, "version 99 does not exist; versions 1 to 3 are kept"),
        (7, "version 99 does not exist; versions 1 to 3, 7 are kept"),
    ] {
        make(number).unwrap();
        assert_eq!(refused(), wanted);
    }
}

#[test]
fn what_an_agent_of_an_earlier_version_held_off_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("held.json"), "\"51ac27cbd00c\"").unwrap();
    let (store, _) = Store::open(folder.path()).unwrap();
    assert_eq!(store.held(), ["51ac27cbd00c".to_owned()].into());
}

#[test]
fn what_the_disk_has_damaged_of_the_state_is_told_with_what_comes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["devices", "trial", "worse", "verdict", "held"] {
        fs::write(folder.path().join(name).with_extension("json"), "{{{").unwrap();
    }
    let (_, repaired) = Store::open(folder.path()).unwrap();
    let begins: Vec<&str> =
        repaired.iter().filter_map(|repair| repair.what.split(':').next()).collect();
    let named = ["held", "devices", "trial", "worse", "verdict"];
    assert_eq!(begins, named.map(|name| format!("{name}.json cannot be read")));
    assert!(repaired[1].what.contains("`shortflow undeploy --dev DEVICE`"), "{repaired:?}");
    let needing: Vec<bool> = repaired.iter().map(|repair| repair.needs_release).collect();
    assert_eq!(needing, [true, false, false, false, false]);
}

#[test]
fn no_more_than_a_hundred_versions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path()).unwrap();
    for number in 1..=103 {
        keep(&mut store, &number.to_string());
    }
    let numbers = store.numbers();
    assert_eq!((numbers.len(), numbers[0], numbers[99]), (100, 4, 103));
}

#[test]
fn a_log_line_that_was_cut_off_is_removed_and_the_next_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let whole = "{\"at\":\"2026-01-01T00:00:00.000Z\",\"who\":\"agent\",\"what\":\"stopped\"}";
    fs::write(&path, format!("{whole}\n{{\"at\":\"20")).unwrap();
    let (_, repaired) = Store::open(folder.path()).unwrap();
    assert_eq!(sentences(&repaired), ["removed the incomplete last line of the log"]);
    assert_eq!(Store::log(folder.path()).unwrap(), [whole]);
}

#[test]
fn a_version_that_was_gone_back_from_or_never_came_to_count_is_no_other_one_when_it_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path()).unwrap();
    keep(&mut store, "one");
    keep(&mut store, "two");
    store.roll_back(None, None).unwrap();
    assert_eq!(keep(&mut store, "two"), 2);
    assert_eq!((store.numbers(), store.held()), (vec![1, 2], BTreeSet::new()));
    // As after an end between the two steps of keeping it.
    store.roll_back(None, None).unwrap();
    drop(store);
    std::fs::remove_file(folder.path().join("held.json")).unwrap();
    let (mut store, repaired) = Store::open(folder.path()).unwrap();
    assert_eq!((repaired, keep(&mut store, "two")), (Vec::new(), 2));
    assert_eq!(keep(&mut store, "three"), 3);
}

#[test]
fn the_state_is_for_the_agents_user_alone_and_earlier_ones_are_set_right() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = |path: &std::path::Path| fs::symlink_metadata(path).unwrap().mode() & 0o777;
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    for _ in 0..2 {
        let (mut store, _) = Store::open(&state).unwrap();
        keep(&mut store, "one");
        let mut folders = vec![state.clone()];
        while let Some(folder) = folders.pop() {
            assert_eq!(mode(&folder), 0o700, "{}", folder.display());
            for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()) {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => folders.push(entry.path()),
                    kind if kind.is_file() => {
                        assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
                    }
                    _ => {}
                }
            }
        }
        drop(store);
        // As earlier versions left them.
        fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
        let log = state.join("log.jsonl");
        fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let open = home.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::write(open.join("others"), "").unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let why = Store::open(&open).unwrap_err().to_string();
    assert!(
        why.ends_with("other users may write this folder: give the agent its own folder"),
        "{why}"
    );
    assert_eq!(mode(&open), 0o777, "it is not ours to change");
    // What looks like a state does not make it one.
    fs::create_dir(open.join("versions")).unwrap();
    assert!(Store::open(&open).is_err());
    assert_eq!(mode(&open), 0o777);
}

#[test]
fn no_link_leads_the_log_or_the_lock_outside_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let outside = home.path().join("outside");
    for name in ["log.jsonl", "lock"] {
        let state = home.path().join(name);
        drop(Store::open(&state).unwrap());
        fs::write(&outside, "precious").unwrap();
        let _ = fs::remove_file(state.join(name));
        symlink(&outside, state.join(name)).unwrap();
        assert!(Store::open(&state).is_err(), "{name}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
    }
}

#[test]
fn a_version_that_was_rolled_back_does_not_return_because_another_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(folder.path()).unwrap();
    keep(&mut store, "one");
    keep(&mut store, "two");
    store.roll_back(None, None).unwrap();
    drop(store);
    let policy = folder.path().join("versions/000001/repository/policies/a.toml");
    fs::write(policy, "on").unwrap();
    let (store, repaired) = Store::open(folder.path()).unwrap();
    assert!(repaired[0].what.contains("no other version may take its place"), "{repaired:?}");
    assert!(store.current().is_err(), "version 2 is not active");
}
