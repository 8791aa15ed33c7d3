//! Any bytes as a request at an agent's metrics or at a console: the laws of `crates/http/src/laws.rs` hold.

#![no_main]

#[path = "../../crates/http/src/laws.rs"]
mod laws;
#[allow(dead_code)]
#[path = "../../crates/http/src/request.rs"]
mod request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold(bytes));
