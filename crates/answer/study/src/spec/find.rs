//! Finds the study that a name means.

use std::borrow::Cow;
use std::path::Path;

use shortflow_measure::results;
use shortflow_text::suggestion;

use super::built_in::STUDIES;
use super::study_files::StudyFiles;
use crate::error::Error;

impl StudyFiles {
    /// The study called `id` that comes with the program.
    pub fn find(id: &str) -> Option<&'static StudyFiles> {
        StudyFiles::built_in().find(|study| study.id == id)
    }

    /// All studies that come with the program.
    pub(crate) fn built_in() -> impl Iterator<Item = &'static StudyFiles> {
        STUDIES.iter()
    }

    /// Their names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        StudyFiles::built_in().map(|study| &*study.id)
    }
}

/// The study that `name` means: one that comes with the program, else the one in this folder. A name
/// with a separator, such as `./cm05`, is always a folder.
///
/// # Errors
/// When there is neither, or when the folder cannot be read.
pub fn find(name: &str) -> Result<Cow<'static, StudyFiles>, Error> {
    if let Some(files) = StudyFiles::find(name) {
        return Ok(Cow::Borrowed(files));
    }
    let folder = Path::new(name);
    if folder.is_dir() {
        return StudyFiles::read(folder).map(Cow::Owned).map_err(unreadable);
    }
    let help = match folder.parent().filter(|_| folder.is_file()) {
        Some(parent) if parent.as_os_str().is_empty() => {
            "give the folder of the file: .".to_owned()
        }
        Some(parent) => format!("give the folder of the file: {}", parent.display()),
        None => {
            let known: Vec<&str> = StudyFiles::names().collect();
            format!("{}; or a folder with a study.toml", suggestion(name, "there are", &known))
        }
    };
    Err(Error::UnknownStudy { name: name.to_owned(), help })
}

/// A file of a study that is no text is a mistake in the study.
fn unreadable(error: results::Error) -> Error {
    match error {
        results::Error::Io { path, source, .. } => {
            let file = path.display().to_string();
            Error::Study { file, message: format!("cannot read the file: {source}") }
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_on_disk_has_the_files_of_its_folder_by_their_names_in_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("mine");
        std::fs::create_dir_all(folder.join("policies")).unwrap();
        std::fs::write(folder.join("study.toml"), "title = \"mine\"").unwrap();
        std::fs::write(folder.join("policies/red.toml"), "[roles.core]").unwrap();
        std::fs::write(folder.join("README.md"), "no part of it").unwrap();
        let study = StudyFiles::read(&folder).unwrap();
        assert_eq!(study.id, "mine");
        assert_eq!(study.text("policies/red.toml"), Some("[roles.core]"));
        assert_eq!(study.text("README.md"), None);
        assert_eq!(study.description(), format!("The study in {}.", folder.display()));
        let built_in = StudyFiles::find("cm05").unwrap().description();
        assert!(built_in.contains("cm05 that is built into the program"), "{built_in}");
    }
}
