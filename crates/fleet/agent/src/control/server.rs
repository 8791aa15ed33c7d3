//! The server side of the control socket.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Group, geteuid};
use serde_json::{Value, json};
use shortflow_files::Dir;
use shortflow_http::{Activity, Bounded, Connections, LineTime, Place};

use super::request::Ask;
use super::{MAX_REQUEST, VERSION};
use crate::source::user;

/// The timeout for a request, and for a client to accept an answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const TIME: LineTime = LineTime { first: Some(REQUEST_TIMEOUT), rest: REQUEST_TIMEOUT };
/// What is read and dropped of a request that is too long, so that its sender gets the answer.
const MAX_DISCARDED: usize = 1 << 16;
const MAX_DISCARD_TIME: Duration = Duration::from_secs(1);
/// What a socket is called before it is in its place.
const SOCKET: &str = "s";
/// The longest wait for a client; a stop request wakes the server.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The maximum number of connections. For a new one, the server closes one that watches for another user than the
/// agent's, or that has been idle longest. At most three quarters may watch for the agent's user.
const MAX_CONNECTIONS: usize = 64;
/// The maximum number of queued events per subscriber; a slower subscriber is disconnected.
const MAX_WAITING: usize = 1000;

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
        let listener = bind(path, gid)?;
        let control = Control { listener, path: path.to_owned() };
        control.listener.set_nonblocking(true)?;
        Ok(control)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
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

/// Binds a socket to which no other user may connect before its mode is set: it is created in a private folder, and
/// then replaces the socket of an earlier agent.
fn bind(path: &Path, gid: Option<u32>) -> io::Result<UnixListener> {
    let (folder, name) = Dir::around(path)?;
    if std::fs::symlink_metadata(path).is_ok_and(|found| !found.file_type().is_socket()) {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the file exists and is not a socket",
        ));
    }
    let (private, temporary) = folder.make_temporary()?;
    // The path of a socket has at most 107 bytes.
    let made = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", private.as_fd().as_raw_fd()));
    let bound = UnixListener::bind(&made).and_then(|listener| {
        if gid.is_some() {
            chown(&made, None, gid)?;
        }
        let mode = if gid.is_some() { 0o660 } else { 0o600 };
        std::fs::set_permissions(&made, Permissions::from_mode(mode))?;
        private.rename(OsStr::new(SOCKET), &folder, &name)?;
        Ok(listener)
    });
    let removed = folder.remove_tree(&temporary);
    let listener = bound?;
    removed.map(|()| listener)
}

fn group_of(name: &str) -> io::Result<u32> {
    match Group::from_name(name)? {
        Some(group) => Ok(group.gid.as_raw()),
        None => Err(io::Error::new(io::ErrorKind::NotFound, format!("unknown group `{name}`"))),
    }
}

/// Takes connections until `stop`; each has a thread, which ends with it. One for which there is no thread is closed.
pub(crate) fn serve(control: &Control, requests: &Sender<Asked>, stop: &'static AtomicBool) {
    let connections = Connections::new(MAX_CONNECTIONS);
    while !stop.load(Ordering::Relaxed) {
        let timeout = PollTimeout::try_from(ACCEPT_TIMEOUT).unwrap_or(PollTimeout::MAX);
        let _ = poll(&mut [PollFd::new(control.listener.as_fd(), PollFlags::POLLIN)], timeout);
        loop {
            let stream = match control.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        // There is no descriptor left, which passes.
                        std::thread::sleep(POLL_INTERVAL);
                    }
                    break;
                }
            };
            let Some(place) = connections.admit(&stream) else { continue };
            let requests = requests.clone();
            // Who hangs up in the middle misses the answer, and nobody else is concerned; nor is anybody where no thread
            // can be made, which ends the connection.
            let talk = move || drop(talk(&stream, &place, &requests, stop));
            let _ = Builder::new().name("control".to_owned()).spawn(talk);
        }
    }
}

