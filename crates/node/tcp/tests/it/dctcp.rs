//! DCTCP from end to end, under a path that marks.

use shortflow_tcp::{Algorithm, Config};
use shortflow_units::{Duration, Instant};

use crate::pair::{Pair, Pipe};
use crate::script::plain;

/// The mean window in segments over 10 MB, where each segment is marked with probability `p`.
fn mean_window(p: f64, congestion: Algorithm) -> f64 {
    let config = Config { ecn: true, congestion, ..plain() };
    let rtt = 0.1;
    let path = Pipe { mark: p, ..Pipe::clean(Duration::from_millis(50)) };
    let mut pair = Pair::new(config, path);
    pair.open();
    pair.write(0, 10_000_000);
    assert!(pair.run_until(|pair| pair.ends[0].acknowledged() == 10_000_000));
    assert_eq!(pair.ends[0].stats().retransmitted_segments, 0);
    10_000.0 * rtt / pair.now.since(Instant::START).as_secs_f64()
}

/// In a round trip the window W grows by 1 − p, since marked acknowledgements do not open it, and
/// shrinks by α/2 · W with α = p where at least one of its segments is marked: W = 2 (1 − p)/(p · P),
/// P = 1 − (1 − p)^W. The window fluctuates about it, and α with it: 20 %.
// RFC 8257 §3.3.
#[test]
fn the_window_settles_where_growth_and_marks_balance() {
    for (p, balance) in [(0.1, 20.6), (0.2, 9.0)] {
        let ours = mean_window(p, Algorithm::Dctcp);
        assert!((ours / balance - 1.0).abs() < 0.2, "{ours} segments, balance at {balance}");
    }
}

/// Reno halves its window for one mark in it, as for many.
// RFC 8257 §1.
#[test]
fn the_window_is_greater_than_that_of_reno_under_the_same_marks() {
    let (dctcp, reno) = (mean_window(0.1, Algorithm::Dctcp), mean_window(0.1, Algorithm::Reno));
    assert!(dctcp > 2.0 * reno, "{dctcp} and {reno} segments");
}
