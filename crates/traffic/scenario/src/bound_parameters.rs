//! Parameters of the policy that have other values at some ports.
//!
//! A binding with parameters gets a role of its own: the same role of the same policy, read again with these values. All
//! that follows sees one more role.

use shortflow_policy::Policy;
use shortflow_text::{Diagnostics, Document, Override};

use crate::file::BindFile;
use crate::load::as_toml;

/// Adds a role for each different set of parameters, and binds it. `read` reads the policy with overrides.
///
/// # Errors
/// If the policy has no such parameter, or the value is invalid.
pub(crate) fn add_roles(
    scenario: &str,
    bindings: &mut [BindFile],
    policy: &mut Policy,
    read: &dyn Fn(Vec<Override>) -> Result<Policy, Diagnostics>,
) -> Result<(), Diagnostics> {
    let mut replaced = Vec::new();
    for bind in bindings.iter_mut().filter(|bind| !bind.parameters.is_empty()) {
        // The check of the bindings reports a role that the policy lacks.
        if policy.role(&bind.role).is_none() {
            continue;
        }
        let values = bind.parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        let name = format!("{} ({})", bind.role, values.collect::<Vec<_>>().join(", "));
        if policy.role(&name).is_none() {
            let set = |(name, value)| Override {
                key: format!("parameters.{name}"),
                value: as_toml(value),
                prefix: "",
                origin: format!("a [[bind]] table of {scenario}"),
                cell: None,
            };
            let here = read(bind.parameters.iter().map(set).collect())?;
            let role = here.roles.into_iter().find(|role| role.name == bind.role);
            let mut role = role.expect("parameters change no names of roles");
            role.name = name.clone();
            policy.roles.push(role);
        }
        replaced.push(std::mem::replace(&mut bind.role, name));
    }
    // A role that is bound with other parameters everywhere is not unbound.
    let is_bound = |name: &str| bindings.iter().any(|bind| bind.role == name);
    policy.roles.retain(|role| !replaced.contains(&role.name) || is_bound(&role.name));
    Ok(())
}

/// Removes the parameters that the policy lacks, with a warning for each binding. The scenario was written for another
/// policy than this one, which the user gave on the command line.
pub(crate) fn drop_missing(document: &mut Document, bindings: &mut [BindFile], policy: &Policy) {
    for (index, bind) in bindings.iter_mut().enumerate() {
        let has = |name: &String| policy.parameters.contains(name);
        let missing: Vec<String> =
            bind.parameters.keys().filter(|name| !has(name)).cloned().collect();
        bind.parameters.retain(|name, _| has(name));
        for name in missing {
            let policy = &policy.name;
            let message = format!(
                "the policy {policy:?} has no parameter `{name}`, so the value at the ports of role `{}` has no effect",
                bind.role
            );
            document.warning_in_key(&format!("bind.{index}.parameters.{name}"), message, "");
        }
    }
}
