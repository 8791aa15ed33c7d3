//! The folder of one run.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::{MAKE_FOLDER, csv_to_io};
use super::series::{SeriesRow, series_rows};
use super::{Error, Manifest, Setting, write_whole};
use crate::replica::Replica;
use crate::summary::Summary;
use crate::survival::Survival;

/// A folder of results.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder(PathBuf);

/// One point of a sweep; a run without a sweep has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What the sweep set here.
    pub settings: Vec<Setting>,
    /// What all replicas found together.
    pub summary: Summary,
    /// What each replica found; read back without histograms and series, which have files of their
    /// own.
    #[serde(skip)]
    pub replicas: Vec<Replica>,
}

impl Point {
    /// A point from its replicas.
    pub fn new(settings: Vec<Setting>, replicas: Vec<Replica>) -> Point {
        Point { settings, summary: Summary::of(&replicas), replicas }
    }
}

impl Folder {
    /// Makes the folder, and those above it, unless it is there; and makes sure that files can be
    /// written in it, so that a long run does not find out at its end.
    pub fn create(path: &Path) -> Result<Folder, Error> {
        fs::create_dir_all(path).map_err(Error::io(MAKE_FOLDER, path))?;
        let probe = tempfile::Builder::new().prefix(".shortflow-").suffix(".tmp").tempfile_in(path);
        probe.map_err(Error::io("write in the folder", path))?;
        Ok(Folder(path.to_owned()))
    }

    /// The folder at `path`, to be read.
    pub fn open(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes all files of a run but the transfers, the manifest last: a folder with a manifest is
    /// complete.
    pub fn write(&self, manifest: &Manifest, points: &[Point]) -> Result<(), Error> {
        let replicas: Vec<&Vec<Replica>> = points.iter().map(|point| &point.replicas).collect();
        self.write_json("replicas.json", &replicas)?;
        self.write_json("histograms.json", &histograms(points))?;
        if points.iter().flat_map(|p| &p.replicas).any(|replica| !replica.series.is_empty()) {
            self.write_series(points)?;
        }
        self.write_accesses(points)?;
        self.write_json("summary.json", &points)?;
        let text = toml::to_string_pretty(manifest).map_err(io::Error::other);
        write_whole(&self.0.join("manifest.toml"), |file| file.write_all(text?.as_bytes()))
    }

    /// Reads the manifest and the points back.
    pub fn read(&self) -> Result<(Manifest, Vec<Point>), Error> {
        let path = self.0.join("manifest.toml");
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let manifest = toml::from_str(&text).map_err(Error::malformed(&path))?;
        let mut points: Vec<Point> = self.read_json("summary.json")?;
        let replicas: Vec<Vec<Replica>> = self.read_json("replicas.json")?;
        for (point, replicas) in points.iter_mut().zip(replicas) {
            point.replicas = replicas;
        }
        let mut stored = self.read_json::<Vec<Survival>>("histograms.json")?.into_iter();
        for class in points.iter_mut().flat_map(|point| point.summary.classes_mut()) {
            class.times = stored.next().unwrap_or_default();
        }
        Ok((manifest, points))
    }

    /// Reads the time series back; none when none was asked for.
    pub fn read_series(&self) -> Result<Vec<SeriesRow>, Error> {
        let path = self.0.join("series.csv");
        if !path.exists() {
            return Ok(Vec::new());
        }
        let mut file = csv::Reader::from_path(&path).map_err(Error::malformed(&path))?;
        file.deserialize().collect::<Result<_, _>>().map_err(Error::malformed(&path))
    }

    /// Writes any other file as JSON.
    pub fn write_json<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), Error> {
        write_whole(&self.0.join(name), |file| {
            serde_json::to_writer(&mut *file, value)?;
            file.write_all(b"\n")
        })
    }

    /// Reads any other file as JSON.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let path = self.0.join(name);
        let file = fs::File::open(&path).map_err(Error::io("read", &path))?;
        serde_json::from_reader(io::BufReader::new(file)).map_err(Error::malformed(&path))
    }

    /// One file for each workload, point and replica: `accesses-web-000-002.csv`.
    fn write_accesses(&self, points: &[Point]) -> Result<(), Error> {
        for (at, point) in points.iter().enumerate() {
            for (number, replica) in point.replicas.iter().enumerate() {
                for (workload, lines) in &replica.accesses {
                    let name = format!("accesses-{workload}-{at:03}-{number:03}.csv");
                    write_whole(&self.0.join(name), |file: &mut dyn Write| {
                        lines.iter().try_for_each(|line| writeln!(file, "{line}"))
                    })?;
                }
            }
        }
        Ok(())
    }

    fn write_series(&self, points: &[Point]) -> Result<(), Error> {
        write_whole(&self.0.join("series.csv"), |file: &mut dyn Write| {
            let mut rows = csv::Writer::from_writer(file);
            for row in series_rows(points) {
                rows.serialize(row).map_err(csv_to_io)?;
            }
            rows.flush()
        })
    }
}

/// All pooled distributions, point by point, in the order of [`Summary::classes`].
fn histograms(points: &[Point]) -> Vec<&Survival> {
    points.iter().flat_map(|point| point.summary.classes()).map(|class| &class.times).collect()
}
