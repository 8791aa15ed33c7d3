//! A run, as tables and figures take it.

use std::path::Path;

use super::{Compared, Error, Folder, Manifest, Point, SeriesRow, series_rows};

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
}

impl Run {
    /// A run that has just ended.
    pub fn new(manifest: Manifest, points: Vec<Point>) -> Run {
        let series = series_rows(&points);
        Run { label: manifest.label.clone(), manifest, points, series }
    }

    /// What it is in a comparison.
    pub fn compared(&self) -> Compared<'_> {
        Compared { label: &self.label, manifest: &self.manifest, points: &self.points }
    }

    /// A run from its folder of results.
    pub fn read(path: &Path) -> Result<Run, Error> {
        let folder = Folder::open(path);
        let (manifest, points) = folder.read()?;
        let series = folder.read_series()?;
        Ok(Run { label: manifest.label.clone(), manifest, points, series })
    }
}
