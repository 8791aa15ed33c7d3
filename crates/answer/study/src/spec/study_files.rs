//! The files of a study, from the program or from a folder on disk.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use shortflow_measure::results;
use shortflow_text::MAX_DATA;

/// The files of a study with a meaning of their own.
pub(crate) mod names {
    /// The runs, figures and tables.
    pub(crate) const STUDY: &str = "study.toml";
    /// The claims about them.
    pub(crate) const CLAIMS: &str = "claims.toml";
    /// The readings and the targets of a calibration.
    pub(crate) const CALIBRATION: &str = "calibration.toml";
    /// The outcome of its grid.
    pub(crate) const CALIBRATED: &str = "calibration.json";
    /// The claims about a paper's formulas.
    pub(crate) const MODELS: &str = "models.toml";
    /// The outcome of these.
    pub(crate) const MODELLED: &str = "models.json";
    /// The checks that were rehearsed over real kernels.
    pub(crate) const REHEARSED: &str = "rehearsed.json";
    /// The verdicts.
    pub(crate) const LEDGER: &str = "ledger.json";
}

/// A study's files, by their names within its folder.
#[derive(Debug, Clone)]
pub struct StudyFiles {
    /// The study's name: that of its folder.
    pub id: Cow<'static, str>,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    BuiltIn(&'static [(&'static str, &'static str)]),
    Disk { folder: PathBuf, files: Vec<(String, String)> },
}

impl StudyFiles {
    pub(crate) const fn new(
        id: &'static str,
        files: &'static [(&'static str, &'static str)],
    ) -> Self {
        StudyFiles { id: Cow::Borrowed(id), source: Source::BuiltIn(files) }
    }

    /// The study in a folder: all its TOML files, those of folders inside it too, and what came of its
    /// calibration.
    pub fn read(folder: &Path) -> Result<StudyFiles, results::Error> {
        let mut files = Vec::new();
        read_into(&mut files, folder, "")?;
        let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let id = name.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let source = Source::Disk { folder: folder.to_owned(), files };
        Ok(StudyFiles { id: Cow::Owned(id), source })
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.source {
            Source::BuiltIn(files) => files.iter().find(|(n, _)| *n == name).map(|(_, text)| *text),
            Source::Disk { files, .. } => {
                files.iter().find(|(n, _)| n == name).map(|(_, text)| text.as_str())
            }
        }
    }

    /// The names of all its files.
    pub(crate) fn names_of_files(&self) -> Vec<&str> {
        match &self.source {
            Source::BuiltIn(files) => files.iter().map(|(name, _)| *name).collect(),
            Source::Disk { files, .. } => files.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    /// Where a file of the study is, for messages.
    pub(crate) fn place(&self, name: &str) -> String {
        match &self.source {
            Source::BuiltIn(_) => format!("papers/{}/{name}", self.id),
            Source::Disk { folder, .. } => folder.join(name).display().to_string(),
        }
    }

    /// The folder that it was read from, if any.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.source {
            Source::BuiltIn(_) => None,
            Source::Disk { folder, .. } => Some(folder),
        }
    }

    /// What names it on the command line.
    pub(crate) fn argument(&self) -> String {
        self.folder().map_or_else(|| self.id.to_string(), |folder| folder.display().to_string())
    }

    /// Which study it is, in a sentence.
    pub fn description(&self) -> String {
        match &self.source {
            Source::BuiltIn(_) => format!(
                "The study {} that is built into the program; no files on disk are read.",
                self.id
            ),
            Source::Disk { folder, .. } => format!("The study in {}.", folder.display()),
        }
    }

    /// Whether something that the paper leaves open is calibrated.
    pub fn is_calibrated(&self) -> bool {
        self.text(names::CALIBRATION).is_some()
    }
}

/// Reads the files of a study in a folder and in those inside it; their names begin with `prefix`.
fn read_into(
    files: &mut Vec<(String, String)>,
    folder: &Path,
    prefix: &str,
) -> Result<(), results::Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| results::Error::Io { action: "read", path, source }
    };
    let entries = std::fs::read_dir(folder).map_err(failed(folder))?;
    for entry in entries {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            read_into(files, &path, &format!("{prefix}{name}/"))?;
        } else if path.is_file()
            && (name.ends_with(".toml")
                || (prefix.is_empty()
                    && [names::CALIBRATED, names::REHEARSED, names::MODELLED, names::LEDGER]
                        .contains(&name.as_str())))
        {
            let text = shortflow_files::read_text(&path, MAX_DATA);
            let text = text.map_err(|error| failed(&path)(error.into()))?;
            files.push((format!("{prefix}{name}"), text));
        }
    }
    files.sort();
    Ok(())
}
