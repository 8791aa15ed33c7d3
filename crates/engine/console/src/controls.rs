//! The actions that the page offers.

use serde::{Deserialize, Serialize};

use crate::diff::DiffLine;

/// What can be done about what is looked at. Each refusal is a sentence for the person at the page.
pub trait Controls: Sync {
    /// What would change if one went to a choice, by its id; nothing is changed.
    ///
    /// # Errors
    /// When there is no such choice, or it cannot be looked at.
    fn preview(&self, to: &str) -> Result<Preview, ControlError>;

    /// Does it.
    ///
    /// # Errors
    /// When it cannot be done; then all is as before.
    fn act(&self, change: Change) -> Result<(), ControlError>;
}

/// Why an action of the page is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// No choice has this id.
    #[error("unknown {what} `{id}`: {allowed}")]
    Unknown {
        /// What a choice is here.
        what: &'static str,
        /// The id.
        id: String,
        /// What to use instead.
        allowed: String,
    },
    /// This console does not have the action.
    #[error("{0}")]
    Unsupported(&'static str),
    /// An agent refuses it, or does not answer.
    #[error("{0}")]
    Refused(String),
}

/// A request from the page.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// To go to a choice, by its id.
    Switch(String),
    /// The speed: seconds of the run per second; 0 pauses.
    Speed(f64),
    /// Restart.
    Restart,
}

/// What would change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// The active choice.
    pub from: String,
    /// What would.
    pub to: String,
    /// What happens to each device, in a line each.
    pub changes: Vec<String>,
    /// How texts differ, line by line; empty where they do not.
    pub lines: Vec<DiffLine>,
}
