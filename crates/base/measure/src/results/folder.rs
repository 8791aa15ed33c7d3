//! The folder of one run.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shortflow_files::{AtomicFile, Dir, Kind, ReadError};

use super::error::{MAKE_FOLDER, csv_to_io};
use super::sanitize::{check_json, check_lines, check_manifest};
use super::series::SeriesRow;
use super::{Error, Input, MANIFEST, Manifest, ResultFile, Run, Setting, WARNINGS};
use crate::replica::Replica;
use crate::summary::Summary;
use crate::survival::Survival;
use crate::warning::{ScopedWarning, Warning, WarningKind};

/// The most bytes of a file of results that is read.
const MAX_FILE: u64 = 512_000_000;

/// A folder of results. Another user may have written its content: no link in it is followed, neither for reading nor
/// for writing.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// What a user named.
    root: PathBuf,
    /// The place inside it.
    inner: PathBuf,
    path: PathBuf,
}

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
    /// Why the point has no results, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The replica that failed, where the point failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_replica: Option<u32>,
}

impl Point {
    /// A point from its replicas.
    pub fn new(settings: Vec<Setting>, replicas: Vec<Replica>) -> Point {
        if !Replica::are_identical(&replicas) {
            return Point {
                settings,
                summary: Summary::from_replicas(&replicas),
                replicas,
                failure: None,
                failed_replica: None,
            };
        }
        // One run several times over is one sample, and has no interval.
        let mut summary =
            Summary { replicas: replicas.len() as u32, ..Summary::from_replicas(&replicas[..1]) };
        summary.warnings.push(identical(replicas.len()));
        Point { settings, summary, replicas, failure: None, failed_replica: None }
    }

    /// A point that failed, for this `reason`.
    pub fn failed(settings: Vec<Setting>, kind: WarningKind, reason: String) -> Point {
        let warning = Warning::new(kind, format!("this point has no results: {reason}"));
        let summary = Summary { warnings: vec![warning], ..Summary::default() };
        let failure = Some(reason);
        Point { settings, summary, replicas: Vec::new(), failure, failed_replica: None }
    }

    /// Whether it failed or was stopped, rather than being interrupted.
    pub fn has_failed(&self) -> bool {
        self.has_warning(WarningKind::Failed) || self.was_stopped()
    }

    /// Whether it was stopped: it took too long, or the machine failed, and it might succeed another time.
    pub fn was_stopped(&self) -> bool {
        self.has_warning(WarningKind::Stopped)
    }

    fn has_warning(&self, kind: WarningKind) -> bool {
        self.summary.warnings.iter().any(|warning| warning.kind == kind)
    }

    /// Whether a model computed it: it has means, and no replicas.
    pub fn is_of_model(&self) -> bool {
        self.replicas.is_empty() && self.failure.is_none()
    }
}

fn identical(replicas: usize) -> Warning {
    let message = format!(
        "all {replicas} replicas are identical, because nothing in this scenario is random: \
            figures are those of one replica, have no interval, and depend on the order in which \
            flows start"
    );
    let help = "to make replicas differ, let flows start at random times, such as with \
        `start_window = \"1 s\"` of `bulk`, or add a workload with random arrivals or sizes";
    Warning::new(WarningKind::IdenticalReplicas, message).with_help(help)
}

impl Folder {
    /// Makes the folder, and those above it, unless it is there; and makes sure that files can be
    /// written in it, so that a long run does not find out at its end.
    pub fn create(path: &Path) -> Result<Folder, Error> {
        Dir::create(path).map_err(Error::io(MAKE_FOLDER, path))?;
        let folder = Folder::open(path);
        folder.probe()?;
        Ok(folder)
    }

    /// The folder at `path`, to be read.
    pub fn open(path: &Path) -> Folder {
        Folder::beneath(path, Path::new(""))
    }

    /// The folder `inner` in the one at `root`, to be read.
    pub fn beneath(root: &Path, inner: &Path) -> Folder {
        // Not joined where it is empty, which would end the path with a slash.
        let path = if inner.as_os_str().is_empty() { root.to_owned() } else { root.join(inner) };
        Folder { root: root.to_owned(), inner: inner.to_owned(), path }
    }

