//! `shortflow agent run` over a folder in which things stand that never end to be read, and over one that hangs.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::agent::{Running, fleet, repository, start, until};
use crate::support::{command, run};

/// Asks the agent of a folder.
fn ask(at: &Path, what: &str) -> crate::support::Ended {
    run(&["agent", what, "--socket", at.join("agent.sock").to_str().unwrap()])
}

fn pipe(at: &Path) {
    assert!(command("mkfifo").arg(at).status().unwrap().success());
}

/// Has the agent end, which it does at once.
fn ends(mut agent: Running) {
    kill(Pid::from_raw(agent.0.id() as i32), Signal::SIGTERM).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while agent.0.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it still runs");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_with_its_place_and_the_agent_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    repository(&at.join("fleet"), &fleet("first"));
    let agent = start(at);
    until(at, &["fleet \"first\", version 1 ("]);
    let policy = at.join("fleet/policies/strict-priority.toml");
    let good = fs::read(&policy).unwrap();
    fs::remove_file(&policy).unwrap();
    pipe(&policy);
    fs::write(at.join("fleet/fleet.toml"), fleet("second")).unwrap();
    let message = "`policies/strict-priority.toml` is a pipe, not a regular file";
    until(
        at,
        &[
            "fleet \"first\", version 1 (",
            " (as it is now) is refused:",
            message,
            "fleet.toml:9:10",
        ],
    );
    assert_eq!(ask(at, "status").code, Some(1), "not all is as it is to be");
    assert!(ask(at, "metrics").out.contains("\nshortflow_source_refused 1\n"));
    let plan = run(&["agent", "plan", at.join("fleet").to_str().unwrap()]);
    assert!(plan.code == Some(2) && plan.err.contains(message), "{}", plan.err);
    fs::remove_file(&policy).unwrap();
    fs::write(&policy, good).unwrap();
    until(at, &["fleet \"second\", version 2 ("]);
    let fleet_toml = at.join("fleet/fleet.toml");
    fs::remove_file(&fleet_toml).unwrap();
    pipe(&fleet_toml);
    until(at, &["version 2 (", "fleet.toml is a pipe, not a regular file"]);
    let plan = run(&["agent", "plan", at.join("fleet").to_str().unwrap()]);
    assert!(plan.err.contains("fleet.toml is a pipe, not a regular file"), "{}", plan.err);
    ends(agent);
}

/// What a script says that mounts a file system whose server never answers at the folder `fleet`.
const HANG: &str = "mount -i -t fuse -o fd=5,rootmode=40000,user_id=0,group_id=0 none fleet";

#[test]
fn a_folder_that_hangs_is_told_after_half_a_minute_and_the_agent_goes_on_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    repository(&at.join("fleet"), &fleet("first"));
    let unshared = |script: &str| {
        let mut unshared = command("unshare");
        unshared.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_shortflow")]);
        unshared.current_dir(at).stdout(Stdio::null());
        unshared
    };
    let can = unshared(&format!("exec 5<>/dev/fuse && {HANG}")).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        eprintln!("skipped: needs root and /dev/fuse, for a file system that hangs");
        return;
    }
    // The file system is the agent's alone, and its server is whoever has opened the device and never reads it.
    let script = format!(
        "exec 5<>/dev/fuse; \
         ( while [ ! -e hang ] && kill -0 $$; do sleep 0.05; done; {HANG} ) & \
         exec \"$0\" agent run --machine gw1 --source fleet --state state --socket agent.sock"
    );
    let journal = fs::File::create(at.join("journal")).unwrap();
    let agent = Running(unshared(&script).stderr(journal).spawn().unwrap());
    until(at, &["fleet \"first\", version 1 ("]);
    fs::write(at.join("hang"), "").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(ask(at, "reload").code, Some(0));
    std::thread::sleep(Duration::from_secs(25));
    let status = until(at, &["version 1 (", "the reader process did not answer within 30 s"]);
    assert!(ask(at, "metrics").out.contains("\nshortflow_source_readable 0\n"), "{status}");
    ends(agent);
}
