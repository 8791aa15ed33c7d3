//! Keys that have no effect on rehearsals, each with the reason. A file that sets one gets a note.

use shortflow_policy::WithoutEffect;

/// The keys of policies and scenarios that have no effect on rehearsals.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[
    WithoutEffect {
        scheme: "queue.aggregate-shaper",
        key: "place",
        reason: "a kernel's TCP asks no queue before it sends, so that packets wait in the queue",
    },
    WithoutEffect {
        scheme: "role",
        key: "thresholds",
        reason: "the sockets of rehearsed hosts have no option to set thresholds",
    },
];
