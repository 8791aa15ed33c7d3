//! Loss-free transfers take exactly the round trips that one counts by hand.

use shortflow_units::{Duration, Instant};

use crate::pair::{Pair, Pipe};
use crate::script::plain;

/// Round trips from the first data segment until the last acknowledgement.
fn round_trips(segments: u64) -> u64 {
    let delay = Duration::from_millis(10);
    let mut pair = Pair::new(plain(), Pipe::clean(delay));
    pair.open();
    assert!(pair.run_until(|pair| pair.ends[0].is_established()));
    let start = pair.now;
    let bytes = segments * u64::from(pair.config().mss);
    pair.write(0, bytes);
    assert!(pair.run_until(|pair| pair.ends[0].acknowledged() == bytes));
    assert_eq!(pair.data_segments(0) as u64, segments);
    assert!(pair.now > Instant::START);
    pair.now.since(start).nanos() / (2 * delay.nanos())
}

/// RFC 5681 §3.1: with an initial window of 2 and an acknowledgement for every segment, the
/// rounds carry 2, 4, 8, 16, 32, 64 segments: 2, 6, 14, 30, 62, 126 in all.
#[test]
fn slow_start_carries_two_four_eight_segments() {
    let table =
        [(1, 1), (2, 1), (3, 2), (5, 2), (6, 2), (7, 3), (11, 3), (14, 3), (15, 4), (20, 4)];
    for (segments, rounds) in table.into_iter().chain([(30, 4), (31, 5), (62, 5), (63, 6), (91, 6)])
    {
        assert_eq!(round_trips(segments), rounds, "{segments} segments");
    }
}
