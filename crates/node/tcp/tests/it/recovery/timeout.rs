//! What follows when the retransmission timer expires, rightly or not.

use shortflow_packet::Phase;

use super::*;

fn four_out(config: Config) -> Script {
    established(Config { initial_window: 4, ..config }).writes_segments(9).sends_segments(1..=4)
}

// RFC 5681 §3.1: the threshold is half of the flight, the window one segment, then slow start.
#[test]
fn after_a_timeout_everything_goes_again_in_slow_start() {
    for config in [reno(), newreno()] {
        four_out(config)
            .at(400)
            .sends(seg(1).again())
            .window_is(1)
            .phase_is(Phase::LossRecovery)
            .at(500)
            .gets(acks(1))
            .sends_again(2..=3)
            .at(600)
            .gets(acks(3))
            // The threshold of 2 is reached: from here a segment for each window acknowledged.
            .window_is(3)
            .sends(seg(4).again())
            .sends_segments(5..=6);
    }
}

// RFC 5681 §3.1: the threshold stays half of what was outstanding at the first timeout.
#[test]
fn a_repeated_timeout_holds_the_threshold() {
    ten_out(newreno())
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
        .at(1_100)
        .gets(acks(1))
        .sends_again(2..=3)
        .at(1_200)
        .gets(acks(3))
        .window_is(3)
        .sends_again(4..=6)
        .at(1_300)
        .gets(acks(4))
        .window_is(4)
        .sends_again(7..=8);
}

// RFC 5681 §3.1 with the pipe of RFC 6675 §4.
#[test]
fn a_repeated_timeout_holds_the_threshold_with_blocks_too() {
    ten_out(sack())
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
        .at(1_100)
        .gets(acks(1))
        .sends_again(2..=3)
        .at(1_200)
        .gets(acks(3))
        .window_is(3)
        .sends_again(4..=6)
        .at(1_300)
        .gets(acks(4))
        .window_is(4)
        .sends_again(7..=8);
}

// RFC 5681 §3.1, eq. 4: a timeout after progress is a new one; in flight is what was sent again.
#[test]
fn a_timeout_after_progress_sets_the_threshold_from_what_is_in_flight() {
    for config in [reno(), newreno(), sack()] {
        ten_out(config)
            .at(400)
            .sends(seg(1).again())
            .at(500)
            .gets(acks(1))
            .sends_again(2..=3)
            // Half of two segments is less than the least threshold, two. RTO is 600 still.
            .at(1_100)
            .sends(seg(2).again())
            .window_is(1)
            .at(1_200)
            .gets(acks(2))
            .window_is(2)
            .sends_again(3..=4)
            .at(1_300)
            .gets(acks(4))
            .window_is(3)
            .sends_again(5..=7);
    }
}

// RFC 5681 §3.1: go-back-N does not send again what a later acknowledgement shows to have come.
#[test]
fn an_acknowledgement_beyond_the_point_of_resending_skips_what_has_come() {
    for config in [reno(), newreno(), sack()] {
        four_out(config)
            .at(400)
            .sends(seg(1).again())
            .at(500)
            .gets(acks(4))
            .sends_segments(5..=6)
            .window_is(2)
            .phase_is(Phase::CongestionAvoidance);
    }
}

// RFC 6582 §3.2, step 2, and §4.1: after a timeout, duplicates of what was sent again are no news.
#[test]
fn duplicates_after_a_timeout_do_not_start_a_fast_retransmit() {
    for config in [reno(), newreno()] {
        ten_out(config)
            .at(400)
            .sends(seg(1).again())
            .at(500)
            .gets(acks(10))
            .sends_segments(11..=12)
            .at(510)
            // One acknowledgement of exactly `recover` is not more than `recover`.
            .gets_times(4, acks(10))
            .repairs_are(0, 1);
    }
}

// RFC 5681 §3.1 and RFC 6582 §3.2: a spurious timeout. The path became 300 ms slower, nothing was
// lost; the acknowledgements of the originals make the sender send all again, and those of the
// copies do no more harm.
#[test]
fn after_a_spurious_timeout_all_goes_again_and_the_duplicates_are_ignored() {
    for config in [reno(), newreno(), sack()] {
        four_out(config)
            .at(400)
            .sends(seg(1).again())
            .window_is(1)
            .at(410)
            .gets(acks(1))
            .sends_again(2..=3)
            .at(420)
            .gets(acks(2))
            .sends(seg(4).again())
            .at(430)
            .gets(acks(3))
            .window_is(3)
            .sends_segments(5..=6)
            .at(440)
            .gets(acks(4))
            .sends(seg(7))
            .at(700)
            // Four copies arrive at a peer that has them all.
            .gets_times(4, acks(4))
            .at(740)
            .gets(acks(5))
            .window_is(3)
            .sends(seg(8))
            .repairs_are(0, 1);
    }
}

// RFC 6298 §5.4: the timer is for the first unacknowledged segment, the tail included.
#[test]
fn a_lost_last_segment_waits_for_the_timer() {
    for config in [reno(), newreno(), sack()] {
        established(config)
            .writes_segments(3)
            .sends_segments(1..=3)
            .at(200)
            .gets(acks(2))
            .rto_is(250)
            .at(450)
            .sends(seg(3).again())
            .at(550)
            .gets(acks(3))
            .repairs_are(0, 1);
    }
}

// RFC 5681 §3.1: resending uses the window, though there is nothing new to send.
#[test]
fn after_a_timeout_resending_opens_the_window() {
    for config in [reno(), newreno(), sack()] {
        established(config)
            .writes_segments(6)
            .sends_segments(1..=6)
            .at(400)
            .sends(seg(1).again())
            .at(500)
            .gets(acks(1))
            .window_is(2)
            .sends_again(2..=3);
    }
}

// RFC 6298 §5.4 and RFC 9293 §3.8.6.1: a peer that has closed its window gets an octet of what is
// outstanding, not a segment.
#[test]
fn a_timeout_with_a_closed_window_probes() {
    for config in [reno(), newreno()] {
        four_out(config)
            .at(200)
            .gets(acks(1).window(0))
            .rto_is(250)
            .at(450)
            .then(|end| assert_eq!(end.stats().timeouts, 1))
            .at(950)
            .sends(data(1001, 1002))
            .at(1_050)
            .gets(acks(1))
            .sends(seg(2).again())
            .at(1_150)
            .gets(acks(4))
            .sends_segments(5..=6);
    }
}
