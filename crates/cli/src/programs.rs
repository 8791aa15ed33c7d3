//! The user's own programs during a rehearsal, and their output.

use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use shortflow_rehearse::{End, HostProgram, ProgramObserver, Streams, Terminal};
use shortflow_scenario::{Loaded, NodeId, NodeKind, Scenario};

use crate::console::Console;
use crate::failure::Failure;
use crate::live::Screen;

/// The longest line that is shown in one piece.
const MAX_LINE: u64 = 64 << 10;

/// Programs, and those who listen to them.
pub(crate) struct ProgramOutput {
    console: Console,
    screen: Arc<Screen>,
    /// Whether a single program is listened to as well, instead of writing where we write.
    listens_to_all: bool,
    /// What each is called, and what it was asked to do.
    lines: Vec<(String, String)>,
    listeners: Mutex<Vec<JoinHandle<()>>>,
    failures: Mutex<Vec<String>>,
    /// How each has ended, where it was started.
    ends: Mutex<Vec<Option<(ExitStatus, End)>>>,
}

/// The programs that were asked for, a host and a command each, in this scenario.
pub(crate) fn programs(scenario: &Scenario, with: &[String]) -> Result<Vec<HostProgram>, Failure> {
    let program = |pair: &[String]| {
        let [name, line] = pair else { unreachable!("a host and a command go together") };
        if line.trim().is_empty() {
            return Err(Failure::Input(format!("the command for {name} is missing")));
        }
        let command = ["/bin/sh", "-c", line].map(Into::into).into();
        Ok(HostProgram { host: host(scenario, name)?, command })
    };
    with.chunks(2).map(program).collect()
}

/// The host of this name.
pub(crate) fn host(scenario: &Scenario, name: &str) -> Result<NodeId, Failure> {
    let found = (0..).map(NodeId).zip(&scenario.nodes).find(|(_, node)| node.name == name);
    let hosts = || scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    let problem = match found {
        Some((host, node)) if node.kind == NodeKind::Host => return Ok(host),
        Some(_) => format!("{name} is a router; programs run inside hosts"),
        None if hosts().any(|node| node.group == name) => {
            format!("{name} is a group of hosts; a program runs inside one, such as {name}[0]")
        }
        None => format!("unknown host {name}"),
    };
    let names: Vec<&str> = hosts().map(|node| &*node.name).take(MAX_NAMES + 1).collect();
    let rest = if names.len() > MAX_NAMES { " …" } else { "" };
    let names = names[..names.len().min(MAX_NAMES)].join(", ");
    Err(Failure::Input(format!("{problem}\nthe hosts are {names}{rest}")))
}

/// How many hosts are named at most.
const MAX_NAMES: usize = 8;

/// Refuses programs beside more than one run. `is_measured` is whether replicas count.
pub(crate) fn refuse_several(loaded: &Loaded, is_measured: bool) -> Result<(), Failure> {
    let points = loaded.points();
    if points.len() > 1 {
        let settings = points[0].scenario.inputs.overrides.clone();
        let set: String = settings.iter().map(|set| format!(" --set '{set}'")).collect();
        let count = points.len();
        return Err(Failure::Input(format!(
            "programs need a single point, and this scenario's sweep has {count}\nchoose one, as by{set}"
        )));
    }
    match points[0].scenario.replicas {
        replicas @ 2.. if is_measured => Err(Failure::Input(format!(
            "programs need a single replica, and this scenario has {replicas}\nrun one with --replicas 1"
        ))),
        _ => Ok(()),
    }
}

impl ProgramOutput {
    /// Listens to the programs of these pairs of host and command, or if there is one only, and nothing else is
    /// shown, lets it write where we write.
    pub(crate) fn new(console: Console, with: &[String], listens_to_all: bool) -> ProgramOutput {
        let lines: Vec<_> = with.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        let listens_to_all = listens_to_all || lines.len() > 1;
        let (screen, listeners, failures) = Default::default();
        let ends = Mutex::new(vec![None; lines.len()]);
        ProgramOutput { console, screen, listens_to_all, lines, listeners, failures, ends }
    }

