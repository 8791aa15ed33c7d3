//! The files of a study as documents, which know where a mistake is.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use shortflow_text::{Document, Source};

use crate::error::Error;
use crate::spec::StudyFiles;

/// Reads the file `name` of a study.
pub(crate) fn read<T: DeserializeOwned>(files: &StudyFiles, name: &str) -> Result<T, Error> {
    document(files, name)?.read().map_err(Error::Mistakes)
}

pub(crate) fn document(files: &StudyFiles, name: &str) -> Result<Document, Error> {
    let place = files.place(name);
    let Some(text) = files.text(name) else {
        return Err(Error::Study { file: place, message: "no such file".to_owned() });
    };
    let source = Source { name: place, text: text.to_owned() };
    Document::parse(Arc::new(source), &[]).map_err(Error::Mistakes)
}
