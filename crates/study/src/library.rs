//! The studies that come with the program.

/// A study's files, by their names within its folder.
#[derive(Debug)]
pub struct StudyFiles {
    /// The study's name: that of its folder under `papers/`.
    pub id: &'static str,
    files: &'static [(&'static str, &'static str)],
}

impl StudyFiles {
    /// The study called `id`.
    pub fn find(id: &str) -> Option<&'static StudyFiles> {
        STUDIES.iter().find(|study| study.id == id)
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        self.files.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }

    /// The names of all studies.
    pub fn names() -> impl Iterator<Item = &'static str> {
        STUDIES.iter().map(|study| study.id)
    }
}

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../papers/", $folder, "/", $name)))),*]
    };
}

const STUDIES: &[StudyFiles] = &[StudyFiles {
    id: "cm05",
    files: files!["cm05":
        "study.toml",
        "claims.toml",
        "single.toml",
        "multi.toml",
        "policies/best-effort.toml",
        "policies/tsw2cm-servers.toml",
        "policies/tsw2cm.toml",
        "policies/fair-marker.toml",
        "policies/per-flow-marker.toml",
    ],
}];
