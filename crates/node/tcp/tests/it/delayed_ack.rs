//! When a receiver acknowledges.

use shortflow_tcp::{Config, DelayedAck};
use shortflow_units::Duration;

use crate::script::*;

fn delayed() -> Config {
    let delay = DelayedAck { timeout: Duration::from_millis(100), segments: 2 };
    Config { delayed_ack: Some(delay), ..newreno() }
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

// RFC 9293 §3.8.6.3: what goes anyway carries it.
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

fn as_linux() -> Config {
    let delay = DelayedAck { timeout: Duration::from_millis(40), segments: 2 };
    Config { delayed_ack: Some(delay), adaptive_ack: true, ..newreno() }
}

// RFC 1122 §4.2.3.2: within half a second. The first gap of 30 ms makes 40 ms into 50, the second into 55; where nothing
// comes for as long they double, to the round trip of 100 ms.
#[test]
fn the_time_for_which_it_is_held_back_follows_the_gaps_and_doubles() {
    established(as_linux())
        .gets(seg(1))
        .at(130)
        .gets(seg(2))
        .sends(acks(2))
        .at(160)
        .gets(seg(3))
        .at(215)
        .sends(acks(3))
        .at(230)
        .gets(seg(4))
        .at(330)
        .sends(acks(4));
}

// RFC 5681 §4.2 leaves a receiver free to acknowledge sooner. A short segment ends what the other program wrote; where
// the last one was answered within 40 ms, so may this be, until one is not.
#[test]
fn the_end_of_what_was_written_is_acknowledged_at_once_unless_an_answer_is_expected() {
    established(as_linux())
        .gets(data(1, 301))
        .sends(ack(301))
        .writes(10)
        .sends(data(1, 11).acking(301))
        .at(150)
        .gets(data(301, 601).acking(11))
        .at(160)
        .writes(10)
        .sends(data(11, 21).acking(601))
        .at(200)
        .gets(data(601, 901).acking(21))
        .at(240)
        .sends(ack(901))
        .at(300)
        .gets(data(901, 1201).acking(21))
        .sends(ack(1201));
}

// RFC 5681 §4.2: so do the first segments, of which each is acknowledged at once.
#[test]
fn an_answer_that_is_expected_holds_back_what_would_be_acknowledged_at_once() {
    established(Config { quick_acks: 16, ..as_linux() })
        .gets(seg(1))
        .sends(acks(1))
        .writes(10)
        .sends(data(1, 11).acking(1001))
        .at(150)
        .gets(seg(2).acking(11))
        .at(190)
        .sends(acks(2))
        .at(250)
        .gets(seg(3).acking(11))
        .sends(acks(3));
}

// RFC 5681 §4.2: for every second segment at least; a full one and any more of another are enough.
#[test]
fn more_than_a_full_segment_is_acknowledged_at_once() {
    established(as_linux())
        .gets(seg(1))
        .writes(10)
        .sends(data(1, 11).acking(1001))
        .at(150)
        .gets(seg(2).acking(11))
        .gets(data(2001, 2101).acking(11))
        .sends(ack(2101));
}

// RFC 5681 §4.2: two segments' worth of bytes, where they are short.
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

// RFC 9293 §3.10.7.4, first: without sequence numbers there is nothing to answer.
#[test]
fn an_old_bare_acknowledgement_is_not_answered() {
    established(newreno()).gets(data(1, 101)).sends(ack(101)).gets(data(1, 1).acking(1));
}

// RFC 5681 §2: on data it would be no duplicate.
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

// RFC 1122 §4.2.3.2: at least every second full segment of a stream.
#[test]
fn a_stream_of_full_segments_has_an_acknowledgement_for_every_second_one() {
    established(delayed())
        .gets(seg(1))
        .gets(seg(2))
        .sends(acks(2))
        .gets(seg(3))
        .gets(seg(4))
        .sends(acks(4))
        .gets(seg(5))
        .at(200)
        .sends(acks(5));
}

// RFC 5681 §4.2: at once while there is a gap, also for the segment that fills a part of it.
#[test]
fn segments_that_fill_a_part_of_a_gap_are_acknowledged_at_once() {
    established(delayed())
        .gets(seg(4))
        .sends(ack(1))
        .gets(seg(1))
        .sends(acks(1))
        .gets(seg(2))
        .sends(acks(2))
        .gets(seg(3))
        .sends(acks(4))
        // The gap is filled, and there is time again.
        .gets(seg(5))
        .at(200)
        .sends(acks(5));
}

// RFC 9293 §3.10.7.4: the new part of a segment counts, and is acknowledged at once.
#[test]
fn a_segment_that_repeats_some_bytes_brings_the_others() {
    established(delayed())
        .gets(data(1, 601))
        .gets(data(301, 1301))
        .sends(ack(1301))
        .then(|end| assert_eq!(end.received(), 1_300));
}

// RFC 5681 §4.2 for a sequence number that is not data: a FIN is acknowledged at once.
#[test]
fn a_fin_is_acknowledged_at_once() {
    established(delayed()).gets(data(1, 101)).gets(fin(101)).sends(ack(102));
}

// RFC 1122 §4.2.3.2 allows half a second at most; the limit is for all that is held back.
#[test]
fn the_timer_runs_from_the_first_segment_held_back() {
    established(delayed())
        .gets(data(1, 101))
        .at(160)
        .gets(data(101, 201))
        .at(200)
        .sends(ack(201))
        .at(1_000);
}
