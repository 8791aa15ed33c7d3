//! The peer's window: kept to, and probed while it is closed.

use shortflow_tcp::{Config, Failure, State};
use shortflow_units::Bytes;

use crate::script::*;

// RFC 9293 §3.8.6: nothing beyond what the peer offers.
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

// RFC 9293 §3.8.6.2.1, rule 3: a part of a segment, where it is half of the greatest window seen.
#[test]
fn half_of_the_greatest_window_is_worth_a_short_segment() {
    script(newreno())
        .opens()
        .sends(syn(0))
        .writes_segments(2)
        .at(100)
        .gets(syn_ack(0, 1).window(800))
        .sends(ack(1))
        .sends(data(1, 801))
        .at(200)
        .gets(ack(801).window(400))
        .sends(data(801, 1201))
        .at(300)
        // Below a half: the silly window syndrome begins here.
        .gets(ack(1201).window(399));
}

// RFC 9293 §3.8.6.2.1, rule 4: what is not worthwhile goes after a while all the same.
#[test]
fn a_small_window_is_filled_when_the_timer_expires() {
    established(newreno())
        .gets(ack(1).window(400))
        .writes_segments(1)
        .at(400)
        .sends(data(1, 401))
        .at(500)
        .gets(ack(401).window(400))
        .rto_is(250)
        .at(750)
        .sends(data(401, 801))
        .at(1_000)
        .sends(data(401, 801).again())
        .at(1_100)
        .gets(ack(801).window(400))
        .sends(data(801, 1001))
        .then(|end| assert_eq!(end.stats().window_probes, 0));
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
        .repairs_are(0, 0)
        .then(|end| assert_eq!(end.stats().window_probes, 3));
}

// RFC 9293 §3.8.6.1: the probes are there for a lost update.
#[test]
fn a_window_that_opened_unheard_is_found_by_a_probe() {
    established(newreno())
        .writes_segments(6)
        .sends_segments(1..=6)
        .at(200)
        .gets(acks(6).window(0))
        .writes_segments(2)
        // A window update of 300 is lost.
        .at(450)
        .sends(data(6001, 6002))
        .at(550)
        .gets(ack(6002))
        .sends(data(6002, 7002))
        .sends(data(7002, 8001));
}

// RFC 9293 §3.8.6.1: a peer that answers is probed for ever; one that does not is given up.
#[test]
fn unanswered_probes_end_the_connection() {
    established(Config { data_retries: Some(2), ..newreno() })
        .gets(ack(1).window(0))
        .writes(500)
        .at(400)
        .sends(data(1, 2))
        .at(1_000)
        .sends(data(1, 2))
        .at(2_200)
        .then(|end| assert_eq!(end.failure(), Some(Failure::TimedOut)));
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

// RFC 9293 §3.8.6.1: the peer may take the octet, though its window was closed.
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

// RFC 9293 §3.10.7.4: the octet of the probe, and no more.
#[test]
fn an_acknowledgement_of_more_than_the_probe_is_not_believed() {
    established(newreno())
        .gets(ack(1).window(0))
        .writes(500)
        .at(400)
        .sends(data(1, 2))
        .at(500)
        .gets(ack(3).window(8000))
        .sends(ack(1))
        .then(|end| assert_eq!(end.acknowledged(), 0))
        .gets(ack(2).window(8000))
        .sends(data(2, 501))
        .at(600)
        // Nor is there anything to be taken while data are outstanding, or beyond their end.
        .gets(ack(502).window(8000))
        .sends(ack(1))
        .gets(ack(501).window(8000))
        .gets(ack(502).window(8000))
        .sends(ack(1));
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
        .state_is(State::FinWait2);
}

// RFC 9293 §3.10.7.4: an older segment does not change the window, by its sequence number …
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

// RFC 9293 §3.10.7.4: … or by its acknowledgement, where the sequence number is the same.
#[test]
fn an_old_acknowledgement_does_not_change_the_window() {
    established(newreno())
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(200)
        .gets(acks(2).window(0))
        .gets(acks(1).window(8000))
        .writes(10)
        .at(450)
        .sends(data(2001, 2002));
}

// RFC 9293 §3.8.6.2.2: an application that reads at once offers the same window always.
#[test]
fn the_receive_window_offered_is_constant() {
    let config = Config { receive_window: Bytes(5000), ..newreno() };
    established(config)
        .gets(seg(2))
        .sends(ack(1).window(5000))
        // Beyond the window of 5000 bytes: refused.
        .gets(seg(6))
        .sends(ack(1).window(5000))
        .gets(seg(1))
        .sends(acks(2).window(5000));
}
