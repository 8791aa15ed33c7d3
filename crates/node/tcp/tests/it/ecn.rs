//! Explicit congestion notification (RFC 3168).

use shortflow_packet::{Ecn, TcpFlags};
use shortflow_tcp::Config;

use crate::script::*;

const ECE: TcpFlags = TcpFlags::ECE;
const CWR: TcpFlags = TcpFlags::CWR;

fn willing() -> Config {
    Config { ecn: true, ..newreno() }
}

/// A connection at 100 ms with ECN agreed.
fn agreed() -> Script {
    agreed_with(willing())
}

fn agreed_with(config: Config) -> Script {
    script(config)
        .opens()
        .sends(syn(0).with_flag(ECE).with_flag(CWR))
        .at(100)
        .gets(syn_ack(0, 1).with_flag(ECE))
        .sends(ack(1))
}

/// Ten segments of thirty are out at 100 ms.
fn ten_out() -> Script {
    agreed().writes_segments(30).sends_capable(1..=10)
}

// RFC 3168 §6.1.1 and §6.1.4: SYN, SYN-ACK and bare acknowledgements are not ECN-capable.
#[test]
fn both_ends_agree_in_the_handshake_and_only_data_are_capable() {
    agreed().writes_segments(1).sends(seg(1).ecn(Ecn::Ect0));
    passive(willing())
        .opens()
        .gets(syn(0).with_flag(ECE).with_flag(CWR))
        .sends(syn_ack(0, 1).with_flag(ECE))
        .at(100)
        .gets(ack(1))
        .writes_segments(1)
        .sends(seg(1).ecn(Ecn::Ect0));
}

