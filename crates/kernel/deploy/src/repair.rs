//! Faults of a deployment, and the command that repairs each.

use serde_json::{Value, json};

use crate::compile::Past;
use crate::deployed::quoted;
use crate::earlier::EarlierFilters;
use crate::observe::Root;
use crate::owner::{GroupState, Labelled, OwnedBy};
use crate::socket_option::named;
use crate::status::{DeviceStatus, EdgeStatus, PassedBy};

/// Something that is not as it was deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// What it is, and what follows from it.
    pub what: String,
    /// The command that repairs it; `POLICY` stands for the policy's file.
    pub command: String,
}

impl Wrong {
    /// All that is wrong at a device.
    pub(crate) fn all(status: &DeviceStatus) -> Vec<Wrong> {
        if status.is_orphan {
            let what = "the device is gone that received the packets which pass here".to_owned();
            return vec![Wrong {
                what,
                command: format!("ip link del dev {}", quoted(&status.device)),
            }];
        }
        let (edge, queues) = (status.edge.as_ref(), status.memo.as_ref());
        let past = edge.and_then(|edge| edge.memo.past).map(|past| passing(&past));
        let instead = queues.and_then(|memo| memo.instead.as_ref());
        let instead = instead.map(|instead| {
            let policy = &instead.policy;
            format!("`verify` was killed: a single queue replaces the queues of policy {policy:?}")
        });
        let is_begun =
            !status.is_whole && past.is_none() && instead.is_none() && status.damage.is_empty();
        let begun = is_begun.then(|| {
            "a deployment is incomplete; packets flow, unmarked or unclassified".to_owned()
        });
        // Whoever works on it is about to put that right.
        let left = begun.into_iter().chain(past).chain(instead).chain(status.damage.clone());
        let left = left.filter(|_| !status.is_busy);
        let passed_by = edge.and_then(|edge| edge.passed_by(at_egress(status).is_some()));
        let unseen = passed_by.map(|packets| unseen(status, packets));
        let labels = edge.into_iter().flat_map(|edge| &edge.labels);
        let labels = labels.filter_map(|(label, group)| lost(label, *group));
        let option = edge.filter(|edge| edge.has_option == Some(false)).map(without_option);
        let command = reload(status);
        let mended =
            left.chain(labels).chain(option).map(|what| Wrong { what, command: command.clone() });
        // Filters that run before ours may keep packets from it from the first one on.
        let earlier = status.before.iter().map(|before| Wrong {
            what: before.text.clone(),
            command: before.removal(&status.device, status.queued_at()),
        });
        let mended = mended.chain(unseen).chain(earlier);
        // Ours comes behind such a program however often it is brought there.
        let tcx = status.tcx.iter().map(|program| Wrong {
            what: program.text(),
            command: program.removal(&status.device, status.queued_at()),
        });
        mended.chain(tcx).collect()
    }

    /// The faults at a device as text, those with the same command together.
    pub(crate) fn text(target: &str, all: &[Wrong]) -> String {
        let of_one = all.chunk_by(|one, next| one.command == next.command);
        of_one.map(|one| Wrong::text_of(target, one)).collect()
    }

    fn text_of(target: &str, all: &[Wrong]) -> String {
        let Some(Wrong { command, .. }) = all.last() else { return String::new() };
        let each: String = all.iter().map(|wrong| format!("  WRONG: {}\n", wrong.what)).collect();
        let policy = match command.contains(" POLICY ") {
            true => ", where POLICY is the policy's file",
            false => "",
        };
        // Nothing else is left to remove.
        if command.starts_with("ip link del") {
            return each + &format!("  remove the rest of it with `{command}`\n");
        }
        each + &format!(
            "  repair it with `{command}`{policy},\n  or remove the deployment with `shortflow undeploy {target}`\n"
        )
    }

    /// As a program reads it.
    pub(crate) fn json(&self) -> Value {
        json!({ "what": self.what, "command": self.command })
    }
}

/// Packets do not reach the marking program. If other owners' filters run before it, they are the cause.
fn unseen(status: &DeviceStatus, PassedBy { sent, missed }: PassedBy) -> Wrong {
    let what = match missed == sent {
        true => format!(
            "no packet is marked: {sent} packets were sent, and the marking program saw none"
        ),
        false => format!(
            "packets are not marked: {sent} packets were sent, and the marking program did not \
                see {missed} of them"
        ),
    };
    let removal = |before: &EarlierFilters| before.removal(&status.device, status.queued_at());
    Wrong { what, command: at_egress(status).map_or_else(|| reload(status), removal) }
}

/// Filters of other programs before the marking program.
fn at_egress(status: &DeviceStatus) -> Option<&EarlierFilters> {
    status.before.iter().find(|before| before.is_at_egress())
}

fn passing(Past { host, .. }: &Past) -> String {
    format!("`verify` was killed: packets to {host} are not marked")
}

/// What follows where the socket option is gone.
fn without_option(edge: &EdgeStatus) -> String {
    let cgroup = edge.memo.option_at.as_deref().unwrap_or_default();
    format!(
        "applications cannot set thresholds: {} has no socket option of Shortflow any more",
        named(cgroup)
    )
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
            "no connection has the label `{name}`: its cgroup {path} does not exist, for example \
                because a service has stopped; reload the policy when it exists again"
        )),
        GroupState::MadeAnew => Some(format!(
            "no connection has the label `{name}`: its cgroup {path} was recreated, for example \
                because a service restarted, and the kernel still uses the old one"
        )),
    }
}

/// The command that brings what is deployed there again.
fn reload(status: &DeviceStatus) -> String {
    let device = quoted(status.queued_at());
    let mut words = vec![format!("shortflow reload POLICY {}", status.target())];
    // The root of another program is in the way of queues only.
    let has_queues = status.deployed.as_ref().is_some_and(|deployed| deployed.queues.is_some());
    if has_queues && matches!(status.root, Root::Other { .. }) {
        words.insert(0, format!("tc qdisc del dev {device} root &&"));
    }
    if let Some(deployed) = &status.deployed {
        let roles = deployed.roles();
        words.extend((!roles.is_empty()).then(|| format!("--role {}", quoted(&roles.join(",")))));
        words.extend(deployed.options.words());
    }
    words.join(" ")
}
