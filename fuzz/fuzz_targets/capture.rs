//! Any bytes as a capture of packets: flows are read from it, or it is refused with a message. No flow is larger than what the
//! file could show.

#![no_main]

use shortflow_advise::read_capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match read_capture("capture", bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(flows) => {
            let reading = flows.reading.as_ref().expect("it is of a capture");
            assert!(reading.skipped.values().sum::<u64>() <= reading.packets);
            let found = flows.down.sizes.len() + flows.up.sizes.len();
            assert!(
                found as u64 <= reading.packets,
                "{found} flows of {} packets",
                reading.packets
            );
            assert!(!flows.about().is_empty());
        }
    }
});
