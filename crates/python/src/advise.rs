//! Advice about a network that is described in a few words.

use std::path::PathBuf;

use pyo3::prelude::*;
use shortflow_advise::{
    Advice, AdviceFiles, Description, LineKind, Network, Prepared, SCENARIO, Search, Use,
    read_flows,
};
use shortflow_policy::Policy;
use shortflow_predict::Prediction;
use shortflow_report::Table;
use shortflow_run::Progress;
use shortflow_sim::Simulator;
use shortflow_tune::{REFERENCES, Store};
use shortflow_units::Rate;

use crate::failure::Failure;
use crate::watch::{Stop, watched};

/// A name and its text.
type Named = (String, String);

/// The description of a network, as in the options of `advise`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Described {
    up: String,
    down: String,
    users: u32,
    /// The usual ones if empty.
    uses: Vec<String>,
    link: String,
    /// A file of flows.
    flows: Option<PathBuf>,
    sizes: f64,
    /// Whether policies count that Linux cannot deploy.
    any: bool,
    seed: Option<u64>,
    /// Replicas in parallel; 0 is one per core.
    jobs: u16,
    /// A folder for finished replicas.
    folder: PathBuf,
}

/// Advises a policy: the result as JSON and as text, the scenario, and the policy if one is advised.
#[pyfunction]
#[pyo3(signature = (described, progress=None))]
pub(crate) fn advise(
    py: Python<'_>,
    described: Described,
    progress: Option<Py<PyAny>>,
) -> Result<(String, String, Named, Option<Named>), Failure> {
    let network = py.detach(|| described.network())?;
    let prepared = py.detach(|| {
        let is_deployable: Option<&dyn Fn(&Policy) -> bool> =
            if described.any { None } else { Some(&is_deployable) };
        Prepared::new(&network, described.seed, is_deployable)
    })?;
    let stop = Stop::default();
    let store = Store::beside(&described.folder, &Simulator);
    let search = |progress: &dyn Progress| {
        let search = Search {
            compared: &prepared.compared,
            references: &REFERENCES,
            engine: &Simulator,
            model: &Prediction,
            threads: described.jobs.into(),
            store: &store,
            stop: &stop.0,
            progress,
        };
        shortflow_advise::advise(&network, &search)
    };
    let advice = watched(py, &stop.0, progress.as_ref(), search)??;
    let AdviceFiles { scenario, policy_file, policy } = prepared.files(&advice);
    let policy = advice.has_policy().then(|| (policy_file.to_owned(), policy));
    Ok((advice.json().to_string(), text(&advice), (SCENARIO.to_owned(), scenario), policy))
}

impl Described {
    fn network(&self) -> Result<Network, Failure> {
        let flows = self.flows.as_ref().map(|path| read_flows(path)).transpose();
        let flows = flows.map_err(input)?;
        let uses = match &self.uses[..] {
            [] => Description::usual_uses(flows.is_some()).to_owned(),
            given => given.join(","),
        };
        let description = Description {
            up: rate("up", &self.up)?,
            down: rate("down", &self.down)?,
            users: self.users,
            uses: Use::parse_all(&uses).map_err(input)?,
            line: LineKind::parse(&self.link).map_err(input)?,
            flows,
            sizes: self.sizes,
        };
        description.network().map_err(input)
    }
}

fn rate(name: &str, text: &str) -> Result<Rate, Failure> {
    text.parse().map_err(|error| Failure::Input(format!("{name} = {text:?}: {error}")))
}

fn input(error: impl std::error::Error) -> Failure {
    Failure::Input(error.to_string())
}

fn text(advice: &Advice<'_>) -> String {
    let table = Table::set(&advice.table()).text(false);
    format!("{}{table}\n{}", advice.headline(), advice.found())
}

#[cfg(target_os = "linux")]
fn is_deployable(policy: &Policy) -> bool {
    shortflow_deploy::has_queues_of_kernel(policy)
}

/// Elsewhere nothing is deployed.
#[cfg(not(target_os = "linux"))]
fn is_deployable(_: &Policy) -> bool {
    true
}
