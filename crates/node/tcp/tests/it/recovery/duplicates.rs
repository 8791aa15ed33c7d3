//! What comes twice is reported, and what was done for nothing is taken back (RFC 2883, RFC 3708, RFC 8985 §6.2).

use shortflow_packet::{Ecn, Phase, TcpFlags};

use super::*;

fn with_reports() -> Config {
    Config { duplicate_sack: true, ..rack() }
}

// RFC 2883 §4: the first block, and once.
#[test]
fn a_segment_that_comes_again_is_reported_once() {
    established(with_reports())
        .gets(seg(1))
        .sends(acks(1))
        .gets(seg(1))
        .sends(acks(1).sacks(&[(1, 1)]))
        .gets(seg(3))
        .sends(acks(1).sacks(&[(3, 3)]));
}

// RFC 2883 §4.2: what lies beyond a gap is named with the block around it.
#[test]
fn a_segment_that_is_held_already_is_reported_before_its_block() {
    established(with_reports())
        .gets(seg(2))
        .sends(ack(1).sacks(&[(2, 2)]))
        .gets(seg(3))
        .sends(ack(1).sacks(&[(2, 3)]))
        .gets(seg(5))
        .sends(ack(1).sacks(&[(5, 5), (2, 3)]))
        .gets(seg(2))
        .sends(ack(1).sacks(&[(2, 2), (2, 3), (5, 5)]));
}

// RFC 2883 §4: of a segment that came in part before, that part.
#[test]
fn of_a_segment_that_came_in_part_that_part_is_reported() {
    established(with_reports())
        .gets(seg(1))
        .sends(acks(1))
        .gets(data(501, 1501))
        .sends(ack(1501).sacks_octets(&[(501, 1001)]));
}

// RFC 2883 §3: it is for the receiver to say so or not.
#[test]
fn without_reports_nothing_is_said_of_what_comes_again() {
    established(rack()).gets(seg(1)).sends(acks(1)).gets(seg(1)).sends(acks(1));
}

// RFC 5681 §4.2 leaves it to the receiver when; Linux does not keep the sender of what comes twice waiting.
#[test]
fn after_a_segment_that_comes_again_acknowledgements_are_not_held_back() {
    let delayed_ack = with_delayed_acks();
    established(Config { delayed_ack, quick_acks: 2, ..with_reports() })
        .gets(seg(1))
        .sends(acks(1))
        .gets(seg(2))
        .sends(acks(2))
        .gets(seg(3))
        .gets(seg(4))
        .sends(acks(4))
        .gets(seg(4))
        .sends(acks(4).sacks(&[(4, 4)]))
        .gets(seg(5))
        .sends(acks(5))
        .gets(seg(6))
        .sends(acks(6))
        .gets(seg(7))
        .gets(seg(8))
        .sends(acks(8));
}

fn with_delayed_acks() -> Option<shortflow_tcp::DelayedAck> {
    let timeout = shortflow_units::Duration::from_millis(200);
    Some(shortflow_tcp::DelayedAck { timeout, segments: 2 })
}

/// The first two of ten segments were sent again at 200 ms though only late: at 250 ms, acknowledgements that answer the
/// retransmissions have ended the repair, with half of the window.
fn repaired_for_nothing() -> Script {
    ten_out(with_reports())
        .at(200)
        .gets(acks(0).sacks(&[(3, 7)]))
        .sends_again(1..=2)
        .at(250)
        .gets(acks(10).answering_again())
        .sends_segments(11..=16)
        .window_is(6)
        .repairs_are(1, 0)
}

// RFC 3708 §3: all that was sent again came twice; nothing was lost.
#[test]
fn a_reduction_is_taken_back_when_all_that_was_sent_again_came_twice() {
    repaired_for_nothing()
        .gets(acks(10).sacks(&[(1, 1)]))
        .window_is(6)
        .gets(acks(10).sacks(&[(2, 2)]))
        .sends_segments(17..=20)
        .window_is(10)
        .phase_is(Phase::SlowStart);
}

// RFC 3708 §3: one of them did, the other was lost.
#[test]
fn a_reduction_stands_when_some_of_what_was_sent_again_was_lost() {
    repaired_for_nothing()
        .gets(acks(10).sacks(&[(1, 1)]))
        .at(350)
        .gets(acks(11))
        .sends(seg(17))
        .window_is(6);
}

