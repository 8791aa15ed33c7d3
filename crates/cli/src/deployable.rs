//! Whether a policy can be deployed, wherever the kernel has all its queues.

use shortflow_policy::Policy;

/// The roles that `deploy` is to be given for a policy: none where its queues alone have something to do.
pub(crate) fn roles(policy: &Policy) -> &'static str {
    let marks = policy.roles.iter().any(|role| &*role.name == "edge" && role.conditions());
    if marks { "--role edge,core " } else { "" }
}

/// Why no Linux can do at a device what a policy says, if none can.
#[cfg(target_os = "linux")]
pub(crate) fn why_not(policy: &Policy) -> Option<String> {
    use shortflow_deploy::{Kernel, Owners, Settings, compile, compile_edge};
    use shortflow_units::Rate;
    let rate = Some(Rate::from_bits_per_sec(10_000_000));
    let settings = Settings { rate, link_header: 14, kernel: Kernel::default(), nearest: false };
    policy.roles.iter().find_map(|role| {
        let refused = match (role.queues(), &*role.name) {
            (true, "core") => compile(policy, role, &settings).err(),
            (false, "edge") => compile_edge(policy, role, &Owners::new()).err(),
            (true, other) => {
                return Some(format!("the queue of its role `{other}` is at no device"));
            }
            (false, _) => None,
        };
        refused.and_then(|all| all.first().map(ToString::to_string))
    })
}

/// Elsewhere nothing is deployed, so nothing is said against it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn why_not(_: &Policy) -> Option<String> {
    None
}
