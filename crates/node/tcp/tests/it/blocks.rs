//! The SACK blocks that a receiver reports (RFC 2018).

use std::sync::Arc;

use shortflow_tcp::{Config, Connection, Role};

use crate::script::*;

// RFC 2018 §4: the block with the latest segment first, then those reported last.
#[test]
fn the_receiver_reports_the_latest_block_first() {
    established(sack())
        .gets(seg(2))
        .sends(ack(1).sacks(&[(2, 2)]))
        .gets(seg(4))
        .sends(ack(1).sacks(&[(4, 4), (2, 2)]))
        .gets(seg(3))
        .sends(ack(1).sacks(&[(2, 4)]))
        .gets(seg(6))
        .sends(ack(1).sacks(&[(6, 6), (2, 4)]))
        .gets(seg(1))
        .sends(acks(4).sacks(&[(6, 6)]))
        .gets(seg(5))
        .sends(acks(6));
}

// RFC 2018 §3 with the time stamps of RFC 7323 on the wire: three blocks have room.
#[test]
fn the_oldest_of_four_blocks_is_left_out() {
    established(sack())
        .gets(seg(2))
        .sends(ack(1).sacks(&[(2, 2)]))
        .gets(seg(4))
        .sends(ack(1).sacks(&[(4, 4), (2, 2)]))
        .gets(seg(6))
        .sends(ack(1).sacks(&[(6, 6), (4, 4), (2, 2)]))
        .gets(seg(8))
        .sends(ack(1).sacks(&[(8, 8), (6, 6), (4, 4)]))
        // A segment that comes again names its block again.
        .gets(seg(2))
        .sends(ack(1).sacks(&[(2, 2), (8, 8), (6, 6)]));
}

// RFC 2018 §4: every acknowledgement while data are out of order, those on data as well.
#[test]
fn data_carry_blocks() {
    established(sack())
        .gets(seg(2))
        .sends(ack(1).sacks(&[(2, 2)]))
        .writes_segments(1)
        .sends(seg(1).acking(1).sacks(&[(2, 2)]));
}

// RFC 2018 §2: not permitted, not sent.
#[test]
fn a_receiver_without_sack_reports_no_blocks() {
    established(newreno()).gets(seg(2)).sends(ack(1));
}

/// The receiver of the examples: segments of 500 bytes, and all before 5000 has come.
fn at_5000() -> Script {
    let config = Arc::new(Config { mss: 500, ..sack() });
    Script::new(Connection::new(config, Role::Active))
        .opens()
        .sends(syn(0))
        .at(100)
        .gets(syn_ack(4999, 1))
        .sends(ack(5000))
}

// RFC 2018 §7, case 1: the first four of eight segments come, the last four are lost.
#[test]
fn the_first_example_of_rfc_2018() {
    at_5000()
        .gets(data(5000, 5500))
        .sends(ack(5500))
        .gets(data(5500, 6000))
        .sends(ack(6000))
        .gets(data(6000, 6500))
        .sends(ack(6500))
        .gets(data(6500, 7000))
        .sends(ack(7000));
}

// RFC 2018 §7, case 2: the first segment is lost, the other seven come.
#[test]
fn the_second_example_of_rfc_2018() {
    at_5000()
        .gets(data(5500, 6000))
        .sends(ack(5000).sacks_octets(&[(5500, 6000)]))
        .gets(data(6000, 6500))
        .sends(ack(5000).sacks_octets(&[(5500, 6500)]))
        .gets(data(6500, 7000))
        .sends(ack(5000).sacks_octets(&[(5500, 7000)]))
        .gets(data(7000, 7500))
        .sends(ack(5000).sacks_octets(&[(5500, 7500)]))
        .gets(data(7500, 8000))
        .sends(ack(5000).sacks_octets(&[(5500, 8000)]))
        .gets(data(8000, 8500))
        .sends(ack(5000).sacks_octets(&[(5500, 8500)]))
        .gets(data(8500, 9000))
        .sends(ack(5000).sacks_octets(&[(5500, 9000)]));
}

// RFC 2018 §7, case 3: the second, fourth, sixth and eighth are lost; the fourth comes late, and
// then the second.
#[test]
fn the_third_example_of_rfc_2018() {
    at_5000()
        .gets(data(5000, 5500))
        .sends(ack(5500))
        .gets(data(6000, 6500))
        .sends(ack(5500).sacks_octets(&[(6000, 6500)]))
        .gets(data(7000, 7500))
        .sends(ack(5500).sacks_octets(&[(7000, 7500), (6000, 6500)]))
        .gets(data(8000, 8500))
        .sends(ack(5500).sacks_octets(&[(8000, 8500), (7000, 7500), (6000, 6500)]))
        .gets(data(6500, 7000))
        .sends(ack(5500).sacks_octets(&[(6000, 7500), (8000, 8500)]))
        .gets(data(5500, 6000))
        .sends(ack(7500).sacks_octets(&[(8000, 8500)]));
}
