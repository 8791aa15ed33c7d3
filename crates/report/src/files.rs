//! The page and its figures on disk.

use std::path::{Path, PathBuf};

use shortflow_measure::Run;
use shortflow_measure::results::{Error, FIGURES, Folder, REPORT, write_whole};

use crate::figures::figures;
use crate::page::page;

/// Writes the page about `runs` and their figures into `folder`, and says where the page is.
pub fn write(folder: &Path, runs: &[Run]) -> Result<PathBuf, Error> {
    let drawn = folder.join(FIGURES);
    Folder::create(&drawn)?;
    for figure in figures(runs) {
        let path = drawn.join(format!("{}.svg", figure.name));
        write_whole(&path, |file| file.write_all(figure.svg.as_bytes()))?;
    }
    let text = page(runs);
    let path = folder.join(REPORT);
    write_whole(&path, |file| file.write_all(text.as_bytes()))?;
    Ok(path)
}
