//! What is to be put right at a device, and the command that does it.

use serde_json::{Value, json};

use crate::compile::Past;
use crate::owner::{GroupState, Labelled, OwnedBy};
use crate::status::DeviceStatus;

/// Something that is not as it was deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// What it is, and what follows from it.
    pub what: String,
    /// The command that puts it right, where `POLICY` stands for the policy's file.
    pub command: String,
}

impl Wrong {
    /// All that is wrong at a device.
    pub(crate) fn all(status: &DeviceStatus) -> Vec<Wrong> {
        let (edge, queues) = (status.edge.as_ref(), status.memo.as_ref());
        let past = edge.and_then(|edge| edge.memo.past).map(|past| passing(&past));
        let instead = queues.and_then(|memo| memo.instead.as_ref());
        let instead = instead.map(|instead| {
            let policy = &instead.policy;
            format!("`verify` was killed before it was done: one queue stands in the place of those of policy {policy:?}")
        });
        let is_begun =
            !status.is_whole && past.is_none() && instead.is_none() && status.damage.is_empty();
        let begun = is_begun.then(|| {
            "a deployment was begun and not finished; packets flow, unmarked or unsorted".to_owned()
        });
        // Whoever works on it is about to put that right.
        let left = begun.into_iter().chain(past).chain(instead).chain(status.damage.clone());
        let left = left.filter(|_| !status.is_busy);
        let unseen = edge.and_then(|edge| edge.unseen()).map(|packets| {
            format!(
                "nothing is marked: {packets} packets were sent, and the program that marks has seen none; filters before it may \
                 keep them from it"
            )
        });
        let labels = edge.into_iter().flat_map(|edge| &edge.labels);
        let labels = labels.filter_map(|(label, group)| lost(label, *group));
        let command = reload(status);
        left.chain(unseen)
            .chain(labels)
            .map(|what| Wrong { what, command: command.clone() })
            .collect()
    }

    /// As a person reads them.
    pub(crate) fn text(all: &[Wrong]) -> String {
        let Some(Wrong { command, .. }) = all.last() else { return String::new() };
        let each: String = all.iter().map(|wrong| format!("  WRONG: {}\n", wrong.what)).collect();
        each + &format!(
            "  put it right with `{command}`,\n  with --set and --nearest where they were given, or take it away with `shortflow \
             undeploy`\n"
        )
    }

    /// As a program reads it.
    pub(crate) fn json(&self) -> Value {
        json!({ "what": self.what, "command": self.command })
    }
}

fn passing(Past { host, .. }: &Past) -> String {
    format!("`verify` was killed before it was done: what goes to {host} is not marked")
}

/// What is wrong with a label by the group of processes that owns it.
pub(crate) fn lost(
    Labelled { name, owned_by }: &Labelled,
    group: Option<GroupState>,
) -> Option<String> {
    let OwnedBy::Group { path, .. } = owned_by else { return None };
    match group? {
        GroupState::There | GroupState::Unseen => None,
        GroupState::Gone => Some(format!(
            "no connection has the label `{name}`: its group of processes {path} is gone, as when a service ends; once it is \
             there again, `reload`"
        )),
        GroupState::MadeAnew => Some(format!(
            "no connection has the label `{name}`: its group of processes {path} was made anew, as when a service begins again, \
             and the kernel knows the one before"
        )),
    }
}

/// The command that brings what is deployed there again.
fn reload(status: &DeviceStatus) -> String {
    let edge = status.edge.as_ref().map(|edge| &edge.memo);
    let roles = &status.roles;
    let mut words = vec!["shortflow reload POLICY --dev".to_owned(), quoted(&status.device)];
    if !roles.is_empty() {
        words.extend(["--role".to_owned(), quoted(&roles.join(","))]);
    }
    let behind = edge.and_then(|memo| memo.behind.as_ref()).map(|behind| behind.rate);
    if let Some(rate) = status.memo.as_ref().map(|memo| memo.rate).or(behind) {
        words.extend(["--rate".to_owned(), quoted(&rate.to_string())]);
    }
    for Labelled { name, owned_by } in edge.iter().flat_map(|memo| &memo.labels) {
        words.extend(["--label".to_owned(), quoted(&format!("{name}={owned_by}"))]);
    }
    words.join(" ")
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@:+,=/".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_a_shell_is_quoted_where_it_would_be_several() {
        assert_eq!(
            quoted("shell=cgroup:system.slice/ssh.service"),
            "shell=cgroup:system.slice/ssh.service"
        );
        assert_eq!(quoted("10 Mbit/s"), "'10 Mbit/s'");
        assert_eq!(quoted("it's=mark:7"), r"'it'\''s=mark:7'");
    }
}
