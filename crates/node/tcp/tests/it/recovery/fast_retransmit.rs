//! Fast retransmit and fast recovery by counting duplicates: what Reno and NewReno share, and what
//! Reno does alone.

use shortflow_packet::Phase;

use super::*;

// RFC 5681 §3.2, steps 2 to 6.
#[test]
fn three_duplicates_retransmit_and_halve_the_window() {
    for config in [reno(), newreno()] {
        ten_out(config)
            .at(200)
            .gets_times(2, acks(0))
            .gets(acks(0))
            .sends(seg(1).again())
            .window_is(5)
            .phase_is(Phase::FastRecovery)
            // The inflated window of 5 + 3 is full until the sixth duplicate makes it 11.
            .gets_times(2, acks(0))
            .gets(acks(0))
            .sends(seg(11))
            .gets(acks(0))
            .sends(seg(12))
            .gets(acks(0))
            .sends(seg(13))
            .gets(acks(0))
            .sends(seg(14))
            .at(300)
            .gets(acks(10))
            .window_is(5)
            .phase_is(Phase::CongestionAvoidance)
            .sends(seg(15));
    }
}

// RFC 5681 §3.1, equation 4: the threshold is two segments at least.
#[test]
fn the_window_after_a_loss_is_two_segments_at_least() {
    for config in [reno(), newreno()] {
        established(config)
            .writes_segments(3)
            .sends_segments(1..=3)
            .writes_segments(1)
            .sends(seg(4))
            .at(200)
            .gets(acks(1))
            .gets_times(2, acks(1))
            .gets(acks(1))
            .sends(seg(2).again())
            .window_is(2);
    }
}

// RFC 5681 §2: below the threshold, reordering is not loss.
#[test]
fn two_duplicates_change_nothing() {
    for config in [reno(), newreno(), sack()] {
        ten_out(config)
            .at(200)
            .gets(acks(0).sacks(&[(2, 2)]))
            .gets(acks(0).sacks(&[(2, 3)]))
            .gets(acks(3))
            .window_is(11)
            .sends_segments(11..=14)
            .repairs_are(0, 0);
    }
}

// RFC 5681 §3.2: three in a row, without an acknowledgement of new data between them.
#[test]
fn new_data_acknowledged_start_the_count_anew() {
    for config in [reno(), newreno()] {
        ten_out(config)
            .at(200)
            .gets_times(2, acks(0))
            .gets(acks(1))
            .sends_segments(11..=12)
            .gets_times(2, acks(1))
            .repairs_are(0, 0)
            .gets(acks(1))
            .sends(seg(2).again());
    }
}

// RFC 5681 §2: a changed window, or data, make it no duplicate.
#[test]
fn window_updates_and_data_are_not_duplicates() {
    ten_out(newreno())
        .at(200)
        .gets(acks(0).window(900_000))
        .gets(acks(0).window(800_000))
        .gets(acks(0).window(700_000))
        .gets(data(1, 101))
        .sends(ack(101))
        .gets(data(101, 201))
        .sends(ack(201))
        .gets(data(201, 301))
        .sends(ack(301))
        .repairs_are(0, 0);
}

// RFC 5681 §2: with nothing outstanding, and below what is acknowledged, there are no duplicates.
#[test]
fn old_acknowledgements_are_not_duplicates() {
    established(newreno())
        .writes_segments(4)
        .sends_segments(1..=4)
        .at(200)
        .gets(acks(2))
        .gets_times(3, acks(1))
        .gets(acks(4))
        .gets_times(3, acks(4))
        .repairs_are(0, 0);
}

// RFC 5681 §3.2, step 6: Reno leaves at the first new acknowledgement. §4.3: a window is halved
// once, so the second loss waits for the timer.
#[test]
fn reno_repairs_one_loss_of_a_window_and_leaves_the_second_to_the_timer() {
    // Segments 1 and 4 are lost.
    ten_out(reno())
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .window_is(5)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(11))
        .gets(acks(0))
        .sends(seg(12))
        .at(300)
        .gets(acks(3))
        .window_is(5)
        .phase_is(Phase::CongestionAvoidance)
        .gets_times(5, acks(3))
        .repairs_are(1, 0)
        .at(600)
        .sends(seg(4).again())
        .window_is(1)
        .repairs_are(1, 1);
}

// RFC 5681 §4.3: losses of different windows are different signs of congestion.
#[test]
fn each_window_of_data_may_have_a_recovery_of_its_own() {
    for config in [reno(), newreno()] {
        established(Config { initial_window: 6, ..config })
            .writes_segments(30)
            .sends_segments(1..=6)
            .at(200)
            // Segment 1 is lost.
            .gets_times(2, acks(0))
            .gets(acks(0))
            .sends(seg(1).again())
            .window_is(3)
            .gets(acks(0))
            .sends(seg(7))
            .gets(acks(0))
            .sends(seg(8))
            .at(300)
            .gets(acks(6))
            .window_is(3)
            .sends(seg(9))
            .gets(acks(7))
            .sends(seg(10))
            .gets(acks(8))
            .sends(seg(11))
            .at(400)
            // So is 9: three were outstanding.
            .gets_times(2, acks(8))
            .gets(acks(8))
            .sends(seg(9).again())
            // 2 and 3 for the duplicates: room for two more.
            .sends_segments(12..=13)
            .window_is(2)
            .repairs_are(2, 0);
    }
}

// RFC 6298 §5.4: what fast retransmit sent may be lost too.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    for config in [reno(), newreno()] {
        ten_out(config)
            .at(200)
            .gets_times(2, acks(0))
            .gets(acks(0))
            .sends(seg(1).again())
            .gets_times(2, acks(0))
            .at(500)
            .sends(seg(1).again())
            .window_is(1)
            .repairs_are(1, 1);
    }
}
