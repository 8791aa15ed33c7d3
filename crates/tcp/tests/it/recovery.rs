//! Fast retransmit and fast recovery without SACK.

use shortflow_elements::Phase;
use shortflow_tcp::{Config, Connection, Recovery};

use crate::script::*;

fn reno() -> Config {
    config(Recovery::Reno)
}

fn newreno() -> Config {
    config(Recovery::NewReno)
}

/// Ten segments are out at 100 ms; `count` duplicate acknowledgements of `segments` come.
fn duplicates(script: Script, segments: u32, count: u32) -> Script {
    (0..count).fold(script, |script, _| script.gets(acks(segments)))
}

fn ten_out(config: Config) -> Script {
    established(config).writes_segments(30).sends_segments(1..=10)
}

fn in_phase(phase: Phase) -> impl FnOnce(&Connection) {
    move |end| assert_eq!(end.sender_view().phase, phase)
}

// RFC 5681 §3.2, steps 2 to 6.
#[test]
fn three_duplicates_retransmit_and_halve_the_window() {
    for config in [reno(), newreno()] {
        let script = duplicates(ten_out(config).at(200), 0, 2);
        let script = script
            .gets(acks(0))
            .sends(seg(1).again())
            .window_is(5)
            .then(in_phase(Phase::FastRecovery));
        // The inflated window of 5 + 3 is full until the sixth duplicate makes it 11.
        let script = duplicates(script, 0, 2);
        let script = (11..=14).fold(script, |script, new| script.gets(acks(0)).sends(seg(new)));
        script
            .at(300)
            .gets(acks(10))
            .window_is(5)
            .then(in_phase(Phase::CongestionAvoidance))
            .sends(seg(15));
    }
}

// RFC 5681 §2: below the threshold, reordering is not loss.
#[test]
fn two_duplicates_change_nothing() {
    duplicates(ten_out(newreno()).at(200), 0, 2)
        .gets(acks(3))
        .window_is(11)
        .sends_segments(11..=14);
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
        .then(|end| assert_eq!(end.stats().fast_retransmits, 0));
}

// RFC 6582 §3.2, step 3: a partial acknowledgement retransmits the next hole.
#[test]
fn newreno_repairs_two_losses_in_one_recovery() {
    // Segments 1 and 4 are lost.
    let script = duplicates(ten_out(newreno()).at(200), 0, 2);
    let script = script.gets(acks(0)).sends(seg(1).again());
    let script = duplicates(script, 0, 2);
    script
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
        .then(|end| {
            assert_eq!((end.stats().fast_retransmits, end.stats().timeouts), (1, 0));
        })
        // Full: min(5, max(flight 1, 1) + 1) segments.
        .window_is(2)
        .sends(seg(14));
}

// RFC 5681 §3.2, step 6: Reno leaves at the first new acknowledgement. §4.3: a window is halved
// once, so the second loss waits for the timer.
#[test]
fn reno_repairs_one_loss_of_a_window_and_leaves_the_second_to_the_timer() {
    let script = duplicates(ten_out(reno()).at(200), 0, 2);
    let script = script.gets(acks(0)).sends(seg(1).again()).window_is(5);
    let script = duplicates(script, 0, 2);
    let script = script
        .gets(acks(0))
        .sends(seg(11))
        .gets(acks(0))
        .sends(seg(12))
        .at(300)
        .gets(acks(3))
        .window_is(5);
    duplicates(script, 3, 5)
        .then(|end| assert_eq!(end.stats().fast_retransmits, 1))
        .at(600)
        .sends(seg(4).again())
        .window_is(1)
        .then(|end| assert_eq!(end.stats().timeouts, 1));
}

// RFC 6582 §4, "impatient": the timer restarts at the first partial acknowledgement only.
#[test]
fn many_losses_end_in_a_timeout_after_the_first_partial_acknowledgement() {
    let script = duplicates(ten_out(newreno()).at(200), 0, 2);
    script
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
        .then(in_phase(Phase::LossRecovery));
}

