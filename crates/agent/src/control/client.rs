//! The end of the control socket at which one asks.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::VERSION;
use super::request::Ask;

/// How long an agent may take: it may be at work on a device whose packets must leave first.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often one looks whether to stop.
const LOOK: Duration = Duration::from_millis(200);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody can be asked there.
    #[error("no agent can be asked at {path}: {source}")]
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
    #[error("the agent cannot: {0}")]
    Unable(String),
    /// It has ended before it answered.
    #[error(
        "the agent at {path} has ended before it answered, and it is not known whether it was done: ask it when it is there again"
    )]
    Ended {
        /// The path.
        path: String,
    },
    /// What comes is no answer of this protocol.
    #[error("what answers at {path} is no agent of this version")]
    Foreign {
        /// The path.
        path: String,
    },
}

/// Asks the agent at `path`.
///
/// # Errors
/// When there is none, or it refuses.
pub fn ask(path: &Path, ask: Ask) -> Result<Value, AskError> {
    let mut reader = connect(path, ask)?;
    let mut line = String::new();
    reader.read_line(&mut line).map_err(|error| nobody(path, error))?;
    answer(path, &line)
}

/// Hands over what happens at the agent at `path`, until `stop`, or until it or `each` ends that.
///
/// # Errors
/// When there is no agent, or it refuses.
pub fn watch(
    path: &Path,
    stop: &AtomicBool,
    mut each: impl FnMut(&Value) -> bool,
) -> Result<(), AskError> {
    let mut reader = connect(path, Ask::Watch)?;
    reader.get_ref().set_read_timeout(Some(LOOK)).map_err(|error| nobody(path, error))?;
    let mut line = String::new();
    let mut is_first = true;
    while !stop.load(Ordering::Relaxed) {
        match reader.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                if is_first {
                    answer(path, &line)?;
                    is_first = false;
                } else {
                    let value: Option<Value> = serde_json::from_str(&line).ok();
                    let event = value
                        .ok_or_else(|| AskError::Foreign { path: path.display().to_string() })?;
                    if !each(&event["event"]) {
                        return Ok(());
                    }
                }
                line.clear();
            }
            // What has come of a line stays in it.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(nobody(path, error)),
        }
    }
    Ok(())
}

fn connect(path: &Path, ask: Ask) -> Result<BufReader<UnixStream>, AskError> {
    let connected = UnixStream::connect(path).and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(ask.line().as_bytes())?;
        Ok(BufReader::new(stream))
    });
    connected.map_err(|error| nobody(path, error))
}

fn nobody(path: &Path, source: io::Error) -> AskError {
    AskError::Nobody { path: path.display().to_string(), source }
}

fn answer(path: &Path, line: &str) -> Result<Value, AskError> {
    let foreign = || AskError::Foreign { path: path.display().to_string() };
    if line.is_empty() {
        return Err(AskError::Ended { path: path.display().to_string() });
    }
    let mut value: Value = serde_json::from_str(line).map_err(|_| foreign())?;
    if value["version"] != VERSION {
        return Err(foreign());
    }
    match value["error"].as_str() {
        Some(why) if value["of"] == "machine" => Err(AskError::Unable(why.to_owned())),
        Some(why) => Err(AskError::Refused(why.to_owned())),
        None => Ok(value["answer"].take()),
    }
}
