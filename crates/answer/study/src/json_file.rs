//! Results as indented JSON files, so that two of them can be compared line by line.

use std::path::{Path, PathBuf};

use serde::Serialize;
use shortflow_measure::results::{Error, Folder};

/// Writes something that is kept beside a ledger into a folder, indented; gives the file.
pub(crate) fn write_json(out: &Path, name: &str, what: &impl Serialize) -> Result<PathBuf, Error> {
    Folder::create(out)?.write_text(name, &format!("{:#}\n", serde_json::json!(what)))?;
    Ok(out.join(name))
}
