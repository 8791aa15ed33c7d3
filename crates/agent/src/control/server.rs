//! The agent's end of the control socket.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Group;
use serde_json::{Value, json};

use super::request::Ask;
use super::{MOST_REQUEST, VERSION};
use crate::source::user;

/// How long somebody may take for a request or to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one waits for somebody at most; who wants to stop knocks.
const NOBODY: Duration = Duration::from_secs(5);
/// How often one looks whether to stop.
const LOOK: Duration = Duration::from_millis(200);
/// The most connections at once; for one more, the one that has been silent for longest is closed.
const MOST_CONNECTIONS: usize = 64;
/// The most events that may wait for somebody who watches; who is slower is left.
const MOST_WAITING: usize = 1000;

/// A request, who makes it, and where the answer goes.
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    pub(crate) who: String,
    pub(crate) answer: Sender<Result<Value, Refusal>>,
    /// Where events go, when one watches.
    pub(crate) events: Option<SyncSender<Value>>,
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// A sentence, and in the next line what to do, where that is known.
    pub(crate) why: String,
    /// Whether the machine lacks something, and nothing is wrong with what was asked for.
    pub(crate) is_of_machine: bool,
}

impl Refusal {
    /// What was asked for cannot be.
    pub(crate) fn new(why: String) -> Refusal {
        Refusal { why, is_of_machine: false }
    }

    fn json(&self) -> Value {
        match self.is_of_machine {
            true => json!({ "version": VERSION, "error": self.why, "of": "machine" }),
            false => refusal(&self.why),
        }
    }
}

/// A socket at which an agent may be asked. Its file goes with it.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Listens at `path`, for its owner, and for a group of this machine where one is named. A file that an agent has left
    /// which is no more is replaced.
    ///
    /// # Errors
    /// When another agent listens there, the group is not there, or the path cannot be used.
    pub fn listen(path: &Path, group: Option<&str>) -> io::Result<Control> {
        let gid = group.map(group_of).transpose()?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another agent listens there"));
        }
        let is_socket = |found: std::fs::Metadata| {
            std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
        };
        if std::fs::symlink_metadata(path).is_ok_and(is_socket) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let control = Control { listener, path: path.to_owned() };
        if gid.is_some() {
            chown(path, None, gid)?;
        }
        let mode = if gid.is_some() { 0o660 } else { 0o600 };
        std::fs::set_permissions(path, Permissions::from_mode(mode))?;
        control.listener.set_nonblocking(true)?;
        Ok(control)
    }

    /// Lets who serves it look whether to stop.
    pub(crate) fn knock(&self) {
        // Where nobody listens, nobody waits.
        let _ = UnixStream::connect(&self.path);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // If it is gone already, that is what was wanted.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn group_of(name: &str) -> io::Result<u32> {
    match Group::from_name(name)? {
        Some(group) => Ok(group.gid.as_raw()),
        None => Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no group `{name}`"))),
    }
}

/// The connections that are open, each with a number; and since when nothing was asked at it, where nothing is being answered.
#[derive(Default)]
struct Open(Mutex<BTreeMap<u64, (UnixStream, Option<Instant>)>>);

impl Open {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, (UnixStream, Option<Instant>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more, if need be at the cost of the one that has been silent for longest. Whether there is room.
    fn has_room(&self) -> bool {
        let mut all = self.all();
        if all.len() < MOST_CONNECTIONS {
            return true;
        }
        let silent = all.iter().filter_map(|(number, (_, since))| Some(((*since)?, *number)));
        let Some((_, number)) = silent.min() else { return false };
        let Some((stream, _)) = all.remove(&number) else { return false };
        // If it is gone already, that is what was wanted.
        let _ = stream.shutdown(Shutdown::Both);
        true
    }

    /// Notes that something is being answered, or that it no longer is.
    fn is_silent(&self, number: u64, since: Option<Instant>) {
        if let Some((_, known)) = self.all().get_mut(&number) {
            *known = since;
        }
    }
}

/// Takes connections until `stop`; each has a thread, which ends with it.
pub(crate) fn serve(control: &Control, requests: &Sender<Asked>, stop: &'static AtomicBool) {
    let open = Arc::new(Open::default());
    let mut numbers = 0..;
    while !stop.load(Ordering::Relaxed) {
        let timeout = PollTimeout::try_from(NOBODY).unwrap_or(PollTimeout::MAX);
        let _ = poll(&mut [PollFd::new(control.listener.as_fd(), PollFlags::POLLIN)], timeout);
        while let Ok((stream, _)) = control.listener.accept() {
            let (Ok(other), Some(number)) = (stream.try_clone(), numbers.next()) else { continue };
            if !open.has_room() {
                continue;
            }
            open.all().insert(number, (other, Some(Instant::now())));
            let (open, requests) = (open.clone(), requests.clone());
            std::thread::spawn(move || {
                let is_silent = |since| open.is_silent(number, since);
                // Who hangs up in the middle misses the answer, and nobody else is concerned.
                let _ = talk(&stream, &requests, stop, is_silent);
                open.all().remove(&number);
            });
        }
    }
}

/// One request after the other, until the other hangs up.
fn talk(
    stream: &UnixStream,
    requests: &Sender<Asked>,
    stop: &AtomicBool,
    is_silent: impl Fn(Option<Instant>),
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let who = getsockopt(&stream, PeerCredentials).map(|peer| user(peer.uid()))?;
    let mut reader = BufReader::new(stream);
    loop {
        is_silent(Some(Instant::now()));
        let mut line = Vec::new();
        let read = reader.by_ref().take(MOST_REQUEST).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        is_silent(None);
        if line.last() != Some(&b'\n') && read as u64 == MOST_REQUEST {
            return write(stream, &refusal(&format!("a request has at most {MOST_REQUEST} bytes")));
        }
        let text = String::from_utf8_lossy(&line);
        let ask = match Ask::parse(text.trim_end()) {
            Ok(ask) => ask,
            Err(why) => {
                write(stream, &refusal(&why))?;
                continue;
            }
        };
        let (answer, answered) = channel();
        let (events, happening) = sync_channel(MOST_WAITING);
        let events = (ask == Ask::Watch).then_some(events);
        let asked = Asked { ask, who: who.clone(), answer, events };
        if requests.send(asked).is_err() {
            return Ok(());
        }
        match answered.recv() {
            Ok(Ok(value)) => write(stream, &json!({ "version": VERSION, "answer": value }))?,
            Ok(Err(refusal)) => write(stream, &refusal.json())?,
            Err(_) => {
                return write(stream, &refusal("the agent is about to stop, and has not begun it"));
            }
        }
        if ask == Ask::Watch {
            return tell(stream, &happening, stop);
        }
    }
}

/// Writes events as they happen.
fn tell(stream: &UnixStream, happening: &Receiver<Value>, stop: &AtomicBool) -> io::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        match happening.recv_timeout(LOOK) {
            Ok(event) => write(stream, &json!({ "version": VERSION, "event": event }))?,
            Err(RecvTimeoutError::Timeout) if has_hung_up(stream) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    Ok(())
}

fn has_hung_up(stream: &UnixStream) -> bool {
    let mut look = [PollFd::new(stream.as_fd(), PollFlags::POLLHUP)];
    poll(&mut look, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

fn refusal(why: &str) -> Value {
    json!({ "version": VERSION, "error": why })
}

fn write(mut stream: &UnixStream, value: &Value) -> io::Result<()> {
    stream.write_all(format!("{value}\n").as_bytes())
}
