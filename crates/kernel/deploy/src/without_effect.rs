//! Keys that have no effect on deployments, each with the reason. A file that sets one gets a note.

use shortflow_policy::WithoutEffect;

/// The keys of policies that have no effect on deployments.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[
    WithoutEffect {
        scheme: "queue.host-fair",
        key: "quantum",
        reason: "the kernel's cake derives its quantum from the rate of the line",
    },
    WithoutEffect {
        scheme: "queue.host-fair",
        key: "mtu",
        reason: "the kernel's cake derives its drop threshold from the rate",
    },
    WithoutEffect {
        scheme: "queue.host-fair",
        key: "ipv6_prefix",
        reason: "the kernel's cake identifies an IPv6 host by its whole address",
    },
];
