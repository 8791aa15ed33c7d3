//! Recovery with selective acknowledgements (RFC 2018, RFC 6675).

use super::*;

// RFC 6675 §5, steps 4.1 to 4.4 and C.
#[test]
fn two_losses_are_repaired_in_one_round_trip() {
    // Segments 1 and 4 are lost. The pipe after each acknowledgement is in the comments.
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(2, 3)]))
        // 1 is lost (three segments SACKed above), 4 is not known to be: 10 - 3 - 1 + 1 = 7.
        .gets(acks(0).sacks(&[(5, 5), (2, 3)]))
        .sends(seg(1).again())
        .window_is(5)
        .gets(acks(0).sacks(&[(5, 6), (2, 3)])) // 6
        // Now 4 is lost: 1 (again), 8, 9, 10 make 4.
        .gets(acks(0).sacks(&[(5, 7), (2, 3)]))
        .sends(seg(4).again())
        .gets(acks(0).sacks(&[(5, 8), (2, 3)]))
        .sends(seg(11))
        .gets(acks(0).sacks(&[(5, 9), (2, 3)]))
        .sends(seg(12))
        .gets(acks(0).sacks(&[(5, 10), (2, 3)]))
        .sends(seg(13))
        .at(300)
        .gets(acks(3).sacks(&[(5, 10)]))
        .sends(seg(14))
        .gets(acks(10))
        .sends(seg(15))
        .window_is(5)
        .then(|end| assert_eq!((end.stats().fast_retransmits, end.stats().timeouts), (1, 0)));
}

// RFC 6675 §4, SetPipe: what was sent again and is SACKed has left the network.
#[test]
fn a_retransmission_that_is_sacked_makes_room() {
    // Segments 1 and 4 are lost, and 1 once more.
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 3)]))
        .gets(acks(0).sacks(&[(5, 7), (2, 3)]))
        .sends(seg(1).again())
        .sends(seg(4).again())
        .gets(acks(0).sacks(&[(5, 8), (2, 3)]))
        .sends(seg(11))
        .gets(acks(0).sacks(&[(5, 10), (2, 3)]))
        .sends_segments(12..=13)
        .at(300)
        // In flight are 1 and 11 to 13, of a window of five.
        .gets(acks(0).sacks(&[(2, 10)]))
        .sends(seg(14))
        .at(500)
        .sends(seg(1).again())
        .repairs_are(1, 1);
}

// RFC 6675 §5, step 2: IsLost may come before the third duplicate.
#[test]
fn blocks_reveal_a_loss_whose_acknowledgements_were_lost() {
    ten_out(sack()).at(200).gets(acks(0).sacks(&[(2, 4)])).sends(seg(1).again()).window_is(5);
}

// RFC 6675 §2: a duplicate brings new information.
#[test]
fn repeated_blocks_are_not_duplicates() {
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(2, 2)]))
        .then(|end| assert_eq!(end.stats().fast_retransmits, 0));
}

// RFC 6675 §4, NextSeg rule 4.
#[test]
fn a_lost_tail_gets_one_rescue_retransmission() {
    established(Config { initial_window: 10, ..sack() })
        .writes_segments(10)
        .sends_segments(1..=10)
        .at(200)
        // 1 and 10 are lost; nothing new is left to send.
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .gets(acks(0).sacks(&[(2, 7)]))
        .sends(seg(10).again())
        .gets(acks(0).sacks(&[(2, 8)]))
        .gets(acks(0).sacks(&[(2, 9)]))
        .at(300)
        .gets(acks(10));
}

// RFC 6675 §5.1: slow start over the holes only; what is SACKed neither goes again nor counts.
#[test]
fn after_a_timeout_only_the_holes_go_again() {
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(4, 4), (2, 2)]))
        .at(400)
        .sends(seg(1).again())
        .window_is(1)
        .at(500)
        .gets(acks(2).sacks(&[(4, 4)]))
        .window_is(2)
        .sends(seg(3).again())
        .sends(seg(5).again())
        .at(600)
        .gets(acks(5))
        .window_is(3)
        .sends(seg(6).again())
        .sends(seg(7).again())
        .sends(seg(8).again());
}

