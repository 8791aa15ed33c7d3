//! The file format of runs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// One scenario under one policy, over a sweep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The name by which claims and figures refer to it: letters, digits, hyphens and points.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Scenario file, beside the study.
    pub scenario: String,
    /// Policy file, beside the study.
    pub policy: String,
    /// Settings as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// The keys that are swept together.
    pub sweep: Vec<String>,
    /// Their values.
    pub values: Vec<f64>,
    /// The values under `--quick`; all when absent.
    pub quick: Option<Vec<f64>>,
    /// No more replicas than this, of a run that is dear; the last look's when absent.
    pub at_most: Option<u32>,
    /// Whose requests are replayed here; what browses draws its own when absent.
    pub accesses: Option<AccessesSpec>,
}

impl RunSpec {
    /// The points of its sweep.
    pub(crate) fn points(&self, quick: bool) -> &[f64] {
        match (&self.quick, quick) {
            (Some(values), true) => values,
            _ => &self.values,
        }
    }
}

/// Whether two points of a sweep are the same.
pub(crate) fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Where a run takes the requests of its browsing sessions from: another run drew them, and each
/// replica replays those of the same replica there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessesSpec {
    /// The run that draws them, which has no `accesses` itself.
    pub run: String,
    /// The point of its sweep; the same as here when absent.
    pub x: Option<f64>,
    /// What a client does when a page comes before the last one is complete.
    #[serde(default)]
    pub busy: BusySpec,
}

/// What a client that replays requests does when a page comes before the last one is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BusySpec {
    /// It loads both: requests go out at their logged times.
    #[default]
    Overlap,
    /// The page begins when the one before is complete.
    Wait,
}

/// A change to runs: a reading of what the paper leaves open, or what is tried where a check fails.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSpec {
    /// Its name: letters, digits, hyphens and points.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// What it changes, as a person reads it.
    pub says: String,
    /// Settings as `key=value`, after those of the run.
    #[serde(default)]
    pub set: Vec<String>,
    /// The scenario files whose runs are changed; all when absent.
    pub scenarios: Option<Vec<String>>,
    /// The policy files whose runs are changed, for settings that others do not have; all when absent.
    pub only: Option<Vec<String>>,
    /// Policy files that stand for others.
    #[serde(default)]
    pub policies: BTreeMap<String, String>,
}

impl RunSpec {
    /// Whether the key of this `key=value`, or one inside it or around it, is swept.
    fn sweeps(&self, setting: &str) -> bool {
        let is_inside = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let swept = |key: &str| {
            self.sweep.iter().any(|swept| is_inside(swept, key) || is_inside(key, swept))
        };
        setting.split_once('=').is_some_and(|(key, _)| swept(key.trim()))
    }
}

impl ChangeSpec {
    /// A change of settings in all runs.
    pub(crate) fn of_settings(name: &str, set: Vec<String>) -> ChangeSpec {
        let (scenarios, only, policies) = (None, None, BTreeMap::new());
        ChangeSpec { name: name.to_owned(), says: String::new(), set, scenarios, only, policies }
    }

    /// Whether it changes anything of `run`, whose sweep stands above what is set.
    pub(crate) fn changes(&self, run: &RunSpec) -> bool {
        self.is_meant_for(run)
            && (self.set.iter().any(|setting| !run.sweeps(setting))
                || self.policies.contains_key(&run.policy))
    }

    /// Whether `run`, for which it is meant, sweeps some of what it sets: then it is not tried there as it is
    /// said.
    pub(crate) fn is_overridden(&self, run: &RunSpec) -> bool {
        self.is_meant_for(run) && self.set.iter().any(|setting| run.sweeps(setting))
    }

    fn is_meant_for(&self, run: &RunSpec) -> bool {
        let is_among = |files: &Option<Vec<String>>, file| {
            files.as_ref().is_none_or(|files| files.contains(file))
        };
        is_among(&self.scenarios, &run.scenario) && is_among(&self.only, &run.policy)
    }

    /// Whether it can be tried, as it is said, on what is found in `runs` together.
    pub(crate) fn is_for(&self, runs: &[&RunSpec]) -> bool {
        runs.iter().any(|run| self.changes(run)) && !runs.iter().any(|run| self.is_overridden(run))
    }
}

/// A name that may stand in the name of a file.
pub(super) fn name<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    let name = String::deserialize(text)?;
    let may_stand = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    match name.chars().all(may_stand) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => Ok(name),
        false => Err(D::Error::custom(format!(
            "a name is letters, digits, hyphens and points, a letter or digit first; found `{name}`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::{ChangeSpec, RunSpec};

    #[test]
    fn a_change_is_tried_as_it_is_said_or_not_at_all() {
        let run = |sweep: &str| -> RunSpec {
            let text = format!(
                "name = \"a\"\nscenario = \"s\"\npolicy = \"p\"\nsweep = [{sweep}]\nvalues = [1]"
            );
            toml::from_str(&text).unwrap()
        };
        let (plain, swept) = (run(""), run("\"parameters.load\""));
        let change = |set: &str| -> ChangeSpec {
            toml::from_str(&format!("name = \"c\"\nsays = \"\"\nset = [{set}]")).unwrap()
        };
        let mixed = change("\"seed=1\", \" parameters.load = 2\"");
        assert!(mixed.is_for(&[&plain]));
        assert!(!mixed.is_for(&[&plain, &swept]), "not tried under the second run");
        // A reading is of all runs: a sweep stands above the part that it sweeps.
        assert!(mixed.changes(&swept));
        assert!(!change("\"parameters={load=2}\"").changes(&swept));
        assert!(change("\"parameters.loads=2\"").is_for(&[&swept]));
    }

    #[test]
    fn a_name_leads_to_no_other_folder() {
        let of =
            |name: &str| toml::from_str::<ChangeSpec>(&format!("says = \"\"\nname = \"{name}\""));
        for good in ["20x1000", "threshold-0.60", "A"] {
            assert_eq!(of(good).unwrap().name, good);
        }
        for bad in ["", "..", "../evil", "a/b", "a+b", ".hidden", "a b"] {
            assert!(of(bad).unwrap_err().to_string().contains("letters, digits, hyphens"), "{bad}");
        }
    }
}
