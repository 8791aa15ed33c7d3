//! Invalid goals, limits and varied keys.

/// Why a goal, a limit or a varied key is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n{help}")]
pub struct OptionError {
    /// What was found.
    pub what: String,
    /// What is allowed.
    pub help: String,
}

impl OptionError {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> OptionError {
        OptionError { what: what.into(), help: help.into() }
    }
}
