//! Any text as a list of flows: it is read, or refused with a place.

#![no_main]

use shortflow_advise::read_csv;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match read_csv("flows.csv", text) {
        Err(error) => assert!(error.to_string().contains("flows.csv"), "{error}"),
        Ok(flows) => {
            assert!(flows.down.per_second.is_finite() && flows.up.per_second.is_finite());
            assert!(flows.down.sizes.is_sorted() && flows.up.sizes.is_sorted());
        }
    }
});
