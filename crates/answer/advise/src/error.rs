//! Invalid names and flows.

use shortflow_text::suggestion;

/// No use of a network, or no kind of line, has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} `{name}`\n{help}")]
pub struct UnknownName {
    /// What it should name.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// A similar name, or all names.
    pub help: String,
}

impl UnknownName {
    /// `all` is what several of the kind are called.
    pub(crate) fn new(kind: &'static str, name: &str, all: &str, known: &[&str]) -> UnknownName {
        UnknownName { kind, name: name.to_owned(), help: suggestion(name, all, known) }
    }
}

/// Why flows cannot be read from a list or a capture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}\n{help}")]
pub struct FlowsError {
    /// The file, with the line and the column where they are known.
    pub place: String,
    /// What was found.
    pub what: String,
    /// What is allowed.
    pub help: String,
}
