//! Tries what a kernel has of traffic control, on the loopback device of a temporary network namespace.
//!
//! One `tc` runs all commands. Most of a trial would otherwise be the starting of programs, twice for each kind.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use shortflow_ebpf::Error;
use shortflow_ebpf::qdisc::QdiscProgram;

use crate::bytecode::Program;
use crate::edge::redirect;
use crate::kernel::{KINDS, Kernel, Kind};
use crate::program;

const REMOVE_QDISC: &str = "qdisc del dev lo root";
const REMOVE_CLSACT: &str = "qdisc del dev lo clsact";

/// What the kernel has; `None` if this process may not create a network namespace.
pub(crate) fn kernel() -> Option<Kernel> {
    let trial = || {
        unshare(CloneFlags::CLONE_NEWNET).ok()?;
        let is_allowed = run(&["qdisc add dev lo root handle 1: pfifo limit 10", REMOVE_QDISC]);
        if is_allowed.ok()? != BTreeSet::new() {
            return None;
        }
        Some(Kernel::new(found()))
    };
    // The namespace is the thread's alone, and goes with it.
    let thread = std::thread::Builder::new().spawn(trial).ok()?;
    thread.join().expect("the trial does not panic")
}

/// What was found of each kind; nothing of those whose trial did not run.
fn found() -> Vec<(Kind, bool)> {
    let (by_tc, others): (Vec<Kind>, Vec<Kind>) =
        KINDS.iter().map(|row| row.0).partition(|kind| !commands(*kind).is_empty());
    let by_tc = try_by_tc(&by_tc);
    let otherwise = |kind| Some((kind, try_otherwise(kind)?));
    by_tc.into_iter().chain(others.into_iter().filter_map(otherwise)).collect()
}

/// Tries all of these. Where `tc` ends at one of them, as some versions do when they do not know a name, each is tried
/// by a `tc` of its own.
fn try_by_tc(kinds: &[Kind]) -> Vec<(Kind, bool)> {
    let mut lines = Vec::new();
    let mut needed = Vec::new();
    for kind in kinds {
        let commands = commands(*kind);
        let first = lines.len();
        // The last one takes away what the others have made.
        needed.push((*kind, first..first + commands.len() - 1));
        lines.extend(commands);
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    match run(&lines) {
        Ok(failed) => needed
            .into_iter()
            .map(|(kind, mut lines)| (kind, !lines.any(|line| failed.contains(&line))))
            .collect(),
        Err(NoRun::NotStarted) => Vec::new(),
        Err(NoRun::Ended) if kinds.len() > 1 => {
            kinds.iter().flat_map(|kind| try_by_tc(&[*kind])).collect()
        }
        Err(NoRun::Ended) => kinds.iter().map(|kind| (*kind, false)).collect(),
    }
}

/// The commands of tc that succeed where the kernel has this kind, and one that takes away what they make. None for a kind
/// that is tried otherwise.
fn commands(kind: Kind) -> Vec<String> {
    let commands: &[&str] = match kind {
        Kind::Early | Kind::BpfQdisc | Kind::Ifb => &[],
        Kind::Bpf => &[
            "qdisc add dev lo root handle 1: htb",
            "filter add dev lo parent 1: protocol all bpf bytecode '1,6 0 0 1'",
            REMOVE_QDISC,
        ],
        Kind::Clsact => &["qdisc add dev lo clsact", REMOVE_CLSACT],
        Kind::Mirred => &[
            "qdisc add dev lo clsact",
            &redirect("lo", "lo", &Program::taking_all("")),
            REMOVE_CLSACT,
        ],
        _ => &[
            &format!("qdisc add dev lo root handle 1: {} {}", kind.name(), kind.settings()),
            REMOVE_QDISC,
        ],
    };
    commands.iter().map(|&command| command.to_owned()).collect()
}

/// Whether the kernel has it; `None` if the trial did not run, because of the limits of this process.
fn try_otherwise(kind: Kind) -> Option<bool> {
    match kind {
        Kind::Early => match program::try_early() {
            Err(Error::TooManyFiles(_)) => None,
            tried => Some(tried.is_ok()),
        },
        // Loading the program takes a second on a slow machine. `deploy` reports a refusal before it changes anything.
        Kind::BpfQdisc => QdiscProgram::is_possible(),
        _ => Some(ip("link add sf-trial type ifb")? && ip("link del dev sf-trial")?),
    }
}

/// Why `tc` has not tried all.
#[derive(Debug)]
enum NoRun {
    /// The system did not start it.
    NotStarted,
    /// It has ended early.
    Ended,
}

/// Runs these commands of tc, each whether or not the one before it fails; the indices of those that fail.
fn run(lines: &[&str]) -> Result<BTreeSet<usize>, NoRun> {
    let mut tc = Command::new("tc")
        .args(["-force", "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|_| NoRun::NotStarted)?;
    // By then nothing is left to be removed: that it fails shows that tc has come to the end.
    let script = [lines, &[REMOVE_QDISC]].concat().join("\n") + "\n";
    // A tc that ends early leaves the rest of it unread.
    let _ = tc.stdin.take().expect("it was piped").write_all(script.as_bytes());
    let output = tc.wait_with_output().map_err(|_| NoRun::Ended)?;
    let mut failed = failed_lines(&String::from_utf8_lossy(&output.stderr));
    if failed.remove(&lines.len()) { Ok(failed) } else { Err(NoRun::Ended) }
}

/// The indices of the commands that fail, from what tc prints of each: `Command failed -:3`.
fn failed_lines(printed: &str) -> BTreeSet<usize> {
    let numbers = printed.lines().filter_map(|line| line.strip_prefix("Command failed -:"));
    numbers.filter_map(|number| number.parse::<usize>().ok()?.checked_sub(1)).collect()
}

/// Whether ip does this; `None` if the system did not start it.
fn ip(command: &str) -> Option<bool> {
    let mut ip = Command::new("ip");
    let ip = ip.args(command.split(' ')).stdin(Stdio::null());
    let status = ip.stdout(Stdio::null()).stderr(Stdio::null()).status();
    Some(status.ok()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_fail_are_those_that_tc_numbers() {
        let printed = "Error: Specified qdisc kind is unknown.\nCommand failed -:3\n\
                       RTNETLINK answers: Invalid argument\nCommand failed -:12\nCommand failed -:x\n";
        assert_eq!(failed_lines(printed), BTreeSet::from([2, 11]));
    }

    #[test]
    fn every_kind_is_tried_by_tc_or_otherwise_and_leaves_nothing() {
        for (kind, name, ..) in KINDS {
            let commands = commands(kind);
            let is_otherwise = [Kind::Early, Kind::BpfQdisc, Kind::Ifb].contains(&kind);
            assert_eq!(commands.is_empty(), is_otherwise, "{name}");
            assert!(is_otherwise || commands.last().unwrap().starts_with("qdisc del "), "{name}");
        }
    }
}