// RFC 3168 §6.1.1.
#[test]
fn either_end_may_refuse() {
    script(willing())
        .opens()
        .sends(syn(0).with_flag(ECE).with_flag(CWR))
        .at(100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .writes_segments(1)
        .sends(seg(1));
    passive(newreno()).opens().gets(syn(0).with_flag(ECE).with_flag(CWR)).sends(syn_ack(0, 1));
}

// RFC 3168 §6.1.1: a SYN asks with both flags, and a SYN-ACK with both only reflects them.
#[test]
fn half_an_offer_and_a_reflected_one_agree_to_nothing() {
    passive(willing()).opens().gets(syn(0).with_flag(ECE)).sends(syn_ack(0, 1));
    passive(willing()).opens().gets(syn(0).with_flag(CWR)).sends(syn_ack(0, 1));
    script(willing())
        .opens()
        .sends(syn(0).with_flag(ECE).with_flag(CWR))
        .at(100)
        .gets(syn_ack(0, 1).with_flag(ECE).with_flag(CWR))
        .sends(ack(1))
        .writes_segments(1)
        .sends(seg(1));
}

// RFC 3168 §6.1.1: the SYN and the SYN-ACK that go again ask and agree again.
#[test]
fn a_repeated_handshake_agrees_too() {
    script(willing())
        .opens()
        .sends(syn(0).with_flag(ECE).with_flag(CWR))
        .at(3_000)
        .sends(syn(0).with_flag(ECE).with_flag(CWR).again());
    passive(willing())
        .opens()
        .gets(syn(0).with_flag(ECE).with_flag(CWR))
        .sends(syn_ack(0, 1).with_flag(ECE))
        .at(3_000)
        .sends(syn_ack(0, 1).with_flag(ECE).again());
}

// RFC 3168 §6.1.3.
#[test]
fn a_mark_is_echoed_until_the_peer_says_that_it_slowed_down() {
    agreed()
        .gets(seg(1).ecn(Ecn::Ect0))
        .sends(acks(1))
        .gets(seg(2).ecn(Ecn::Ce))
        .sends(acks(2).with_flag(ECE))
        .gets(seg(3).ecn(Ecn::Ect0))
        .sends(acks(3).with_flag(ECE))
        // Data carry the echo as well.
        .writes(100)
        .sends(data(1, 101).with_flag(ECE).ecn(Ecn::Ect0))
        .gets(seg(4).ecn(Ecn::Ect0).with_flag(CWR))
        .sends(acks(4))
        // A mark on the very segment that says so is news.
        .gets(seg(5).ecn(Ecn::Ce).with_flag(CWR))
        .sends(acks(5).with_flag(ECE));
}

// RFC 3168 §6.1.3: without agreement a mark means nothing.
#[test]
fn a_mark_without_agreement_is_not_echoed() {
    established(newreno()).gets(seg(1).ecn(Ecn::Ce)).sends(acks(1));
}

// RFC 3168 §6.1.5: a mark on what is outside of the window, or came before, is ignored.
#[test]
fn a_mark_on_a_segment_that_is_not_taken_is_not_echoed() {
    agreed()
        .gets(seg(1).ecn(Ecn::Ect0))
        .sends(acks(1))
        .gets(seg(1).ecn(Ecn::Ce))
        .sends(acks(1))
        .gets(data(2_000_001, 2_001_001).ecn(Ecn::Ce))
        .sends(acks(1));
}

// RFC 3168 §6.1.2.
#[test]
fn an_echo_halves_the_window_once_for_each_window_of_data() {
    ten_out()
        .at(200)
        .gets(acks(1).with_flag(ECE))
        .window_is(5)
        // The echoes of the same window change nothing.
        .gets(acks(2).with_flag(ECE))
        .gets(acks(3).with_flag(ECE))
        .gets(acks(4).with_flag(ECE))
        .gets(acks(5).with_flag(ECE))
        .window_is(5)
        .gets(acks(6).with_flag(ECE))
        .sends(seg(11).ecn(Ecn::Ect0).with_flag(CWR))
        .gets(acks(7))
        .sends(seg(12).ecn(Ecn::Ect0))
        .at(300)
        .gets(acks(11).with_flag(ECE))
        .then(|end| assert_eq!(end.stats().ecn_reductions, 2))
        .then(|end| assert_eq!(end.congestion_window(), 2500))
        .sends(seg(13).ecn(Ecn::Ect0).with_flag(CWR));
}

// RFC 3168 §6.1.2: without agreement an echo means nothing.
#[test]
fn an_echo_without_agreement_changes_nothing() {
    established(newreno())
        .writes_segments(30)
        .sends_segments(1..=10)
        .at(200)
        .gets(acks(1).with_flag(ECE))
        .window_is(11)
        .sends_segments(11..=12);
}

// RFC 3168 §6.1.2: one reduction for a series of lost and marked packets of one window of data.
#[test]
fn a_loss_in_a_window_of_data_that_was_marked_does_not_halve_the_window_again() {
    // 1 is marked and 2 is lost.
    ten_out()
        .at(200)
        .gets(acks(1).with_flag(ECE))
        .window_is(5)
        .gets_times(2, acks(1).with_flag(ECE))
        .gets(acks(1).with_flag(ECE))
        .sends(seg(2).again())
        .window_is(5)
        .repairs_are(1, 0)
        .then(|end| assert_eq!(end.stats().ecn_reductions, 1));
}

// RFC 3168 §6.1.2: nor does a mark in a window of data with a loss.
#[test]
fn a_mark_in_a_window_of_data_with_a_loss_does_not_halve_the_window_again() {
    // 1 is lost and 4 is marked.
    ten_out()
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0).with_flag(ECE))
        .sends(seg(1).again())
        .window_is(5)
        .at(300)
        .gets(acks(8).with_flag(ECE))
        .sends(seg(9).again())
        .window_is(5)
        .gets(acks(10).with_flag(ECE))
        .window_is(2)
        .sends(seg(11).ecn(Ecn::Ect0).with_flag(CWR))
        .sends(seg(12).ecn(Ecn::Ect0))
        .then(|end| assert_eq!(end.stats().ecn_reductions, 0));
}

