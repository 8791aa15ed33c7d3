//! The unit for systemd in docs/deploy.md, as systemd reads it.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Output;

use crate::support::command;

/// The most exposure that the page promises, in tenths.
const MOST: &str = "18";

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
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, unit) = page.split_once("```ini\n").expect("the page has a unit");
    let (unit, _) = unit.split_once("```").expect("it ends");
    // systemd looks whether programs are there.
    let unit = unit.replace("/usr/local/bin/shortflow", env!("CARGO_BIN_EXE_shortflow"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shortflow@eth0.service");
    std::fs::write(&file, unit).unwrap();
    let file = file.to_str().unwrap();

    let Some(verified) = analyze(&["verify", "--man=no", file]) else { return };
    let said = String::from_utf8_lossy(&verified.stderr);
    let of_ours: Vec<_> = said.lines().filter(|line| line.contains("shortflow")).collect();
    assert_eq!(of_ours, [""; 0]);
    let security = ["security", "--offline=true", "--no-pager", "--threshold", MOST, file];
    let judged = analyze(&security).expect("it was there before");
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
    assert!(page.contains("an exposure of 1.8 of 10"));
}
