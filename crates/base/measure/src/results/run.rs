//! A run, as used by tables and figures.

use std::path::PathBuf;

use super::{Error, Folder, Manifest, Point, SeriesRow, series_rows};

/// One run: one policy over one scenario, at one point or at several of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What it is called beside other runs.
    pub label: String,
    /// What was run.
    pub manifest: Manifest,
    /// What was found, point by point.
    pub points: Vec<Point>,
    /// Time series of ports, if any were asked for.
    pub series: Vec<SeriesRow>,
    /// The folder from which it was read.
    pub folder: Option<PathBuf>,
}

impl Run {
    /// A run that has just ended.
    pub fn new(manifest: Manifest, points: Vec<Point>) -> Run {
        let series = series_rows(&points);
        Run { label: manifest.label.clone(), manifest, points, series, folder: None }
    }

    /// A run from its folder of results.
    pub fn read(folder: &Folder) -> Result<Run, Error> {
        let (manifest, points) = folder.read()?;
        let series = folder.read_series()?;
        let (label, path) = (manifest.label.clone(), folder.path().to_owned());
        Ok(Run { label, manifest, points, series, folder: Some(path) })
    }
}
