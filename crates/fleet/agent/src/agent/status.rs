//! The status of an agent.

use serde_json::{Value, json};
use shortflow_deploy::Warning;

use super::Agent;
use super::unusable::Unusable;
use crate::event::written;
use crate::metrics::Histogram;
use crate::plane::DataPlane;
use crate::rollout::{Device, Rollout};
use crate::store::ANY;

impl<P: DataPlane> Agent<P> {
    /// The digest of the source's version, if it was rolled back; before the first read, that of the last read.
    pub(crate) fn held(&self) -> Option<String> {
        let mut held = self.store.held();
        let any = held.take(ANY);
        match &self.offered {
            Some(offered) if any.is_some() => Some(offered.needed.clone()),
            Some(offered) => held.take(&offered.needed),
            None => held.pop_last(),
        }
    }

    /// The digest of what the source has, where it is good and waits for its time.
    pub(crate) fn waits_for(&self) -> Option<&str> {
        self.rollout.candidate.waiting().map(|waiting| waiting.digest.as_str())
    }

    /// How the agent and its devices stand, as a program reads it.
    pub fn status(&mut self) -> Value {
        let targets = self.targets().unwrap_or_default();
        let mut names = self.store.devices().clone();
        names.extend(targets.keys().cloned());
        let devices: Vec<Value> = names
            .iter()
            .map(|name| {
                let state = self.rollout.devices.get(name);
                let target = targets.get(name);
                json!({
                    "device": name,
                    "interface": target.map(|target| &target.interface),
                    "policy": target.map(|target| &target.policy.name),
                    "wanted": target.map(|target| target.summary()),
                    "done": state.is_some_and(Device::is_done),
                    "why": state.and_then(Device::why),
                    "changed": state.map(Device::changes_json),
                    "warnings": state.map(|state| state.warnings.iter().map(Warning::json).collect::<Vec<_>>()),
                    "waits": self.waits.get(name).map(|classes| {
                        let one = |(class, of): (&String, &Histogram)| {
                            json!({ "class": class, "seconds": of.json() })
                        };
                        classes.iter().map(one).collect::<Vec<_>>()
                    }),
                    "stands": self.plane.status(name).unwrap_or(Value::Null),
                })
            })
            .collect();
        let version = self.current.as_ref().map(|(version, _)| version);
        let Rollout { candidate, trials, .. } = &self.rollout;
        json!({
            "machine": self.machine,
            "fleet": self.current.as_ref().map(|(_, fleet)| &fleet.name),
            "version": version,
            "unusable": self.unusable.iter().map(Unusable::json).collect::<Vec<_>>(),
            "in_fleet": self.current.as_ref().map(|(_, fleet)| fleet.machine(&self.machine).is_some()),
            "held": self.held(),
            "held_any": self.store.held().contains(ANY),
            "waiting": candidate.waiting().map(|waiting| {
                let worse = waiting.worse.as_ref().map(|(by, why)| json!({ "by": by, "why": why }));
                json!({
                    "digest": waiting.digest, "until": written(waiting.until), "is_due": waiting.is_due,
                    "needed": waiting.needed, "good": waiting.good, "worse": worse,
                })
            }),
            "trial": trials.running.as_ref().map(|trial| {
                json!({
                    "against": trial.good, "window_s": trial.window().as_secs_f64(),
                    "inconclusive": trial.inconclusive, "others_wait": trial.tells,
                })
            }),
            "worse": self.offered.as_ref().and_then(|offered| self.why_worse(&offered.needed)),
            "verdict": trials.report.verdict(),
            "not_kept": candidate.not_kept().map(|pending| {
                json!({ "digest": pending.digest, "why": pending.why, "at": self.store.folder().display().to_string() })
            }),
            "not_written": trials.not_written.as_ref().map(|why| {
                json!({ "why": why, "at": self.store.folder().display().to_string() })
            }),
            "source": {
                "name": self.from,
                "unreadable": self.unreadable,
                "refused": candidate.refused().map(|(_, mistakes)| mistakes),
            },
            "devices": devices,
        })
    }
}
