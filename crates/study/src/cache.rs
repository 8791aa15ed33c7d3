//! Finished replicas on disk, so that a study goes on where it stopped.

use std::collections::BTreeMap;

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
    /// What its clients asked for, which a replica's own file leaves out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    accesses: BTreeMap<String, Vec<String>>,
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
        let replica = Replica { accesses: entry.accesses, ..entry.replica };
        (entry.fingerprint == fingerprint(scenario)).then_some(replica)
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
        let entry = Entry {
            fingerprint: fingerprint(scenario),
            replica: result.clone(),
            accesses: result.accesses.clone(),
        };
        self.0.write_json(&name(run, x, replica), &entry)
    }
}

fn name(run: &str, x: f64, replica: u32) -> String {
    format!("{run}@{x}#{replica}.json")
}

/// A hash of everything that a replica depends on: the texts, what was changed in them, the engine.
pub(crate) fn fingerprint(scenario: &Scenario) -> String {
    let inputs = &scenario.inputs;
    let policy = inputs.policy.as_ref().map_or("", |(_, text)| text);
    let mut parts = vec![env!("SHORTFLOW_ENGINE"), &inputs.scenario.1, policy];
    parts.extend(inputs.files.iter().map(|(_, digest)| digest.as_str()));
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

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
name = "two hosts"
duration = "1 s"
[hosts]
a = {}
b = {}
[links.wire]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "1 ms"
[workloads.call.cbr]
from = "a"
to = "b"
rate = "64 kbit/s"
packet = "200 B"
"#;

    fn scenario(set: &[(&str, &str)]) -> Scenario {
        let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let overrides = shortflow_scenario::Overrides { policy: None, set: set.collect() };
        let loaded = shortflow_scenario::from_texts(&[("two.toml", SCENARIO)], &overrides).unwrap();
        loaded.points()[0].scenario.clone()
    }

    #[test]
    fn a_finished_replica_is_found_again_and_not_under_other_inputs() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Folder::create(home.path()).unwrap());
        let first = scenario(&[]);
        assert_eq!(cache.read("run", 0.6, 0, &first), None);
        let replica = shortflow_sim::run_replica(&first, 0, None, |_| true).unwrap().replica;
        cache.write("run", 0.6, 0, &first, &replica).unwrap();
        assert_eq!(cache.read("run", 0.6, 0, &first), Some(replica));
        assert_eq!(cache.read("run", 0.6, 1, &first), None, "another replica");
        assert_eq!(cache.read("run", 0.65, 0, &first), None, "another point");
        let second = scenario(&[("seed", "2")]);
        assert_eq!(cache.read("run", 0.6, 0, &second), None, "another input");
    }
}
