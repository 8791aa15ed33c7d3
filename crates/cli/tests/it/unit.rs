//! The units for systemd in docs/deploy.md and docs/agent.md, as systemd reads them.

#![cfg(target_os = "linux")]

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
fn the_unit_in_the_guide_is_one_and_as_little_exposed_as_it_says() {
    is_as_it_says("deploy.md", "[Unit]\nDescription=Shortflow on %i", "shortflow@eth0.service", 18);
}

#[test]
fn the_unit_of_the_agent_is_one_and_as_little_exposed_as_it_says() {
    is_as_it_says(
        "agent.md",
        "[Unit]\nDescription=Shortflow's policy agent",
        "shortflow-agent.service",
        MOST_OF_AGENT,
    );
}

/// The most exposure of the agent's unit, in tenths.
const MOST_OF_AGENT: u32 = 26;

/// The unit of a page that begins so, under its name, with an exposure of so many tenths at most.
fn is_as_it_says(page: &str, begins: &str, name: &str, most: u32) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = std::fs::read_to_string(page).unwrap();
    let at = page.find(begins).expect("the page has a unit");
    let unit = &page[at..];
    let (unit, _) = unit.split_once("```").expect("it ends");
    // systemd looks whether programs are there.
    let unit = unit.replace("/usr/local/bin/shortflow", env!("CARGO_BIN_EXE_shortflow"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, unit).unwrap();
    let file = file.to_str().unwrap();

    let Some(verified) = analyze(&["verify", "--man=no", file]) else { return };
    let said = String::from_utf8_lossy(&verified.stderr);
    let of_ours: Vec<_> = said.lines().filter(|line| line.contains("shortflow")).collect();
    assert_eq!(of_ours, [""; 0]);
    let threshold = most.to_string();
    let security = ["security", "--offline=true", "--no-pager", "--threshold", &threshold, file];
    let judged = analyze(&security).expect("it was there before");
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
    assert!(page.contains(&format!("an exposure of {}.{} of 10", most / 10, most % 10)));
}
