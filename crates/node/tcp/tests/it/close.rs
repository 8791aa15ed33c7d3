//! Closing a connection, in order or not.

use std::sync::Arc;

use shortflow_packet::{Ecn, TcpFlags};
use shortflow_tcp::{Config, Connection, Failure, Role, State, TcpHeader};
use shortflow_units::{Duration, Instant};

use crate::script::*;

fn lingering() -> Config {
    Config { time_wait: Duration::from_secs(60), ..newreno() }
}

// RFC 9293 §3.6, figure 12, left side.
#[test]
fn the_end_that_closes_first_lingers() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .state_is(State::FinWait1)
        .at(200)
        .gets(ack(2))
        .state_is(State::FinWait2)
        .gets(fin(1))
        .sends(ack(2))
        .state_is(State::TimeWait)
        .at(60_199)
        .state_is(State::TimeWait)
        .at(60_200)
        .state_is(State::Closed)
        .then(|end| assert_eq!((end.failure(), end.peer_closed()), (None, true)));
}

// RFC 9293 §3.6, figure 12, right side; the half-open direction still carries data.
#[test]
fn the_end_that_closes_last_may_send_on() {
    established(lingering())
        .gets(fin(1))
        .sends(ack(2))
        .state_is(State::CloseWait)
        .writes_segments(1)
        .sends(seg(1))
        .closes()
        .sends(fin(1001))
        .state_is(State::LastAck)
        .at(200)
        .gets(ack(1002))
        .state_is(State::Closed)
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
        .state_is(State::Closing)
        .at(200)
        .gets(ack(2))
        .state_is(State::TimeWait);
}

// RFC 9293 §3.10.4: the FIN follows the last byte, on its segment.
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
        .state_is(State::FinWait2);
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
        .state_is(State::TimeWait)
        .at(61_000)
        .state_is(State::Closed);
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
        .state_is(State::Closed)
        .at(1_000)
        .gets(fin(1).acking(2))
        .sends(reset(2));
}

// RFC 9293 §3.10.7.4, second: in LAST-ACK a reset only ends what was over.
#[test]
fn a_reset_while_the_last_acknowledgement_is_awaited_is_no_failure() {
    established(lingering())
        .gets(fin(1))
        .sends(ack(2))
        .closes()
        .sends(fin(1))
        .gets(reset(2))
        .state_is(State::Closed)
        .then(|end| assert_eq!(end.failure(), None));
}

// RFC 9293 §3.10.7.4, eighth: a FIN counts when all before it has come.
#[test]
fn a_fin_ahead_of_its_turn_counts_when_the_gap_is_filled() {
    established(lingering())
        .gets(data(1001, 1501).with_fin())
        .sends(ack(1))
        .then(|end| assert!(!end.peer_closed()))
        .gets(data(1, 1001))
        .sends(ack(1502))
        .then(|end| assert_eq!((end.peer_closed(), end.received()), (true, 1500)))
        .state_is(State::CloseWait);
}

// RFC 9293 §3.10.7.4, eighth: the same without data.
#[test]
fn a_bare_fin_ahead_of_its_turn_counts_when_the_gap_is_filled() {
    established(lingering())
        .gets(fin(1001))
        .sends(ack(1))
        .gets(data(1, 1001))
        .sends(ack(1002))
        .state_is(State::CloseWait);
}

// RFC 9293 §3.10.7.4, seventh: after a FIN data "should not occur", and are ignored.
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

// RFC 9293 §3.10.7.4, second. A host may hand on several segments before it asks what is to be sent.
#[test]
fn a_reset_cancels_the_acknowledgement_that_is_due() {
    let now = Instant::START;
    let config = Arc::new(newreno());
    let mut end = Connection::new(Arc::clone(&config), Role::Passive);
    end.open(now);
    let mut gets = |seq: u32, flags: TcpFlags, payload| {
        let header = TcpHeader { seq, ack: 1, window: 65_535, flags, ..TcpHeader::default() };
        end.on_segment(now, now, &header, payload, Ecn::NotEct);
        if flags.has(TcpFlags::SYN) { end.poll_transmit(now).map(|s| s.header.flags) } else { None }
    };
    assert_eq!(gets(0, TcpFlags::SYN, 0), Some(TcpFlags::SYN.with(TcpFlags::ACK)));
    gets(1, TcpFlags::ACK, 1000);
    gets(1001, TcpFlags::ACK, 1000);
    gets(2001, TcpFlags::RST, 0);
    assert_eq!((end.received(), end.failure()), (2000, Some(Failure::Reset)));
    assert_eq!(end.poll_transmit(now), None);
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

// RFC 9293 §3.10.4: after close nothing more is taken.
#[test]
fn nothing_is_sent_after_the_fin() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .writes_segments(1)
        .at(200)
        .gets(ack(2))
        .state_is(State::FinWait2);
}

