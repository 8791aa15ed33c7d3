//! Hostile input to the router: the committed corpus of the fuzz target `route`, and thousands of packets that are
//! made from it. Needs no rights.

use std::fs;
use std::path::Path;

use shortflow_units::Rng;

use crate::passage::{Fate, hold, scenario};

/// The corpus by its names.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/route");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())
    };
    let mut all: Vec<_> = entries.map(named).collect();
    all.sort();
    all
}

/// What no router forwards: what is no packet, and what has addresses that are no node's.
const REFUSED: [&str; 14] = [
    "empty",
    "one-byte",
    "v4-broadcast",
    "v4-for-nobody",
    "v4-from-nobody",
    "v4-lying-header",
    "v4-lying-long",
    "v4-lying-short",
    "v4-truncated",
    "v6-for-nobody",
    "v6-lying-long",
    "v6-mixed-with-v4-mapped",
    "v6-multicast",
    "version-5",
];

#[test]
fn any_protocol_fragments_and_options_pass_and_only_what_is_no_packet_or_for_nobody_does_not() {
    let scenario = scenario();
    let lossless = |bytes: &[u8]| {
        let Fate { delivered, dropped, refused } = hold(&scenario, &[bytes]);
        (delivered + dropped, refused)
    };
    for (name, bytes) in corpus() {
        let (passed, refused) = lossless(&bytes);
        // From the other host the same packet is for its own sender.
        let expected = match name.as_str() {
            "v4-to-a-router" => (2, 0),
            name if REFUSED.contains(&name) => (0, 2),
            _ => (1, 1),
        };
        assert_eq!((passed, refused), expected, "{name}");
    }
}

#[test]
fn thousands_of_mutated_packets_break_nothing() {
    let scenario = scenario();
    let seeds: Vec<Vec<u8>> = corpus().into_iter().map(|(_, bytes)| bytes).collect();
    let mut rng = Rng::stream(1, "hostile packets");
    let mut all = Fate::default();
    for _ in 0..400 {
        let packets: Vec<Vec<u8>> = (0..50).map(|_| mutated(&seeds, &mut rng)).collect();
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        let Fate { delivered, dropped, refused } = hold(&scenario, &packets);
        all.delivered += delivered;
        all.dropped += dropped;
        all.refused += refused;
    }
    assert!(all.delivered > 1000 && all.dropped > 200 && all.refused > 10_000, "{all:?}");
}

/// A packet of the corpus with some of its bytes changed, put in, taken out, or its end cut off or made longer.
fn mutated(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut below = |bound: usize| rng.below(bound.max(1) as u64) as usize;
    let mut bytes = seeds[below(seeds.len())].clone();
    for _ in 0..below(4) {
        let at = below(bytes.len());
        let byte = below(256) as u8;
        match below(6) {
            0 if !bytes.is_empty() => bytes[at] = byte,
            1 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, byte),
            4 if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => bytes.extend(std::iter::repeat_n(byte, below(2000))),
        }
    }
    bytes
}