// RFC 2883 §4: one segment was sent again, so that three cannot have come twice. A report of one is accepted: the reduction
// is taken back, and as in Linux the repair in flight begins another recovery.
#[test]
fn a_peer_that_reports_more_than_was_sent_again_is_not_believed() {
    let repairing = || {
        ten_out(with_reports())
            .at(200)
            .gets(acks(0).sacks(&[(2, 4)]))
            .sends(seg(1).again())
            .sends(seg(11))
            .gets(acks(0).sacks(&[(2, 5)]))
    };
    repairing().gets(acks(0).sacks(&[(2, 4), (2, 5)])).repairs_are(1, 0);
    repairing().gets(acks(0).sacks(&[(2, 2), (2, 5)])).sends(seg(12)).repairs_are(2, 0);
}

// RFC 2883 §4: a report names what comes twice in one acknowledgement, of two segments too.
#[test]
fn a_report_of_two_segments_counts_for_both() {
    repaired_for_nothing().gets(acks(10).sacks(&[(1, 2)])).sends_segments(17..=20).window_is(10);
}

// RFC 3708 §3: a report that comes when all is acknowledged counts for what follows.
#[test]
fn a_report_counts_when_nothing_is_outstanding_any_more() {
    established(with_reports())
        .writes_segments(10)
        .sends_segments(1..=10)
        .at(200)
        .gets(acks(0).sacks(&[(2, 5)]))
        .sends(seg(1).again())
        .at(250)
        .gets(acks(10).answering_again())
        .window_is(5)
        .at(300)
        .gets(acks(10).sacks(&[(1, 1)]))
        .window_is(10);
}

// RFC 3708 §3: still in the repair, of which nothing is left to be done.
#[test]
fn a_report_ends_a_repair() {
    ten_out(with_reports())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .sends(seg(11))
        .at(250)
        .gets(acks(4).answering_again())
        .window_is(5)
        .gets(acks(4).sacks(&[(1, 1)]))
        .sends_segments(12..=14)
        .window_is(10);
}

// RFC 3708 §3: what came twice before the loss has nothing to do with it.
#[test]
fn a_report_of_an_earlier_repair_does_not_take_a_reduction_back() {
    repaired_for_nothing()
        .at(350)
        .gets(acks(10).sacks(&[(12, 15)]))
        .sends(seg(11).again())
        .sends(seg(17))
        .gets(acks(10).sacks(&[(1, 2), (12, 15)]))
        .at(450)
        .gets(acks(16).answering_again())
        .sends_segments(18..=19)
        .window_is(3);
}

// RFC 3168 §6.1.2: of a mark nothing is taken back, and nothing of what was before it.
#[test]
fn a_reduction_for_a_mark_stands() {
    script(Config { ecn: true, ..with_reports() })
        .opens()
        .sends(syn(0).with_flag(TcpFlags::ECE).with_flag(TcpFlags::CWR))
        .at(100)
        .gets(syn_ack(0, 1).with_flag(TcpFlags::ECE))
        .sends(ack(1))
        .writes_segments(30)
        .sends_capable(1..=10)
        .at(200)
        .gets(acks(0).sacks(&[(2, 5)]))
        .sends(seg(1).again())
        .at(250)
        .gets(acks(10).answering_again())
        .sends(seg(11).ecn(Ecn::Ect0).with_flag(TcpFlags::CWR))
        .sends_capable(12..=16)
        .at(350)
        .gets(acks(11).with_flag(TcpFlags::ECE))
        .window_is(3)
        .gets(acks(11).sacks(&[(1, 1)]))
        .window_is(3);
}

// RFC 8985 §6.2, step 4: once segments were seen to overtake each other, a report doubles the time for which a segment
// may be late: from a quarter to a half of the least round trip.
#[test]
fn a_report_lets_segments_be_later() {
    ten_out(with_reports())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .sends(seg(11))
        .gets(acks(2))
        .sends_segments(12..=13)
        .gets(acks(2).sacks(&[(4, 6)]))
        .sends_segments(14..=16)
        .at(227)
        .sends(seg(3).again())
        .at(250)
        .gets(acks(6).sacks(&[(3, 3)]))
        .sends_segments(17..=18)
        .at(300)
        .gets(acks(6).sacks(&[(8, 8)]))
        .sends(seg(19))
        .at(349)
        .gets(acks(10))
        .sends_segments(20..=23)
        .repairs_are(1, 0);
}

// RFC 8985 §7.4.2: the segment and its probe have both arrived, though more was acknowledged at once.
#[test]
fn a_report_of_a_probe_tells_that_nothing_was_lost() {
    established(with_reports())
        .writes_segments(3)
        .sends_segments(1..=3)
        .at(200)
        .gets(acks(2))
        .at(700)
        .sends(seg(3).again())
        .at(800)
        .gets(acks(3))
        .writes_segments(1)
        .sends(seg(4))
        .at(900)
        .gets(acks(4).sacks(&[(3, 3)]))
        .window_is(10);
}
