//! Any bytes as a request at an agent's metrics or at a console: the laws of `crates/base/http/src/laws.rs` hold.

#![no_main]

#[path = "../../crates/base/http/src/laws.rs"]
mod laws;
#[allow(dead_code)]
#[path = "../../crates/base/http/src/request.rs"]
mod request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold(bytes));
