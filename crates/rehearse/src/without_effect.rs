//! Keys that have no effect on rehearsals, each with the reason; what stands here is noted where it is written.

use shortflow_policy::WithoutEffect;

/// The keys of policies and scenarios that have no effect on rehearsals.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[];