// RFC 5681 §3.1, eq. 4: half of what is in flight, not of what recovery lets pile up at the peer.
#[test]
fn a_timeout_in_a_long_recovery_halves_the_window_and_not_all_that_is_unacknowledged() {
    // Segments 1 and 2 are lost, and so is 2 when it goes again.
    let script = duplicates(ten_out(newreno()).at(200), 0, 2);
    let script = script.gets(acks(0)).sends(seg(1).again()).window_is(5);
    let script = duplicates(script, 0, 2);
    let script = script.gets(acks(0)).sends(seg(11)).gets(acks(0)).sends(seg(12));
    let script = script.gets(acks(0)).sends(seg(13)).at(300).gets(acks(1));
    let script = script.sends(seg(2).again()).sends(seg(14));
    let script = script.gets(acks(1)).sends(seg(15)).gets(acks(1)).sends(seg(16));
    // Sixteen segments are unacknowledged, of a window of five.
    script
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

// RFC 6298 §5.4: what fast retransmit sent may be lost too.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let script = duplicates(ten_out(newreno()).at(200), 0, 2);
    let script = script.gets(acks(0)).sends(seg(1).again());
    duplicates(script, 0, 2).at(500).sends(seg(1).again()).window_is(1).then(|end| {
        assert_eq!((end.stats().fast_retransmits, end.stats().timeouts), (1, 1));
    });
}

// RFC 6582 §3.2, step 2, and §4.1: after a timeout, duplicates of what was sent again are no news.
#[test]
fn duplicates_after_a_timeout_do_not_start_a_fast_retransmit() {
    for config in [reno(), newreno()] {
        let script = ten_out(config)
            .at(400)
            .sends(seg(1).again())
            .at(500)
            .gets(acks(10))
            .sends_segments(11..=12)
            .at(510);
        // One acknowledgement of exactly `recover` is not more than `recover`.
        duplicates(script, 10, 4).then(|end| assert_eq!(end.stats().fast_retransmits, 0));
    }
}

// RFC 6582 §3.2, step 2: once more than `recover` is acknowledged, they count again.
#[test]
fn duplicates_beyond_recover_start_a_fast_retransmit_again() {
    let script = ten_out(newreno())
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(10))
        .sends_segments(11..=12)
        .at(600)
        .gets(acks(11))
        .sends_segments(13..=14)
        .at(700);
    duplicates(script, 11, 2)
        .gets(acks(11))
        .sends(seg(12).again())
        // Three were outstanding: the window of 2, inflated by 3, has room for two more.
        .sends_segments(15..=16)
        .then(|end| assert_eq!(end.stats().fast_retransmits, 1));
}

// RFC 3042 §2, and RFC 5681 §3.2, step 2: the two segments do not count in FlightSize.
#[test]
fn limited_transmit_sends_new_data_for_the_first_two_duplicates() {
    ten_out(Config { limited_transmit: true, ..newreno() })
        .at(200)
        .gets(acks(0))
        .sends(seg(11))
        .window_is(10)
        .gets(acks(0))
        .sends(seg(12))
        .window_is(10)
        .gets(acks(0))
        .sends(seg(1).again())
        .window_is(5);
}

#[test]
fn limited_transmit_without_loss_leaves_no_trace() {
    ten_out(Config { limited_transmit: true, ..newreno() })
        .at(200)
        .gets(acks(0))
        .sends(seg(11))
        .gets(acks(2))
        .window_is(11)
        .sends_segments(12..=13)
        .gets(acks(3))
        .window_is(12)
        .sends_segments(14..=15);
}

// RFC 5681 §3.2, step 2: only what goes beyond the window is limited transmit's.
#[test]
fn new_data_within_the_window_count_in_flight_size() {
    established(Config { limited_transmit: true, ..newreno() })
        .writes_segments(5)
        .sends_segments(1..=5)
        .at(200)
        .gets(acks(0))
        .writes_segments(1)
        .sends(seg(6))
        .gets(acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .window_is(3);
}
