//! A capture that was asked for.

use std::path::{Path, PathBuf};

use shortflow_measure::results::Error;
use shortflow_run::Tap;
use shortflow_scenario::{Loaded, Scenario, SweepPoint};

use crate::capture_point::{CapturePoint, both_ends, places};
use crate::trace::Trace;

/// A capture to be written: where to, and at which places.
#[derive(Debug)]
pub struct Request {
    /// The file.
    pub file: PathBuf,
    /// What should be known of it, as a sentence.
    pub note: Option<String>,
    places: Vec<CapturePoint>,
    snap: Option<u32>,
}

impl Request {
    /// A capture into `file` at the places that are named; a message when there is no such place. One
    /// run fits into a file, so there must be one only. Standard output has the results, so `-` is no
    /// file.
    pub fn new(file: &Path, names: &[String], loaded: &Loaded) -> Result<Self, String> {
        if file == Path::new("-") {
            return Err(
                "a trace cannot go to standard output, which has the results\nname a file, \
                        or write ./- for one of this name"
                    .to_owned(),
            );
        }
        let points = loaded.points();
        let replicas = points[0].scenario.replicas;
        if (points.len(), replicas) != (1, 1) {
            return Err(several(points, replicas));
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

    /// Of packets that have bytes, no more than the first `snap` of a frame are to be stored.
    pub fn keep_first(self, snap: u32) -> Self {
        Request { snap: Some(snap), ..self }
    }

    /// Begins the capture of a run.
    pub fn start(&self, scenario: &Scenario) -> Result<Box<dyn Tap>, Error> {
        Ok(Box::new(Trace::create_keeping(self.snap, &self.file, scenario, &self.places)?))
    }
}

fn several(points: &[SweepPoint], replicas: u32) -> String {
    let of_sweep =
        if points.len() > 1 { format!("{} points of ", points.len()) } else { String::new() };
    // What the sweep sets differs from its first point to its last.
    let settings = |point: &'_ SweepPoint| point.scenario.inputs.overrides.clone();
    let (first, last) = (settings(&points[0]), settings(&points[points.len() - 1]));
    let swept = first.iter().zip(&last).filter(|(one, other)| one != other);
    let set: String = swept.map(|(one, _)| format!(" --set '{one}'")).collect();
    format!(
        "a trace can have one replica only, and this scenario has {of_sweep}{replicas} replicas\n\
         run one with --replicas 1{set}"
    )
}