    /// The folder `inner` in this one, to be read.
    pub fn inside(&self, inner: impl AsRef<Path>) -> Folder {
        Folder::beneath(&self.root, &self.inner.join(inner))
    }

    /// The same, made where it is not there.
    pub fn create_inside(&self, inner: impl AsRef<Path>) -> Result<Folder, Error> {
        let folder = self.inside(inner);
        let made = Dir::open(&self.root).and_then(|root| root.make_dir(&folder.inner, 0o777));
        made.map_err(Error::io(MAKE_FOLDER, &folder.path))?;
        folder.probe()?;
        Ok(folder)
    }

    fn probe(&self) -> Result<(), Error> {
        let probe = self.dir().and_then(|dir| AtomicFile::create_in(dir, "probe".as_ref(), 0o600));
        probe.map(drop).map_err(Error::io("write in the folder", &self.path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, opened.
    ///
    /// # Errors
    /// When it is not there, or a link inside the folder that a user named leads to it.
    pub fn dir(&self) -> io::Result<Dir> {
        let root = Dir::open(&self.root)?;
        if self.inner.as_os_str().is_empty() { Ok(root) } else { root.dir(&self.inner) }
    }

    /// Whether a file of this name, or what looks like one, is in it.
    pub fn has(&self, name: &str) -> bool {
        self.dir().is_ok_and(|dir| dir.kind(name).is_some())
    }

    /// Writes all files of a run but the transfers, the manifest last: a folder with a manifest is
    /// complete.
    pub fn write(&self, run: &Run) -> Result<(), Error> {
        let Run { manifest, points, series, .. } = run;
        let replicas: Vec<&Vec<Replica>> = points.iter().map(|point| &point.replicas).collect();
        self.write_json("replicas.json", &replicas)?;
        self.write_json("histograms.json", &histograms(points))?;
        if !series.is_empty() {
            self.write_series(series)?;
        }
        self.write_accesses(points)?;
        self.write_warnings(manifest)?;
        self.write_json("summary.json", &points)?;
        let text = toml::to_string_pretty(manifest).map_err(io::Error::other);
        self.write_file("manifest.toml", |file| file.write_all(text?.as_bytes()))
    }

    /// Reads the manifest and the points back.
    pub fn read(&self) -> Result<(Manifest, Vec<Point>), Error> {
        let path = self.path.join("manifest.toml");
        let text = self.read_text("manifest.toml")?;
        let manifest: Manifest = toml::from_str(&text).map_err(Error::malformed(&path))?;
        check_manifest(&manifest).map_err(Error::malformed(&path))?;
        let mut points: Vec<Point> = self.read_json("summary.json")?;
        if points.is_empty() {
            let path = self.path.join("summary.json");
            return Err(Error::malformed(&path)("it has no points; a run has at least one"));
        }
        let replicas: Vec<Vec<Replica>> = self.read_json("replicas.json")?;
        for (point, replicas) in points.iter_mut().zip(replicas) {
            point.replicas = replicas;
        }
        let stored = self.read_json::<Vec<Survival>>("histograms.json")?;
        let expected = points.iter().flat_map(|point| point.summary.classes()).count();
        if stored.len() != expected {
            let path = self.path.join("histograms.json");
            let why = format!("it has {} distributions; summary.json has {expected}", stored.len());
            return Err(Error::malformed(&path)(why));
        }
        let classes = points.iter_mut().flat_map(|point| point.summary.classes_mut());
        classes.zip(stored).for_each(|(class, times)| class.times = times);
        Ok((manifest, points))
    }

    /// Reads the time series back; none when none was asked for.
    pub fn read_series(&self) -> Result<Vec<SeriesRow>, Error> {
        let path = self.path.join("series.csv");
        if !self.has("series.csv") {
            return Ok(Vec::new());
        }
        let text = self.read_text("series.csv")?;
        check_lines(&text).map_err(Error::malformed(&path))?;
        let mut file = csv::Reader::from_reader(text.as_bytes());
        file.deserialize().collect::<Result<_, _>>().map_err(Error::malformed(&path))
    }

    /// A new file, which appears under its name when it is finished.
    pub fn create_file(&self, name: &str) -> Result<ResultFile, Error> {
        ResultFile::create_in(self, name)
    }

    /// Writes any other file.
    pub fn write_file(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        ResultFile::create_in(self, name)?.write_with(write)
    }

    /// Writes any other file as text.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        self.write_file(name, |file| file.write_all(text.as_bytes()))
    }

    /// Reads a table of data that the run kept; none of an input that it did not keep.
    pub fn read_kept(&self, input: &Input) -> Result<Option<String>, Error> {
        let Some(name) = &input.kept else { return Ok(None) };
        // A manifest that was tampered with leads nowhere else.
        if Path::new(name).file_name() != Some(name.as_ref()) {
            let why = format!("`kept` of the input {} is not a file name", input.name);
            return Err(Error::malformed(&self.path.join(MANIFEST))(why));
        }
        self.read_text(name).map(Some)
    }

    /// Writes any other file as JSON.
    pub fn write_json<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), Error> {
        self.write_file(name, |file| {
            serde_json::to_writer(&mut *file, value)?;
            file.write_all(b"\n")
        })
    }

    /// Reads any other file as text.
    pub fn read_text(&self, name: &str) -> Result<String, Error> {
        let read =
            self.dir().map_err(ReadError::from).and_then(|dir| dir.read_text(name, MAX_FILE));
        read.map_err(|error| Error::unread(&self.path.join(name), error))
    }

    /// Opens any other file, which may be too large to be read as a whole.
    pub fn open_file(&self, name: &str) -> Result<File, Error> {
        let open = self.dir().map_err(ReadError::from).and_then(|dir| dir.file(name));
        open.map_err(|error| Error::unread(&self.path.join(name), error))
    }

    /// Reads any other file as JSON.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let path = self.path.join(name);
        let text = self.read_text(name)?;
        check_json(&text).map_err(Error::malformed(&path))?;
        serde_json::from_str(&text).map_err(Error::malformed(&path))
    }

