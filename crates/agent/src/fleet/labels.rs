//! Whose connections have the labels that policies match, on each machine.

use shortflow_deploy::owner_text;
use shortflow_policy::Policy;
use shortflow_text::Document;

use super::Target;
use super::file::MachineFile;

/// Refuses owners that cannot be meant. Whether a machine has a group of processes it finds itself, when it needs it.
pub(super) fn check(path: &str, machine: &MachineFile, document: &mut Document) {
    let mut seen = Vec::new();
    for (name, text) in machine.labels.iter() {
        let at = format!("{path}.labels.{name}");
        match owner_text(text) {
            Err(why) => {
                let (message, help) = why.split_once('\n').unwrap_or((&why, ""));
                document.mistake(&at, message.to_owned(), help);
            }
            Ok(owner) => {
                if let Some((other, _)) = seen.iter().find(|(_, known)| *known == owner) {
                    let message = format!("{text} is that of `{other}`, too");
                    document.mistake(&at, message, "a connection has one label");
                }
                seen.push((name, owner));
            }
        }
    }
}

/// The labels of a machine that a policy matches.
pub(super) fn of(machine: &MachineFile, policy: &Policy) -> Vec<(String, String)> {
    let is_matched =
        |(name, _): &(&str, &String)| policy.labels().iter().any(|label| label == name);
    let pairs = machine.labels.iter().filter(is_matched);
    pairs.map(|(name, text)| (name.to_owned(), text.clone())).collect()
}

/// Says which labels no policy of a machine matches.
pub(super) fn matched(
    name: &str,
    machine: &MachineFile,
    devices: &[(String, String, Option<Target>)],
    document: &mut Document,
) {
    for (label, _) in machine.labels.iter() {
        let mut targets = devices.iter().filter_map(|(_, _, target)| target.as_ref());
        if !targets.any(|target| target.policy.labels().iter().any(|known| known == label)) {
            let message = format!("no policy of `{name}` matches the label `{label}`");
            document.warning(
                &format!("machines.{name}.labels.{label}"),
                &message,
                "take it out, or look how policies write it",
            );
        }
    }
}
