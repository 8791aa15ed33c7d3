//! What still breaks the rules on words. These numbers may only fall.

/// This file.
pub(super) const BASELINE: &str = "xtask/src/tidy/words/baseline.rs";

/// The sentences above the limit that each page may have.
pub(super) const MAX_LONG_SENTENCES: usize = 3;

/// The banned phrases that a page, or the sources of a crate, still have.
pub(super) const PHRASES: &[(&str, usize)] = &[
    ("THIRD-PARTY.md", 1),
    ("crates/base/files/src", 1),
    ("docs/adr/0005-random-streams.md", 1),
    ("docs/adr/0019-segments-with-times.md", 1),
    ("docs/adr/0025-verdicts-travel-with-the-repository.md", 1),
    ("docs/flow-splitting.md", 2),
    ("docs/tcp-eras.md", 4),
    ("papers/cm05/README.md", 2),
    ("papers/harp05/README.md", 1),
    ("papers/nt02/README.md", 2),
];

/// The sentences above the limit that a page still has.
pub(super) const LONG_SENTENCES: &[(&str, usize)] =
    &[("docs/tcp-eras.md", 4), ("docs/validation/predictions-against-simulations.md", 7)];
