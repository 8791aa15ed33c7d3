//! The page and its figures on disk.

use std::path::PathBuf;

use shortflow_measure::View;
use shortflow_measure::results::{Error, FIGURES, Folder, REPORT};

use crate::figures::figures;
use crate::page::page;

/// Writes the page about the runs and their figures into `folder`, and says where the page is.
pub fn write(folder: &Folder, view: &View<'_>) -> Result<PathBuf, Error> {
    let drawn = figures(view);
    let inside = folder.create_inside(FIGURES)?;
    for figure in &drawn {
        inside.write_text(&format!("{}.svg", figure.name), &figure.svg)?;
    }
    folder.write_text(REPORT, &page(view, &drawn))?;
    Ok(folder.path().join(REPORT))
}
