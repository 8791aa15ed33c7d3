//! Any bytes as a frame and as an IP packet: the laws of `crates/node/wire/tests/it/laws.rs` hold.

#![no_main]

#[path = "../../crates/node/wire/tests/it/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold(bytes));