// RFC 6298 §5.4: the end that closes last repeats its FIN too.
#[test]
fn a_lost_last_fin_goes_again() {
    established(lingering())
        .gets(fin(1))
        .sends(ack(2))
        .closes()
        .sends(fin(1))
        .state_is(State::LastAck)
        .at(400)
        .sends(fin(1).again())
        .state_is(State::LastAck)
        .at(500)
        .gets(ack(2))
        .state_is(State::Closed);
}

// RFC 9293 §3.6, figure 13: closing at once, with a FIN lost.
#[test]
fn a_fin_lost_while_both_close_goes_again() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .at(150)
        .gets(fin(1).acking(1))
        .sends(ack(2))
        .at(400)
        .sends(fin(1).again())
        .state_is(State::Closing)
        // The peer's FIN comes again as well, since our acknowledgement was lost.
        .gets(fin(1).acking(1))
        .sends(ack(2))
        .at(500)
        .gets(ack(2))
        .state_is(State::TimeWait);
}

// RFC 9293 §3.6: the FIN is behind the data, and is acknowledged after them.
#[test]
fn a_lost_segment_before_the_fin_is_repaired_first() {
    script(lingering())
        .opens()
        .sends(syn(0))
        .writes_segments(2)
        .closes()
        .at(100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .sends(seg(1))
        .sends(seg(2).with_fin())
        .state_is(State::FinWait1)
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(1))
        .sends(seg(2).with_fin().again())
        .state_is(State::FinWait1)
        .at(600)
        .gets(ack(2002))
        .state_is(State::FinWait2);
}

// RFC 9293 §3.10.7.4, eighth: the place of a FIN is known from its first coming.
#[test]
fn a_fin_ahead_of_its_turn_may_come_twice() {
    established(lingering())
        .gets(fin(1001))
        .sends(ack(1))
        .gets(fin(1001))
        .sends(ack(1))
        .gets(data(1, 501))
        .sends(ack(501))
        .state_is(State::Established)
        .gets(data(501, 1001))
        .sends(ack(1002))
        .state_is(State::CloseWait);
}

// RFC 9293 §3.6, case 2: a FIN and data may cross.
#[test]
fn data_that_cross_the_fin_are_taken() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .at(150)
        .gets(data(1, 501).acking(1))
        .sends(ack(501))
        .at(200)
        .gets(ack(2))
        .gets(data(501, 601).acking(2))
        .sends(ack(601))
        .gets(fin(601).acking(2))
        .sends(ack(602))
        .state_is(State::TimeWait)
        .then(|end| assert_eq!(end.received(), 600));
}

// RFC 9293 §3.10.7.4, first: a SYN to a lingering end is acknowledged.
#[test]
fn a_lingering_end_acknowledges_a_syn() {
    established(lingering())
        .closes()
        .sends(fin(1))
        .gets(fin(1).acking(2))
        .sends(ack(2))
        .gets(syn(2))
        .sends(ack(2))
        .state_is(State::TimeWait);
}

// RFC 9293 §3.10.7.4, second: a lingering end, and one of which both have closed, just end.
#[test]
fn a_reset_ends_a_connection_that_is_over_without_a_failure() {
    let over = established(lingering()).closes().sends(fin(1)).at(150).gets(fin(1).acking(1));
    over.sends(ack(2))
        .state_is(State::Closing)
        .gets(reset(2))
        .state_is(State::Closed)
        .then(|end| assert_eq!(end.failure(), None));
}

// RFC 5961 §3.2: a reset outside of the window is nobody's.
#[test]
fn a_reset_outside_of_the_window_is_ignored() {
    established(lingering())
        .gets(data(1, 101))
        .sends(ack(101))
        .gets(reset(50))
        .gets(reset(2_000_000))
        .state_is(State::Established);
}

// RFC 9293 §3.10.5: where the peer knows of nothing, or both have closed, there is nothing to reset.
#[test]
fn an_abort_is_silent_where_there_is_nothing_to_reset() {
    script(lingering())
        .aborts()
        .then(|end| assert_eq!(end.failure(), None))
        .opens()
        .sends(syn(0))
        .aborts()
        .state_is(State::Closed)
        .then(|end| assert_eq!(end.failure(), Some(Failure::Aborted)));
    established(lingering())
        .gets(fin(1))
        .sends(ack(2))
        .closes()
        .sends(fin(1))
        .aborts()
        .state_is(State::Closed);
}

// RFC 9293 §3.10.5: a SYN that has not left yet never does.
#[test]
fn an_abort_takes_back_a_syn_that_waits() {
    let mut end = Connection::new(Arc::new(lingering()), Role::Active);
    end.open(Instant::START);
    end.abort();
    assert_eq!(end.poll_transmit(Instant::START), None);
    assert_eq!((end.state(), end.failure()), (State::Closed, Some(Failure::Aborted)));
}
