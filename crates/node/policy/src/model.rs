//! A checked policy. Its parameters are always valid.

use shortflow_elements::classifier::Classifier;
use shortflow_elements::classifier::MultiField;
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::{Acknowledgements, ThresholdSource};
use shortflow_packet::{Dscp, Label};
use shortflow_text::{Diagnostics, WrittenKeys};
use shortflow_units::Length;

use crate::class_rule::ClassRule;
use crate::schemes::markers::MarkerPlan;
use crate::schemes::queues::QueuePlan;

/// What nodes do to packets, as a set of named roles.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Name in results.
    pub name: String,
    /// Description.
    pub description: String,
    /// The names of its parameters, in the order of the text.
    pub parameters: Vec<String>,
    pub(crate) code_points: [Dscp; 3],
    /// The roles, in the order of the text.
    pub roles: Vec<Role>,
    /// The classes of all roles that have conditions, in the order of the text.
    pub classes: Vec<ClassRule>,
    /// Warnings: what is allowed but probably a mistake.
    pub warnings: Diagnostics,
    /// The keys whose value differs from the default.
    pub written: WrittenKeys,
    /// The labels that the roles mention, each once.
    pub(crate) labels: Vec<String>,
}

impl Policy {
    /// A summary in one line.
    pub fn summary(&self) -> String {
        let does = |role: &Role| match (role.conditions(), role.queues()) {
            (true, true) => "conditions and queues",
            (true, false) => "conditions",
            (false, true) => "queues",
            (false, false) => "does nothing",
        };
        let roles: Vec<String> =
            self.roles.iter().map(|role| format!("{} ({})", role.name, does(role))).collect();
        let plural = if roles.len() == 1 { "" } else { "s" };
        let (name, count) = (&self.name, roles.len());
        format!("policy {name:?} with {count} role{plural}: {}", roles.join(", "))
    }

    /// The labels of connections that roles mention.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The number of the label with this name in elements.
    pub fn label(&self, name: &str) -> Label {
        let place = self.labels.iter().position(|label| label == name);
        place.map_or(Label::NONE, |place| Label(place as u16 + 1))
    }

    /// The name of a label; empty if no role mentions it.
    pub fn label_name(&self, label: Label) -> &str {
        let place = usize::from(label.0).checked_sub(1);
        place.and_then(|place| self.labels.get(place)).map_or("", String::as_str)
    }

    /// Whether its role `edge` conditions packets, so that a device needs it besides the queues.
    pub fn marks_at_edge(&self) -> bool {
        self.roles.iter().any(|role| role.base_name() == "edge" && role.conditions())
    }

    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// The code points of green, yellow and red.
    pub fn code_points(&self) -> [Dscp; 3] {
        self.code_points
    }

    /// Every code point that a marker, or a queue that remarks, can write, each once.
    pub fn written_code_points(&self) -> Vec<Dscp> {
        let mut written: Vec<Dscp> =
            self.roles.iter().flat_map(Role::written_code_points).collect();
        written.sort_unstable();
        written.dedup();
        written
    }
}

/// What a node does to the packets of a port.
#[derive(Debug, Clone)]
pub struct Role {
    /// The name that scenarios bind. A role with parameters of its own at some ports also has these in its name:
    /// `core (limit = 30 pkt)`.
    pub name: String,
    /// The classes, tried in order. A packet belongs to the first that fits.
    pub classes: Vec<TrafficClass>,
    /// Finds the class of a packet, by its index.
    pub(crate) classifier: Classifier,
    /// The code points of green, yellow and red.
    pub code_points: [Dscp; 3],
    /// The queue of an egress port.
    pub queue: Option<QueuePlan>,
    /// The limits of the queue and of the queues inside it, in the order of the text. Each counts packets of its own, so the
    /// queue holds at most their sum.
    pub limits: Vec<QueueLimit>,
    /// How a host treats its acknowledgements without data.
    pub acks: Acknowledgements,
    /// Who sets thresholds of bytes sent.
    pub thresholds: ThresholdSource,
}

