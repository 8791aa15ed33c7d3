//! Opening a connection.

use std::sync::Arc;

use shortflow_packet::{Phase, TcpFlags};
use shortflow_tcp::{Config, Connection, ENDLESS, Failure, Role, State};
use shortflow_units::{Bytes, Duration, Instant};

use crate::script::*;

// RFC 9293 §3.5, figure 6.
#[test]
fn the_active_end_acknowledges_the_syn_ack_before_its_data() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .writes(500)
        .then(|end| assert_eq!(end.state(), State::SynSent))
        .at(100)
        .gets(syn_ack(7000, 1))
        .sends(ack(7001))
        .sends(data(1, 501).acking(7001))
        .then(|end| assert!(end.is_established()));
}

// RFC 9293 §3.5, figure 6; the acknowledgement may be lost when data follow it.
#[test]
fn the_passive_end_takes_data_as_the_acknowledgement_of_its_syn_ack() {
    passive(newreno())
        .opens()
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .then(|end| assert_eq!(end.state(), State::SynReceived))
        .at(100)
        .gets(data(1, 501).acking(1))
        .sends(ack(501))
        .then(|end| assert!(end.is_established() && end.received() == 500));
}

// RFC 6298 §5.5: 3 s, doubled each time, so 3, 9, 21 s in all.
#[test]
fn a_lost_syn_goes_again_after_three_nine_and_twenty_one_seconds() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .at(3_000)
        .sends(syn(0).again())
        .at(9_000)
        .sends(syn(0).again())
        .at(21_000)
        .sends(syn(0).again())
        .then(|end| assert_eq!(end.stats().syn_retransmissions, 3));
}

// RFC 9293 §3.8.3: the limit is settable.
#[test]
fn the_active_end_gives_up_after_its_last_retry() {
    script(Config { syn_retries: Some(1), ..newreno() })
        .opens()
        .sends(syn(0))
        .at(3_000)
        .sends(syn(0).again())
        .at(9_000)
        .then(|end| {
            assert!(end.is_closed());
            assert_eq!(end.failure(), Some(Failure::TimedOut));
        });
}

// RFC 6298 §5.5: the passive end has the same timer.
#[test]
fn a_lost_syn_ack_goes_again_after_three_seconds() {
    passive(newreno())
        .opens()
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .at(3_000)
        .sends(syn_ack(0, 1).again())
        .at(3_100)
        .gets(ack(1))
        .then(|end| assert!(end.is_established()));
}

// RFC 9293 §3.8.1: the SYN came again, so the SYN-ACK may be lost.
#[test]
fn a_repeated_syn_is_answered_with_the_syn_ack_at_once() {
    passive(newreno())
        .opens()
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .at(2_900)
        .gets(syn(0))
        .sends(syn_ack(0, 1).again());
}

// RFC 5681 §3.1 and RFC 6298 §5.7.
#[test]
fn after_a_lost_syn_data_start_with_one_segment_and_a_timeout_of_three_seconds() {
    script(Config { rto_initial: Duration::from_secs(1), ..newreno() })
        .opens()
        .sends(syn(0))
        .writes_segments(5)
        .at(1_000)
        .sends(syn(0).again())
        .at(1_100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .sends(seg(1))
        .window_is(1)
        .then(|end| assert_eq!(end.smoothed_rtt(), None))
        .at(4_100)
        .sends(seg(1).again());
}

// RFC 5681 §3.1: a lost SYN lowers the initial window; the threshold stays "arbitrarily high".
#[test]
fn after_a_lost_syn_slow_start_goes_on_beyond_two_segments() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .writes_segments(20)
        .at(3_000)
        .sends(syn(0).again())
        .at(3_100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .sends(seg(1))
        .at(3_200)
        .gets(acks(1))
        .sends(seg(2))
        .sends(seg(3))
        .at(3_300)
        .gets(acks(2))
        .sends(seg(4))
        .sends(seg(5))
        .gets(acks(3))
        .sends(seg(6))
        .sends(seg(7))
        .window_is(4);
}

// RFC 6298 §2.2: the handshake gives the first sample. RTO = 100 + 4·50 ms.
#[test]
fn the_handshake_gives_the_first_round_trip_sample() {
    established(newreno())
        .writes_segments(1)
        .sends(seg(1))
        .at(400)
        .sends(seg(1).again())
        .then(|end| assert_eq!(end.smoothed_rtt(), Some(Duration::from_millis(100))));
}

// RFC 9293 §3.10.7.4: a segment outside the window is answered with an acknowledgement.
#[test]
fn a_repeated_syn_ack_is_acknowledged_again() {
    established(newreno()).at(3_000).gets(syn_ack(0, 1)).sends(ack(1));
}

// RFC 9293 §3.5, figure 7.
#[test]
fn two_active_ends_may_open_at_once() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .at(50)
        .gets(syn(300))
        .sends(syn_ack(0, 301).again())
        .at(100)
        .gets(syn_ack(300, 1))
        .sends(ack(301))
        .at(150)
        .gets(ack(1))
        .then(|end| assert!(end.is_established()));
}

