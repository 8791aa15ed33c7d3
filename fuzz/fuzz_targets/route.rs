//! Any bytes as a packet that a host hands to the router of a rehearsal: what `crates/engine/rehearse/tests/it/passage.rs` says
//! holds.

#![no_main]

use std::sync::OnceLock;

use shortflow_scenario::Scenario;

#[allow(dead_code)]
#[path = "../../crates/engine/rehearse/src/router/frames.rs"]
mod frames;
#[path = "../../crates/engine/rehearse/tests/it/passage.rs"]
mod passage;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static SCENARIO: OnceLock<Scenario> = OnceLock::new();
    // Twice, so that the second meets what the first has left.
    passage::hold(SCENARIO.get_or_init(passage::scenario), &[bytes, bytes]);
});
