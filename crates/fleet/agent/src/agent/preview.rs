//! The stored versions, and the changes that a switch to one of them would make here.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shortflow_console::{Preview, diff};

use super::{Agent, RollBackError};
use crate::change::{Change, changes};
use crate::fleet::{Machine, Target};
use crate::plane::DataPlane;

impl<P: DataPlane> Agent<P> {
    /// The stored versions, the latest first. Damaged ones are omitted.
    pub fn versions(&self) -> Value {
        let numbers = self.store.numbers();
        let kept = numbers.iter().rev().filter_map(|number| self.store.version(*number).ok());
        json!(kept.map(|(version, _)| json!(version)).collect::<Vec<_>>())
    }

    /// What going to a version would change at the devices of this machine. Nothing is changed.
    ///
    /// # Errors
    /// When there is no such version, or it has mistakes.
    pub fn preview(&self, to: u64) -> Result<Preview, RollBackError> {
        let (_, bundle) = self.store.version(to)?;
        let fleet =
            self.own_part(&bundle).map_err(|mistakes| RollBackError::Mistakes(to, mistakes))?;
        let current = self.current.as_ref();
        let before = current.and_then(|(_, fleet)| fleet.machine(&self.machine));
        let after = fleet.machine(&self.machine);
        let describe = |change: &Change| {
            format!("{} ({}): {}", change.interface, change.device, change.difference)
        };
        let differing = changes(before, after).into_iter().filter(|it| it.difference.is_change());
        let [old, new] = [before, after].map(texts);
        let lines = diff(&together(&old, &new), &together(&new, &old));
        Ok(Preview {
            from: current
                .map_or("no version".to_owned(), |(it, _)| format!("version {}", it.number)),
            to: format!("version {to}"),
            changes: differing.map(|change| describe(&change)).collect(),
            lines,
        })
    }
}

/// The texts of a machine's policies, by their files.
fn texts(machine: Option<&Machine>) -> BTreeMap<String, String> {
    let targets = machine.map(Machine::targets).unwrap_or_default();
    let text = |target: &Target| (target.file.clone(), target.text.to_string());
    targets.into_values().map(text).collect()
}

/// The texts that are not the same in `others`, one below the other, each with its file as a comment of TOML.
fn together(texts: &BTreeMap<String, String>, others: &BTreeMap<String, String>) -> String {
    let differing = texts.iter().filter(|(file, text)| others.get(*file) != Some(text));
    differing.map(|(file, text)| format!("# {file}\n{text}\n")).collect()
}