// RFC 9293 §3.10.7.3, second.
#[test]
fn a_reset_refuses_the_connection() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .at(100)
        .gets(reset(0).with_flag(TcpFlags::ACK).acking(1))
        .then(|end| assert_eq!((end.is_closed(), end.failure()), (true, Some(Failure::Reset))));
}

// RFC 9293 §3.10.7.3, first; figure 8 (recovery from an old duplicate).
#[test]
fn an_acknowledgement_of_another_syn_is_answered_with_a_reset() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .at(100)
        .gets(syn_ack(0, 91))
        .sends(reset(91))
        .then(|end| assert_eq!(end.state(), State::SynSent));
}

// RFC 9293 §3.10.7.1.
#[test]
fn a_closed_end_answers_with_a_reset() {
    script(newreno()).gets(syn(5)).sends(reset(0).with_flag(TcpFlags::ACK).acking(6));
}

// RFC 9293 §3.4: sequence numbers wrap.
#[test]
fn the_stream_crosses_the_end_of_the_sequence_space() {
    let initial = u32::MAX - 1500;
    let connection =
        Connection::new(Arc::new(newreno()), Role::Active).with_initial_sequence(initial);
    Script::new(connection)
        .opens()
        .sends(syn(initial))
        .writes_segments(3)
        .at(100)
        .gets(syn_ack(u32::MAX, initial + 1))
        .sends(ack(0))
        .sends(data(initial + 1, initial + 1001))
        .sends(data(initial + 1001, 500))
        .sends(data(500, 1500))
        .at(200)
        .gets(ack(500))
        .gets(ack(1500))
        .gets(data(0, 10))
        .sends(ack(10))
        .then(|end| assert_eq!((end.acknowledged(), end.received()), (3000, 10)));
}

// RFC 5681 §3.1: slow start begins when the connection is there; the lesser window counts.
#[test]
fn a_marker_sees_the_phases_of_the_sender() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .then(|end| assert_eq!(end.sender_view().phase, Some(Phase::Handshake)))
        .at(100)
        .gets(syn_ack(0, 1).window(4500))
        .sends(ack(1))
        .then(|end| {
            let view = end.sender_view();
            assert_eq!((view.phase, view.window_segments), (Some(Phase::SlowStart), Some(4)));
        });
}

// RFC 9293 §3.4: SYN and FIN have sequence numbers, but are no data of the application, which alone
// is sent and remains.
#[test]
fn a_marker_sees_what_was_sent_and_what_remains_before_each_segment() {
    let config = Arc::new(newreno());
    let now = Instant::START;
    let mut client = Connection::new(Arc::clone(&config), Role::Active);
    let mut server = Connection::new(config, Role::Passive);
    server.open(now);
    client.open(now);
    client.write(now, 2500);
    client.close(now);
    let mut views = Vec::new();
    while let Some(segment) = client.poll_transmit(now) {
        let view = client.view_of(segment.extent());
        views.push((segment.payload, view.sent.0, view.remaining.map(|bytes| bytes.0)));
        server.on_segment(now, now, &segment.header, segment.payload, segment.ecn);
        while let Some(reply) = server.poll_transmit(now) {
            client.on_segment(now, now, &reply.header, reply.payload, reply.ecn);
        }
    }
    let expected = [
        (0, 0, Some(2500)),
        (0, 0, Some(2500)),
        (1000, 0, Some(2500)),
        (1000, 1000, Some(1500)),
        (500, 2000, Some(500)),
    ];
    assert_eq!(views, expected, "SYN, ACK, and the data with a FIN at the end");
    assert_eq!(client.sender_view().remaining, Some(Bytes(0)));

    let mut endless = Connection::new(Arc::new(newreno()), Role::Active);
    endless.write(now, ENDLESS);
    assert_eq!(endless.sender_view().remaining, None);
}

// RFC 6298 §5.4 and RFC 5681 §3.1: what goes again at a window of one segment does not remain.
#[test]
fn a_marker_sees_the_same_before_and_after_a_retransmission() {
    let config = Arc::new(newreno());
    let mut client = Connection::new(Arc::clone(&config), Role::Active);
    let mut server = Connection::new(config, Role::Passive);
    let now = Instant::START;
    server.open(now);
    client.open(now);
    client.write(now, 5000);
    let syn = client.poll_transmit(now).unwrap();
    server.on_segment(now, now, &syn.header, 0, syn.ecn);
    let reply = server.poll_transmit(now).unwrap();
    client.on_segment(now, now, &reply.header, 0, reply.ecn);
    while client.poll_transmit(now).is_some() {}
    let before = client.sender_view();
    assert!(before.sent > Bytes(0));
    // All of it is lost.
    let later = client.deadline();
    client.on_timer(later);
    let again = client.poll_transmit(later).unwrap();
    let view = client.view_of(again.extent());
    assert!(view.is_retransmission == Some(true) && again.payload == 1000);
    assert_eq!((view.sent, view.remaining), (before.sent, before.remaining));
    assert_eq!((view.phase, view.window_segments), (Some(Phase::LossRecovery), Some(1)));
}

