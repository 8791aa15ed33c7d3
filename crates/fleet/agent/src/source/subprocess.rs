//! A source that a separate process reads.
//!
//! Reading bytes of a server can fail badly: by a bug in a library, by texts nested without end, or by texts larger
//! than the memory. Then the reader process ends, the agent reports it as any failed read, and continues. A read of a
//! folder on another machine can hang in the kernel. Then the agent abandons the reader process.

use std::io::{BufRead, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::libc::SIGABRT;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, setrlimit};
use serde::{Deserialize, Serialize};

use super::backoff::Backoff;
use super::{Fetched, NotFetched, PublishError, Source};
use crate::privileges::give_up_all_privileges;
use crate::verdict::Verdict;

/// How long the process may take longer than it was given patience for; a reading has that patience itself.
const GRACE_PERIOD: Duration = Duration::from_secs(30);
/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The most bytes of an answer.
const MAX_ANSWER: usize = 64 << 20;
/// The most bytes of memory that the process may have.
const MAX_MEMORY: u64 = 512 << 20;

/// What the process is asked, a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
enum Question {
    Fetch,
    /// And do not wait for one that could not be reached lately.
    FetchAtOnce,
    Wait(Duration),
    Tell(Verdict),
}

/// What it answers, a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Fetched(Fetched),
    Failed(String),
    Mistakes(String),
    Rings(bool),
    Sent,
}

/// A source that is read by a process of its own.
pub struct Subprocess {
    name: String,
    command: Command,
    stop: &'static AtomicBool,
    reader: Option<Reader>,
    /// One that is to end, and that the kernel does not let go.
    kept: Option<Child>,
    backoff: Backoff,
    is_hurried: bool,
}

impl Subprocess {
    /// The source `name`, read by what `command` starts: a process that calls [`serve`]. From `stop` on nothing is waited
    /// for any more.
    pub fn new(name: String, mut command: Command, stop: &'static AtomicBool) -> Subprocess {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Subprocess {
            name,
            command,
            stop,
            reader: None,
            kept: None,
            backoff: Backoff::default(),
            is_hurried: false,
        }
    }

    fn ask(&mut self, question: &Question, patience: Duration) -> Result<Answer, String> {
        if let Some(kept) = &mut self.kept {
            if matches!(kept.try_wait(), Ok(None)) {
                let why = "the reader process hangs in the kernel; the agent starts another one when it \
                        ends";
                return Err(why.to_owned());
            }
            self.kept = None;
        }
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => Reader::start(&mut self.command)
                .map_err(|error| format!("cannot start the reader process: {error}"))?,
        };
        match reader.ask(question, patience, self.stop) {
            Ok(answer) => {
                self.reader = Some(reader);
                Ok(answer)
            }
            Err(why) => {
                let (why, kept) = reader.end(&why);
                self.kept = kept;
                Err(format!("the reader process {why}"))
            }
        }
    }

    fn failed(&mut self, why: String) -> String {
        self.backoff.failed(Instant::now(), &why);
        why
    }
}

