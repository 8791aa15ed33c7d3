//! The changes on devices between two versions.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};
use shortflow_units::Rate;

use crate::fleet::{Machine, Target};

/// The change of a device.
#[derive(Debug, Clone)]
pub struct Change {
    /// The device.
    pub device: String,
    /// The name of its interface.
    pub interface: String,
    /// How it changes.
    pub difference: Difference,
}

/// How a device changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// It gets a policy, and had none: its name, roles and rate.
    New(String),
    /// What is there changes: each thing that does.
    Changed(Vec<String>),
    /// It stays as it is: with this policy, or with none.
    Same(Option<String>),
    /// It gives up its policy.
    Gone(String),
}

impl Difference {
    /// Whether anything is done at the device.
    pub fn is_change(&self) -> bool {
        !matches!(self, Difference::Same(_))
    }

    fn word(&self) -> &'static str {
        match self {
            Difference::New(_) => "new",
            Difference::Changed(_) => "change",
            Difference::Same(_) => "same",
            Difference::Gone(_) => "gone",
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match self {
            Difference::New(what) | Difference::Gone(what) | Difference::Same(Some(what)) => {
                what.clone()
            }
            Difference::Same(None) => "no policy".to_owned(),
            Difference::Changed(parts) => parts.join("; "),
        };
        write!(f, "{:<7} {message}", self.word())
    }
}

impl Change {
    /// As a program reads it.
    pub fn json(&self) -> Value {
        let message = match &self.difference {
            Difference::Changed(parts) => json!(parts),
            Difference::New(what) | Difference::Gone(what) => json!([what]),
            Difference::Same(what) => json!(what.iter().collect::<Vec<_>>()),
        };
        json!({ "device": self.device, "interface": self.interface, "change": self.difference.word(), "what": message })
    }
}

/// The changes of a machine's devices: those of `after` in the order of their text, then those that only `before`
/// had.
pub fn changes(before: Option<&Machine>, after: Option<&Machine>) -> Vec<Change> {
    let old = before.map(Machine::targets).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (interface, device, target) in after.iter().flat_map(|machine| &machine.devices) {
        seen.insert(device.as_str());
        let difference = match (old.get(device.as_str()), target) {
            (None, Some(target)) => Difference::New(target.summary()),
            (Some(old), None) => Difference::Gone(old.summary()),
            (None, None) => Difference::Same(None),
            (Some(old), Some(target)) => match target.differences(old) {
                none if none.is_empty() => Difference::Same(Some(target.summary())),
                some => Difference::Changed(some),
            },
        };
        all.push(Change { device: device.clone(), interface: interface.clone(), difference });
    }
    for (device, target) in old {
        if !seen.contains(device) {
            let difference = Difference::Gone(target.summary());
            all.push(Change {
                device: device.to_owned(),
                interface: target.interface.clone(),
                difference,
            });
        }
    }
    all
}

impl Target {
    fn rate_back(&self) -> Option<Rate> {
        self.between.as_ref().and_then(|between| between.rate_back)
    }

    /// Its policy, roles and rate.
    pub fn summary(&self) -> String {
        let mut message = format!("{:?}", self.policy.name);
        if !self.roles.is_empty() {
            message += &format!(", roles {}", self.roles.join(", "));
        }
        if self.between.is_some() {
            message += ", inline";
        }
        if let Some(tcp) = &self.tcp {
            message += &format!(", in TCP, {}", tcp.summary());
        }
        if let Some(rate) = self.rate {
            message += &format!(", {rate}");
        }
        if let Some(rate) = self.rate_back() {
            message += &format!(", back {rate}");
        }
        if let Some(layer) = self.link_layer {
            message += &format!(" over {layer}");
        }
        message
    }

    /// In what it differs from what was there.
    pub fn differences(&self, old: &Target) -> Vec<String> {
        let mut found = Vec::new();
        let names = [&old.policy.name, &self.policy.name];
        if names[0] != names[1] {
            found.push(format!("policy {:?} → {:?}", names[0], names[1]));
        } else if old.text != self.text {
            found.push(format!("the text of policy {:?}", self.policy.name));
        }
        let list = |items: &[String]| {
            if items.is_empty() { "the only one".to_owned() } else { items.join(", ") }
        };
        if old.roles != self.roles {
            found.push(format!("roles {} → {}", list(&old.roles), list(&self.roles)));
        }
        let rate = |target: &Target| target.rate.map_or("none".to_owned(), |rate| rate.to_string());
        if old.rate != self.rate {
            found.push(format!("rate {} → {}", rate(old), rate(self)));
        }
        let back = |target: &Target| {
            target.rate_back().map_or("as there".to_owned(), |rate| rate.to_string())
        };
        if old.rate_back() != self.rate_back() {
            found.push(format!("rate back {} → {}", back(old), back(self)));
        }
        let tcp = |target: &Target| {
            target.tcp.as_ref().map_or("a device".to_owned(), |place| place.summary())
        };
        if old.tcp != self.tcp {
            found.push(format!("{} → {}", tcp(old), tcp(self)));
        }
        let layer = |target: &Target| {
            target.link_layer.map_or("none".to_owned(), |layer| layer.to_string())
        };
        if old.link_layer != self.link_layer {
            found.push(format!("link layer {} → {}", layer(old), layer(self)));
        }
        let pairs = |pairs: &[(String, String)]| {
            let all: Vec<String> =
                pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
        };
        if old.set != self.set {
            found.push(format!("set {} → {}", pairs(&old.set), pairs(&self.set)));
        }
        if old.labels != self.labels {
            found.push(format!("labels {} → {}", pairs(&old.labels), pairs(&self.labels)));
        }
        if old.nearest != self.nearest {
            found.push(format!("nearest {} → {}", old.nearest, self.nearest));
        }
        found
    }
}
