//! The file format of a calibration: open parameters of the paper, selected by the paper's description of its set-up.

use serde::Deserialize;

use super::{ChangeSpec, Quantity, Variant};

/// A calibration, as written in `papers/<id>/calibration.toml` before any claim is looked at.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationSpec {
    /// What is calibrated on what, in a sentence or two.
    pub says: String,
    /// Replicas of each point.
    pub replicas: u32,
    /// Simulated duration, as in a scenario; that of the full study when absent.
    pub duration: Option<String>,
    /// What is open; the grid has a reading of each.
    pub parameters: Vec<ParameterSpec>,
    /// What a reading must meet.
    pub targets: Vec<TargetSpec>,
    /// Which replicas are kept, where the paper says what its users asked for.
    pub keep: Option<KeepSpec>,
}

/// Replicas are kept whose users ask for about as much as the paper's: a property of what was drawn,
/// blind to schemes. Ranges are from the first number to the second.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepSpec {
    /// What is asked of the users, and why.
    pub says: String,
    /// How many are to be kept: no claim has more.
    pub replicas: u32,
    /// How many are drawn at most.
    pub of: u32,
    /// The run whose users draw their requests, and the point of its sweep.
    pub run: String,
    /// The point.
    pub x: f64,
    /// The workload that browses.
    pub workload: String,
    /// Files that were asked for.
    pub flows: (f64, f64),
    /// Their bytes.
    pub bytes: (f64, f64),
    /// Shares of the bytes in files above a size.
    #[serde(default)]
    pub above: Vec<AboveSpec>,
}

/// The share of bytes in files above a size.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AboveSpec {
    /// The size in bytes.
    pub size: f64,
    /// The share, 0 to 1.
    pub share: (f64, f64),
}

/// Something that the paper leaves open.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSpec {
    /// Its name: letters, digits, hyphens and points.
    pub name: String,
    /// What is open.
    pub open: String,
    /// The ways to read it.
    pub readings: Vec<ChangeSpec>,
}

/// A figure of the paper's set-up or baseline; no evidence for a claim any more.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// What it is.
    pub what: String,
    /// The paper's figure.
    pub paper: f64,
    /// Ours must lie within this factor of it.
    pub within: f64,
    /// What is measured, which names its point where its run has several.
    pub ours: Quantity,
}

impl CalibrationSpec {
    /// Every quantity of its targets, to be changed.
    pub(crate) fn quantities_mut(&mut self) -> impl Iterator<Item = &mut Quantity> {
        self.targets.iter_mut().map(|target| &mut target.ours)
    }

    /// The changes that these readings make, one for each parameter.
    pub(crate) fn variant(&self, names: &[String]) -> Option<Variant> {
        let reading = |(parameter, name): (&ParameterSpec, &String)| {
            parameter.readings.iter().find(|reading| reading.name == *name).cloned()
        };
        let is_complete = names.len() == self.parameters.len();
        let changes: Option<Vec<ChangeSpec>> =
            self.parameters.iter().zip(names).map(reading).collect();
        changes.filter(|_| is_complete).map(Variant::new)
    }

    /// All readings: every way to read each parameter with every way to read the others.
    pub(crate) fn grid(&self) -> Vec<Vec<String>> {
        self.parameters.iter().fold(vec![Vec::new()], |grid, parameter| {
            let longer = |names: &Vec<String>| {
                let names = names.clone();
                let with = move |reading: &ChangeSpec| {
                    [names.as_slice(), std::slice::from_ref(&reading.name)].concat()
                };
                parameter.readings.iter().map(with).collect::<Vec<_>>()
            };
            grid.iter().flat_map(longer).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"
says = "the load on the number of flows"
replicas = 4
[[parameters]]
name = "load"
open = "what counts"
readings = [{ name = "all", says = "", set = ["load=1"] }, { name = "data", says = "", set = ["load=2"] }]
[[parameters]]
name = "window"
open = "how large"
readings = [{ name = "20", says = "" }, { name = "64", says = "" }]
[[targets]]
what = "flows"
paper = 20
within = 1.25
ours = { run = "a", x = 1 }
[[targets]]
what = "loss"
paper = 0.01
within = 2.0
ours = { run = "a", x = 1 }
"#;

    fn spec() -> CalibrationSpec {
        toml::from_str(SPEC).unwrap()
    }

    #[test]
    fn the_grid_has_every_reading_of_each_parameter_with_every_other() {
        let names: Vec<String> = spec().grid().iter().map(|names| names.join("+")).collect();
        assert_eq!(names, ["all+20", "all+64", "data+20", "data+64"]);
        assert_eq!(spec().variant(&spec().grid()[2]).unwrap().name(), "data+20");
        assert!(spec().variant(&["all".to_owned()]).is_none());
        assert!(spec().variant(&["all".to_owned(), "65".to_owned()]).is_none());
    }
}