// RFC 6298 §5.4: the timer watches the first outstanding segment, and starts anew when that goes
// again.
#[test]
fn a_second_retransmission_has_a_timeout_of_its_own() {
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .gets(acks(0).sacks(&[(2, 6)]))
        .gets(acks(0).sacks(&[(2, 8)]))
        .sends_segments(11..=12)
        .gets(acks(0).sacks(&[(10, 10), (2, 8)]))
        .sends(seg(13))
        .at(300)
        .gets(acks(8).sacks(&[(10, 10)]))
        .sends(seg(14))
        .at(350)
        .gets(acks(8).sacks(&[(10, 12)]))
        .sends(seg(9).again())
        .sends_segments(15..=16)
        .at(650)
        .sends(seg(9).again());
}

// RFC 2018 §8: a peer that acknowledges only up to a block has dropped that block.
#[test]
fn a_block_that_the_peer_has_dropped_goes_again() {
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(2, 3)]))
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(1))
        .sends(seg(2).again())
        .sends(seg(3).again());
}

// RFC 6298 §5.4.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .at(500)
        .sends(seg(1).again())
        .window_is(1);
}

// RFC 6675 §2: new blocks make a duplicate of a segment that carries data.
#[test]
fn blocks_on_data_reveal_a_loss() {
    ten_out(sack())
        .at(200)
        .gets(data(1, 101).sacks(&[(2, 2)]))
        .sends(ack(101))
        .gets(data(101, 201).sacks(&[(2, 3)]))
        .sends(ack(201))
        .gets(data(201, 301).sacks(&[(2, 4)]))
        .sends(seg(1).again().acking(301))
        .window_is(5);
}

// RFC 6675 §2: and of one that changes the window.
#[test]
fn blocks_with_another_window_reveal_a_loss() {
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]).window(900_000))
        .gets(acks(0).sacks(&[(2, 3)]).window(800_000))
        .gets(acks(0).sacks(&[(2, 4)]).window(700_000))
        .sends(seg(1).again())
        .window_is(5);
}

// RFC 6675 §2 and §5: and of one that acknowledges new data, after which the count starts anew.
#[test]
fn blocks_on_a_cumulative_acknowledgement_reveal_a_loss() {
    ten_out(sack())
        .at(200)
        .gets(acks(2).sacks(&[(4, 6)]))
        .sends(seg(3).again())
        // Eight segments were outstanding.
        .window_is(4);
}

// RFC 6675 §2: without new blocks an acknowledgement is no duplicate, however often it comes.
#[test]
fn acknowledgements_without_blocks_are_not_duplicates() {
    ten_out(sack())
        .at(200)
        .gets(acks(0))
        .gets(acks(0))
        .gets(acks(0))
        .then(|end| assert_eq!(end.stats().fast_retransmits, 0));
}

// RFC 6675 §5, step C: there has to be room for a whole segment, be the next one ever so short.
#[test]
fn a_short_segment_waits_for_room_for_a_whole_one() {
    established(Config { initial_window: 9, ..sack() })
        .writes(9_500)
        .sends_segments(1..=9)
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .then(|end| assert_eq!(end.congestion_window(), 4_500))
        // The pipe is 5, then 4 segments: there is room for 500 bytes.
        .gets(acks(0).sacks(&[(2, 5)]))
        .gets(acks(0).sacks(&[(2, 6)]))
        // It is 3.
        .gets(acks(0).sacks(&[(2, 7)]))
        .sends(data(9001, 9501))
        // It is 3.5, and rule 4 finds the end of what is outstanding.
        .sends(data(8501, 9501).again());
}

// RFC 6675 §4, NextSeg rule 3.
#[test]
fn a_hole_that_is_not_known_to_be_lost_goes_again_when_there_is_nothing_else() {
    established(sack())
        .writes_segments(10)
        .sends_segments(1..=10)
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        // In flight are 1 and 9: 9 has one segment above, and is not lost by IsLost.
        .gets(acks(0).sacks(&[(10, 10), (2, 8)]))
        .sends(seg(9).again())
        // All was sent again, and rule 4 finds nothing above the highest block.
        .at(300)
        .gets(acks(8).sacks(&[(10, 10)]))
        .gets(acks(10))
        .repairs_are(1, 0);
}

// RFC 6675 §4, IsLost: DupThresh blocks above, of whatever length.
#[test]
fn three_blocks_of_short_segments_reveal_a_loss() {
    short_segments_out()
        .gets(ack(1).sacks_octets(&[(101, 201)]))
        .gets(ack(1).sacks_octets(&[(501, 601), (301, 401), (101, 201)]))
        .sends(data(1, 101).again())
        // The pipe is far below a window of two segments: rule 3.
        .sends(data(201, 301).again())
        .sends(data(401, 501).again());
}

