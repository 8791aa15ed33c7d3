//! Binds roles to ports.

use std::collections::{BTreeMap, BTreeSet};

use shortflow_policy::{Policy, QueuePlan, Role};
use shortflow_text::{Document, suggestion};
use shortflow_units::Rate;

use super::topology::Topology;
use crate::file::{BindFile, ScenarioFile};
use crate::model::{Binding, Direction, Inputs, NodeId, NodeKind, Workload};

/// Resolves the bindings against the policy and the topology. The last `by_hand` of them come from the
/// command line, and override other bindings of the same port.
pub(super) fn check(
    document: &mut Document,
    file: &ScenarioFile,
    topology: &Topology,
    policy: Option<&Policy>,
    inputs: &Inputs,
    by_hand: usize,
) -> Vec<Binding> {
    let Some(policy) = policy else {
        if !file.bind.is_empty() {
            let help = "add `policy = \"FILE\"`, or use the option --policy";
            document.mistake("bind.0.role", "the scenario binds roles, but it has no policy", help);
        }
        return Vec::new();
    };
    if file.bind.is_empty() {
        let help = "bind its roles with [[bind]] tables or --bind ROLE=PLACE, or remove the policy";
        document.mistake(
            "policy",
            "no role of the policy is bound, so it would have no effect",
            help,
        );
    }
    let policy_name = inputs.policy.as_ref().map_or("", |(name, _)| name);
    let of_file = file.bind.len() - by_hand.min(file.bind.len());
    let mut taken: BTreeMap<BoundPort, usize> = BTreeMap::new();
    let mut bindings: Vec<Binding> = Vec::new();
    for (index, bind) in file.bind.iter().enumerate() {
        let path = format!("bind.{index}");
        let role = role(document, &path, policy, policy_name, &bind.role);
        let ports = ports(document, &path, topology, bind);
        for (at, direction) in ports.unwrap_or_default() {
            let Some(role) = role else { break };
            if !may_bind(document, &path, role, direction)
                || !may_ask(document, &path, role, topology, at, direction)
            {
                break;
            }
            let binding = Binding { role: role.name.clone(), at, direction, table: index };
            let key = (at, direction_key(direction), index >= of_file);
            if let Some(other) = taken.insert(key, bindings.len()) {
                let (at, other) = (&topology.node(at).name, &bindings[other].role);
                let message = format!("the role `{other}` is already bound to this port of `{at}`");
                document.mistake(&format!("{path}.role"), message, ONE_ROLE);
                break;
            }
            bindings.push(binding);
        }
    }
    let bindings = without_replaced(bindings, &taken);
    // An invalid binding says nothing about the others.
    if !file.bind.is_empty() && document.is_sound() {
        // If the policy comes from the command line, the scenario has no text to point to.
        let is_named_here =
            file.policy.as_ref().is_some_and(|path| policy_name.ends_with(file_name(path)));
        let path = if is_named_here { "policy" } else { "" };
        warn_of_unbound(document, path, policy, policy_name, &bindings);
        warn_of_rates(document, path, topology, policy, &bindings);
    }
    bindings
}

/// A port, the direction of its role, and whether the command line binds it.
type BoundPort = (NodeId, (bool, NodeId), bool);

/// Removes bindings of the file for ports that the command line binds too. `taken` has the index of each
/// binding.
fn without_replaced(bindings: Vec<Binding>, taken: &BTreeMap<BoundPort, usize>) -> Vec<Binding> {
    let is_by_hand = |(at, direction, _)| taken.contains_key(&(at, direction, true));
    let replaced: BTreeSet<usize> = taken
        .iter()
        .filter(|((.., by_hand), _)| !by_hand)
        .filter(|(key, _)| is_by_hand(**key))
        .map(|(_, index)| *index)
        .collect();
    let kept = bindings.into_iter().enumerate().filter(|(index, _)| !replaced.contains(index));
    kept.map(|(_, binding)| binding).collect()
}

