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

// The timer watches the first outstanding segment: it starts anew when that goes again.
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
