//! Timers and flow control: RTO, delayed acknowledgements, Nagle, closed windows, idleness.

use shortflow_tcp::{Config, DelayedAck, Recovery, State};
use shortflow_units::{Bytes, Duration};

use crate::script::*;

fn newreno() -> Config {
    config(Recovery::NewReno)
}

fn delayed() -> Config {
    let delay = DelayedAck { timeout: Duration::from_millis(100), segments: 2 };
    Config { delayed_ack: Some(delay), ..newreno() }
}

// RFC 6298 §5.5 and §3 (Karn): the back-off stays until something sent once is acknowledged.
#[test]
fn the_timeout_doubles_and_stays_so_until_a_new_sample() {
    established(newreno())
        .writes_segments(1)
        .sends(seg(1))
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
        .at(1_100)
        .gets(acks(1))
        .then(|end| assert_eq!(end.rto(), Duration::from_millis(1200)))
        .writes_segments(1)
        .sends(seg(2))
        .at(1_200)
        .gets(acks(2))
        // A second sample of 100 ms: RTTVAR falls from 50 to 37.5 ms.
        .then(|end| assert_eq!(end.rto(), Duration::from_millis(250)));
}

// RFC 6298 §5.3.
#[test]
fn the_timer_restarts_when_new_data_are_acknowledged() {
    established(newreno())
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(200)
        .gets(acks(1))
        // SRTT 100, RTTVAR 37.5: RTO 250 ms from here.
        .at(450)
        .sends(seg(2).again());
}

// RFC 5681 §3.1: the threshold is half of the flight, the window one segment, then slow start.
#[test]
fn after_a_timeout_everything_goes_again_in_slow_start() {
    established(Config { initial_window: 4, ..newreno() })
        .writes_segments(9)
        .sends_segments(1..=4)
        .at(400)
        .sends(seg(1).again())
        .window_is(1)
        .at(500)
        .gets(acks(1))
        .sends(seg(2).again())
        .sends(seg(3).again())
        .at(600)
        .gets(acks(3))
        // The threshold of 2 is reached: from here a segment for each window acknowledged.
        .window_is(3)
        .sends(seg(4).again())
        .sends(seg(5))
        .sends(seg(6));
}

// RFC 5681 §3.1: the threshold stays half of what was outstanding at the first timeout.
#[test]
fn a_repeated_timeout_holds_the_threshold() {
    ten_out_twice_timed_out()
        .at(1_100)
        .gets(acks(1))
        .sends(seg(2).again())
        .sends(seg(3).again())
        .at(1_200)
        .gets(acks(3))
        .window_is(3)
        .sends(seg(4).again())
        .sends(seg(5).again())
        .sends(seg(6).again())
        .at(1_300)
        .gets(acks(4))
        .window_is(4)
        .sends(seg(7).again())
        .sends(seg(8).again());
}

fn ten_out_twice_timed_out() -> Script {
    established(newreno())
        .writes_segments(10)
        .sends_segments(1..=10)
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
}

// RFC 5681 §3.1: go-back-N does not send again what a later acknowledgement shows to have come.
#[test]
fn an_acknowledgement_beyond_the_point_of_resending_skips_what_has_come() {
    established(Config { initial_window: 4, ..newreno() })
        .writes_segments(6)
        .sends_segments(1..=4)
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(4))
        .sends_segments(5..=6);
}

// RFC 1122 §4.2.3.2, RFC 5681 §4.2.
#[test]
fn a_delayed_acknowledgement_goes_with_the_second_segment_or_the_timer() {
    established(delayed())
        .gets(seg(1))
        .at(150)
        .gets(seg(2))
        .sends(acks(2))
        .at(160)
        .gets(seg(3))
        .at(260)
        .sends(acks(3));
}

#[test]
fn data_carry_a_delayed_acknowledgement() {
    established(delayed())
        .gets(data(1, 101))
        .at(150)
        .writes(10)
        .sends(data(1, 11).acking(101))
        .at(160)
        .gets(ack(11));
}

#[test]
fn short_segments_add_up_to_two_full_ones() {
    established(delayed())
        .gets(data(1, 901))
        .gets(data(901, 1801))
        .gets(data(1801, 2001))
        .sends(ack(2001));
}

// RFC 5681 §4.2: out of order, and when a gap is filled.
#[test]
fn out_of_order_segments_are_acknowledged_at_once() {
    established(delayed())
        .gets(seg(2))
        .sends(ack(1))
        .gets(seg(3))
        .sends(ack(1))
        .gets(seg(1))
        .sends(acks(3))
        .gets(seg(3))
        .sends(acks(3));
}

#[test]
fn an_old_bare_acknowledgement_is_not_answered() {
    established(newreno()).gets(data(1, 101)).sends(ack(101)).gets(data(1, 1).acking(1));
}

