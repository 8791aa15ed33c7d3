//! Closing a connection, in order or not.

use shortflow_elements::TcpFlags;
use shortflow_tcp::{Config, Failure, State};
use shortflow_units::Duration;

use crate::script::*;

fn lingering() -> Config {
    Config { time_wait: Duration::from_secs(60), ..newreno() }
}

fn in_state(state: State) -> impl FnOnce(&shortflow_tcp::Connection) {
    move |end| assert_eq!(end.state(), state)
}

// RFC 9293 §3.6, figure 12, left side.
#[test]
fn the_end_that_closes_first_lingers() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .then(in_state(State::FinWait1))
        .at(200)
        .gets(ack(2))
        .then(in_state(State::FinWait2))
        .gets(fin(1))
        .sends(ack(2))
        .then(in_state(State::TimeWait))
        .at(60_199)
        .then(in_state(State::TimeWait))
        .at(60_200)
        .then(in_state(State::Closed))
        .then(|end| assert_eq!((end.failure(), end.peer_closed()), (None, true)));
}

// RFC 9293 §3.6, figure 12, right side; the half-open direction still carries data.
#[test]
fn the_end_that_closes_last_may_send_on() {
    established(lingering())
        .gets(fin(1))
        .sends(ack(2))
        .then(in_state(State::CloseWait))
        .writes_segments(1)
        .sends(seg(1))
        .closes()
        .sends(fin(1001))
        .then(in_state(State::LastAck))
        .at(200)
        .gets(ack(1002))
        .then(in_state(State::Closed))
        .then(|end| assert_eq!(end.acknowledged(), 1000));
}

// RFC 9293 §3.6, figure 13.
#[test]
fn both_ends_may_close_at_once() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .at(150)
        .gets(fin(1).acking(1))
        .sends(ack(2))
        .then(in_state(State::Closing))
        .at(200)
        .gets(ack(2))
        .then(in_state(State::TimeWait));
}

#[test]
fn the_fin_rides_on_the_last_data() {
    script(lingering())
        .opens()
        .sends(syn(0))
        .writes(1500)
        .closes()
        .at(100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .sends(seg(1))
        .sends(data(1001, 1501).with_fin());
}

// RFC 6298 §5.4.
#[test]
fn a_lost_fin_goes_again() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .at(400)
        .sends(fin(1).again())
        .at(450)
        .gets(ack(2))
        .then(in_state(State::FinWait2));
}

// RFC 9293 §3.10.7.4, eighth: the 2 MSL timer starts anew.
#[test]
fn a_lingering_end_acknowledges_a_repeated_fin_and_lingers_anew() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .at(200)
        .gets(fin(1).acking(2))
        .sends(ack(2))
        .at(1_000)
        .gets(fin(1))
        .sends(ack(2))
        .at(60_999)
        .then(in_state(State::TimeWait))
        .at(61_000)
        .then(in_state(State::Closed));
}

// RFC 9293 §3.10.7.1.
#[test]
fn without_time_wait_a_repeated_fin_is_answered_with_a_reset() {
    established(Config { time_wait: Duration::ZERO, ..lingering() })
        .closes()
        .sends(fin(1))
        .at(200)
        .gets(fin(1).acking(2))
        .sends(ack(2))
        .then(in_state(State::Closed))
        .at(1_000)
        .gets(fin(1).acking(2))
        .sends(reset(2));
}

#[test]
fn a_reset_while_the_last_acknowledgement_is_awaited_is_no_failure() {
    established(lingering())
        .gets(fin(1))
        .sends(ack(2))
        .closes()
        .sends(fin(1))
        .gets(reset(2))
        .then(in_state(State::Closed))
        .then(|end| assert_eq!(end.failure(), None));
}

#[test]
fn a_fin_ahead_of_its_turn_counts_when_the_gap_is_filled() {
    established(lingering())
        .gets(data(1001, 1501).with_fin())
        .sends(ack(1))
        .then(|end| assert!(!end.peer_closed()))
        .gets(data(1, 1001))
        .sends(ack(1502))
        .then(|end| assert_eq!((end.peer_closed(), end.received()), (true, 1500)))
        .then(in_state(State::CloseWait));
}

#[test]
fn a_bare_fin_ahead_of_its_turn_counts_when_the_gap_is_filled() {
    established(lingering())
        .gets(fin(1001))
        .sends(ack(1))
        .gets(data(1, 1001))
        .sends(ack(1002))
        .then(in_state(State::CloseWait));
}

#[test]
fn nothing_comes_after_the_fin() {
    established(lingering())
        .gets(fin(1))
        .sends(ack(2))
        .gets(data(2, 102))
        .then(|end| assert_eq!(end.received(), 0));
}

// RFC 9293 §3.10.7.4, second: only the exact next number resets.
#[test]
fn a_reset_elsewhere_in_the_window_is_challenged() {
    established(lingering())
        .gets(reset(500))
        .sends(ack(1))
        .gets(reset(1))
        .then(|end| assert_eq!((end.is_closed(), end.failure()), (true, Some(Failure::Reset))));
}

// RFC 9293 §3.10.5.
#[test]
fn an_abort_sends_a_reset() {
    established(lingering())
        .writes_segments(1)
        .sends(seg(1))
        .aborts()
        .sends(reset(1001).with_flag(TcpFlags::ACK).acking(1))
        .then(|end| assert_eq!((end.is_closed(), end.failure()), (true, Some(Failure::Aborted))));
}

// RFC 9293 §3.8.3.
#[test]
fn a_sender_gives_up_after_its_last_retry() {
    established(Config { data_retries: Some(2), ..lingering() })
        .writes_segments(1)
        .sends(seg(1))
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
        .at(2_200)
        .then(|end| assert_eq!(end.failure(), Some(Failure::TimedOut)));
}
