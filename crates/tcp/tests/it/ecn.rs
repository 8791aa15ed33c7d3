//! Explicit congestion notification (RFC 3168).

use shortflow_elements::{Ecn, TcpFlags};
use shortflow_tcp::Config;

use crate::script::*;

const ECE: TcpFlags = TcpFlags::ECE;
const CWR: TcpFlags = TcpFlags::CWR;

fn willing() -> Config {
    Config { ecn: true, ..newreno() }
}

/// A connection at 100 ms with ECN agreed.
fn agreed() -> Script {
    script(willing())
        .opens()
        .sends(syn(0).with_flag(ECE).with_flag(CWR))
        .at(100)
        .gets(syn_ack(0, 1).with_flag(ECE))
        .sends(ack(1))
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
        .gets(seg(4).ecn(Ecn::Ect0).with_flag(CWR))
        .sends(acks(4))
        // A mark on the very segment that says so is news.
        .gets(seg(5).ecn(Ecn::Ce).with_flag(CWR))
        .sends(acks(5).with_flag(ECE));
}

// RFC 3168 §6.1.2.
#[test]
fn an_echo_halves_the_window_once_for_each_window_of_data() {
    let script = agreed().writes_segments(30);
    let script = (1..=10).fold(script, |script, number| script.sends(seg(number).ecn(Ecn::Ect0)));
    let script = script.at(200).gets(acks(1).with_flag(ECE)).window_is(5);
    // The echoes of the same window change nothing.
    let script = (2..=5).fold(script, |script, number| script.gets(acks(number).with_flag(ECE)));
    script
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

// RFC 3168 §6.1.5 and §6.1.2: retransmissions are not capable; after any reduction, CWR.
#[test]
fn a_retransmission_is_not_capable_and_new_data_after_it_say_cwr() {
    let script = agreed().writes_segments(30);
    let script = (1..=10).fold(script, |script, number| script.sends(seg(number).ecn(Ecn::Ect0)));
    script
        .at(200)
        .gets(acks(0))
        .gets(acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .at(300)
        .gets(acks(10))
        .sends(seg(11).ecn(Ecn::Ect0).with_flag(CWR))
        .sends(seg(12).ecn(Ecn::Ect0));
}

// RFC 3168 §6.1.2: one reduction for a series of lost and marked packets of one window of data.
#[test]
fn a_loss_in_a_window_of_data_that_was_marked_does_not_halve_the_window_again() {
    let script = agreed().writes_segments(30);
    let script = (1..=10).fold(script, |script, number| script.sends(seg(number).ecn(Ecn::Ect0)));
    // 1 is marked and 2 is lost.
    script
        .at(200)
        .gets(acks(1).with_flag(ECE))
        .window_is(5)
        .gets(acks(1).with_flag(ECE))
        .gets(acks(1).with_flag(ECE))
        .gets(acks(1).with_flag(ECE))
        .sends(seg(2).again())
        .window_is(5)
        .then(|end| {
            assert_eq!((end.stats().ecn_reductions, end.stats().fast_retransmits), (1, 1));
        });
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
        .sends(seg(3).ecn(Ecn::Ect0))
        .sends(seg(4).ecn(Ecn::Ect0))
        .then(|end| assert_eq!((end.stats().timeouts, end.stats().window_probes), (0, 0)));
}
