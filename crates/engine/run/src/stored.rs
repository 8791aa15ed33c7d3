//! Loads the scenario of a run from its folder of results, which keeps all that the run has read.

use std::path::{Path, PathBuf};

use shortflow_measure::results::{self, Folder, Input};
use shortflow_measure::{Manifest, Run};
use shortflow_scenario::{DataFile, FileKind, Loaded, Overrides, load_from};
use shortflow_text::{Diagnostics, InputFiles};

/// The scenario of a run, as it was run.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The scenario, under its policy.
    pub loaded: Loaded,
    /// What the command line changed.
    pub overrides: Overrides,
    /// The text of the policy; empty without one.
    pub policy: String,
}

/// Why the scenario of a run cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// A file of the folder is missing or invalid.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// What was run has mistakes, by what this program takes for such.
    #[error(transparent)]
    Mistakes(#[from] Diagnostics),
    /// The folder does not have it: what, and what to do.
    #[error("{0}")]
    Missing(String),
}

impl Stored {
    /// Loads the scenario of a run that was read from its folder.
    ///
    /// # Errors
    /// When the folder does not record it, or a table of data that it did not keep has changed.
    pub fn load(run: &Run) -> Result<Stored, StoredError> {
        let manifest = &run.manifest;
        let missing = |what: &str| StoredError::Missing(format!("{}: {what}", run.label));
        let inputs = InputFiles::default();
        let Some(scenario) = manifest.inputs.first() else {
            return Err(missing("the folder does not record which scenario was run"));
        };
        let policy = give(run, &inputs)?;
        let set = manifest.settings.iter();
        let overrides = Overrides {
            policy: policy.map(|input| PathBuf::from(&input.name)),
            set: set.map(|setting| (setting.key.clone(), setting.value.clone())).collect(),
            bind: manifest.bind.clone(),
            design: manifest.design.as_ref().map(PathBuf::from),
            ..Overrides::default()
        };
        let loaded = load_from(&inputs, Path::new(&scenario.name), &overrides)?;
        refuse_other_data(manifest, &loaded.data).map_err(|what| missing(&what))?;
        let policy = policy.map(|input| input.text.clone()).unwrap_or_default();
        Ok(Stored { loaded, overrides, policy })
    }
}

/// Gives what the folder has of the files that were read, and says which of them is the policy, if there is one.
/// Of a table of data that an earlier version did not keep, the file itself is read.
fn give<'r>(run: &'r Run, inputs: &InputFiles) -> Result<Option<&'r Input>, results::Error> {
    let Some((scenario, others)) = run.manifest.inputs.split_first() else { return Ok(None) };
    inputs.give(Path::new(&scenario.name), &scenario.text);
    let mut policy = None;
    for (at, input) in others.iter().enumerate() {
        let path = Path::new(&input.name);
        let folder = run.folder.as_ref().map(|path| Folder::open(path));
        let kept = folder.map_or(Ok(None), |folder| folder.read_kept(input));
        if let Some(text) = kept? {
            inputs.give(path, &text);
            continue;
        }
        // The policy is the second where there is one; a digest is no policy.
        let as_policy = InputFiles::default();
        as_policy.give(path, &input.text);
        if at == 0 && FileKind::detect(&as_policy, path).is_ok_and(|kind| kind == FileKind::Policy)
        {
            inputs.give(path, &input.text);
            policy = Some(input);
        }
    }
    Ok(policy)
}

/// Refuses tables of data that are not those that were read then.
fn refuse_other_data(manifest: &Manifest, data: &[DataFile]) -> Result<(), String> {
    let is_other = |data: &&DataFile| {
        let then = manifest.inputs.iter().find(|input| input.name == data.name);
        then.is_some_and(|input| input.text != data.digest)
    };
    data.iter().find(is_other).map_or(Ok(()), |data| {
        Err(format!("{} has changed since it was read for this run\nrun it again", data.name))
    })
}
