//! Checks a scenario: names, ranges, and settings that depend on each other.

mod addresses;
mod bindings;
mod doubtful;
mod limits;
mod measure;
mod members;
pub(crate) mod sizes;
pub(crate) mod tcp;
mod tcp_effect;
pub(crate) mod times;
mod topology;
mod without_effect;
mod workloads;

pub(crate) use addresses::first_usable;
pub(crate) use workloads::{Checker, MAX_FLOWS, MAX_PER_SECOND};

use std::sync::Arc;

use shortflow_policy::Policy;
use shortflow_text::{Diagnostics, Document, WrittenKeys};
use shortflow_units::Duration;

use crate::file::ScenarioFile;
use crate::files::Files;
use crate::load::format_keys;
use crate::model::{Inputs, Scenario};
use topology::Topology;

/// Checks `file`, which was read from `document`. `stem` is the scenario's name if the file gives none. The
/// last `by_hand` of its bindings come from the command line.
pub(crate) fn check(
    document: &mut Document,
    file: ScenarioFile,
    stem: String,
    policy: Option<Arc<Policy>>,
    inputs: Inputs,
    files: Files<'_>,
    by_hand: usize,
) -> Result<Scenario, Diagnostics> {
    let name = document.title(file.name.clone(), stem);
    frame(document, &file);
    let topology = Topology::check(document, &file, &files);
    let addresses = addresses::check(document, &file, &topology);
    // Names and paths are checked only if the topology is valid.
    document.checked()?;
    let bindings = bindings::check(document, &file, &topology, policy.as_deref(), &inputs, by_hand);
    let workloads = workloads::check(document, &file, &topology, &addresses, &files);
    if let Some(policy) = &policy {
        bindings::check_labels(document, policy, &workloads);
    }
    let measure =
        measure::check(document, &file, &topology, &bindings, policy.as_deref(), &workloads);
    limits::check(document, &file, &topology, &workloads, &measure);
    doubtful::of_file(document, &file, &workloads);
    document.checked()?;
    let queued = file.links.iter().filter(|(_, link)| link.queue.is_some());
    let queued: Vec<String> = queued.map(|(name, _)| name.to_owned()).collect();
    let is_tcp_of_all = file.tcp.congestion.is_some();
    let window_rate_of_all = file.tcp.window_rate;
    let scenario = Scenario {
        name,
        description: file.description,
        seed: file.seed,
        replicas: file.replicas as u32,
        duration: file.duration,
        warm_up: file.warm_up,
        drain: file.drain,
        nodes: topology.nodes,
        addresses: Arc::new(addresses),
        links: topology.links,
        bindings,
        policy,
        workloads,
        measure,
        inputs: Inputs { files: files.digests(), ..inputs },
        written: WrittenKeys::new(document, format_keys),
    };
    doubtful::unmarked(document, &scenario, is_tcp_of_all);
    doubtful::overloaded(document, &scenario);
    doubtful::many_connections(document, &scenario);
    doubtful::deep(document, &scenario, &queued);
    doubtful::late(document, &scenario);
    doubtful::heavy_tails(document, &scenario);
    doubtful::window_rate(document, &scenario, window_rate_of_all);
    without_effect::series(document, &scenario);
    without_effect::flow_samples(document, &scenario);
    Ok(scenario)
}

fn frame(document: &mut Document, file: &ScenarioFile) {
    if file.duration.is_zero() {
        document.mistake("duration", "duration must be above zero; found 0 s", "");
    } else if file.warm_up >= file.duration {
        let message = format!(
            "warm_up {} must be shorter than duration {}; otherwise nothing is measured",
            file.warm_up, file.duration
        );
        document.mistake("warm_up", message, "shorten `warm_up`, or lengthen `duration`");
    }
    let longest = Duration::from_secs(100 * 24 * 3600);
    if file.duration + file.drain > longest {
        let message = format!(
            "duration and drain together must be at most 100 days; found {}",
            file.duration + file.drain
        );
        document.mistake("duration", message, "");
    }
    let max = i64::from(MAX_REPLICAS);
    if !(1..=max).contains(&file.replicas) {
        let message = format!("replicas must be 1 to {max}; found {}", file.replicas);
        document.mistake("replicas", message, "");
    }
}

/// The limit on replicas of a point.
pub const MAX_REPLICAS: u32 = 10_000;
