//! Whether a policy can be deployed at any gateway, whatever its rate and its hosts.

use shortflow_policy::Policy;
use shortflow_units::Rate;

use crate::compile::{Settings, compile, compile_edge};
use crate::kernel::{Kernel, Kind};
use crate::owner::Owners;

/// Why a policy cannot be deployed on a kernel; `None` if it can.
pub fn refusal(policy: &Policy, kernel: Kernel) -> Option<String> {
    let rate = Some(Rate::from_bits_per_sec(10_000_000));
    let settings = Settings { rate, link_layer: None, link_header: 14, kernel, nearest: false };
    policy.roles.iter().find_map(|role| {
        let refused = match (role.queues(), role.base_name()) {
            (true, "core") => compile(policy, role, &settings).err(),
            (false, "edge") => compile_edge(policy, role, &Owners::new()).err(),
            (true, other) => {
                return Some(format!("no device has the queue of its role `{other}`"));
            }
            (false, _) => None,
        };
        refused.and_then(|all| all.first().map(ToString::to_string))
    })
}

/// Whether a policy can be deployed with the kernel's own queues, without a program before them.
pub fn has_queues_of_kernel(policy: &Policy) -> bool {
    refusal(policy, Kernel::new([(Kind::Early, false)])).is_none()
}
