//! Any text as the description of a fleet with one policy: it is read, or refused with a message.

#![no_main]

use shortflow_agent::{Bundle, FLEET, Fleet};

const POLICY: &str = "[roles.core.queue.fifo]\nlimit = \"100 pkt\"\n[roles.edge]\n";

libfuzzer_sys::fuzz_target!(|text: &str| {
    let files = [(FLEET, text), ("policy.toml", POLICY)];
    let bundle = Bundle::new(files.map(|(path, text)| (path.to_owned(), text.to_owned())));
    if let Err(mistakes) = Fleet::check(&bundle) {
        assert!(mistakes.to_string().contains("error"), "{mistakes}");
    }
});
