//! The units for systemd in packages/systemd, as systemd reads them.

#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

use crate::support::command;

fn analyze(arguments: &[&str]) -> Option<Output> {
    let ended = command("systemd-analyze").args(arguments).output();
    let lacking = match ended {
        Ok(ended) => return Some(ended),
        Err(lacking) => lacking,
    };
    assert!(std::env::var_os("CI").is_none(), "needs systemd-analyze: {lacking}");
    eprintln!("skipped: needs systemd-analyze: {lacking}");
    None
}

#[test]
fn the_unit_of_a_device_is_valid_and_as_little_exposed_as_the_guide_says() {
    is_as_it_says("deploy.md", ON_DEVICE, "shortflow@eth0.service", 19);
}

#[test]
fn the_unit_of_the_agent_is_valid_and_as_little_exposed_as_the_guide_says() {
    is_as_it_says("agent.md", OF_AGENT, "shortflow-agent.service", 26);
}

#[test]
fn the_units_let_pass_what_loading_a_program_and_entering_a_namespace_ask_of_the_kernel() {
    let Some(listed) = analyze(&["syscall-filter"]) else { return };
    let listed = String::from_utf8(listed.stdout).unwrap();
    let sets = sets(&listed);
    let lacks = |unit: &str, calls: &[&str]| -> Vec<String> {
        let allowed = allowed(&sets, &read(unit));
        calls.iter().filter(|call| !allowed.contains(**call)).map(ToString::to_string).collect()
    };
    let calls = ["bpf", "socket", "sendmsg", "recvmsg", "ioctl", "execve", "prlimit64", "wait4"];
    assert_eq!(lacks(ON_DEVICE, &calls), [""; 0]);
    let more = ["unshare", "prctl", "capset", "inotify_add_watch", "accept4", "fsync", "renameat2"];
    assert_eq!(lacks(OF_AGENT, &[&calls[..], &more].concat()), [""; 0]);
    assert_eq!(lacks(ON_DEVICE, &["reboot", "mount"]), ["reboot", "mount"]);
}

const ON_DEVICE: &str = "packages/systemd/shortflow@.service";
const OF_AGENT: &str = "packages/systemd/shortflow-agent.service";

/// The sets of system calls that systemd knows, each with its lines.
fn sets(listed: &str) -> BTreeMap<&str, Vec<&str>> {
    let (mut found, mut last) = (BTreeMap::<&str, Vec<&str>>::new(), "");
    for line in listed.lines().filter(|line| !line.trim().is_empty()) {
        match line.trim() {
            name if !line.starts_with(' ') => last = name,
            comment if comment.starts_with('#') => {}
            call => found.entry(last).or_default().push(call),
        }
    }
    found
}

/// What the lines of a filter leave, each after the one before: lists that allow, and lists behind `~` that do not.
fn allowed(sets: &BTreeMap<&str, Vec<&str>>, unit: &str) -> BTreeSet<String> {
    fn add(sets: &BTreeMap<&str, Vec<&str>>, name: &str, all: &mut BTreeSet<String>) {
        match sets.get(name) {
            Some(calls) => calls.iter().for_each(|call| add(sets, call, all)),
            None => drop(all.insert(name.to_owned())),
        }
    }
    let mut found = BTreeSet::new();
    for line in unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let (list, is_taken) = line.strip_prefix('~').map_or((line, true), |list| (list, false));
        let mut calls = BTreeSet::new();
        list.split_whitespace().for_each(|name| add(sets, name, &mut calls));
        found = match is_taken {
            true => found.union(&calls).cloned().collect(),
            false => found.difference(&calls).cloned().collect(),
        };
    }
    add(sets, "@default", &mut found);
    found
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(path).unwrap()
}

/// systemd accepts the unit under this name, with an exposure of so many tenths at most, as the page says.
fn is_as_it_says(page: &str, unit: &str, name: &str, max: u32) {
    // systemd looks whether programs are there.
    let text = read(unit).replace("/usr/bin/shortflow", env!("CARGO_BIN_EXE_shortflow"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();

    let Some(verified) = analyze(&["verify", "--man=no", file]) else { return };
    let said = String::from_utf8_lossy(&verified.stderr);
    let of_ours: Vec<_> = said.lines().filter(|line| line.contains("shortflow")).collect();
    assert_eq!(of_ours, [""; 0]);
    let threshold = max.to_string();
    let security = ["security", "--offline=true", "--no-pager", "--threshold", &threshold, file];
    let judged = analyze(&security).expect("it was there before");
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
    let page = read(&format!("docs/{page}"));
    assert!(page.contains(&format!("an exposure of {}.{} of 10", max / 10, max % 10)));
}
