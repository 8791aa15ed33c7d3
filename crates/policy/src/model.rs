//! A checked policy: parameters of elements that cannot be invalid, ready to be read or built.

use shortflow_elements::classifier::Classifier;
use shortflow_elements::classifier::MultiField;
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::{Acknowledgements, Dscp, Label};
use shortflow_text::{Diagnostics, WrittenKeys};

use crate::class_rule::ClassRule;
use crate::schemes::markers::MarkerPlan;
use crate::schemes::queues::QueuePlan;

/// What nodes do to packets, as a set of named roles.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The name in results.
    pub name: String,
    /// What the policy does.
    pub description: String,
    pub(crate) code_points: [Dscp; 3],
    /// The roles, in the order of the text.
    pub roles: Vec<Role>,
    /// The classes of all roles that ask for something, in the order of the text.
    pub classes: Vec<ClassRule>,
    /// What is allowed in its text but hardly meant.
    pub warnings: Diagnostics,
    /// The keys that its text writes with another value than their default.
    pub written: WrittenKeys,
    /// The labels that the roles mention, each once.
    pub(crate) labels: Vec<String>,
}

impl Policy {
    /// What is in it, in one line.
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

    /// The labels of connections that some role mentions.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The number by which elements know the label of this name.
    pub fn label(&self, name: &str) -> Label {
        let place = self.labels.iter().position(|label| label == name);
        place.map_or(Label::NONE, |place| Label(place as u16 + 1))
    }

    /// The name of a label; empty of one that no role mentions.
    pub fn label_name(&self, label: Label) -> &str {
        let place = usize::from(label.0).checked_sub(1);
        place.and_then(|place| self.labels.get(place)).map_or("", String::as_str)
    }

    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// What green, yellow and red are written as.
    pub fn code_points(&self) -> [Dscp; 3] {
        self.code_points
    }

    /// Every code point that some marker, or a queue that remarks, may write, each once.
    pub fn written_code_points(&self) -> Vec<Dscp> {
        let classes = self.roles.iter().flat_map(|role| &role.classes);
        let mut written = Vec::new();
        for class in classes {
            if let Some(marker) = &class.marker {
                written.extend(marker.writes(self.code_points));
            }
            for action in class.police.iter().flatten() {
                if let PolicerAction::Remark(dscp) = action {
                    written.push(*dscp);
                }
            }
        }
        let queues = self.roles.iter().filter_map(|role| role.queue.as_ref());
        written.extend(queues.flat_map(QueuePlan::writes));
        written.sort_unstable();
        written.dedup();
        written
    }
}

/// What a node does to the packets of a port.
#[derive(Debug, Clone)]
pub struct Role {
    /// The name by which scenarios bind it.
    pub name: String,
    /// Conditioning, tried in order; the first class that fits takes the packet.
    pub classes: Vec<TrafficClass>,
    /// Which of the classes takes a packet, by its number.
    pub(crate) classifier: Classifier,
    /// What green, yellow and red are written as.
    pub code_points: [Dscp; 3],
    /// The queue of an egress port.
    pub queue: Option<QueuePlan>,
    /// What becomes of a host's acknowledgements without data.
    pub acks: Acknowledgements,
}

/// What is asked of a connection's own host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// Nothing: it stands anywhere.
    Nothing,
    /// What shows in the packets that the host sends and gets, and what its applications say: labels, bytes sent
    /// and bytes that remain, code points that came.
    Ends,
    /// Also what its TCP alone knows: the window, the phase, the round-trip time.
    Tcp,
}

impl Role {
    /// Whether it conditions packets.
    pub fn conditions(&self) -> bool {
        !self.classes.is_empty() || self.acks == Acknowledgements::Echoed
    }

    /// Whether it asks for what only a connection's own host knows: then it stands nowhere else.
    pub fn reads_sender(&self) -> bool {
        self.asks() != Asked::Nothing
    }

    /// What it asks of a connection's own host.
    pub fn asks(&self) -> Asked {
        let asks_ends = self.acks == Acknowledgements::Echoed
            || self.classes.iter().any(|class| class.rule.sender.is_some());
        let markers = self.classes.iter().filter_map(|class| class.marker.as_ref());
        let asks = markers.map(MarkerPlan::asks).chain(self.queue.as_ref().map(QueuePlan::asks));
        asks.fold(if asks_ends { Asked::Ends } else { Asked::Nothing }, Ord::max)
    }

    /// Whether its queue marks packets to tell of congestion (ECN).
    pub fn marks(&self) -> bool {
        self.queue.as_ref().is_some_and(QueuePlan::marks)
    }

    /// Whether it queues packets, which only an egress port can.
    pub fn queues(&self) -> bool {
        self.queue.is_some()
    }
}

/// Packets that are treated alike.
#[derive(Debug, Clone)]
pub struct TrafficClass {
    /// The name in results.
    pub name: String,
    /// Which packets belong to it.
    pub rule: MultiField,
    /// What is written into the DS field.
    pub marker: Option<MarkerPlan>,
    /// What becomes of green, yellow and red packets; without it all pass.
    pub police: Option<[PolicerAction; 3]>,
}
