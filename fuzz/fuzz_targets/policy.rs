//! Any text as a policy: it is read, or refused with a message.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(mistakes) = shortflow_policy::from_text("policy.toml", text, &[]) {
        assert!(mistakes.to_string().contains("error"), "{mistakes}");
    }
});
