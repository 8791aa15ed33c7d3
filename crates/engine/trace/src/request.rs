//! A capture that the user requests.

use std::path::{Path, PathBuf};

use shortflow_measure::results::Error;
use shortflow_run::Tap;
use shortflow_scenario::{Loaded, Scenario, SweepPoint};

use crate::capture_point::{CapturePoint, UnknownCapturePoint, both_ends, places};
use crate::trace::Trace;

/// A requested capture: the file and the capture points.
#[derive(Debug)]
pub struct Request {
    /// The file.
    pub file: PathBuf,
    /// A note for the user, as a sentence.
    pub note: Option<String>,
    places: Vec<CapturePoint>,
    snap: Option<u32>,
}

impl Request {
    /// A capture into `file` at the named capture points.
    ///
    /// # Errors
    /// When a name is unknown, there is more than one run for the one file, or the file is standard output.
    pub fn new(file: &Path, names: &[String], loaded: &Loaded) -> Result<Self, RequestError> {
        if file == Path::new("-") {
            return Err(RequestError::StandardOutput);
        }
        let points = loaded.points();
        let replicas = points[0].scenario.replicas;
        if (points.len(), replicas) != (1, 1) {
            return Err(RequestError::several(points, replicas));
        }
        let scenario = &points[0].scenario;
        let places = places(scenario, names)?;
        let note = both_ends(scenario, &places).map(|(one, other)| {
            let [one, other] = [one, other].map(|node| &scenario.nodes[node.index()].name);
            format!(
                "connections between {one} and {other} are traced at both ends; Wireshark and \
                 tcptrace count the second copy of a packet as a retransmission"
            )
        });
        Ok(Request { file: file.to_owned(), note, places, snap: None })
    }

    /// Stores at most the first `snap` bytes of frames with real bytes.
    pub fn keep_first(self, snap: u32) -> Self {
        Request { snap: Some(snap), ..self }
    }

    /// Starts the capture of a run.
    pub fn start(&self, scenario: &Scenario) -> Result<Box<dyn Tap>, Error> {
        Ok(Box::new(Trace::create_keeping(self.snap, &self.file, scenario, &self.places)?))
    }
}

/// Why packets cannot be captured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The capture would mix with the results.
    #[error(
        "a trace cannot be written to standard output, which has the results\nchoose a file, or \
            write ./- for a file with that name"
    )]
    StandardOutput,
    /// There are several runs.
    #[error(
        "a trace records one replica; this scenario has {}{replicas} replicas\nselect one with \
            --replicas 1{}",
        if *.points > 1 { format!("{} points of ", .points) } else { String::new() },
        .settings.iter().map(|one| format!(" --set '{one}'")).collect::<String>(),
    )]
    Several {
        /// The points of the sweep.
        points: usize,
        /// The replicas of each.
        replicas: u32,
        /// The settings that select the first point.
        settings: Vec<String>,
    },
    /// A capture point is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownCapturePoint),
}

impl RequestError {
    fn several(points: &[SweepPoint], replicas: u32) -> RequestError {
        // The settings of the sweep are those that differ between its first and its last point.
        let settings = |point: &'_ SweepPoint| point.scenario.inputs.overrides.clone();
        let (first, last) = (settings(&points[0]), settings(&points[points.len() - 1]));
        let swept = first.iter().zip(&last).filter(|(one, other)| one != other);
        let settings = swept.map(|(one, _)| one.to_string()).collect();
        RequestError::Several { points: points.len(), replicas, settings }
    }
}
