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
    /// What is wrong with it, and what is allowed.
    pub fn parse(line: &str) -> Result<Ask, String> {
        let found = object(line.as_bytes()).map_err(|error| match error.classify() {
            Category::Data => error.to_string(),
            _ => format!("invalid JSON: {error}; write {{\"version\":1,\"do\":\"status\"}}"),
        })?;
        let Some(map) = found else {
            return Err(
                "a request must be an object such as {\"version\":1,\"do\":\"status\"}".to_owned()
            );
        };
        match map.get("version") {
            Some(version) if *version == VERSION => {}
            Some(other) => {
                return Err(format!(
                    "unsupported protocol version {other}: this agent supports version {VERSION}"
                ));
            }
            None => return Err(format!("`version` is missing: write \"version\":{VERSION}")),
        }
        let (ask, allowed) = match map.get("do").and_then(Value::as_str) {
            Some("status") => (Ask::Status, &["version", "do"][..]),
            Some("reload") => (Ask::Reload, &["version", "do"][..]),
            Some("resume") => (Ask::Resume, &["version", "do"][..]),
            Some("versions") => (Ask::Versions, &["version", "do"][..]),
            Some("preview") => {
                let to = number(&map)?.ok_or("`to` is missing: give the number of a version")?;
                (Ask::Preview(to), &["version", "do", "to"][..])
            }
            Some("watch") => (Ask::Watch, &["version", "do"][..]),
            Some("rollback") => (Ask::RollBack(number(&map)?), &["version", "do", "to"][..]),
            Some(other) => {
                return Err(format!(
                    "unknown value `{other}` of `do`: use status, reload, rollback, resume, \
                        versions, preview or watch"
                ));
            }
            None => {
                return Err(
                    "`do` is missing: use status, reload, rollback, resume, versions, preview or \
                        watch"
                        .to_owned(),
                );
            }
        };
        match map.keys().find(|key| !allowed.contains(&key.as_str())) {
            Some(key) => {
                Err(format!("unknown key `{key}`; allowed keys are {}", allowed.join(", ")))
            }
            None => Ok(ask),
        }
    }
}

fn number(map: &Map<String, Value>) -> Result<Option<u64>, String> {
    match map.get("to") {
        None => Ok(None),
        Some(to) => match to.as_u64() {
            Some(number) if number > 0 => Ok(Some(number)),
            _ => Err(format!("`to` must be the number of a version, 1 or more; found {to}")),
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
            assert_eq!(Ask::parse(ask.line().trim_end()), Ok(ask));
        }
    }

    #[test]
    fn a_request_that_is_none_is_refused_with_what_is_allowed() {
        let refused = |line: &str| Ask::parse(line).unwrap_err();
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
