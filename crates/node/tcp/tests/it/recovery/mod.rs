//! Loss recovery: timelines of a sender whose peer misses segments.

mod duplicates;
mod fast_retransmit;
mod limited_transmit;
mod newreno;
mod rack;
mod reordering;
mod sack;
mod timeout;

use shortflow_tcp::Config;

use crate::script::*;

/// Ten segments of thirty are out at 100 ms.
fn ten_out(config: Config) -> Script {
    established(config).writes_segments(30).sends_segments(1..=10)
}
