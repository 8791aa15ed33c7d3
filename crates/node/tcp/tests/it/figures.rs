//! The conversations that RFC 9293 draws, with its own numbers; each end by itself.

use std::sync::Arc;

use shortflow_packet::TcpFlags;
use shortflow_tcp::{Connection, Failure, Role, State};

use crate::script::*;

fn end(role: Role, initial: u32) -> Script {
    Script::new(Connection::new(Arc::new(newreno()), role).with_initial_sequence(initial)).opens()
}

/// An end that is ESTABLISHED, sends `send` next and expects `receive`.
fn established_at(send: u32, receive: u32) -> Script {
    end(Role::Active, send - 1)
        .sends(syn(send - 1))
        .at(100)
        .gets(syn_ack(receive - 1, send))
        .sends(bare_at(send).acking(receive))
}

/// An acknowledgement with this sequence number.
fn bare_at(seq: u32) -> Spec {
    data(seq, seq)
}

// RFC 9293 §3.5, figure 6.
#[test]
fn basic_three_way_handshake() {
    end(Role::Active, 100)
        .sends(syn(100))
        .state_is(State::SynSent)
        .at(100)
        .gets(syn_ack(300, 101))
        .sends(bare_at(101).acking(301))
        .state_is(State::Established)
        .writes(50)
        .sends(data(101, 151).acking(301));
    end(Role::Passive, 300)
        .state_is(State::Listen)
        .gets(syn(100))
        .sends(syn_ack(300, 101))
        .state_is(State::SynReceived)
        .at(100)
        .gets(bare_at(101).acking(301))
        .state_is(State::Established)
        .gets(data(101, 151).acking(301))
        .sends(bare_at(301).acking(151));
}

// RFC 9293 §3.5, figure 8, side A.
#[test]
fn recovery_from_an_old_duplicate_syn() {
    end(Role::Active, 100)
        .sends(syn(100))
        .at(100)
        .gets(syn_ack(300, 91))
        .sends(reset(91))
        .state_is(State::SynSent)
        .at(200)
        .gets(syn_ack(400, 101))
        .sends(bare_at(101).acking(401))
        .state_is(State::Established);
}

// RFC 9293 §3.5.1, figure 9: A has crashed and opens anew.
#[test]
fn half_open_connection_discovery() {
    end(Role::Active, 400)
        .sends(syn(400))
        .at(100)
        .gets(bare_at(300).acking(100))
        .sends(reset(100))
        .state_is(State::SynSent)
        .at(3_000)
        .sends(syn(400).again());
    established_at(300, 100)
        .gets(syn(400))
        .sends(bare_at(300).acking(100))
        .gets(reset(100))
        .state_is(State::Closed)
        .then(|end| assert_eq!(end.failure(), Some(Failure::Reset)));
}

// RFC 9293 §3.5.1, figure 10: A has crashed, and B sends.
#[test]
fn active_side_causes_half_open_connection_discovery() {
    script(newreno()).gets(data(300, 310).acking(100)).sends(reset(100));
    established_at(300, 100)
        .writes(10)
        .sends(data(300, 310).acking(100))
        .at(200)
        .gets(reset(100))
        .state_is(State::Closed);
}

// RFC 9293 §3.5.1, figure 11, side A.
#[test]
fn an_old_duplicate_syn_initiates_a_reset_on_two_passive_sockets() {
    end(Role::Passive, 100).gets(syn_ack(300, 91)).sends(reset(91)).state_is(State::Listen);
}

// RFC 9293 §3.6, figure 12.
#[test]
fn normal_close_sequence() {
    let fin_ack = |seq, ack| fin(seq).acking(ack);
    established_at(100, 300)
        .closes()
        .sends(fin_ack(100, 300))
        .state_is(State::FinWait1)
        .gets(bare_at(300).acking(101))
        .state_is(State::FinWait2)
        .gets(fin_ack(300, 101))
        .sends(bare_at(101).acking(301));
    established_at(300, 100)
        .gets(fin_ack(100, 300))
        .sends(bare_at(300).acking(101))
        .state_is(State::CloseWait)
        .closes()
        .sends(fin_ack(300, 101))
        .state_is(State::LastAck)
        .gets(bare_at(101).acking(301))
        .state_is(State::Closed);
}

// RFC 9293 §3.6, figure 13: both sides look the same.
#[test]
fn simultaneous_close_sequence() {
    for (ours, theirs) in [(100, 300), (300, 100)] {
        established_at(ours, theirs)
            .closes()
            .sends(fin(ours).acking(theirs))
            .state_is(State::FinWait1)
            .gets(fin(theirs).acking(ours))
            .sends(bare_at(ours + 1).acking(theirs + 1))
            .state_is(State::Closing)
            .gets(bare_at(theirs + 1).acking(ours + 1))
            .then(|end| assert_eq!((end.is_closed(), end.failure()), (true, None)));
    }
}

// RFC 9293 §3.10.7.1: the reset of a closed end has the number that the segment asks for, or
// acknowledges all of it.
#[test]
fn the_numbers_of_a_reset() {
    script(newreno())
        .gets(data(300, 310).acking(100))
        .sends(reset(100))
        .gets(Spec::flags(TcpFlags::SYN.with(TcpFlags::FIN)).carrying(10))
        .sends(reset(0).with_flag(TcpFlags::ACK).acking(322));
}
