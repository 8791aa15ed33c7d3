//! Stored versions that are not active, and why, for an agent that has no active version.

use serde_json::{Value, json};

use super::Agent;
use crate::plane::DataPlane;

/// A stored version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unusable {
    number: u64,
    why: Why,
}

/// Why a stored version is not active.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Why {
    /// Its files are not what was written.
    Damaged(String),
    /// This program finds mistakes in it.
    Refused(String),
    /// It is sound, but an agent goes back to it only by order of a user.
    RolledBack,
}

impl Unusable {
    /// As a program reads it.
    pub(super) fn json(&self) -> Value {
        let (state, why) = match &self.why {
            Why::Damaged(why) => ("damaged", Some(why)),
            Why::Refused(mistakes) => ("refused", Some(mistakes)),
            Why::RolledBack => ("rolled back", None),
        };
        json!({ "number": self.number, "state": state, "why": why })
    }
}

impl<P: DataPlane> Agent<P> {
    /// The stored versions of an agent without an active one, the latest first.
    pub(super) fn find_unusable(&self) -> Vec<Unusable> {
        let numbers = self.store.numbers();
        let reason = |number: u64| match self.store.version(number) {
            Err(error) => Why::Damaged(error.to_string()),
            Ok((_, bundle)) => match self.own_part(&bundle) {
                Err(mistakes) => Why::Refused(mistakes.to_string()),
                Ok(_) => Why::RolledBack,
            },
        };
        let unusable = |number: &u64| Unusable { number: *number, why: reason(*number) };
        numbers.iter().rev().map(unusable).collect()
    }
}
