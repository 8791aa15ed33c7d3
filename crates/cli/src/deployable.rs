//! Whether a policy can be deployed on a kernel that has all its queues.

use shortflow_policy::{Policy, Role};
use shortflow_run::shell_word;
use shortflow_scenario::{Direction, Scenario};
use shortflow_units::LinkLayer;

/// The roles that `deploy` needs for a policy: none if only its queues have an effect.
pub(crate) fn roles(policy: &Policy) -> &'static str {
    if policy.marks_at_edge() { "--role edge,core " } else { "" }
}

/// The option of `deploy` for a link layer, with a space before it; nothing where the kernel's own count is right.
pub(crate) fn link_layer(layer: LinkLayer) -> String {
    match layer {
        LinkLayer::RAW => String::new(),
        layer => format!(" --link-layer {}", shell_word(layer.to_string().as_ref())),
    }
}

/// The link layer of the lines at which roles queue, where it is one alone.
pub(crate) fn link_layer_of(scenario: &Scenario) -> LinkLayer {
    let policy = scenario.policy.as_deref();
    let queues = |role: &str| policy.and_then(|policy| policy.role(role)).is_some_and(Role::queues);
    let bound = scenario.bindings.iter().filter(|binding| queues(&binding.role));
    let lines = bound.filter_map(|binding| match binding.direction {
        Direction::To(to) => {
            let mut links = scenario.links.iter();
            let link = links
                .find(|link| [(link.a, link.b), (link.b, link.a)].contains(&(binding.at, to)))?;
            Some(if link.a == binding.at { &link.forward } else { &link.back })
        }
        Direction::From(_) => None,
    });
    let layers: Vec<LinkLayer> = lines.map(|line| line.link_layer).collect();
    match &layers[..] {
        [first, others @ ..] if others.iter().all(|other| other == first) => *first,
        _ => LinkLayer::RAW,
    }
}

/// Which Linux can do at a device what a policy says.
pub(crate) enum Deployable {
    /// All, as far as queues go.
    Anywhere,
    /// One that takes a program as a queueing discipline.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is deployed there"))]
    WithBpfQdisc,
    /// None, and why.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is deployed there"))]
    Nowhere(String),
}

/// Which Linux can deploy a policy.
#[cfg(target_os = "linux")]
pub(crate) fn deployable(policy: &Policy) -> Deployable {
    use shortflow_deploy::{Kernel, Kind, refusal};
    if refusal(policy, Kernel::default()).is_none() {
        return Deployable::Anywhere;
    }
    match refusal(policy, Kernel::new([(Kind::BpfQdisc, true)])) {
        None => Deployable::WithBpfQdisc,
        Some(why) => Deployable::Nowhere(why),
    }
}

#[cfg(target_os = "linux")]
pub(crate) use shortflow_deploy::has_queues_of_kernel;

/// Elsewhere nothing is deployed, so nothing is said against it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn has_queues_of_kernel(_: &Policy) -> bool {
    true
}

/// Elsewhere nothing is deployed, so nothing is said against it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn deployable(_: &Policy) -> Deployable {
    Deployable::Anywhere
}

/// Whether a policy tells the hosts that receive packets, so that at a gateway its incoming direction belongs behind the
/// translation of addresses.
#[cfg(target_os = "linux")]
pub(crate) fn tells_receivers(policy: &Policy) -> bool {
    shortflow_deploy::tells_receivers(policy)
}

/// Elsewhere nothing is deployed.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tells_receivers(_: &Policy) -> bool {
    false
}
