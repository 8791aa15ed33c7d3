//! The outcome of a calibration: every reading and how well it fits, as files.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shortflow_measure::results::{self, Folder};
use shortflow_report::significant;

use super::replica_selection::SelectedReplicas;
use crate::spec::{StudyFiles, names};

/// The outcome as a table.
const TABLE: &str = "calibration.md";
/// What a person reads first of a study.
const README: &str = "README.md";

/// What came of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// What `calibration.toml` said, as a digest: an outcome belongs to it alone.
    pub of: String,
    /// What the grid ran, as a digest of its scenarios and policies; empty where that was not noted.
    #[serde(default)]
    pub ran: String,
    /// Replicas of each point.
    pub replicas: u32,
    /// What was to be met.
    pub targets: Vec<Target>,
    /// The replicas that are kept, where the paper says what its users asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<SelectedReplicas>,
    /// Every reading, the one that fits best first.
    pub grid: Vec<Fit>,
}

/// A figure that a reading must meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What it is.
    pub what: String,
    /// The paper's figure.
    pub paper: f64,
    /// Ours must lie within this factor of it.
    pub within: f64,
}

/// A reading, and how well it fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The names of the readings of all parameters.
    pub reading: Vec<String>,
    /// The measured value of each target; `None` if nothing was measured.
    pub ours: Vec<Option<f64>>,
    /// The root of the mean square of ln(ours/paper)/ln(within): 1 is just as far off as is allowed.
    /// `None` where some target was not measured.
    pub misfit: Option<f64>,
    /// Whether every target is met.
    pub passes: bool,
}

impl Calibration {
    /// Writes it for machines and for people into `out`; and where the study is a folder, into that
    /// and its README too, between `<!-- begin: calibration -->` and `<!-- end: calibration -->`. Gives
    /// the files that it wrote.
    ///
    /// # Errors
    /// When a file cannot be written, which then is as it was.
    pub fn write(&self, out: &Path, files: &StudyFiles) -> Result<Vec<PathBuf>, results::Error> {
        let table = self.table();
        let mut written = Vec::new();
        let mut write = |folder: &Folder, name: &str, text: &str| {
            folder.write_text(name, text)?;
            written.push(folder.path().join(name));
            Ok(())
        };
        for folder in std::iter::once(out).chain(files.folder()) {
            let folder = Folder::create(folder)?;
            write(&folder, names::CALIBRATED, &format!("{:#}\n", serde_json::json!(self)))?;
            write(&folder, TABLE, &table)?;
        }
        let study = files.folder().map(Folder::open);
        let text = study.as_ref().and_then(|study| study.read_text(README).ok());
        let renewed = text.and_then(|text| with_block(&text, &table));
        if let (Some(study), Some(renewed)) = (study, renewed) {
            write(&study, README, &renewed)?;
        }
        Ok(written)
    }

    /// The grid as a table in Markdown, the best fit first.
    pub fn table(&self) -> String {
        let mut out = String::new();
        if let Some(SelectedReplicas { drawn, replicas }) = &self.kept {
            out += &format!("Of {drawn} replicas drawn, {} are kept.\n\n", replicas.len());
        }
        out += "| reading |";
        for target in &self.targets {
            out +=
                &format!(" {} (paper: {}, within ×{}) |", target.what, target.paper, target.within);
        }
        out += " misfit | passes |\n|---|";
        out += &"---:|".repeat(self.targets.len() + 1);
        out += "---|\n";
        for fit in &self.grid {
            out += &format!("| {} |", fit.reading.join(", "));
            for ours in fit.ours.iter().chain([&fit.misfit]) {
                out += &format!(" {} |", ours.map_or_else(|| "–".to_owned(), significant));
            }
            out += if fit.passes { " yes |\n" } else { " no |\n" };
        }
        out
    }
}

/// The document with another text in its part for the calibration, if it has one.
fn with_block(document: &str, text: &str) -> Option<String> {
    const BEGIN: &str = "<!-- begin: calibration -->";
    const END: &str = "<!-- end: calibration -->";
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_the_grid_between_its_marks() {
        let document = "# A\n<!-- begin: calibration -->\nold\n<!-- end: calibration -->\nafter\n";
        let renewed = with_block(document, "| new |\n").unwrap();
        let expected =
            "# A\n<!-- begin: calibration -->\n\n| new |\n\n<!-- end: calibration -->\nafter\n";
        assert_eq!(renewed, expected);
        assert_eq!(with_block("# A\n", "| new |\n"), None);
    }
}
