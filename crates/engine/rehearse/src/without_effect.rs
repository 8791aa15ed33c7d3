//! Keys that have no effect on rehearsals, each with the reason. A file that sets one gets a note.

use shortflow_policy::WithoutEffect;

/// The keys of policies and scenarios that have no effect on rehearsals.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[];
