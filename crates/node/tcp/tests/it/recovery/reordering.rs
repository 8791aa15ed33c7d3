//! Segments that overtake each other, and what the sender makes of it.

use shortflow_packet::Phase;

use super::*;

// RFC 5681 §2 and §3.2: the threshold of three is there for this.
#[test]
fn a_segment_that_two_others_overtake_does_no_harm() {
    for config in [reno(), newreno(), sack()] {
        ten_out(config)
            .at(200)
            // The order of arrival is 2, 3, 1, 4.
            .gets(acks(0).sacks(&[(2, 2)]))
            .gets(acks(0).sacks(&[(2, 3)]))
            .gets(acks(3))
            .sends_segments(11..=14)
            .gets(acks(4))
            .sends_segments(15..=16)
            .window_is(12)
            .repairs_are(0, 0);
    }
}

// RFC 5681 §3.2: three is all there is. The window is halved for nothing.
#[test]
fn a_segment_that_three_others_overtake_is_sent_again_and_the_window_halved() {
    // The order of arrival is 2, 3, 4, 1.
    ten_out(reno())
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .gets(acks(4))
        .phase_is(Phase::CongestionAvoidance)
        .window_is(5)
        .at(300)
        // The acknowledgements of 5 to 10, and then of the second copy of 1.
        .gets(acks(10))
        .window_is(6)
        .sends_segments(11..=16)
        .gets(acks(10))
        .repairs_are(1, 0);
}

// RFC 6582 §3.2, step 3: what shows the reordering looks like a partial acknowledgement.
#[test]
fn newreno_takes_the_acknowledgement_of_a_late_segment_for_a_partial_one() {
    // The order of arrival is 2, 3, 4, 1.
    ten_out(newreno())
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        // 5 is not lost, but goes again.
        .gets(acks(4))
        .sends(seg(5).again())
        .window_is(5)
        .at(300)
        .gets(acks(10))
        .window_is(2)
        .sends_segments(11..=12)
        .repairs_are(1, 0);
}

// RFC 6675 §4, NextSeg: what is not reported missing does not go again.
#[test]
fn with_blocks_only_the_late_segment_goes_again() {
    // The order of arrival is 2, 3, 4, 1.
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(2, 3)]))
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .window_is(5)
        // In flight are 5 to 10: six, of a window of five.
        .gets(acks(4))
        .at(300)
        .gets(acks(5))
        .gets(acks(6))
        .sends(seg(11))
        .gets(acks(10))
        .phase_is(Phase::CongestionAvoidance)
        .window_is(5)
        .sends_segments(12..=15)
        .repairs_are(1, 0);
}

// RFC 9293 §3.10.7.4: acknowledgements that overtake each other acknowledge nothing twice.
#[test]
fn a_late_acknowledgement_is_ignored() {
    for config in [reno(), newreno(), sack()] {
        ten_out(config)
            .at(200)
            .gets(acks(4))
            .window_is(11)
            .sends_segments(11..=15)
            .gets(acks(2))
            .gets(acks(1))
            .window_is(11)
            .gets(acks(5))
            .sends_segments(16..=17);
    }
}