#[test]
fn a_duplicate_acknowledgement_does_not_hide_behind_data() {
    established(newreno())
        .writes_segments(11)
        .sends_segments(1..=10)
        .at(200)
        .gets(seg(2).acking(10_001))
        .sends(ack(1))
        .sends(seg(11).acking(1));
}

// RFC 9293 §3.7.4.
#[test]
fn nagle_holds_a_short_segment_back_while_data_are_outstanding() {
    established(Config { nagle: true, ..newreno() })
        .writes(100)
        .sends(data(1, 101))
        .writes(100)
        .writes(100)
        .at(200)
        .gets(ack(101))
        .sends(data(101, 301))
        .writes(1050)
        .sends(data(301, 1301))
        .closes()
        .sends(data(1301, 1351).with_fin());
}

#[test]
fn without_nagle_short_segments_go_at_once() {
    established(newreno()).writes(100).sends(data(1, 101)).writes(100).sends(data(101, 201));
}

// RFC 9293 §3.8.6.1: first after the retransmission timeout, then at doubling intervals.
#[test]
fn a_closed_window_is_probed() {
    established(Config { data_retries: Some(2), ..newreno() })
        .gets(ack(1).window(0))
        .writes(500)
        .at(400)
        .sends(data(1, 2))
        .at(410)
        .gets(ack(1).window(0))
        .at(1_000)
        .sends(data(1, 2))
        .at(1_010)
        .gets(ack(1).window(0))
        .at(2_200)
        .sends(data(1, 2))
        .at(2_210)
        .gets(ack(1).window(8000))
        .sends(data(1, 501))
        .at(2_310)
        .gets(ack(501))
        .then(|end| assert_eq!((end.stats().window_probes, end.stats().timeouts), (3, 0)));
}

// RFC 6298 §5.1: the retransmission timer takes the place of a persist timer far away.
#[test]
fn data_after_a_closed_window_have_their_own_timeout() {
    established(newreno())
        .gets(ack(1).window(0))
        .writes(500)
        .at(400)
        .sends(data(1, 2))
        .at(1_000)
        .sends(data(1, 2))
        .at(1_100)
        .gets(ack(1).window(8000))
        .sends(data(1, 501))
        .at(1_400)
        .sends(data(1, 501).again());
}

#[test]
fn the_octet_of_a_probe_may_be_taken() {
    established(newreno())
        .gets(ack(1).window(0))
        .writes(500)
        .at(400)
        .sends(data(1, 2))
        .at(500)
        .gets(ack(2).window(8000))
        .sends(data(2, 501));
}

#[test]
fn the_peers_window_limits_what_is_outstanding() {
    established(newreno())
        .gets(ack(1).window(3000))
        .writes_segments(5)
        .sends_segments(1..=3)
        .at(200)
        .gets(acks(1).window(3000))
        .sends(seg(4));
}

// RFC 9293 §3.10.7.4: an older segment does not change the window.
#[test]
fn an_old_segment_does_not_change_the_window() {
    established(newreno())
        .gets(data(1, 2))
        .sends(ack(2))
        .gets(ack(1).window(0))
        .gets(data(1, 2).window(8000))
        .sends(ack(2))
        .writes(10)
        .at(400)
        .sends(data(1, 2));
}

// RFC 5681 §4.1.
#[test]
fn a_sender_restarts_from_its_initial_window_after_idleness() {
    let restart = |restart_after_idle| {
        let config = Config { initial_window: 2, restart_after_idle, ..newreno() };
        established(config)
            .writes_segments(6)
            .sends_segments(1..=2)
            .at(200)
            .gets(acks(2))
            .sends_segments(3..=5)
            .at(300)
            .gets(acks(5))
            .sends(seg(6))
            .window_is(4)
            .at(400)
            .gets(acks(6))
            .at(5_000)
            .writes_segments(9)
    };
    restart(true).window_is(2).sends_segments(7..=8);
    restart(false).window_is(4).sends_segments(7..=10);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    established(Config { initial_window: 4, ..newreno() })
        .writes_segments(1)
        .sends(seg(1))
        .at(200)
        .gets(acks(1))
        .window_is(4);
}

#[test]
fn the_receive_window_offered_is_constant() {
    let config = Config { receive_window: Bytes(5000), ..newreno() };
    established(config)
        .gets(seg(2))
        .sends(ack(1))
        // Beyond the window of 5000 bytes: refused.
        .gets(seg(6))
        .sends(ack(1))
        .gets(seg(1))
        .sends(acks(2));
}

// RFC 9293 §3.8.6.1: a probe is one octet, so the FIN after the last one is probed by itself.
#[test]
fn the_last_octet_and_the_fin_are_probed_one_after_the_other() {
    established(newreno())
        .gets(ack(1).window(0))
        .writes(1)
        .closes()
        .at(400)
        .sends(data(1, 2))
        .at(500)
        .gets(ack(2).window(0))
        .at(800)
        .sends(fin(2))
        .at(900)
        .gets(ack(3).window(0))
        .then(|end| assert_eq!(end.state(), State::FinWait2));
}
