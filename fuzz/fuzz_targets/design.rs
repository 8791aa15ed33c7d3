//! Any text as the design of a sweep: a table of settings for a scenario that is sound.

#![no_main]

use shortflow_scenario::{Overrides, from_texts};

const SCENARIO: &str = r#"
duration = "10 s"
design = "design.csv"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
workloads.file.bulk = { from = "a", to = "b" }
"#;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let texts = [("scenario.toml", SCENARIO), ("design.csv", text)];
    if let Err(mistakes) = from_texts(&texts, &Overrides::default()) {
        assert!(mistakes.to_string().contains("error"), "{mistakes}");
    }
});
