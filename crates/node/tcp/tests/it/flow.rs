//! When a sender that could send waits: Nagle, idleness, an application without data.

use shortflow_tcp::Config;

use crate::script::*;

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

// RFC 9293 §3.7.4: an application may turn it off.
#[test]
fn without_nagle_short_segments_go_at_once() {
    established(newreno()).writes(100).sends(data(1, 101)).writes(100).sends(data(101, 201));
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

// RFC 7661 §4.2: an acknowledgement opens a window only that was used.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    established(Config { initial_window: 4, ..newreno() })
        .writes_segments(1)
        .sends(seg(1))
        .at(200)
        .gets(acks(1))
        .window_is(4);
}
