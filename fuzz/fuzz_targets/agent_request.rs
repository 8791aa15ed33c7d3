//! Any bytes as a request at an agent's control socket: the laws of `crates/fleet/agent/tests/it/laws.rs` hold.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/fleet/agent/tests/it/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::request(bytes));
