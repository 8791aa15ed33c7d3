//! How an agent stands.

use serde_json::{Value, json};

use super::Agent;
use crate::plane::DataPlane;

impl<P: DataPlane> Agent<P> {
    /// How the agent and its devices stand, as a program reads it.
    pub fn status(&mut self) -> Value {
        let targets = self.targets().unwrap_or_default();
        let mut names = self.store.devices();
        names.extend(targets.keys().cloned());
        let devices: Vec<Value> = names
            .iter()
            .map(|name| {
                let state = self.devices.get(name);
                let target = targets.get(name);
                json!({
                    "device": name,
                    "interface": target.map(|target| &target.interface),
                    "policy": target.map(|target| &target.policy.name),
                    "wanted": target.map(|target| target.told()),
                    "done": state.is_some_and(|state| state.is_done),
                    "why": state.and_then(|state| state.why.as_ref()),
                    "stands": self.plane.status(name).unwrap_or(Value::Null),
                })
            })
            .collect();
        let version = self.current.as_ref().map(|(version, _)| version);
        json!({
            "machine": self.machine,
            "fleet": self.current.as_ref().map(|(_, fleet)| &fleet.name),
            "version": version,
            "held": self.store.held(),
            "waiting": self.waiting.as_ref().map(|waiting| {
                json!({ "digest": waiting.digest, "until": waiting.until })
            }),
            "source": {
                "name": self.from,
                "unreadable": self.unreadable,
                "refused": self.refused.as_ref().map(|(_, mistakes)| mistakes),
            },
            "devices": devices,
        })
    }
}