// RFC 6298 §2.5 bounds what §5.7 demands.
#[test]
fn the_timeout_after_a_lost_syn_stays_below_the_greatest_one() {
    let short = Config {
        rto_initial: Duration::from_secs(1),
        rto_max: Duration::from_secs(2),
        ..newreno()
    };
    script(short)
        .opens()
        .sends(syn(0))
        .writes_segments(1)
        .at(1_000)
        .sends(syn(0).again())
        .at(1_100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .sends(seg(1))
        .at(3_100)
        .sends(seg(1).again());
}

// RFC 9293 §3.10.1: a connection is opened once.
#[test]
fn a_connection_opens_once() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .opens()
        .at(100)
        .gets(reset(0).with_flag(TcpFlags::ACK).acking(1))
        .state_is(State::Closed)
        .opens()
        .state_is(State::Closed);
}

// RFC 9293 §3.5, and RFC 6298 §5.7 at the passive end: the SYN-ACK is lost, and both timers of
// three seconds and the SYN that comes again repeat it.
#[test]
fn a_lost_syn_ack_is_repeated_by_the_timer_and_by_the_repeated_syn() {
    passive(Config { initial_window: 4, ..newreno() })
        .opens()
        .writes_segments(9)
        .at(50)
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .at(3_050)
        .sends(syn_ack(0, 1).again())
        .gets(syn(0))
        .sends(syn_ack(0, 1).again())
        .at(3_150)
        .gets(ack(1))
        // RFC 5681 §3.1: one segment; RFC 6298 §3: which copy was acknowledged is not known.
        .sends(seg(1))
        .window_is(1)
        .then(|end| assert_eq!(end.smoothed_rtt(), None))
        .rto_is(3_000);
}

// RFC 9293 §3.8.3: the passive end gives up too.
#[test]
fn the_passive_end_gives_up_after_its_last_retry() {
    passive(Config { syn_retries: Some(1), ..newreno() })
        .opens()
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .at(3_000)
        .sends(syn_ack(0, 1).again())
        .at(9_000)
        .then(|end| assert_eq!(end.failure(), Some(Failure::TimedOut)));
}

// RFC 9293 §3.10.7.2: no reset is answered, no acknowledgement is expected, and the rest ignored.
#[test]
fn a_listening_end_answers_a_syn_only() {
    passive(newreno())
        .opens()
        .gets(reset(5))
        .gets(ack(77))
        .sends(reset(77))
        .gets(Spec::flags(TcpFlags::FIN))
        .state_is(State::Listen)
        .gets(syn(0))
        .sends(syn_ack(0, 1));
}

// RFC 9293 §3.10.7.3: a reset without an acknowledgement may be anybody's, and what is no SYN is
// dropped.
#[test]
fn an_opening_end_ignores_what_does_not_answer_its_syn() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .at(100)
        .gets(reset(0))
        .gets(ack(1))
        .state_is(State::SynSent)
        .gets(syn_ack(0, 1))
        .sends(ack(1));
}

// RFC 9293 §3.10.7.4, fifth.
#[test]
fn an_acknowledgement_of_another_syn_ack_is_answered_with_a_reset() {
    passive(newreno())
        .opens()
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .gets(ack(91))
        .sends(reset(91))
        .state_is(State::SynReceived)
        .gets(ack(1))
        .state_is(State::Established);
}

// RFC 9293 §3.10.7.4, fourth, and RFC 5961 §4.2: a SYN in the window is challenged.
#[test]
fn another_syn_is_challenged() {
    passive(newreno())
        .opens()
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .gets(syn(500))
        .sends(ack(1))
        .state_is(State::SynReceived);
    established(newreno()).gets(syn(500)).sends(ack(1)).state_is(State::Established);
}

// RFC 9293 §3.10.7.4, second.
#[test]
fn a_reset_ends_a_half_open_connection() {
    passive(newreno())
        .opens()
        .gets(syn(0))
        .sends(syn_ack(0, 1))
        .gets(reset(1))
        .then(|end| assert_eq!((end.is_closed(), end.failure()), (true, Some(Failure::Reset))));
}

// RFC 9293 §3.10.7.4, fifth: without an acknowledgement a segment is dropped.
#[test]
fn data_without_an_acknowledgement_are_dropped() {
    established(newreno())
        .gets(Spec::flags(TcpFlags(0)).carrying(100))
        .then(|end| assert_eq!(end.received(), 0));
}

// RFC 9293 §3.10.7.4, fifth: one of what was never sent is answered, and its data are dropped.
#[test]
fn an_acknowledgement_of_what_was_never_sent_is_answered() {
    established(newreno())
        .gets(data(1, 101).acking(2))
        .sends(ack(1))
        .gets(data(101, 201).acking(2))
        .sends(ack(1))
        .then(|end| assert_eq!((end.received(), end.acknowledged()), (0, 0)));
}

// RFC 9293 §3.10.7.1: a reset is never answered.
#[test]
fn a_reset_of_a_closed_end_answers_no_reset() {
    script(newreno()).gets(reset(5)).gets(ack(77)).sends(reset(77));
}
