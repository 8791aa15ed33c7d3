//! Several losses in one window without SACK: partial acknowledgements (RFC 6582).

use shortflow_packet::Phase;
use shortflow_tcp::State;

use super::*;

// RFC 6582 §3.2, step 3: a partial acknowledgement retransmits the next hole.
#[test]
fn newreno_repairs_two_losses_in_one_recovery() {
    // Segments 1 and 4 are lost.
    ten_out(newreno())
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(11))
        .gets(acks(0))
        .sends(seg(12))
        .at(300)
        // Deflated by three segments acknowledged, inflated by one: 5 + 7 - 3 + 1 = 10 - flight 9.
        .gets(acks(3))
        .sends(seg(4).again())
        .sends(seg(13))
        .window_is(5)
        .at(400)
        .gets(acks(12))
        .repairs_are(1, 0)
        // Full: min(5, max(flight 1, 1) + 1) segments.
        .window_is(2)
        .sends(seg(14));
}

// RFC 6582 §3.2, step 3: what comes back of a partial acknowledgement of less than a segment is
// not given back.
#[test]
fn a_partial_acknowledgement_of_less_than_a_segment_deflates_the_window_by_all_of_it() {
    established(newreno())
        .writes(500)
        .sends(data(1, 501))
        .writes_segments(20)
        .sends(data(501, 1501))
        .sends(data(1501, 2501))
        .sends(data(2501, 3501))
        .sends(data(3501, 4501))
        .sends(data(4501, 5501))
        .sends(data(5501, 6501))
        .sends(data(6501, 7501))
        .sends(data(7501, 8501))
        .sends(data(8501, 9501))
        .at(200)
        .gets_times(2, ack(1))
        .gets(ack(1))
        .sends(data(1, 1001).again())
        // Half of 9500, and three segments; two more duplicates: 4750 + 5000, and 9500 out.
        .gets_times(2, ack(1))
        .at(300)
        // The first 500 arrive alone: 4750 + 5000 - 500 = 9250, and 9000 are out.
        .gets(ack(501))
        .sends(data(501, 1501).again())
        // A segment more: 10250, and 9000 are out.
        .gets(ack(501))
        .sends(data(9501, 10501));
}

// RFC 6582 §3.2, step 3, and §4: the timer restarts at the first partial acknowledgement only.
#[test]
fn many_losses_end_in_a_timeout_after_the_first_partial_acknowledgement() {
    ten_out(newreno())
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .at(300)
        .gets(acks(1))
        .sends(seg(2).again())
        .at(400)
        .gets(acks(2))
        .sends(seg(3).again())
        .at(500)
        .gets(acks(3))
        .sends(seg(4).again())
        .sends(seg(11))
        // 300 ms after the first partial acknowledgement, 100 ms after the last.
        .at(600)
        .sends(seg(4).again())
        .phase_is(Phase::LossRecovery);
}

// RFC 6298 §5.4: the second hole's retransmission may be lost as well as the first one's.
#[test]
fn a_lost_retransmission_of_the_second_hole_waits_for_the_timer() {
    // Segments 1 and 4 are lost, and 4 once more.
    ten_out(newreno())
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .at(300)
        .gets(acks(3))
        .sends(seg(4).again())
        .at(600)
        .sends(seg(4).again())
        .window_is(1)
        .repairs_are(1, 1)
        .at(700)
        .gets(acks(10))
        .window_is(2)
        .sends_segments(11..=12);
}

// RFC 5681 §3.1, eq. 4: half of what is in flight, not of what recovery lets pile up at the peer.
#[test]
fn a_timeout_in_a_long_recovery_halves_the_window_and_not_all_that_is_unacknowledged() {
    // Segments 1 and 2 are lost, and so is 2 when it goes again.
    ten_out(newreno())
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
        .gets(acks(0))
        .sends(seg(13))
        .at(300)
        .gets(acks(1))
        .sends(seg(2).again())
        .sends(seg(14))
        .gets(acks(1))
        .sends(seg(15))
        .gets(acks(1))
        .sends(seg(16))
        // Sixteen segments are unacknowledged, of a window of five.
        .gets(acks(1))
        .sends(seg(17))
        .window_is(5)
        .at(600)
        .sends(seg(2).again())
        .window_is(1)
        .at(700)
        .gets(acks(17))
        .window_is(2)
        .sends_segments(18..=19)
        .at(800)
        .gets(acks(18))
        .window_is(3)
        .sends_segments(20..=21)
        // The threshold is two and a half: no more slow start.
        .gets(acks(19))
        .window_is(3)
        .sends(seg(22));
}

// RFC 6582 §3.2, step 2: an acknowledgement of exactly `recover` is not of more than `recover`.
#[test]
fn a_loss_right_after_the_recovery_point_waits_for_the_timer() {
    // Segments 1 and 11 are lost; 11 is the first one sent in recovery.
    for config in [reno(), newreno()] {
        ten_out(config)
            .at(200)
            .gets_times(2, acks(0))
            .gets(acks(0))
            .sends(seg(1).again())
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
            .sends(seg(15))
            .gets_times(4, acks(10))
            .repairs_are(1, 0)
            .at(600)
            .sends(seg(11).again())
            .repairs_are(1, 1);
    }
}

// RFC 6582 §3.2, step 2: once more than `recover` is acknowledged, duplicates count again.
#[test]
fn duplicates_beyond_recover_start_a_fast_retransmit_again() {
    ten_out(newreno())
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(10))
        .sends_segments(11..=12)
        .at(600)
        .gets(acks(11))
        .sends_segments(13..=14)
        .at(700)
        .gets_times(2, acks(11))
        .gets(acks(11))
        .sends(seg(12).again())
        // Three were outstanding: the window of 2, inflated by 3, has room for two more.
        .sends_segments(15..=16)
        .repairs_are(1, 1);
}

// RFC 6582 §3.2, step 3: the last segment goes again with its FIN.
#[test]
fn a_lost_last_segment_goes_again_with_its_fin() {
    // Segments 1 and 5 are lost.
    script(newreno())
        .opens()
        .sends(syn(0))
        .writes(4_500)
        .closes()
        .at(100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .sends_segments(1..=4)
        .sends(data(4001, 4501).with_fin())
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .at(300)
        .gets(acks(4))
        .sends(data(4001, 4501).with_fin().again())
        .at(400)
        .gets(ack(4502))
        .state_is(State::FinWait2)
        .repairs_are(1, 0);
}

// RFC 5681 §3.2, step 2: what a recovery sends is no limited transmit, and counts in FlightSize of
// the next.
#[test]
fn what_was_sent_in_recovery_is_in_flight_when_the_next_begins() {
    // Segments 1 and 23 are lost.
    established(Config { initial_window: 20, ..newreno() })
        .writes_segments(40)
        .sends_segments(1..=20)
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .window_is(10)
        .gets_times(7, acks(0))
        .gets(acks(0))
        .sends(seg(21))
        .gets(acks(0))
        .sends(seg(22))
        .gets(acks(0))
        .sends(seg(23))
        .gets(acks(0))
        .sends(seg(24))
        .gets(acks(0))
        .sends(seg(25))
        .gets(acks(0))
        .sends(seg(26))
        .at(300)
        .gets(acks(22))
        .window_is(5)
        .sends(seg(27))
        .gets_times(2, acks(22))
        .gets(acks(22))
        .sends(seg(23).again())
        .then(|end| assert_eq!(end.congestion_window(), 2_500));
}