/// The limit of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLimit {
    /// Its key: `roles.core.queue.fifo.limit`.
    pub key: String,
    /// The most that waits.
    pub limit: Length,
    /// Whether packets may fill it: it sends at the rate of its line, and drops or marks none before.
    pub is_tail_drop: bool,
}

/// What a role needs to know from the sending host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// Nothing: the role can run at any node.
    Nothing,
    /// What the host sees in packets, and what its applications report: labels, bytes sent, bytes remaining,
    /// code points received.
    Ends,
    /// Also the state of the host's TCP: window, phase, round-trip time.
    Tcp,
}

impl Role {
    /// Its name in the policy's text.
    pub fn base_name(&self) -> &str {
        self.name.split(" (").next().unwrap_or(&self.name)
    }

    /// The code points that its markers and its queue can write.
    pub fn written_code_points(&self) -> Vec<Dscp> {
        let mut written = Vec::new();
        for class in &self.classes {
            if let Some(marker) = &class.marker {
                written.extend(marker.writes(self.code_points));
            }
            for action in class.police.iter().flatten() {
                if let PolicerAction::Remark(dscp) = action {
                    written.push(*dscp);
                }
            }
        }
        written.extend(self.queue.iter().flat_map(QueuePlan::writes));
        written
    }

    /// Whether it conditions packets.
    pub fn conditions(&self) -> bool {
        !self.classes.is_empty() || self.acks == Acknowledgements::Echoed
    }

    /// Whether it has a class whose packets are distinguished by bytes sent.
    pub fn counts_sent(&self) -> bool {
        self.classes.iter().any(|class| {
            let is_asked = class.rule.sender.is_some_and(|sender| sender.sent_up_to.is_some());
            is_asked || matches!(class.marker, Some(MarkerPlan::Dstf(_)))
        })
    }

    /// Whether a policer resets connections.
    pub fn ends_connections(&self) -> bool {
        let actions = self.classes.iter().flat_map(|class| class.police.iter().flatten());
        actions.into_iter().any(|action| *action == PolicerAction::End)
    }

    /// Whether applications may set thresholds of bytes sent.
    pub fn asks_applications(&self) -> bool {
        self.thresholds == ThresholdSource::Application
    }

    /// Whether it needs what only the sending host knows or does. Then it can be bound only there.
    pub fn reads_sender(&self) -> bool {
        self.asks() != Asked::Nothing || self.withholds()
    }

    /// Whether its queue withholds segments in the TCPs of the sending host, which ask it before they send.
    pub fn withholds(&self) -> bool {
        self.queue.as_ref().is_some_and(QueuePlan::withholds)
    }

    /// What it needs to know from the sending host.
    pub fn asks(&self) -> Asked {
        let asks_ends = self.acks == Acknowledgements::Echoed
            || self.asks_applications()
            || self.ends_connections()
            || self.classes.iter().any(|class| class.rule.sender.is_some());
        let markers = self.classes.iter().filter_map(|class| class.marker.as_ref());
        let asks = markers.map(MarkerPlan::asks).chain(self.queue.as_ref().map(QueuePlan::asks));
        asks.fold(if asks_ends { Asked::Ends } else { Asked::Nothing }, Ord::max)
    }

    /// Whether its queue marks packets (ECN).
    pub fn marks(&self) -> bool {
        self.queue.as_ref().is_some_and(QueuePlan::marks)
    }

    /// Whether it has a queue, which is possible only at an egress port.
    pub fn queues(&self) -> bool {
        self.queue.is_some()
    }
}

/// Packets that are treated alike.
#[derive(Debug, Clone)]
pub struct TrafficClass {
    /// Name in results.
    pub name: String,
    /// Which packets belong to it.
    pub rule: MultiField,
    /// The marker, which writes the DS field.
    pub marker: Option<MarkerPlan>,
    /// The action for green, yellow and red packets. Without it all pass.
    pub police: Option<[PolicerAction; 3]>,
}