impl Source for Subprocess {
    fn tell(&mut self, verdict: &Verdict) -> Result<(), PublishError> {
        if let Some(why) = self.backoff.holds(Instant::now()) {
            return Err(PublishError::Refused(why.to_owned()));
        }
        let why = match self.ask(&Question::Tell(verdict.clone()), GRACE_PERIOD) {
            Ok(Answer::Sent) => return Ok(()),
            Ok(Answer::Failed(why)) => why,
            Ok(_) => self.failed("unexpected answer of the reader process".into()),
            Err(why) => self.failed(why),
        };
        Err(PublishError::Refused(why))
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn hurry(&mut self) {
        self.backoff.hurry();
        self.is_hurried = true;
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        if let Some(why) = self.backoff.holds(Instant::now()) {
            return Err(why.to_owned().into());
        }
        let is_hurried = std::mem::take(&mut self.is_hurried);
        let question = if is_hurried { Question::FetchAtOnce } else { Question::Fetch };
        match self.ask(&question, GRACE_PERIOD) {
            Ok(Answer::Fetched(fetched)) => {
                self.backoff.done();
                Ok(fetched)
            }
            // It knows itself when to try again.
            Ok(Answer::Failed(why)) => {
                self.backoff.done();
                Err(NotFetched::Unreadable(why))
            }
            Ok(Answer::Mistakes(mistakes)) => {
                self.backoff.done();
                Err(NotFetched::Mistakes(mistakes))
            }
            Ok(_) => Err(self.failed("unexpected answer of the reader process".into()).into()),
            Err(why) => Err(self.failed(why).into()),
        }
    }

    fn wait(&mut self, patience: Duration) -> bool {
        if let Some(rings) = self.backoff.wait(patience) {
            return rings;
        }
        match self.ask(&Question::Wait(patience), patience + GRACE_PERIOD) {
            Ok(Answer::Rings(rings)) => rings,
            // Where it has come to harm a reading says so, and later starts another.
            Ok(_) => {
                self.failed("unexpected answer of the reader process".to_owned());
                true
            }
            Err(why) => {
                self.failed(why);
                true
            }
        }
    }
}

/// The process.
struct Reader {
    child: Child,
    questions: ChildStdin,
    answers: ChildStdout,
}

impl Reader {
    fn start(command: &mut Command) -> std::io::Result<Reader> {
        let mut child = command.spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(questions), Some(answers)) => Ok(Reader { child, questions, answers }),
            _ => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn ask(
        &mut self,
        question: &Question,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Answer, String> {
        let gone = |_| "has ended".to_owned();
        let line = serde_json::to_string(question).map_err(|error| error.to_string())?;
        writeln!(self.questions, "{line}").map_err(gone)?;
        let until = Instant::now() + patience;
        let (mut line, mut chunk) = (Vec::new(), [0; 65536]);
        while line.last() != Some(&b'\n') {
            if stop.load(Ordering::Relaxed) {
                return Err("is no longer needed".to_owned());
            }
            if until < Instant::now() {
                return Err(format!("did not answer within {} s", patience.as_secs()));
            }
            let timeout = PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::MAX);
            let ready = poll(&mut [PollFd::new(self.answers.as_fd(), PollFlags::POLLIN)], timeout);
            if !ready.is_ok_and(|ready| ready > 0) {
                continue;
            }
            match self.answers.read(&mut chunk).map_err(gone)? {
                0 => return Err("has ended".to_owned()),
                read => line.extend_from_slice(&chunk[..read]),
            }
            if line.len() > MAX_ANSWER {
                return Err(format!("sent an answer larger than {MAX_ANSWER} bytes"));
            }
        }
        serde_json::from_slice(&line).map_err(|error| format!("sent an invalid answer: {error}"))
    }

    /// Ends the process if it still runs, and returns the cause. A process that the kernel does not release is
    /// returned.
    fn end(mut self, why: &str) -> (String, Option<Child>) {
        drop(self.questions);
        // Who has closed its end is about to end.
        if why == "has ended"
            && let Some(status) = ended(&mut self.child)
        {
            return (format!("{why} ({})", cause(status)), None);
        }
        let _ = self.child.kill();
        let kept = ended(&mut self.child).is_none().then_some(self.child);
        (why.to_owned(), kept)
    }
}

/// Why a process has ended, as far as its status says so.
fn cause(status: ExitStatus) -> String {
    match status.signal() {
        // What Rust does when an allocation fails.
        Some(SIGABRT) => format!("{status}; its memory limit is {} MB", MAX_MEMORY >> 20),
        _ => status.to_string(),
    }
}

/// How a process has ended; `None` if it does not end within a second.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    let until = Instant::now() + Duration::from_secs(1);
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            ended => return ended.ok().flatten(),
        }
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.end("is no longer needed");
        }
    }
}

/// Bounds what a process may do that reads what others send: it has no capabilities, and so much memory; and no image of it is
/// left behind.
///
/// # Errors
/// When the kernel does not let it.
pub fn confine() -> std::io::Result<()> {
    give_up_all_privileges()?;
    setrlimit(Resource::RLIMIT_AS, MAX_MEMORY, MAX_MEMORY)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, 0)?)
}

fn fetched(source: &mut dyn Source) -> Answer {
    match source.fetch() {
        Ok(fetched) => Answer::Fetched(fetched),
        Err(NotFetched::Unreadable(why)) => Answer::Failed(why),
        Err(NotFetched::Mistakes(mistakes)) => Answer::Mistakes(mistakes),
    }
}

/// Reads a source for an [`Subprocess`] of another process, until that asks no more.
///
/// # Errors
/// When what it asks cannot be read or answered.
pub fn serve(
    source: &mut dyn Source,
    questions: impl BufRead,
    mut answers: impl Write,
) -> std::io::Result<()> {
    for line in questions.lines() {
        let answer = match serde_json::from_str(&line?)? {
            Question::Fetch => fetched(source),
            Question::FetchAtOnce => {
                source.hurry();
                fetched(source)
            }
            Question::Wait(patience) => Answer::Rings(source.wait(patience)),
            Question::Tell(verdict) => {
                let failed = |error: PublishError| Answer::Failed(error.to_string());
                source.tell(&verdict).map_or_else(failed, |()| Answer::Sent)
            }
        };
        writeln!(answers, "{}", serde_json::to_string(&answer)?)?;
        answers.flush()?;
    }
    Ok(())
}
