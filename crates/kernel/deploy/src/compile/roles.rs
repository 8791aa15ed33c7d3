//! The roles that one device plays.

use shortflow_policy::{Policy, QueuePlan, Role};

/// Why a device cannot play some roles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RolesError {
    /// No role of the policy does anything.
    #[error("no role of policy {policy:?} has an effect\nadd a queue to one of them")]
    NoEffect {
        /// The name of the policy.
        policy: String,
    },
    /// Several roles do something, and none of them is named.
    #[error(
        "several roles of policy {policy:?} have an effect: {}\nname those for this device: \
            --role {}{}", quoted(.acting), .example.join(","), place_of(.within_tcp)
    )]
    Several {
        /// The name of the policy.
        policy: String,
        /// The roles that do something.
        acting: Vec<String>,
        /// Those that one device can play.
        example: Vec<String>,
        /// Those whose place is the TCP of a sending host.
        within_tcp: Vec<String>,
    },
    /// The policy has no role of this name.
    #[error("policy {policy:?} has no role `{name}`\nits roles are {}", quoted(.roles))]
    Unknown {
        /// The name of the policy.
        policy: String,
        /// The name that was given.
        name: String,
        /// The roles of the policy.
        roles: Vec<String>,
    },
    /// A role is named twice.
    #[error("the role `{0}` is given twice\nname it once")]
    Twice(String),
    /// Two of the roles have the same task.
    #[error("both `{}` {task}\na device can have only one of them", .roles.join("` and `"))]
    SameTask {
        /// The roles that have it.
        roles: Vec<String>,
        /// What two of them do.
        task: &'static str,
    },
}

/// The roles that are meant: those of these names, or the only one that does something.
///
/// # Errors
/// When a role does not exist, several do something and none is named, or two of them condition or queue packets.
pub fn roles_of<'p>(policy: &'p Policy, names: &[String]) -> Result<Vec<&'p Role>, RolesError> {
    if names.is_empty() {
        return only_role(policy);
    }
    let find = |name: &String| {
        policy.role(name).ok_or_else(|| RolesError::Unknown {
            policy: policy.name.clone(),
            name: name.clone(),
            roles: policy.roles.iter().map(|role| role.name.clone()).collect(),
        })
    };
    let found = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        return Err(RolesError::Twice(names[twice].clone()));
    }
    for (does, task) in [
        (Role::conditions as fn(&Role) -> bool, "condition packets"),
        (Role::queues as fn(&Role) -> bool, "queue packets"),
    ] {
        let doing: Vec<String> =
            found.iter().filter(|role| does(role)).map(|role| role.name.clone()).collect();
        if doing.len() > 1 {
            return Err(RolesError::SameTask { roles: doing, task });
        }
    }
    Ok(found)
}

/// The only role of a policy that does something.
fn only_role(policy: &Policy) -> Result<Vec<&Role>, RolesError> {
    let acts = |role: &&Role| role.conditions() || role.queues();
    let acting: Vec<&Role> = policy.roles.iter().filter(acts).collect();
    let name = policy.name.clone();
    match &acting[..] {
        [] => Err(RolesError::NoEffect { policy: name }),
        [_] => Ok(acting),
        several => {
            // Those that a device can play together: they mark, and then queue. Only a sending host plays some.
            let possible: Vec<&Role> =
                several.iter().filter(|role| !is_of_host(role)).copied().collect();
            let possible = if possible.is_empty() { several.to_vec() } else { possible };
            let marks = possible.iter().find(|role| role.conditions() && !role.queues());
            let queues = possible.iter().find(|role| role.queues() && !role.conditions());
            let both: Vec<&Role> = marks.into_iter().chain(queues).copied().collect();
            let example = if both.is_empty() { vec![possible[0]] } else { both };
            let names = |roles: &[&Role]| roles.iter().map(|role| role.name.clone()).collect();
            let within_tcp: Vec<&Role> =
                several.iter().filter(|role| is_within_tcp(role)).copied().collect();
            let [acting, example, within_tcp] = [several, &example, &within_tcp].map(names);
            Err(RolesError::Several { policy: name, acting, example, within_tcp })
        }
    }
}

/// Whether a role's queue is one of the sending host's, before its TCP or within it.
fn is_of_host(role: &Role) -> bool {
    is_within_tcp(role) || matches!(role.queue, Some(QueuePlan::SourceScheduler(_)))
}

/// Whether a role's queue goes into the TCP of a host, and not onto a device.
fn is_within_tcp(role: &Role) -> bool {
    matches!(role.queue, Some(QueuePlan::AggregateShaper(_)))
}

/// A line on the roles that no device plays, if there are any.
fn place_of(within_tcp: &[String]) -> String {
    match within_tcp {
        [] => String::new(),
        roles => format!(
            "\n{} belongs in the TCP of the sending host: `--tcp` instead of `--dev`",
            quoted(roles)
        ),
    }
}

/// Names between backquotes, separated by commas.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
