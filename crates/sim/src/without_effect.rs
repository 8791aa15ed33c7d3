//! Keys that have no effect on simulations, each with the reason; what stands here is noted where it is written.

use shortflow_policy::WithoutEffect;

/// The keys of policies and scenarios that have no effect on any simulation.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[];

/// Those that have none where no workload speaks IPv6.
pub(crate) const WITHOUT_EFFECT_OVER_IPV4: &[WithoutEffect] = &[
    WithoutEffect { scheme: "per", key: "ipv6_prefix", reason: IPV4 },
    WithoutEffect { scheme: "queue.host-fair", key: "ipv6_prefix", reason: IPV4 },
];

const IPV4: &str = "no workload of the scenario speaks IPv6; hosts with an IPv6 `address` do";
