//! Finished replicas on disk, so that a study goes on where it stopped.

use serde::{Deserialize, Serialize};
use shortflow_measure::Replica;
use shortflow_measure::results::{Error, Folder};
use shortflow_scenario::Scenario;

/// A folder with a file for each finished replica.
pub(crate) struct Cache(Folder);

#[derive(Serialize, Deserialize)]
struct Entry {
    /// What the replica was made from; another input makes it worthless.
    fingerprint: String,
    replica: Replica,
}

impl Cache {
    pub(crate) fn open(folder: Folder) -> Self {
        Cache(folder)
    }

    /// The replica kept for this place, if it was made from the same inputs.
    pub(crate) fn read(
        &self,
        run: &str,
        x: f64,
        replica: u32,
        scenario: &Scenario,
    ) -> Option<Replica> {
        let entry: Entry = self.0.read_json(&name(run, x, replica)).ok()?;
        (entry.fingerprint == fingerprint(scenario)).then_some(entry.replica)
    }

    /// Keeps a finished replica.
    pub(crate) fn write(
        &self,
        run: &str,
        x: f64,
        replica: u32,
        scenario: &Scenario,
        result: &Replica,
    ) -> Result<(), Error> {
        let entry = Entry { fingerprint: fingerprint(scenario), replica: result.clone() };
        self.0.write_json(&name(run, x, replica), &entry)
    }
}

fn name(run: &str, x: f64, replica: u32) -> String {
    format!("{run}@{x}#{replica}.json")
}

/// A hash of everything that a replica depends on: the texts, what was changed in them, the engine.
fn fingerprint(scenario: &Scenario) -> String {
    let inputs = &scenario.inputs;
    let policy = inputs.policy.as_ref().map_or("", |(_, text)| text);
    let mut parts = vec![env!("SHORTFLOW_ENGINE"), &inputs.scenario.1, policy];
    parts.extend(inputs.overrides.iter().map(String::as_str));
    let hash = parts
        .iter()
        .flat_map(|part| part.bytes().chain([0]))
        .fold(FNV_OFFSET, |hash, b| (hash ^ u128::from(b)).wrapping_mul(FNV_PRIME));
    format!("{hash:032x}")
}

/// FNV-1a with 128 bits.
const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
