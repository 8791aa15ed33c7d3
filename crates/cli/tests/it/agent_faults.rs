//! What befalls an agent: it is killed at each step, its disk is full, its clock jumps.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use shortflow_agent::{
    Agent, Bundle, DEFAULT_SOCKET, Fetched, Repair, Store, StoreError, StubPlane,
};

use crate::agent::{Running, fleet, repository, start_from, until};
use crate::support::{command, files, run, shortflow};
use crate::tracer::{CHANGING_FILES, Fate, changes_files, killed_where};

/// More than taking a version has steps.
const MOST: usize = 300;

fn copy(from: &Path, to: &Path) {
    let ended = command("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(ended.success());
}

/// The texts of a repository in a folder.
fn texts(folder: &Path) -> Fetched {
    let bundle = Bundle::read(folder).unwrap().needed();
    Fetched { bundle, who: "alice".to_owned(), verdicts: Vec::new() }
}

/// The state, as soon as nobody has it: what another test of this process starts has its lock for a moment, until it is the
/// program that it is to be.
fn opened(state: &Path) -> (Store, Vec<Repair>) {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match Store::open(state) {
            Err(StoreError::Busy { .. }) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened.unwrap(),
        }
    }
}

/// The number of the version that counts in a state that was left behind, which is sound, and what was repaired.
fn left_behind(state: &Path) -> u64 {
    let (store, repaired) = opened(state);
    let lost = repaired.iter().any(|repair| repair.what.contains("damaged"));
    assert!(!lost, "a version is there whole or not at all: {repaired:?}");
    let (version, _) = store.current().unwrap().expect("a version counts");
    let unfinished: Vec<String> =
        files(state).into_iter().filter(|file| file.contains(".new-")).collect();
    assert_eq!(unfinished, [""; 0], "what was begun is removed");
    version.number
}

#[test]
fn killed_at_any_change_of_its_state_it_has_one_version_or_the_other_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let path = |name: &str| at.join(name);
    repository(&path("fleet"), &fleet("first"));
    let now = Instant::now();
    let agent = |state: &Path| {
        let (socket, plane) = (Path::new(DEFAULT_SOCKET), StubPlane::default());
        Agent::start(now, "gw1", "a test", socket, opened(state), plane, Box::new(|_| ()))
    };
    let mut first = agent(&path("before"));
    assert!(first.offer(now, 0, Ok(texts(&path("fleet")))));
    first.stop();
    fs::write(path("fleet/fleet.toml"), fleet("second")).unwrap();
    let second = texts(&path("fleet"));

    let (state, socket, source) = (path("state"), path("agent.sock"), path("fleet"));
    let texts = [&state, &socket, &source].map(|path| path.to_str().unwrap());
    let arguments = ["agent", "run", "--machine", "gw1", "--state", texts[0], "--socket", texts[1]];
    let arguments = [&arguments[..], &["--source", texts[2]]].concat();
    let mut seen = Vec::new();
    for nth in 1..MOST {
        let _ = fs::remove_dir_all(&state);
        copy(&path("before"), &state);
        let link = state.join("current");
        let counts = |pid| changes_files(pid, &state);
        let fate = killed_where(&arguments, nth, &CHANGING_FILES, &counts, |pid| {
            // It is asked to end when it has taken the version, which it may not live to see.
            std::thread::spawn(move || {
                let until = Instant::now() + Duration::from_secs(20);
                let is_there = || fs::read_link(&link).is_ok_and(|to| to.ends_with("000002"));
                while !is_there() && Instant::now() < until && kill(pid, None).is_ok() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                let _ = kill(pid, Signal::SIGTERM);
            });
        });
        let number = left_behind(&state);
        if fate == Fate::Ended {
            assert_eq!(number, 2);
            assert!(nth > 20, "{nth} changes were seen");
            assert_eq!(seen.first(), Some(&1));
            assert_eq!(seen.last(), Some(&2));
            return;
        }
        seen.push(number);
        let mut next = agent(&state);
        assert!(next.offer(now, 0, Ok(second.clone())));
        next.stop();
        assert_eq!(left_behind(&state), 2, "killed at its change number {nth}");
    }
    panic!("it makes more than {MOST} changes");
}