/// One request after the other, until the other hangs up.
fn talk(
    stream: &UnixStream,
    place: &Place<UnixStream>,
    requests: &Sender<Asked>,
    stop: &AtomicBool,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let peer = getsockopt(&stream, PeerCredentials)?.uid();
    let (who, is_operator) = (user(peer), peer == geteuid().as_raw());
    let mut bounded = Bounded::new(stream, stop);
    loop {
        place.is_at(Activity::Idle);
        let line = match bounded.line(MAX_REQUEST, TIME) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let what = format!(
                    "the request is too large: at most {MAX_REQUEST} bytes are \
                    allowed"
                );
                write(stream, &refusal(&what))?;
                stream.shutdown(std::net::Shutdown::Write)?;
                bounded.discard(MAX_DISCARDED, Instant::now() + MAX_DISCARD_TIME);
                return Ok(());
            }
            line => line?,
        };
        if line.is_empty() {
            return Ok(());
        }
        // Others, who may send requests and not read the answers, do not keep the agent's user out.
        place.is_at(if is_operator { Activity::Kept } else { Activity::Idle });
        let text = String::from_utf8_lossy(&line);
        let ask = match Ask::parse(text.trim_end()) {
            Ok(ask) => ask,
            Err(error) => {
                write(stream, &refusal(&error.to_string()))?;
                continue;
            }
        };
        let (answer, answered) = channel();
        let (events, happening) = sync_channel(MAX_WAITING);
        let events = (ask == Ask::Watch).then_some(events);
        let asked = Asked { ask, who: who.clone(), answer, events };
        if requests.send(asked).is_err() {
            return Ok(());
        }
        match answered.recv() {
            Ok(Ok(value)) => write(stream, &json!({ "version": VERSION, "answer": value }))?,
            Ok(Err(refusal)) => write(stream, &refusal.json())?,
            Err(_) => {
                return write(
                    stream,
                    &refusal("the agent is stopping and did not start this request"),
                );
            }
        }
        if ask == Ask::Watch {
            place.is_at(match is_operator {
                true => Activity::OperatorWatching,
                false => Activity::Watching,
            });
            return tell(stream, &happening, stop);
        }
    }
}

/// Writes events as they happen.
fn tell(stream: &UnixStream, happening: &Receiver<Value>, stop: &AtomicBool) -> io::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        match happening.recv_timeout(POLL_INTERVAL) {
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

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::super::ask;
    use super::*;

    /// What is answered to a request to watch, and the connection.
    fn watching(path: &Path) -> io::Result<BufReader<UnixStream>> {
        let mut stream = UnixStream::connect(path)?;
        stream.write_all(Ask::Watch.line().as_bytes())?;
        let mut reader = BufReader::new(stream);
        reader.read_line(&mut String::new())?;
        Ok(reader)
    }

    #[test]
    fn operators_who_watch_leave_places_for_requests() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.sock");
        let control = Control::listen(&path, None).unwrap();
        let (requests, asked) = channel::<Asked>();
        let (answers, newest_is_open) = std::thread::scope(|scope| {
            let control = &control;
            scope.spawn(move || serve(control, &requests, &STOP));
            scope.spawn(move || {
                let mut subscribers = Vec::new();
                for Asked { answer, events, .. } in asked {
                    let status =
                        json!({ "machine": "gw1", "source": { "name": "a test" }, "devices": [] });
                    let _ = answer.send(Ok(status));
                    subscribers.extend(events);
                }
            });
            let watchers: Vec<_> = (0..2 * MAX_CONNECTIONS).map(|_| watching(&path)).collect();
            let asks = [Ask::Status, Ask::RollBack(None), Ask::Resume];
            let answers = asks.map(|asked| ask(&path, asked).map(drop));
            let newest_is_open =
                watchers.last().unwrap().as_ref().is_ok_and(|last| !has_hung_up(last.get_ref()));
            STOP.store(true, Ordering::Relaxed);
            control.knock();
            (answers, newest_is_open)
        });
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert!(newest_is_open, "one more watcher replaces another one");
    }
}