    /// Where each program ran and how it has ended: with its exit code, or by a signal; by itself, or because
    /// the rehearsal did.
    pub(crate) fn as_json(&self) -> Value {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let program = |((host, line), end): (&(String, String), &Option<(ExitStatus, End)>)| {
            json!({
                "host": host,
                "command": line,
                "exit_code": end.and_then(|(status, _)| status.code()),
                "signal": end.and_then(|(status, _)| status.signal()),
                "ended": end.map(|(_, end)| match end {
                    End::Own => "by itself",
                    End::WithRehearsal => "with the rehearsal",
                }),
            })
        };
        self.lines.iter().zip(&*ends).map(program).collect()
    }

    /// Where lines are shown.
    pub(crate) fn screen(&self) -> &Screen {
        &self.screen
    }

    /// All have ended: waits until everything that they said was shown.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        for listener in self.listeners.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            listener.join().expect("the status line has no keys");
        }
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.is_empty() { Ok(()) } else { Err(Failure::Programs(failures.join("\n"))) }
    }

    /// A pipe whose lines are shown after the name of a host.
    fn listen(&self, host: String) -> io::Result<impl Into<Stdio> + AsFd + use<>> {
        let (reader, writer) = io::pipe()?;
        let (console, screen) = (self.console, Arc::clone(&self.screen));
        let listener = std::thread::Builder::new().name("listener".to_owned());
        let listener = listener.spawn(move || show_lines(reader, &host, console, &screen))?;
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
        Ok(writer)
    }
}

impl ProgramObserver for ProgramOutput {
    fn note(&self, what: &str) {
        if let Some(line) = self.console.note_line(what) {
            self.screen.print(line.as_bytes());
        }
    }

    fn streams(&self, program: usize) -> io::Result<Streams> {
        let (input, terminal) = (Stdio::null(), Terminal::None);
        if !self.listens_to_all {
            // What it says goes where we talk, and standard output stays for results.
            let own = || io::stderr().as_fd().try_clone_to_owned().map(Stdio::from);
            return Ok(Streams { input, output: own()?, errors: own()?, terminal });
        }
        let writer = self.listen(self.lines[program].0.clone())?;
        let errors = writer.as_fd().try_clone_to_owned()?;
        Ok(Streams { input, output: writer.into(), errors: errors.into(), terminal })
    }

    fn ended(&self, program: usize, status: ExitStatus, end: End) {
        // A shell comes after the programs that were asked for, and is none of them.
        if let Some(own) = self.ends.lock().unwrap_or_else(PoisonError::into_inner).get_mut(program)
        {
            *own = Some((status, end));
        }
        if status.success() || end == End::WithRehearsal {
            return;
        }
        let (host, line) = &self.lines[program];
        let how = match (status.code(), status.signal()) {
            (Some(127), _) => "exit code 127: command not found".to_owned(),
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        let first = line.trim_start().lines().next().unwrap_or_default();
        let rest = if line.trim().contains('\n') { " …" } else { "" };
        let message = format!("the program on {host} ended with {how}: {first}{rest}");
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

/// Shows lines as they arrive, until no writer is left.
fn show_lines(reader: PipeReader, host: &str, console: Console, screen: &Screen) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while let Ok(1..) = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
        screen.print(&console.line_of(host, shown(&line)));
        line.clear();
    }
}

/// What a terminal would show of a line in the end.
fn shown(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.rsplit(|byte| *byte == b'\r').next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line_that_was_written_over_the_last_is_shown() {
        assert_eq!(shown(b"10 %\r99 %\r100 %\n"), b"100 %");
        assert_eq!(shown(b"plain\r\n"), b"plain");
        assert_eq!(shown(b"no end"), b"no end");
    }
}