/// Mounts a disk of this size at a folder, in a mount namespace that this process is alone in; `None`, with a message, where it may not.
fn small_disk(at: &Path, size: &str) -> Option<PathBuf> {
    let disk = at.join("disk");
    fs::create_dir(&disk).unwrap();
    let script = format!("mount -t tmpfs -o size={size} none '{}'", disk.display());
    let can = command("unshare").args(["-m", "sh", "-c", &script]).stderr(Stdio::null()).status();
    if can.is_ok_and(|status| status.success()) {
        return Some(disk);
    }
    assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
    eprintln!("skipped: needs root, to mount a small disk");
    None
}

#[test]
fn a_full_disk_lets_no_version_be_taken_and_one_with_room_again_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    repository(&at.join("fleet"), &fleet("first"));
    let Some(disk) = small_disk(at, "256k") else { return };
    // The disk is the agent's alone; what fills it is a process beside it, which is told by files.
    let script = format!(
        "mount -t tmpfs -o size=256k none '{disk}'; cd '{at}'; \
         ( while [ ! -e fill ] && kill -0 $$; do sleep 0.05; done; cat /dev/zero >disk/filler 2>/dev/null; touch filled; \
           while [ ! -e free ] && kill -0 $$; do sleep 0.05; done; rm disk/filler; touch freed ) & \
         exec \"$0\" agent run --machine gw1 --source fleet --state disk/state --socket agent.sock",
        disk = disk.display(),
        at = at.display(),
    );
    let journal = fs::File::create(at.join("journal")).unwrap();
    let mut unshared = command("unshare");
    unshared.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_shortflow")]).stderr(journal);
    let agent = Running(unshared.stdout(Stdio::null()).spawn().unwrap());
    until(at, &["fleet \"first\", version 1 ("]);
    let there = |name: &str| {
        let until = Instant::now() + Duration::from_secs(20);
        while !at.join(name).exists() {
            assert!(Instant::now() < until, "{name}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    fs::write(at.join("fleet/fleet.toml"), fleet("between")).unwrap();
    until(at, &["fleet \"between\", version 2 ("]);
    fs::write(at.join("fill"), "").unwrap();
    there("filled");
    fs::write(at.join("fleet/fleet.toml"), fleet("second")).unwrap();
    let until_told = Instant::now() + Duration::from_secs(20);
    let journal = || fs::read_to_string(at.join("journal")).unwrap();
    while !journal().contains("cannot store the new version, so it is not applied: ") {
        assert!(Instant::now() < until_told, "{}", journal());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(journal().contains("the disk is full"), "{}", journal());
    let message =
        until(at, &["fleet \"between\", version 2 (", "cannot be stored and is not applied: "]);
    assert!(
        message.contains("the disk is full") && message.contains("df -h disk/state"),
        "{message}"
    );
    let socket = at.join("agent.sock");
    let ask = |what: &str| run(&["agent", what, "--socket", socket.to_str().unwrap()]);
    assert_eq!(ask("status").code, Some(1), "not all is as it is to be");
    assert!(ask("metrics").out.contains("\nshortflow_source_not_kept 1\n"));
    let back = ask("rollback");
    assert_eq!(back.code, Some(3), "{}", back.err);
    assert!(back.err.contains("the disk is full and "), "{}", back.err);
    assert!(
        back.err.contains(
            "  free some space and run the command again; to show the free space: df -h disk/state"
        ),
        "{}",
        back.err
    );
    assert!(!back.err.contains(".new-"), "names a hidden file: {}", back.err);
    until(at, &["fleet \"between\", version 2 ("]);
    fs::write(at.join("free"), "").unwrap();
    there("freed");
    until(at, &["fleet \"second\", version 3 ("]);
    assert_eq!(ask("status").code, Some(0));
    assert!(ask("metrics").out.contains("\nshortflow_source_not_kept 0\n"));
    drop(agent);
}

/// A clock that says what a file adds to it, in seconds.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *to) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int ended = real(id, to);
    FILE *file = id == CLOCK_REALTIME ? fopen(getenv("JUMPS"), "r") : NULL;
    long jump = 0;
    if (file) { if (fscanf(file, "%ld", &jump) != 1) jump = 0; fclose(file); }
    to->tv_sec += jump;
    return ended;
}
"#;

#[test]
fn a_clock_that_jumps_by_years_either_way_holds_up_nothing_and_hastens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let path = |name: &str| at.join(name).to_str().unwrap().to_owned();
    fs::write(path("clock.c"), CLOCK).unwrap();
    let mut built = command("cc");
    built.args(["-shared", "-fPIC", "-o"]).args([path("clock.so"), path("clock.c")]).arg("-ldl");
    if !built.status().is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        eprintln!("skipped: needs a C compiler, to build a clock that jumps");
        return;
    }
    let jump = |years: i64| fs::write(path("jumps"), (years * 31_557_600).to_string()).unwrap();
    // gw1 is not first, and waits for 20 s.
    let staged = |name: &str| {
        let first =
            fleet(name).replace("[machines.gw2]\n", "[machines.gw2]\ntags = [\"canary\"]\n");
        format!("{first}\n[rollout]\nfirst = [\"canary\"]\nafter = \"20 s\"\n")
    };
    repository(&at.join("fleet"), &fleet("first"));
    jump(0);
    let journal = fs::File::create(path("journal")).unwrap();
    let mut agent = shortflow(&["agent", "run", "--machine", "gw1", "--source", &path("fleet")]);
    agent.args(["--state", &path("state"), "--socket", &path("agent.sock")]);
    agent.env("LD_PRELOAD", path("clock.so")).env("JUMPS", path("jumps"));
    let _agent = Running(agent.stderr(journal).spawn().unwrap());
    let write = |text: &str| fs::write(path("fleet/fleet.toml"), text).unwrap();
    until(at, &["fleet \"first\", version 1 ("]);
    for (years, name) in [(10, "future"), (-20, "past")] {
        jump(years);
        let began = Instant::now();
        write(&fleet(name));
        until(at, &[&format!("fleet \"{name}\", version ")]);
        assert!(began.elapsed() < Duration::from_secs(10), "{years}: {:?}", began.elapsed());
    }
    let log = run(&["agent", "log", "--state", &path("state")]).out;
    assert!(log.lines().any(|line| line > "2030" && line.contains("accepted")), "it jumps: {log}");

    jump(0);
    write(&staged("staged"));
    let waiting = until(at, &["waits until "]);
    let began = Instant::now();
    jump(10);
    std::thread::sleep(Duration::from_secs(3));
    // A reading after the jump is no reason to take it before its time.
    run(&["agent", "reload", "--socket", &path("agent.sock")]);
    std::thread::sleep(Duration::from_secs(2));
    let year = waiting.split("waits until ").nth(1).and_then(|at| at.get(..4)).unwrap();
    let future = year.parse::<u32>().unwrap() + 10;
    until(at, &["fleet \"past\"", &format!("waits until {future}-")]);
    jump(-10);
    std::thread::sleep(Duration::from_secs(16));
    run(&["agent", "reload", "--socket", &path("agent.sock")]);
    until(at, &["fleet \"staged\""]);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}: {waiting}", began.elapsed());
}

#[test]
fn what_the_disk_has_damaged_does_not_count_and_the_last_sound_version_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    repository(&at.join("fleet"), &fleet("first"));
    let source = ["--source", at.join("fleet").to_str().unwrap()].map(str::to_owned);
    let source = source.each_ref().map(String::as_str);
    let agent = start_from(at, &source);
    until(at, &["version 1 ("]);
    fs::write(at.join("fleet/fleet.toml"), fleet("second")).unwrap();
    until(at, &["version 2 ("]);
    drop(agent);
    let text = at.join("state/versions/000002/repository/fleet.toml");
    let mut bytes = fs::read(&text).unwrap();
    bytes[8] ^= 1;
    fs::write(&text, bytes).unwrap();
    fs::remove_dir_all(at.join("fleet")).unwrap();
    let _agent = start_from(at, &source);
    let status = until(at, &["fleet \"first\", version 1 (", "cannot read folder"]);
    let log = run(&["agent", "log", "--state", at.join("state").to_str().unwrap()]).out;
    assert!(
        log.contains("version 2 was active and is damaged; version 1 is active now"),
        "{status}{log}"
    );
}
