//! Keys that have no effect on deployments, each with the reason; what stands here is noted where it is written.

use shortflow_policy::WithoutEffect;

/// The keys of policies that have no effect on deployments.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[
    WithoutEffect {
        scheme: "queue.host-fair",
        key: "quantum",
        reason: "the kernel's cake sets its quantum by the rate of the line",
    },
    WithoutEffect {
        scheme: "queue.host-fair",
        key: "mtu",
        reason: "the kernel's cake computes from the rate what a queue may hold before it drops",
    },
    WithoutEffect {
        scheme: "queue.host-fair",
        key: "ipv6_prefix",
        reason: "the kernel's cake knows a host of IPv6 by its whole address",
    },
    WithoutEffect {
        scheme: "queue.wfq",
        key: "classes[].flow_limit",
        reason: "the flows of a class share one turn and one limit at a device",
    },
    WithoutEffect {
        scheme: "queue.wfq",
        key: "full",
        reason: "each class has a buffer of its own in the kernel",
    },
];
