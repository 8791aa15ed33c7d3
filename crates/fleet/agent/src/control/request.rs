//! Parses requests.

use serde_json::error::Category;
use serde_json::{Map, Value, json};
use shortflow_console::object;

use super::VERSION;

/// What one asks an agent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// How it and its devices stand.
    Status,
    /// To read its source now.
    Reload,
    /// To go back to a version, the one before where none is named.
    RollBack(Option<u64>),
    /// Release the source's version although it is held back.
    Resume,
    /// Which versions it keeps.
    Versions,
    /// What going to a version would change.
    Preview(u64),
    /// Subscribe to events.
    Watch,
}

/// Why a line is no request of this protocol.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Not JSON.
    #[error("invalid JSON: {0}; write {{\"version\":1,\"do\":\"status\"}}")]
    NotJson(serde_json::Error),
    /// JSON with a duplicate key.
    #[error(transparent)]
    DuplicateKey(serde_json::Error),
    /// JSON, but no object.
    #[error("a request must be an object such as {{\"version\":1,\"do\":\"status\"}}")]
    NotObject,
    /// The version of another protocol.
    #[error("unsupported protocol version {0}: this agent supports version {VERSION}")]
    UnsupportedVersion(Value),
    /// No version.
    #[error("`version` is missing: write \"version\":{VERSION}")]
    NoVersion,
    /// An unknown request.
    #[error(
        "unknown value `{0}` of `do`: use status, reload, rollback, resume, versions, preview or \
            watch"
    )]
    Unknown(String),
    /// No request.
    #[error("`do` is missing: use status, reload, rollback, resume, versions, preview or watch")]
    NoRequest,
    /// A preview without a version.
    #[error("`to` is missing: give the number of a version")]
    NoNumber,
    /// Not the number of a version.
    #[error("`to` must be the number of a version, 1 or more; found {0}")]
    InvalidNumber(Value),
    /// A key that the request does not have.
    #[error("unknown key `{key}`; allowed keys are {}", .allowed.join(", "))]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys of the request.
        allowed: &'static [&'static str],
    },
}

impl Ask {
    /// As it is written, with the end of the line.
    pub fn line(self) -> String {
        let value = match self {
            Ask::Status => json!({ "version": VERSION, "do": "status" }),
            Ask::Reload => json!({ "version": VERSION, "do": "reload" }),
            Ask::RollBack(None) => json!({ "version": VERSION, "do": "rollback" }),
            Ask::RollBack(Some(to)) => json!({ "version": VERSION, "do": "rollback", "to": to }),
            Ask::Resume => json!({ "version": VERSION, "do": "resume" }),
            Ask::Versions => json!({ "version": VERSION, "do": "versions" }),
            Ask::Preview(to) => json!({ "version": VERSION, "do": "preview", "to": to }),
            Ask::Watch => json!({ "version": VERSION, "do": "watch" }),
        };
        format!("{value}\n")
    }

    /// Reads a request, as it is written but for the end of the line.
    ///
    /// # Errors
    /// When it is no request of this version of the protocol.
    pub fn parse(line: &str) -> Result<Ask, RequestError> {
        let found = object(line.as_bytes()).map_err(|error| match error.classify() {
            Category::Data => RequestError::DuplicateKey(error),
            _ => RequestError::NotJson(error),
        })?;
        let map = found.ok_or(RequestError::NotObject)?;
        match map.get("version") {
            Some(version) if *version == VERSION => {}
            Some(other) => return Err(RequestError::UnsupportedVersion(other.clone())),
            None => return Err(RequestError::NoVersion),
        }
        let (ask, allowed) = match map.get("do").and_then(Value::as_str) {
            Some("status") => (Ask::Status, &["version", "do"][..]),
            Some("reload") => (Ask::Reload, &["version", "do"][..]),
            Some("resume") => (Ask::Resume, &["version", "do"][..]),
            Some("versions") => (Ask::Versions, &["version", "do"][..]),
            Some("preview") => {
                let to = number(&map)?.ok_or(RequestError::NoNumber)?;
                (Ask::Preview(to), &["version", "do", "to"][..])
            }
            Some("watch") => (Ask::Watch, &["version", "do"][..]),
            Some("rollback") => (Ask::RollBack(number(&map)?), &["version", "do", "to"][..]),
            Some(other) => return Err(RequestError::Unknown(other.to_owned())),
            None => return Err(RequestError::NoRequest),
        };
        match map.keys().find(|key| !allowed.contains(&key.as_str())) {
            Some(key) => Err(RequestError::UnknownKey { key: key.clone(), allowed }),
            None => Ok(ask),
        }
    }
}

fn number(map: &Map<String, Value>) -> Result<Option<u64>, RequestError> {
    match map.get("to") {
        None => Ok(None),
        Some(to) => match to.as_u64() {
            Some(number) if number > 0 => Ok(Some(number)),
            _ => Err(RequestError::InvalidNumber(to.clone())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        for ask in [
            Ask::Status,
            Ask::Reload,
            Ask::RollBack(None),
            Ask::RollBack(Some(7)),
            Ask::Resume,
            Ask::Versions,
            Ask::Preview(3),
            Ask::Watch,
        ] {
            assert_eq!(Ask::parse(ask.line().trim_end()).unwrap(), ask);
        }
    }

    #[test]
    fn a_request_that_is_none_is_refused_with_what_is_allowed() {
        let refused = |line: &str| Ask::parse(line).unwrap_err().to_string();
        let golden = [
            (
                "",
                "invalid JSON: EOF while parsing a value at line 1 column 0; write \
                    {\"version\":1,\"do\":\"status\"}",
            ),
            (
                "{\"version\":1,\"do\":\"rollback\",\"to\":1,\"to\":2}",
                "duplicate key `to` at line 1 column 43",
            ),
            ("[]", "a request must be an object such as {\"version\":1,\"do\":\"status\"}"),
            ("{}", "`version` is missing: write \"version\":1"),
            ("{\"version\":2}", "unsupported protocol version 2: this agent supports version 1"),
            (
                "{\"version\":1}",
                "`do` is missing: use status, reload, rollback, resume, versions, preview or watch",
            ),
            (
                "{\"version\":1,\"do\":5}",
                "`do` is missing: use status, reload, rollback, resume, versions, preview or watch",
            ),
            (
                "{\"version\":1,\"do\":\"stop\"}",
                "unknown value `stop` of `do`: use status, reload, rollback, resume, versions, \
                    preview or watch",
            ),
            (
                "{\"version\":1,\"do\":\"status\",\"to\":1}",
                "unknown key `to`; allowed keys are version, do",
            ),
            ("{\"version\":1,\"do\":\"preview\"}", "`to` is missing: give the number of a version"),
            (
                "{\"version\":1,\"do\":\"rollback\",\"to\":0}",
                "`to` must be the number of a version, 1 or more; found 0",
            ),
            (
                "{\"version\":1,\"do\":\"rollback\",\"to\":\"x\"}",
                "`to` must be the number of a version, 1 or more; found \"x\"",
            ),
        ];
        for (line, message) in golden {
            assert_eq!(refused(line), message);
        }
    }
}
