//! Keys that have no effect on simulations, with reasons. Commands print a note if a file sets one.

use shortflow_policy::WithoutEffect;

/// The keys of policies and scenarios that have no effect on any simulation.
pub const WITHOUT_EFFECT: &[WithoutEffect] = &[];

/// Keys that have no effect if no workload uses IPv6.
pub(crate) const WITHOUT_EFFECT_OVER_IPV4: &[WithoutEffect] = &[
    WithoutEffect { scheme: "per", key: "ipv6_prefix", reason: IPV4 },
    WithoutEffect { scheme: "queue.host-fair", key: "ipv6_prefix", reason: IPV4 },
];

const IPV4: &str = "no workload of the scenario uses IPv6; hosts with an IPv6 `address` do";