// RFC 6675 §4, IsLost: or more than DupThresh - 1 segments' worth of bytes, in fewer blocks.
#[test]
fn two_segments_worth_of_bytes_reveal_no_loss_and_a_byte_more_does() {
    established(sack())
        .writes(5_001)
        .sends_segments(1..=5)
        .sends(data(5001, 5002))
        .at(200)
        .gets(acks(0).sacks(&[(4, 5)]))
        .repairs_are(0, 0)
        .gets(acks(0).sacks_octets(&[(3001, 5002)]))
        // All three are lost, and the window is 2.5 segments.
        .sends_again(1..=2);
}

// RFC 6675 §5, step 1: the third duplicate starts recovery, though IsLost does not say so yet.
#[test]
fn the_third_duplicate_starts_recovery_before_the_blocks_show_a_loss() {
    short_segments_out()
        .gets(ack(1).sacks_octets(&[(101, 201)]))
        .gets(ack(1).sacks_octets(&[(101, 301)]))
        .repairs_are(0, 0)
        .gets(ack(1).sacks_octets(&[(101, 401)]))
        .sends(data(1, 101).again())
        // The pipe is far below a window of two segments: rule 4.
        .sends(data(401, 601).again())
        .repairs_are(1, 0);
}

/// Six segments of 100 bytes are out at 200 ms.
fn short_segments_out() -> Script {
    let script = established(sack());
    (0..6)
        .fold(script, |script, number| {
            script.writes(100).sends(data(100 * number + 1, 100 * number + 101))
        })
        .at(200)
}

// RFC 2018 §4 and RFC 6675 §3: what is acknowledged, or was never sent, tells nothing.
#[test]
fn blocks_outside_of_what_is_outstanding_are_ignored() {
    ten_out(sack())
        .at(200)
        .gets(acks(4))
        .sends_segments(11..=15)
        .gets(acks(4).sacks(&[(1, 2)]))
        .gets(acks(4).sacks(&[(2, 4)]))
        .gets(acks(4).sacks(&[(16, 18)]))
        .gets(acks(4).sacks(&[(15, 16)]))
        .repairs_are(0, 0)
        // One that reaches across counts from the acknowledgement on.
        .gets(acks(4).sacks(&[(4, 5)]))
        .gets(acks(4).sacks(&[(4, 6)]))
        .gets(acks(6))
        .sends_segments(16..=18)
        .repairs_are(0, 0);
}

// RFC 6675 §5, steps B and C: the blocks of an acknowledgement that advances count at once.
#[test]
fn recovery_goes_on_with_what_a_partial_acknowledgement_reports() {
    // Segments 1 and 5 are lost.
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .at(300)
        // The acknowledgements of 6 to 8 were lost. In flight: 9 and 10, and 5 again.
        .gets(acks(4).sacks(&[(6, 8)]))
        .sends(seg(5).again())
        .sends_segments(11..=12)
        .at(400)
        .gets(acks(12))
        .window_is(5)
        .sends_segments(13..=17)
        .repairs_are(1, 0);
}

// RFC 6675 §5, step 4.1, and §5.1: a loss beyond the RecoveryPoint is a new one.
#[test]
fn a_loss_right_after_the_recovery_point_starts_a_recovery_of_its_own() {
    // Segments 1 and 11 are lost; 11 is the first one sent in recovery.
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .window_is(5)
        .gets(acks(0).sacks(&[(2, 10)]))
        .sends_segments(11..=14)
        .at(300)
        .gets(acks(10).sacks(&[(12, 12)]))
        .sends_segments(15..=15)
        .gets(acks(10).sacks(&[(12, 13)]))
        .gets(acks(10).sacks(&[(12, 14)]))
        .sends(seg(11).again())
        .then(|end| assert_eq!(end.congestion_window(), 2_500))
        .repairs_are(2, 0);
}