/// Warns of queues whose rates do not fit those of their links, once for each role.
fn warn_of_rates(
    document: &mut Document,
    path: &str,
    topology: &Topology,
    policy: &Policy,
    bindings: &[Binding],
) {
    let mut warned: BTreeSet<&str> = BTreeSet::new();
    for Binding { role, at, direction, .. } in bindings {
        let Direction::To(neighbour) = *direction else { continue };
        let queue = policy.role(role).and_then(|role| role.queue.as_ref());
        let Some((queue, link)) = queue.zip(topology.link(*at, neighbour)) else { continue };
        let line = if link.a == *at { &link.forward } else { &link.back };
        let name = |node| &topology.node(node).name;
        let rate = line.max_rate();
        let link = format!("the link `{}->{}`, {rate}", name(*at), name(neighbour));
        let Some((message, help)) = ill_fitting(queue, role, rate, &link) else { continue };
        if warned.insert(role) {
            document.warning(path, message, help);
        }
    }
}

/// Why the rates of a queue do not fit a link, and what to do: a shaper without effect, or guarantees that cannot be kept.
fn ill_fitting(
    queue: &QueuePlan,
    role: &str,
    rate: Rate,
    link: &str,
) -> Option<(String, &'static str)> {
    let idle = queue.shaped_to().filter(|shaped_to| *shaped_to >= rate).map(|shaped_to| {
        let message = format!(
            "the shaper of the role `{role}` has no effect: its rate {shaped_to} is not below that of {link}"
        );
        (message, "set its rate a little below that of the bottleneck")
    });
    idle.or_else(|| {
        let (scheme, guaranteed, available) = beyond_the_rate(queue, rate)?;
        let message = format!(
            "the classes of `{scheme}` in the role `{role}` are guaranteed {guaranteed} together, but there \
             is {available}; they share it in proportion to these rates"
        );
        Some((message, "lower `at_least` of some classes"))
    })
}

/// The queue whose classes are guaranteed more than there is, with both rates. A class of `htb` has what it is guaranteed itself.
fn beyond_the_rate(queue: &QueuePlan, rate: Rate) -> Option<(String, Rate, Rate)> {
    let available = queue.shaped_to().map_or(rate, |shaped_to| shaped_to.min(rate));
    if let Some(guaranteed) = queue.guaranteed().filter(|guaranteed| *guaranteed > available) {
        return Some((queue.scheme(), guaranteed, available));
    }
    match queue {
        QueuePlan::Htb(classes) => {
            let mut each = classes.classes().iter();
            each.find_map(|(rates, inner)| beyond_the_rate(inner, rates.at_least()))
        }
        _ => queue.inner().into_iter().find_map(|inner| beyond_the_rate(inner, available)),
    }
}

/// Warns of a role with an effect that is not bound: the policy, or a part of it, then has no effect.
fn warn_of_unbound(
    document: &mut Document,
    path: &str,
    policy: &Policy,
    policy_name: &str,
    bindings: &[Binding],
) {
    let bound: BTreeSet<&str> = bindings.iter().map(|binding| binding.role.as_str()).collect();
    for role in policy.roles.iter().filter(|role| !bound.contains(role.name.as_str())) {
        let (does, place) = match (role.conditions(), role.queues()) {
            (false, false) => continue,
            (true, false) => ("conditions packets", "NODE<-NEIGHBOUR"),
            (false, true) => ("queues packets", "NODE->NEIGHBOUR"),
            (true, true) => ("conditions and queues packets", "NODE->NEIGHBOUR"),
        };
        let message = format!(
            "the role `{0}` of {policy_name} {does}, but it is not bound to a port, so this part of \
             the policy has no effect",
            role.name
        );
        let help = format!(
            "bind it with a [[bind]] table or with --bind '{}={place}'; roles bound here: {}",
            role.name,
            bound.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        );
        document.warning(path, message, help);
    }
}

/// The help if two roles would be bound to a port.
const ONE_ROLE: &str = "a port has at most one role per direction: remove one of the two bindings";

/// The last part of a path as it is written.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn role<'p>(
    document: &mut Document,
    path: &str,
    policy: &'p Policy,
    policy_name: &str,
    name: &str,
) -> Option<&'p Role> {
    let role = policy.role(name);
    if role.is_none() {
        let names: Vec<&str> = policy.roles.iter().map(|role| role.name.as_str()).collect();
        let help = suggestion(name, &format!("roles of {policy_name}"), &names);
        let message = format!("unknown role `{name}` in {policy_name}");
        let help = format!(
            "{help}; rename the role in one of the two files, or bind another one with --bind \
             ROLE=PLACE. If the policy should do nothing here, add an empty `[roles.{name}]` to it"
        );
        document.mistake(&format!("{path}.role"), message, help);
    }
    role
}

