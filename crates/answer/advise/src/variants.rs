//! What is compared: policies at the gateway, each at the incoming rates that are tried, and the network as it is.

use std::path::Path;

use shortflow_scenario::Overrides;
use shortflow_text::{Diagnostics, InputFiles};
use shortflow_tune::{Candidate, CandidateFile, candidates, parameter};
use shortflow_units::Length;

use crate::network::Network;

/// The label of the network as it is.
pub const TODAY: &str = "today";

/// The keys of the rates at which the gateway sends.
pub(crate) const INCOMING_RATE: &str = "links.inside.rate.back";
const OUTGOING_RATE: &str = "links.outside.rate.forward";

/// What is compared.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The policies at the gateway.
    pub candidates: Vec<Candidate>,
    /// The network as it is.
    pub today: Candidate,
}

impl Compared {
    /// The policies of these files that fit, and `plain`, the queue of today.
    ///
    /// # Errors
    /// When no policy fits, or a policy is invalid.
    pub fn new(
        inputs: &InputFiles,
        scenario: &Path,
        network: &Network,
        (files, plain): (&[CandidateFile], &CandidateFile),
        overrides: &Overrides,
    ) -> Result<Compared, Diagnostics> {
        let candidates = variants(inputs, scenario, network, files, overrides)?;
        let today = today(inputs, scenario, plain, overrides)?;
        Ok(Compared { candidates, today })
    }
}

/// Whether a candidate receives at the rate that is usual on its line.
pub(crate) fn is_at_usual_rate(one: &Candidate) -> bool {
    !one.set.iter().any(|(key, _)| key == INCOMING_RATE)
}

/// The network as it is: the gateway sends as fast as it can, and packets wait in the modem and at the provider.
fn today(
    inputs: &InputFiles,
    scenario: &Path,
    plain: &CandidateFile,
    overrides: &Overrides,
) -> Result<Candidate, Diagnostics> {
    let set: Vec<(String, String)> =
        [INCOMING_RATE, OUTGOING_RATE].map(|key| (key.to_owned(), "10 Gbit/s".to_owned())).into();
    let mut these = overrides.clone();
    these.set.extend(set.iter().cloned());
    let plain = std::slice::from_ref(plain);
    let found = candidates(inputs, scenario, plain, &[], &these)?.all.swap_remove(0);
    Ok(Candidate { label: TODAY.to_owned(), set, ..found })
}

/// Every policy that fits, at each incoming rate that is tried. Where a policy has a parameter `limit`, its buffer in the
/// slower direction is as much smaller as that is slower: acknowledgements would otherwise wait in it so long that what
/// they acknowledge fills the line with each of their bursts.
fn variants(
    inputs: &InputFiles,
    scenario: &Path,
    network: &Network,
    files: &[CandidateFile],
    overrides: &Overrides,
) -> Result<Vec<Candidate>, Diagnostics> {
    let found = candidates(inputs, scenario, files, &[], overrides)?.all;
    let mut all = Vec::new();
    for one in found {
        let name = one.scenario().inputs.policy.as_ref().map(|(name, _)| name.clone());
        let is_of = |file: &&CandidateFile| {
            file.path.as_deref().map(|path| path.to_string_lossy().into_owned()) == name
        };
        let Some(file) = files.iter().find(is_of) else { continue };
        let buffer = limit(&one).and_then(|limit| network.slower_buffer(limit));
        let buffer = buffer.map(|(slower, packets)| {
            (slower.limit_key().to_owned(), Length::Packets(packets).to_string())
        });
        for incoming in network.incoming() {
            let is_usual = incoming.label.is_empty();
            let rate = (INCOMING_RATE.to_owned(), incoming.rate.to_string());
            let set = buffer.clone().into_iter().chain((!is_usual).then_some(rate));
            let set: Vec<(String, String)> = set.collect();
            let mut these = overrides.clone();
            these.set.extend(set.iter().cloned());
            let file = std::slice::from_ref(file);
            let found = candidates(inputs, scenario, file, &[], &these)?.all.swap_remove(0);
            let label = match is_usual {
                true => found.label,
                false => format!("{}, {}", found.label, incoming.label),
            };
            all.push(Candidate { label, set: found.set.into_iter().chain(set).collect(), ..found });
        }
    }
    Ok(all)
}

/// The parameter `limit` of a candidate's policy, if it has one in packets.
fn limit(one: &Candidate) -> Option<u64> {
    let set = one.set.iter().find(|(key, _)| key == "policy.parameters.limit");
    let (_, text) = one.scenario().inputs.policy.as_ref()?;
    let length = match set {
        Some((_, value)) => value.parse().ok()?,
        None => parameter(text, "limit")?.parse().ok()?,
    };
    match length {
        Length::Packets(packets) => Some(packets),
        _ => None,
    }
}
