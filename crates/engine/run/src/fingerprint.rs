//! Fingerprints of inputs, so that kept results are reused only for the same inputs.

use shortflow_scenario::Scenario;

/// A hash of everything that a replica depends on: the texts, the overrides, the engine.
pub fn fingerprint(scenario: &Scenario, engine: &str) -> String {
    let inputs = &scenario.inputs;
    let policy = inputs.policy.as_ref().map_or("", |(_, text)| text);
    let mut parts = vec![engine, &inputs.scenario.1, policy];
    parts.extend(inputs.files.iter().map(|(_, digest)| digest.as_str()));
    parts.extend(inputs.overrides.iter().map(String::as_str));
    digest(parts)
}

/// A hash of some texts, including their boundaries.
pub fn digest<'t>(parts: impl IntoIterator<Item = &'t str>) -> String {
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(FNV_OFFSET, |hash, b| (hash ^ u128::from(b)).wrapping_mul(FNV_PRIME));
    format!("{hash:032x}")
}

/// FNV-1a with 128 bits.
const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