// RFC 6675 §5.1: after a timeout blocks still say what need not go again.
#[test]
fn blocks_that_come_after_a_timeout_count() {
    // A burst of losses: 1 to 8. The acknowledgements of 9 and 10 are late.
    ten_out(sack())
        .at(400)
        .sends(seg(1).again())
        .at(450)
        .gets(acks(0).sacks(&[(9, 9)]))
        .gets(acks(0).sacks(&[(9, 10)]))
        .at(500)
        .gets(acks(1).sacks(&[(9, 10)]))
        .sends_again(2..=3)
        .at(600)
        .gets(acks(3).sacks(&[(9, 10)]))
        .window_is(3)
        .sends_again(4..=6)
        .at(700)
        .gets(acks(6).sacks(&[(9, 10)]))
        .window_is(4)
        .sends_again(7..=8)
        .sends_segments(11..=12)
        .at(800)
        // New data of this phase may be SACKed as well.
        .gets(acks(6).sacks(&[(11, 11), (9, 10)]))
        .sends(seg(13))
        .gets(acks(12))
        .repairs_are(0, 1)
        .sends_segments(14..=17);
}

// RFC 6298 §5.5 and RFC 6675 §5.1: again, all that is not SACKed is lost.
#[test]
fn after_a_second_timeout_the_holes_go_again_once_more() {
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
        .at(1_100)
        .gets(acks(2))
        .window_is(2)
        .sends_again(3..=4);
}

// RFC 6675 §5.1: no recovery begins before all that was out at the timeout is acknowledged.
#[test]
fn blocks_after_a_timeout_start_no_fast_retransmit() {
    established(Config { initial_window: 6, ..sack() })
        .writes_segments(6)
        .sends_segments(1..=6)
        .at(400)
        .sends(seg(1).again())
        .at(410)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(2, 3)]))
        .gets(acks(0).sacks(&[(2, 4)]))
        .gets(acks(0).sacks(&[(2, 6)]))
        .window_is(1)
        .at(500)
        .gets(acks(6))
        .repairs_are(0, 1);
}

// RFC 6675 §4, NextSeg rules 3 and 4: nothing is left that could go.
#[test]
fn with_all_sent_again_the_sender_waits() {
    established(sack())
        .writes_segments(6)
        .sends_segments(1..=6)
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        // 6 is the end of what is outstanding: the one rescue.
        .gets(acks(0).sacks(&[(2, 5)]))
        .sends(seg(6).again())
        .gets(acks(0).sacks(&[(2, 6)]))
        .at(300)
        .gets(acks(6))
        .repairs_are(1, 0);
}

// RFC 6298 §5.4: a FIN has a sequence number and is a hole like others.
#[test]
fn a_lost_fin_is_rescued() {
    script(sack())
        .opens()
        .sends(syn(0))
        .writes_segments(6)
        .closes()
        .at(100)
        .gets(syn_ack(0, 1))
        .sends(ack(1))
        .sends_segments(1..=5)
        .sends(seg(6).with_fin())
        .at(200)
        // Segments 1 and 6 are lost.
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .gets(acks(0).sacks(&[(2, 5)]))
        .at(300)
        .gets(acks(5))
        .sends(seg(6).with_fin().again())
        .at(400)
        .gets(ack(6002))
        .repairs_are(1, 0);
}

// RFC 6675 §4, rule 4: the rescue belongs to loss recovery, not to what follows a timeout (§5.1).
#[test]
fn there_is_no_rescue_after_a_timeout() {
    established(Config { initial_window: 6, ..sack() })
        .writes_segments(7)
        .sends_segments(1..=6)
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(2))
        .window_is(2)
        .sends_again(3..=4)
        .at(600)
        .gets(acks(4))
        .window_is(3)
        .sends_again(5..=6)
        .sends(seg(7))
        .at(700)
        // 5 was lost again: 5 and 7 are in flight, of a window of three.
        .gets(acks(4).sacks(&[(6, 6)]))
        .at(750)
        .gets(acks(4).sacks(&[(6, 7)]))
        .at(1_200)
        .sends(seg(5).again());
}

// RFC 6675 §3: the scoreboard knows what the peer holds, in however many blocks it was told.
#[test]
fn a_block_that_joins_two_others_counts_once() {
    // The order of arrival is 2, 4, 3; segment 1 is lost.
    ten_out(sack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(4, 4), (2, 2)]))
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        // The pipe is 7, 6, 5 and 4 segments, of a window of five.
        .gets(acks(0).sacks(&[(2, 5)]))
        .gets(acks(0).sacks(&[(2, 6)]))
        .gets(acks(0).sacks(&[(2, 7)]))
        .sends(seg(11))
        .window_is(5);
}
