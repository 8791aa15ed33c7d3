//! The client side of the control socket.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use shortflow_files::reason;
use shortflow_http::{Bounded, LineTime};

use super::VERSION;
use super::request::Ask;
use crate::sanitize::sanitize_lines;

/// The timeout of a complete answer: an agent may be busy with a device whose packets must leave first.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The most bytes of an answer, and of an event.
const MAX_ANSWER: usize = 64 << 20;

/// Never stops.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No agent answers there.
    #[error("no agent answers at {path}: {}", no_answer(.source))]
    Nobody {
        /// The path.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The agent says no.
    #[error("the agent refuses: {0}")]
    Refused(String),
    /// It cannot do it: the machine lacks something.
    #[error("the agent failed: {0}")]
    Unable(String),
    /// It has ended before it answered.
    #[error(
        "the agent at {path} ended before it answered, so the result is unknown: run the command \
            again when the agent is back"
    )]
    Ended {
        /// The path.
        path: String,
    },
    /// What comes is no answer of this protocol.
    #[error("incompatible agent at {path}")]
    Foreign {
        /// The path.
        path: String,
    },
    /// It takes too long, or says too much.
    #[error("the agent at {path} {}", match .is_late {
        true => format!("did not answer within {} s", ANSWER_TIMEOUT.as_secs()),
        false => format!("sent an answer larger than {} MB", MAX_ANSWER >> 20),
    })]
    Endless {
        /// The path.
        path: String,
        /// Whether it takes too long.
        is_late: bool,
    },
}

/// Why nothing answers at a socket.
fn no_answer(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "the socket does not exist".to_owned(),
        io::ErrorKind::ConnectionRefused => "no process listens there".to_owned(),
        _ => reason(error),
    }
}

/// Asks the agent at `path`.
///
/// # Errors
/// When no agent answers, or it refuses.
pub fn ask(path: &Path, ask: Ask) -> Result<Value, AskError> {
    let stream = connect(path, ask)?;
    let time = LineTime { first: Some(ANSWER_TIMEOUT), rest: ANSWER_TIMEOUT };
    let line = Bounded::new(&stream, &NEVER).line(MAX_ANSWER, time);
    let value = answer(path, &line.map_err(|error| unread(path, error))?)?;
    match ask == Ask::Status && !is_status(&value) {
        true => Err(foreign(path)),
        false => Ok(value),
    }
}

/// Whether this is how an agent stands: what every agent states is there.
fn is_status(value: &Value) -> bool {
    let is_of_device = |device: &Value| device["device"].is_string();
    let devices = value["devices"].as_array();
    let has_devices = devices.is_some_and(|devices| devices.iter().all(is_of_device));
    value["machine"].is_string() && value["source"]["name"].is_string() && has_devices
}

/// Hands over what happens at the agent at `path`, until `stop`, or until it or `each` ends that.
///
/// # Errors
/// When no agent answers, or it refuses.
pub fn watch(
    path: &Path,
    stop: &AtomicBool,
    mut each: impl FnMut(&Value) -> bool,
) -> Result<(), AskError> {
    let stream = connect(path, Ask::Watch)?;
    let mut bounded = Bounded::new(&stream, stop);
    // Between events there may be days.
    let time = LineTime { first: None, rest: ANSWER_TIMEOUT };
    let mut is_first = true;
    while !stop.load(Ordering::Relaxed) {
        let line = match bounded.line(MAX_ANSWER, time) {
            Err(_) if stop.load(Ordering::Relaxed) => return Ok(()),
            line => line.map_err(|error| unread(path, error))?,
        };
        if line.is_empty() {
            return Ok(());
        }
        if is_first {
            answer(path, &line)?;
            is_first = false;
            continue;
        }
        let mut event = parsed(&line).ok_or_else(|| foreign(path))?;
        if !each(&event["event"].take()) {
            return Ok(());
        }
    }
    Ok(())
}

fn connect(path: &Path, ask: Ask) -> Result<UnixStream, AskError> {
    let connected = UnixStream::connect(path).and_then(|mut stream| {
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        stream.write_all(ask.line().as_bytes())?;
        Ok(stream)
    });
    connected.map_err(|error| nobody(path, error))
}

fn nobody(path: &Path, source: io::Error) -> AskError {
    AskError::Nobody { path: path.display().to_string(), source }
}

fn foreign(path: &Path) -> AskError {
    AskError::Foreign { path: path.display().to_string() }
}

/// Why an answer could not be read.
fn unread(path: &Path, error: io::Error) -> AskError {
    let name = || path.display().to_string();
    match error.kind() {
        io::ErrorKind::TimedOut => AskError::Endless { path: name(), is_late: true },
        io::ErrorKind::InvalidData => AskError::Endless { path: name(), is_late: false },
        _ => nobody(path, error),
    }
}

/// A line of JSON without control characters: another program than an agent may answer at a socket.
fn parsed(line: &[u8]) -> Option<Value> {
    let mut value = serde_json::from_slice(line).ok()?;
    show_plainly(&mut value);
    Some(value)
}

fn show_plainly(value: &mut Value) {
    match value {
        Value::String(text) => *text = sanitize_lines(text),
        Value::Array(items) => items.iter_mut().for_each(show_plainly),
        Value::Object(entries) => {
            let all = std::mem::take(entries).into_iter().map(|(key, mut value)| {
                show_plainly(&mut value);
                (sanitize_lines(&key), value)
            });
            *entries = all.collect();
        }
        _ => {}
    }
}

fn answer(path: &Path, line: &[u8]) -> Result<Value, AskError> {
    if line.is_empty() {
        return Err(AskError::Ended { path: path.display().to_string() });
    }
    let mut value = parsed(line).ok_or_else(|| foreign(path))?;
    if value["version"] != VERSION {
        return Err(foreign(path));
    }
    match value["error"].as_str() {
        Some(why) if value["of"] == "machine" => Err(AskError::Unable(why.to_owned())),
        Some(why) => Err(AskError::Refused(why.to_owned())),
        None => Ok(value["answer"].take()),
    }
}
