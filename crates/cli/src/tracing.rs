//! What `simulate --trace` asks for.

use std::path::{Path, PathBuf};

use shortflow_scenario::{Loaded, Scenario, SweepPoint};
use shortflow_sim::{self as sim, Tap};
use shortflow_trace::{Place, Trace, both_ends, places};

use crate::console::Console;
use crate::failure::Failure;

/// A trace to be written.
#[derive(Debug)]
pub(crate) struct Tracing {
    pub(crate) file: PathBuf,
    places: Vec<Place>,
}

impl Tracing {
    /// A trace into `file` at the places that are named. One run fits into a file, so there must be
    /// one only.
    pub(crate) fn new(
        console: &Console,
        file: &Path,
        names: &[String],
        loaded: &Loaded,
    ) -> Result<Self, Failure> {
        let points = loaded.points();
        let replicas = points[0].scenario.replicas;
        if (points.len(), replicas) != (1, 1) {
            return Err(Failure::Input(several(points, replicas)));
        }
        let scenario = &points[0].scenario;
        let places = places(scenario, names).map_err(Failure::Input)?;
        if let Some((one, other)) = both_ends(scenario, &places) {
            let [one, other] = [one, other].map(|node| &scenario.nodes[node.index()].name);
            console.note(&format!(
                "connections between {one} and {other} are traced at both ends; Wireshark and \
                 tcptrace take the second sight of a packet for a retransmission"
            ));
        }
        Ok(Tracing { file: file.to_owned(), places })
    }

    /// Begins the trace of a run.
    pub(crate) fn start(&self, scenario: &Scenario) -> Result<Box<dyn Tap>, sim::Error> {
        let trace = Trace::create(&self.file, scenario, &self.places).map_err(sim::Error::Trace)?;
        Ok(Box::new(trace))
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
        "a trace is of one run, and this scenario asks for {of_sweep}{replicas} replicas\n\
         choose one, as with --replicas 1{set}"
    )
}
