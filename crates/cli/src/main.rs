//! The one binary, `shortflow`; no logic of its own.

fn main() {}
