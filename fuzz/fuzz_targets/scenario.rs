//! Any text as a scenario: it is read, or refused with a message; what is read has loads that can be printed.

#![no_main]

use shortflow_scenario::{Overrides, from_texts};

libfuzzer_sys::fuzz_target!(|text: &str| {
    match from_texts(&[("scenario.toml", text)], &Overrides::default()) {
        Err(mistakes) => assert!(mistakes.to_string().contains("error"), "{mistakes}"),
        Ok(loaded) => {
            for link in loaded.loads().iter().flat_map(|point| &point.links) {
                assert!(link.share >= 0.0, "{link:?}");
            }
            let _ = loaded.describe_loads();
        }
    }
});
