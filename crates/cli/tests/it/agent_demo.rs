//! `make agent-demo`, as it runs without anybody who looks on.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::command;

fn demo() -> Command {
    let mut demo = command("python3");
    demo.args(["-B", "bench/agent-demo", "--shortflow", env!("CARGO_BIN_EXE_shortflow")]);
    demo.stdout(Stdio::piped()).stderr(Stdio::piped());
    demo
}

/// The network namespaces of a demo that are there.
fn left(demo: u32) -> Vec<String> {
    let all = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = all.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(&format!("sfdemo{demo}-"))).collect()
}

/// What it says in the end; none where the machine lacks something, which is told.
fn ended(demo: Child) -> Option<(i32, String)> {
    let number = demo.id();
    let ended = demo.wait_with_output().unwrap();
    assert_eq!(left(number), [""; 0]);
    let said = [ended.stdout, ended.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    let code = ended.status.code().unwrap();
    if code == 3 {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI: {said}");
        eprintln!("skipped: {said}");
        return None;
    }
    Some((code, said))
}

#[test]
fn the_demo_of_the_agent_shows_a_change_one_that_is_worse_and_a_way_back() {
    let Ok(demo) = demo().spawn() else {
        assert!(std::env::var_os("CI").is_none(), "nothing may be skipped in CI");
        return eprintln!("skipped: needs python3");
    };
    let Some((code, said)) = ended(demo) else { return };
    assert_eq!(code, 0, "{said}");
    let mut rest = said.as_str();
    for part in [
        "gw3: fleet \"Demo\", version 1 (",
        "metrics of gw1: http://127.0.0.1:",
        "the console of all three, to be opened in a browser: http://127.0.0.1:",
        "gw1: fleet \"Demo\", version 2 (",
        "on trial against version 1",
        "gw3: fleet \"Demo\", version 2 (",
        "was found worse and is not applied again: wan: packets of the class served first wait",
        "held back: gw1 finds it worse",
        "version 1 is now active",
        " approved: ",
        " worse: ",
        "all came as it says; nothing of it is left",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part}\n{said}"));
        rest = &rest[at..];
    }
}

#[test]
fn a_demo_that_is_interrupted_leaves_nothing() {
    let Ok(mut demo) = demo().spawn() else { return eprintln!("skipped: needs python3") };
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let begun =
        lines.by_ref().map(|line| line.unwrap()).any(|line| line.contains("] three machines"));
    if begun {
        let until = Instant::now() + Duration::from_secs(60);
        while left(demo.id()).is_empty() {
            assert!(Instant::now() < until, "no network namespace after a minute");
            std::thread::sleep(Duration::from_millis(50));
        }
        kill(Pid::from_raw(demo.id().cast_signed()), Signal::SIGINT).unwrap();
    }
    let rest = std::thread::spawn(move || lines.for_each(drop));
    let Some((code, said)) = ended(demo) else { return };
    rest.join().unwrap();
    assert_eq!((code, said.as_str()), (130, "ended; nothing of it is left\n"));
}
