//! Names by which other programs and papers know what has another name here.

/// A simple name elsewhere, and the name here: of Linux's queueing disciplines, routers and papers.
const NAMES: [(&str, &str); 17] = [
    ("cake", "host-fair"),
    ("codel", "fq-codel"),
    ("fqpie", "pie"),
    ("sfq", "drr"),
    ("fq", "drr"),
    ("ets", "drr"),
    ("wf2q", "wfq"),
    ("cbq", "htb"),
    ("hfsc", "htb"),
    ("prio", "strict-priority"),
    ("pfifo", "fifo"),
    ("bfifo", "fifo"),
    ("droptail", "fifo"),
    ("tbf", "shaper"),
    ("gred", "multi-red"),
    ("wred", "multi-red"),
    ("rio", "multi-red"),
];

/// The name here of what is `simple` elsewhere: in lower case, without `-`, `_` and spaces.
pub(crate) fn here(simple: &str) -> Option<&'static str> {
    NAMES.iter().find(|(elsewhere, _)| *elsewhere == simple).map(|(_, here)| *here)
}