// RFC 3168 §6.1.2: what is lost after the reduction is news, and so is its CWR.
#[test]
fn a_loss_after_the_marked_window_of_data_halves_the_window_again() {
    ten_out()
        .at(200)
        .gets(acks(6).with_flag(ECE))
        .window_is(5)
        .sends(seg(11).ecn(Ecn::Ect0).with_flag(CWR))
        .gets(acks(10))
        .sends_capable(12..=15)
        .at(300)
        // 11 is lost, and with it its CWR.
        .gets_times(2, acks(10).with_flag(ECE))
        .gets(acks(10).with_flag(ECE))
        .sends(seg(11).again())
        .then(|end| assert_eq!(end.congestion_window(), 2_500))
        .at(400)
        .gets(acks(15).with_flag(ECE))
        .sends(seg(16).ecn(Ecn::Ect0).with_flag(CWR))
        .sends(seg(17).ecn(Ecn::Ect0));
}

// RFC 3168 §6.1.2: with a window of one segment only waiting is slower.
#[test]
fn an_echo_at_a_window_of_one_segment_makes_the_sender_wait_for_its_timer() {
    script(Config { initial_window: 1, ..willing() })
        .opens()
        .sends(syn(0).with_flag(ECE).with_flag(CWR))
        .writes_segments(4)
        .at(100)
        .gets(syn_ack(0, 1).with_flag(ECE))
        .sends(ack(1))
        .sends(seg(1).ecn(Ecn::Ect0))
        .at(200)
        .gets(acks(1).with_flag(ECE))
        .window_is(1)
        // The second sample of 100 ms makes the timeout 250 ms.
        .at(450)
        .sends(seg(2).ecn(Ecn::Ect0).with_flag(CWR))
        .at(550)
        .gets(acks(2))
        .window_is(2)
        .sends_capable(3..=4)
        .repairs_are(0, 0)
        .then(|end| assert_eq!(end.stats().window_probes, 0));
}

// RFC 3168 §6.1.2: the wait ends though there is nothing to send, and holds back a FIN as well.
#[test]
fn the_wait_for_the_timer_ends() {
    let waiting = || {
        script(Config { initial_window: 1, ..willing() })
            .opens()
            .sends(syn(0).with_flag(ECE).with_flag(CWR))
            .writes_segments(1)
            .at(100)
            .gets(syn_ack(0, 1).with_flag(ECE))
            .sends(ack(1))
            .sends(seg(1).ecn(Ecn::Ect0))
            .at(200)
            .gets(acks(1).with_flag(ECE))
    };
    waiting().at(1_000).writes_segments(1).sends(seg(2).ecn(Ecn::Ect0).with_flag(CWR));
    waiting().closes().at(450).sends(fin(1001));
}

// RFC 3168 §6.1.5 and §6.1.2: retransmissions are not capable; after any reduction, CWR.
#[test]
fn a_retransmission_is_not_capable_and_new_data_after_it_say_cwr() {
    ten_out()
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .at(300)
        .gets(acks(10))
        .sends(seg(11).ecn(Ecn::Ect0).with_flag(CWR))
        .sends(seg(12).ecn(Ecn::Ect0));
}

// RFC 3168 §6.1.5 and §6.1.2: the same after a timeout.
#[test]
fn what_a_timeout_sends_again_is_not_capable_and_new_data_after_it_say_cwr() {
    agreed_with(Config { initial_window: 2, ..willing() })
        .writes_segments(4)
        .sends_capable(1..=2)
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(2))
        .sends(seg(3).ecn(Ecn::Ect0).with_flag(CWR))
        .sends(seg(4).ecn(Ecn::Ect0));
}

// RFC 3168 §6.1.6: a probe of a closed window is not capable.
#[test]
fn a_probe_is_not_capable() {
    agreed().gets(ack(1).window(0)).writes(500).at(400).sends(data(1, 2));
}

// RFC 3168 §6.1.4: a FIN by itself carries no data; one with data does.
#[test]
fn a_bare_fin_is_not_capable() {
    agreed()
        .gets(fin(1))
        .sends(ack(2))
        .writes(100)
        .sends(data(1, 101).ecn(Ecn::Ect0))
        .closes()
        .sends(fin(101));
}