    /// The names of the regular files in it.
    pub fn files(&self) -> Vec<String> {
        let Ok(dir) = self.dir() else { return Vec::new() };
        let names = dir.names().unwrap_or_default().into_iter();
        let files = names.filter(|name| dir.kind(name) == Some(Kind::File));
        files.filter_map(|name| name.into_string().ok()).collect()
    }

    /// One file for each workload, point and replica: `accesses-web-000-002.csv`.
    fn write_accesses(&self, points: &[Point]) -> Result<(), Error> {
        for (at, point) in points.iter().enumerate() {
            for replica in &point.replicas {
                let number = replica.number;
                for (workload, lines) in &replica.accesses {
                    let name = format!("accesses-{workload}-{at:03}-{number:03}.csv");
                    self.write_file(&name, |file: &mut dyn Write| {
                        lines.iter().try_for_each(|line| writeln!(file, "{line}"))
                    })?;
                }
            }
        }
        Ok(())
    }

    /// The warnings as rows, if there are any.
    fn write_warnings(&self, manifest: &Manifest) -> Result<(), Error> {
        if manifest.warnings.is_empty() {
            return Ok(());
        }
        self.write_file(WARNINGS, |file: &mut dyn Write| {
            let mut rows = csv::Writer::from_writer(file);
            let columns = ["about", "kind", "message", "help", "file", "line", "column"];
            rows.write_record(columns).map_err(csv_to_io)?;
            for ScopedWarning { about, warning } in &manifest.warnings {
                let place = warning.place.as_ref();
                let row = (
                    (about, warning.kind, &warning.message, &warning.help),
                    place.map(|place| (&place.file, place.line, place.column)),
                );
                match row.1 {
                    Some(place) => rows.serialize((row.0, place)),
                    None => rows.serialize((row.0, ("", "", ""))),
                }
                .map_err(csv_to_io)?;
            }
            rows.flush()
        })
    }

    fn write_series(&self, series: &[SeriesRow]) -> Result<(), Error> {
        self.write_file("series.csv", |file: &mut dyn Write| {
            let mut rows = csv::Writer::from_writer(file);
            for row in series {
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
