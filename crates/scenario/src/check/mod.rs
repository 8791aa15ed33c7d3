//! Checks a scenario: resolves its names, checks ranges, and how settings stand to each other.

mod bindings;
mod limits;
mod measure;
mod members;
pub(crate) mod sizes;
pub(crate) mod tcp;
pub(crate) mod times;
mod topology;
mod workloads;

pub(crate) use workloads::{Checker, MOST_FLOWS, MOST_PER_SECOND};

use std::sync::Arc;

use shortflow_policy::Policy;
use shortflow_text::{Diagnostics, Document};
use shortflow_units::Duration;

use crate::file::ScenarioFile;
use crate::files::Files;
use crate::model::{Inputs, Scenario};
use topology::Topology;

/// Checks `file`, which was read from `document`; `stem` is its name when it gives none. Of its
/// bindings the last `by_hand` come from the command line.
pub(crate) fn check(
    document: &mut Document,
    file: ScenarioFile,
    stem: String,
    policy: Option<Arc<Policy>>,
    inputs: Inputs,
    files: Files<'_>,
    by_hand: usize,
) -> Result<Scenario, Diagnostics> {
    frame(document, &file);
    let topology = Topology::check(document, &file);
    // Names and paths mean little in a topology that is wrong itself.
    document.checked()?;
    let bindings = bindings::check(document, &file, &topology, policy.as_deref(), &inputs, by_hand);
    let workloads = workloads::check(document, &file, &topology, &files);
    if let Some(policy) = &policy {
        bindings::check_labels(document, policy, &workloads);
    }
    let measure =
        measure::check(document, &file, &topology, &bindings, policy.as_deref(), &workloads);
    limits::check(document, &file, &topology, &workloads, &measure);
    document.checked()?;
    Ok(Scenario {
        name: file.name.unwrap_or(stem),
        description: file.description,
        seed: file.seed,
        replicas: file.replicas,
        duration: file.duration,
        warm_up: file.warm_up,
        drain: file.drain,
        nodes: topology.nodes,
        links: topology.links,
        bindings,
        policy,
        workloads,
        measure,
        inputs: Inputs { files: files.digests(), ..inputs },
    })
}

fn frame(document: &mut Document, file: &ScenarioFile) {
    if file.duration.is_zero() {
        document.mistake("duration", "the duration must be above zero", "");
    } else if file.warm_up >= file.duration {
        let message =
            format!("warm_up {} is not shorter than duration {}", file.warm_up, file.duration);
        document.mistake("warm_up", message, "nothing would be measured: shorten it");
    }
    let longest = Duration::from_secs(100 * 24 * 3600);
    if file.duration + file.drain > longest {
        document.mistake("duration", "a run lasts at most 100 days", "");
    }
    if file.replicas == 0 || file.replicas > MOST_REPLICAS {
        let message = format!("{} replicas cannot be", file.replicas);
        document.mistake("replicas", message, format!("allowed here: 1 to {MOST_REPLICAS}"));
    }
    if file.workloads.is_empty() {
        let help = "add a [workloads.NAME.transfers], web, telnet, ftp, bulk, cbr or poisson table";
        document.mistake("workloads", "nothing loads the network: there is no workload", help);
    }
}

const MOST_REPLICAS: u32 = 10_000;