/// The ports of `bind`.
fn ports(
    document: &mut Document,
    path: &str,
    topology: &Topology,
    bind: &BindFile,
) -> Option<Vec<(NodeId, Direction)>> {
    let (key, others, direction): (_, _, fn(NodeId) -> Direction) = match (&bind.from, &bind.to) {
        (Some(from), None) => ("from", from, Direction::From),
        (None, Some(to)) => ("to", to, Direction::To),
        _ => {
            let help = "write `from` for packets that come in from a neighbour, or `to` for packets \
                        that go out to it";
            document.mistake(path, "a binding requires exactly one of `from` and `to`", help);
            return None;
        }
    };
    let at = topology.find_all(document, &format!("{path}.at"), &bind.at);
    let near = topology.find_all(document, &format!("{path}.{key}"), others);
    let (at, near): (BTreeSet<_>, BTreeSet<_>) =
        (at?.into_iter().collect(), near?.into_iter().collect());
    let ports: Vec<(NodeId, Direction)> = at
        .iter()
        .flat_map(|&at| topology.neighbours(at).map(move |to| (at, to)))
        .filter(|(_, to)| near.contains(to))
        .map(|(at, to)| (at, direction(to)))
        .collect();
    if ports.is_empty() {
        let at_names = bind.at.values.join(", ");
        let message = format!("no link joins `{at_names}` and `{}`", others.values.join(", "));
        let neighbours: BTreeSet<&str> = at
            .iter()
            .flat_map(|&at| topology.neighbours(at))
            .map(|near| topology.node(near).group.as_str())
            .collect();
        let neighbours = Vec::from_iter(neighbours).join(", ");
        let help = format!("neighbours of `{at_names}`: {neighbours}");
        document.mistake(&format!("{path}.{key}"), message, help);
    }
    Some(ports)
}

fn may_bind(document: &mut Document, path: &str, role: &Role, direction: Direction) -> bool {
    let refused = matches!(direction, Direction::From(_)) && role.queues();
    if refused {
        let message =
            format!("the role `{}` has a queue, which only an egress port can have", role.name);
        document.mistake_in_key(
            &format!("{path}.from"),
            message,
            "bind it where packets go out: write `to` instead of `from`, or `->` instead of `<-`",
        );
    }
    !refused
}

/// Checks that a role which uses the sender's state is bound at that sender.
fn may_ask(
    document: &mut Document,
    path: &str,
    role: &Role,
    topology: &Topology,
    at: NodeId,
    direction: Direction,
) -> bool {
    let node = topology.node(at);
    let knows = node.kind == NodeKind::Host && matches!(direction, Direction::To(_));
    let refused = role.reads_sender() && !knows;
    if refused {
        let message = format!(
            "the role `{}` {}, but `{}` is not the sender here",
            role.name,
            match role.withholds() {
                true => "withholds segments in the TCPs of the sending host",
                false => "uses what only the sending host knows",
            },
            node.name
        );
        let help = match role.withholds() {
            true => {
                "bind it at hosts with `to = …`; elsewhere, `place = \"queue\"` in its \
                 `aggregate-shaper` holds packets"
            }
            false => "bind it at hosts with `to = …`; at a router, match ports or code points",
        };
        document.mistake(&format!("{path}.role"), message, help);
    }
    !refused
}

/// Refuses labels of the policy that no workload has: they would match nothing.
pub(super) fn check_labels(document: &mut Document, policy: &Policy, workloads: &[Workload]) {
    let known: Vec<&str> = workloads.iter().map(|workload| workload.label.as_str()).collect();
    for label in policy.labels().iter().filter(|label| !known.contains(&label.as_str())) {
        let help = suggestion(label, "labels of workloads", &known);
        let message = format!("the policy matches the unknown label `{label}`");
        document.mistake("policy", message, help);
    }
}

fn direction_key(direction: Direction) -> (bool, NodeId) {
    match direction {
        Direction::From(node) => (false, node),
        Direction::To(node) => (true, node),
    }
}
