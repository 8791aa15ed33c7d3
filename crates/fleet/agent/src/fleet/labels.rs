//! The owners of the labels that policies match, on each machine.

use shortflow_deploy::owner_text;
use shortflow_policy::Policy;

use super::file::MachineFile;
use super::remarks::Remarks;

/// Refuses owners that cannot be meant. Whether a machine has a group of processes it finds itself, when it needs it.
pub(super) fn check(name: &str, machine: &MachineFile, remarks: &mut Remarks<'_>) {
    let mut seen = Vec::new();
    for (label, text) in machine.labels.iter() {
        let at = format!("machines.{name}.labels.{label}");
        match owner_text(text) {
            Err(error) => {
                let why = error.to_string();
                let (message, help) = why.split_once('\n').unwrap_or((&why, ""));
                remarks.mistake(&at, message.to_owned(), help);
            }
            Ok(owner) => {
                if let Some((other, _)) = seen.iter().find(|(_, known)| *known == owner) {
                    let message = format!("the label `{other}` already uses {text}");
                    remarks.mistake(&at, message, "a connection can have one label");
                }
                seen.push((label, owner));
            }
        }
    }
}

/// The labels of a machine that a policy matches, and whose they are.
pub(super) fn of_machine<'m>(
    machine: &'m MachineFile,
    policy: &'m Policy,
) -> impl Iterator<Item = (&'m str, &'m str)> {
    let is_matched = |(name, _): &(&str, &str)| policy.labels().iter().any(|label| label == name);
    let pairs = machine.labels.iter().map(|(name, text)| (name, text.as_str()));
    pairs.filter(is_matched)
}

/// Says which labels no policy of a machine matches.
pub(super) fn matched(
    name: &str,
    machine: &MachineFile,
    policies: &[&Policy],
    remarks: &mut Remarks<'_>,
) {
    for (label, _) in machine.labels.iter() {
        if !policies.iter().any(|policy| policy.labels().iter().any(|known| known == label)) {
            let message = format!("no policy of `{name}` matches the label `{label}`");
            remarks.warning(
                &format!("machines.{name}.labels.{label}"),
                &message,
                "remove it, or check its spelling in the policies",
            );
        }
    }
}
