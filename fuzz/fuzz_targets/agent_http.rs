//! Any bytes as a request at an agent's metrics: the laws of `crates/agent/src/metrics/laws.rs` hold.

#![no_main]

#[path = "../../crates/agent/src/metrics/laws.rs"]
mod laws;
#[allow(dead_code)]
#[path = "../../crates/agent/src/metrics/request.rs"]
mod request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold(bytes));
