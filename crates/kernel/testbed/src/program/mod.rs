//! A program inside a host: any program of the machine, with the network of the host.
//!
//! ```text
//! thread ── enters ──▶ network of the host, mounts and name of its own
//!    ├── fork ──▶ init: process 1 of a PID namespace, which holds the other end of a pipe
//!    └── spawn ─▶ the program, in the same PID namespace
//! ```
//!
//! When the pipe closes, which always happens when this process ends, the init ends. When the first process of a PID
//! namespace ends, the kernel ends all others in it: everything that a program has started, daemons too.

mod environment;
mod init;
mod user;

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::{fs::File, io};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, setsid};

use crate::{Error, Host};
use init::Init;
pub use user::User;

/// What is run inside a host.
#[derive(Debug, Clone)]
pub struct ProgramSpec {
    /// The program, and its arguments.
    pub command: Vec<OsString>,
    /// What the host is called: programs see it as the name of the machine.
    pub host: String,
    /// The hosts' addresses and names, which programs can look up.
    pub names: Arc<[(IpAddr, String)]>,
    /// Its user; by default that of this process.
    pub user: Option<User>,
}

/// What a program reads and writes.
#[derive(Debug)]
pub struct Streams {
    /// What it reads.
    pub input: Stdio,
    /// What it writes.
    pub output: Stdio,
    /// Where it complains.
    pub errors: Stdio,
    /// Whether its input is a terminal, which is to be its own.
    pub terminal: Terminal,
}

/// Whether a program has a terminal of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// It has none.
    None,
    /// Its input is its controlling terminal.
    Input,
}

/// A program that was started inside a host. When this is dropped, it and all that it has started is gone.
#[derive(Debug)]
pub struct Program {
    pid: Pid,
    /// The first process of its PID namespace, which is waited for only at the end.
    init: Pid,
    ended: Arc<OnceLock<ExitStatus>>,
    /// Closed when all is to end.
    life: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Program {
    /// Starts a program.
    ///
    /// # Errors
    /// When the kernel does not make its surroundings, or the program is not there.
    pub fn start(host: &Host, spec: ProgramSpec, streams: Streams) -> Result<Program, Error> {
        let failed = |source| Error::Kernel { what: "cannot start a program", source };
        let network = host.namespace().map_err(failed)?;
        let (started, outcome) = channel();
        let (life, over) = channel();
        let ended = Arc::new(OnceLock::new());
        let found = Arc::clone(&ended);
        // The thread stays in the host, and is used for nothing else: it can make no threads, since its children
        // have a PID namespace of their own.
        let thread = std::thread::Builder::new().name("program".to_owned());
        let thread = thread
            .spawn(move || live(&network, &spec, streams, &started, &found, over))
            .map_err(failed)?;
        match outcome.recv().expect("the thread tells how it began") {
            Ok((pid, init)) => {
                Ok(Program { pid, init, ended, life: Some(life), thread: Some(thread) })
            }
            Err(error) => {
                // It has nothing left to do.
                let _ = thread.join();
                Err(error)
            }
        }
    }

    /// How the program has ended, if it has. What it has left behind may go on.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.ended.get().copied()
    }

    /// Interrupts the program, as Ctrl-C would.
    pub fn interrupt(&self) {
        if self.ended().is_none() {
            // Nobody else has its number while it is not waited for; and one that has just ended needs none.
            let _ = killpg(self.pid, Signal::SIGINT);
        }
    }

    /// Ends the program, and all that it has started, at once.
    pub fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It is there as long as the thread is.
            let _ = kill(self.init, Signal::SIGKILL);
            self.life = None;
            thread.join().expect("whoever waits for a program believes nothing of it");
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

/// The life of a program, from the creation of its environment to its end.
fn live(
    network: &File,
    spec: &ProgramSpec,
    streams: Streams,
    started: &Sender<Result<(Pid, Pid), Error>>,
    ended: &OnceLock<ExitStatus>,
    over: Receiver<()>,
) {
    let begun = environment::enter(network, spec).and_then(|()| Init::start()).and_then(|init| {
        let child = command(spec, streams).spawn();
        let what = "cannot start a program";
        child.map(|child| (init, child)).map_err(|source| Error::Kernel { what, source })
    });
    let (init, mut child) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    let pid = Pid::from_raw(child.id().cast_signed());
    let _ = started.send(Ok((pid, init.pid)));
    // Our own child can be waited for; were it not so, it would be gone as if killed.
    let status = child.wait().unwrap_or(ExitStatus::from_raw(libc::SIGKILL));
    let _ = ended.set(status);
    // Nothing is ever sent: it is over when the other end is gone. Only now, when the program is waited for,
    // can the init end, which waits for all others.
    let _ = over.recv();
    drop(init);
}

/// The command, in a session of its own.
#[allow(unsafe_code)]
fn command(spec: &ProgramSpec, streams: Streams) -> Command {
    let (program, arguments) = spec.command.split_first().expect("a program has a name");
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(streams.input).stdout(streams.output).stderr(streams.errors);
    if let Some(user) = &spec.user {
        user.describe_to(&mut command);
    }
    let (user, terminal) = (spec.user.clone(), streams.terminal);
    let before = move || -> io::Result<()> {
        setsid()?;
        if terminal == Terminal::Input {
            take_terminal()?;
        }
        user.as_ref().map_or(Ok(()), User::become_it)
    };
    // SAFETY: only system calls are made, and nothing is allocated: what they read is there already.
    unsafe { command.pre_exec(before) };
    command
}

/// Makes the input the controlling terminal of the session.
#[allow(unsafe_code)]
fn take_terminal() -> Result<(), Errno> {
    // SAFETY: the argument is a number.
    Errno::result(unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) }).map(|_| ())
}
