//! Losses told by time, tails that are probed, and a window that comes down in proportion (RFC 8985, RFC 9937).

use super::*;

// RFC 8985 §6.2, steps 4 and 5: one later segment is enough, a quarter of the least round trip later, and the 2 ms that
// Linux adds for its timers. Until then what the peer holds makes room for new data.
#[test]
fn a_segment_is_lost_a_quarter_of_a_round_trip_after_a_later_one_arrived() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .sends(seg(11))
        .at(227)
        .sends(seg(1).again())
        .window_is(5)
        .repairs_are(1, 0);
}

// RFC 8985 §6.2, step 5: it was late, and there is nothing to repair.
#[test]
fn a_segment_that_arrives_within_the_reordering_window_is_not_lost() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .sends(seg(11))
        .at(224)
        .gets(acks(2))
        .sends_segments(12..=13)
        .repairs_are(0, 0);
}

// RFC 8985 §6.2, step 4: three later segments leave no doubt while no reordering was seen.
// RFC 9937 §1: of the window of ten, five are left, so that a segment goes for two that arrive.
#[test]
fn with_three_later_segments_it_is_lost_at_once_and_the_window_comes_down_in_proportion() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .sends(seg(11))
        .gets(acks(0).sacks(&[(2, 3)]))
        .sends(seg(12))
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .gets(acks(0).sacks(&[(2, 5)]))
        .gets(acks(0).sacks(&[(2, 6)]))
        .sends(seg(13))
        .gets(acks(0).sacks(&[(2, 7)]))
        .gets(acks(0).sacks(&[(2, 8)]))
        .sends(seg(14))
        .window_is(5);
}

// RFC 8985 §6.2, step 4: once segments were seen to overtake each other, three are no proof any more.
#[test]
fn where_segments_overtook_each_other_three_later_ones_wait_for_the_window() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .sends(seg(11))
        .gets(acks(2))
        .sends_segments(12..=13)
        .gets(acks(2).sacks(&[(4, 6)]))
        .sends_segments(14..=16)
        .at(227)
        .sends(seg(3).again());
}

// RFC 8985 §6.2, step 5: what tells of nothing new is no time to judge the others. At 226 ms segment 1 is late, and the peer says
// again what it holds; the timer is what finds it.
#[test]
fn an_acknowledgement_that_tells_nothing_judges_nothing() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .sends(seg(11))
        .at(226)
        .gets(acks(0).sacks(&[(2, 2)]))
        .at(227)
        .sends(seg(1).again());
}

// RFC 8985 §6.2, step 2: RACK.rtt is that of what was acknowledged in order, and not the short one of a segment that
// overtook those before it. At 290 ms the latter is 50 ms, and by that all of 2 to 10 would be lost.
#[test]
fn a_segment_that_overtakes_many_does_not_make_them_late() {
    ten_out(rack())
        .at(240)
        .gets(acks(1))
        .sends_segments(11..=12)
        .at(290)
        .gets(acks(2).sacks(&[(12, 12)]))
        .sends_segments(13..=15)
        .at(300)
        .gets(acks(12))
        .sends_segments(16..=25)
        .repairs_are(0, 0);
}

/// Of ten segments the first is lost and sent again, and the rest arrive; a round trip later.
fn one_sent_again() -> Script {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .sends(seg(11))
        .gets(acks(0).sacks(&[(2, 10)]))
        .sends_segments(12..=14)
        .at(300)
}

// RFC 8985 §3.2: a retransmission that is lost again is found by what was sent after it.
#[test]
fn a_retransmission_lost_again_is_sent_again_without_a_timeout() {
    one_sent_again()
        .gets(acks(0).sacks(&[(2, 11)]))
        .sends(seg(1).again())
        .sends(seg(15))
        .repairs_are(1, 0);
}

// RFC 8985 §6.2, step 5: segment 11 is lost and sent again during the recovery of those before it. As in Linux, the repair is under
// way when that recovery is over, and begins the next.
#[test]
fn a_repair_in_flight_when_a_recovery_is_over_begins_another() {
    one_sent_again()
        .gets(acks(0).sacks(&[(12, 12), (2, 10)]))
        .sends(seg(1).again())
        .sends(seg(11).again())
        .sends(seg(15))
        .at(350)
        .gets(acks(10).sacks(&[(12, 12)]).answering_again())
        .sends(seg(16))
        .repairs_are(2, 0);
}

// RFC 8985 §6.2, steps 1 and 2: the handshake took 100 ms behind a queue that is gone, and what goes again takes 60. The
// first acknowledgement of it is taken for that of an earlier transmission, as in Linux; timestamps make its 60 ms the
// least round trip, and the second one tells that the tail was lost.
#[test]
fn retransmissions_faster_than_the_handshake_tell_of_a_lost_tail() {
    established(rack())
        .writes_segments(10)
        .sends_segments(1..=10)
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .gets(acks(0).sacks(&[(4, 5), (2, 2)]))
        .sends(seg(1).again())
        .gets(acks(0).sacks(&[(4, 9), (2, 2)]))
        .sends(seg(3).again())
        .at(260)
        .gets(acks(2).sacks(&[(4, 9)]).answering_again())
        .gets(acks(9).answering_again())
        .sends(seg(10).again())
        .repairs_are(1, 0);
}

// RFC 8985 §7.2 and §7.3: two round trips after the last segment left, and a little, that one goes again.
// RFC 8985 §7.4.1: what its acknowledgement tells is for RACK.
#[test]
fn a_lost_tail_is_probed_and_then_repaired() {
    established(rack())
        .writes_segments(3)
        .sends_segments(1..=3)
        .at(302)
        .sends(seg(3).again())
        .at(402)
        .gets(acks(0).sacks(&[(3, 3)]))
        .sends(seg(1).again())
        .at(502)
        .gets(acks(1).sacks(&[(3, 3)]).answering_again())
        .sends(seg(2).again())
        .repairs_are(1, 0);
}

// RFC 8985 §7.3: new data are a probe as good, whatever the congestion window says.
#[test]
fn a_probe_takes_new_data_where_there_are_any() {
    ten_out(rack())
        .at(302)
        .sends(seg(11))
        .at(402)
        .gets(acks(0).sacks(&[(11, 11)]))
        .sends_again(1..=1);
}

// RFC 8985 §7.2: for a single segment the peer may hold its acknowledgement back; never later than RTO.
#[test]
fn the_probe_of_a_single_segment_waits_for_a_delayed_acknowledgement() {
    established(Config { rto_min: shortflow_units::Duration::from_millis(50), ..rack() })
        .writes_segments(1)
        .sends(seg(1))
        // 2 · 100 ms + 50 ms, before the timeout of 300 ms.
        .at(350)
        .sends(seg(1).again())
        .repairs_are(0, 0);
}

// RFC 8985 §7.4.2: the probe brought what was lost, of which congestion control hears when more is acknowledged.
#[test]
fn a_loss_that_the_probe_repaired_slows_the_sender_down() {
    probed().at(900).gets(acks(4)).window_is(5);
}

// RFC 8985 §7.4.2: both the segment and its probe arrived.
#[test]
fn a_probe_without_cause_costs_nothing() {
    probed().gets(acks(3)).at(900).gets(acks(4)).window_is(10);
}

/// The last of three segments was probed, and acknowledged at 800 ms; the fourth has left since.
fn probed() -> Script {
    established(rack())
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
}

// RFC 8985 §7.3: one probe for a tail; then the timer repairs, which starts anew with the probe.
#[test]
fn a_lost_probe_is_left_to_the_timer() {
    established(rack())
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(302)
        .sends(seg(2).again())
        .at(802)
        .sends(seg(1).again())
        .repairs_are(0, 1)
        .window_is(1);
}

// RFC 6298 §5.3 has it for what is acknowledged in order. The fifth left before the first was sent again, whose answer may
// therefore be on its way still: its timer starts anew, as in Linux.
#[test]
fn what_left_before_a_retransmission_starts_its_timer_anew_when_it_arrives() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .sends(seg(11))
        // A round trip of 108 ms makes the smoothed one 101 ms, and the timeout 601.
        .at(208)
        .gets(acks(0).sacks(&[(2, 5)]))
        .at(809)
        .sends(seg(1).again())
        .repairs_are(1, 1);
}

// RFC 6298 §5.1 begins the timer when a segment is sent. Of the fifth it is waited until 225 ms whether it is
// late or lost; the timeout that follows on that is of the first, which went again at 200, and not of that moment.
#[test]
fn a_timeout_that_follows_on_a_wait_counts_from_the_first_segment() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .sends(seg(11))
        .gets(acks(0).sacks(&[(6, 6), (2, 4)]))
        .at(800)
        .sends(seg(1).again())
        .repairs_are(1, 1);
}

// RFC 8985 §7.2: with `tail_loss_probe = false` the timer alone repairs a tail.
#[test]
fn probes_can_be_left_out() {
    established(Config { tail_loss_probe: false, ..rack() })
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(600)
        .sends(seg(1).again())
        .repairs_are(0, 1);
}

// RFC 8985 §6.3: what left less than a round trip before the timeout may still arrive, and is not sent again.
#[test]
fn what_has_just_been_sent_is_not_lost_with_the_timeout() {
    established(Config { tail_loss_probe: false, ..rack() })
        .writes_segments(3)
        .sends_segments(1..=3)
        .at(200)
        .gets(acks(1))
        .at(650)
        .writes_segments(1)
        .sends(seg(4))
        .at(700)
        .sends(seg(2).again())
        // It does, and tells that the third is lost.
        .at(750)
        .gets(acks(1).sacks(&[(4, 4)]))
        .sends(seg(3).again())
        .at(850)
        .gets(acks(4));
}

/// All of ten segments are late; the timer has expired at 600 ms.
fn timed_out() -> Script {
    ten_out(Config { tail_loss_probe: false, ..rack() }).at(600).sends(seg(1).again()).window_is(1)
}

// RFC 3522 §3.2: the acknowledgement answers the first transmission.
#[test]
fn a_timeout_without_a_loss_is_taken_back() {
    timed_out()
        .at(690)
        .gets(acks(1))
        .sends_segments(11..=12)
        .window_is(11)
        .phase_is(shortflow_packet::Phase::SlowStart);
}

// RFC 5682 §3.1: new data answer the first acknowledgement; the second is of what was sent once, before the timeout.
#[test]
fn a_timeout_is_taken_back_when_what_was_not_sent_again_arrives() {
    timed_out()
        .at(690)
        .gets(acks(1).answering_again())
        .sends_segments(11..=12)
        .gets(acks(2))
        .sends(seg(13))
        .window_is(11);
}

// RFC 5681 §4.3: what was taken back was not the reduction for this loss.
#[test]
fn a_loss_after_a_timeout_that_was_taken_back_slows_the_sender_down() {
    timed_out().at(690).gets(acks(0).sacks(&[(5, 7)])).sends(seg(2).again()).window_is(5);
}

// RFC 3522 §3.2 and RFC 4015 §3.3: segments overtook it.
#[test]
fn a_fast_retransmit_of_what_was_only_late_is_taken_back() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .sends(seg(11))
        .window_is(5)
        .at(210)
        .gets(acks(4))
        .sends_segments(12..=15)
        .window_is(11);
}

// RFC 3522 §3.2: while another retransmission may be answered, nothing else goes again.
#[test]
fn what_may_be_late_is_not_sent_again() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(5, 7)]))
        .sends_again(1..=2)
        .at(210)
        .gets(acks(1).sacks(&[(5, 7)]))
        .sends(seg(11))
        .gets(acks(2).sacks(&[(5, 7)]))
        .sends_segments(12..=16)
        .window_is(11);
}

// RFC 5682 §3.1: the new data arrive before what is missing, which is lost then.
#[test]
fn a_timeout_with_a_loss_stands() {
    timed_out()
        .at(700)
        .gets(acks(1).answering_again())
        .sends_segments(11..=12)
        .at(800)
        .gets(acks(1).sacks(&[(11, 11)]))
        .sends(seg(2).again())
        .window_is(2);
}

// RFC 5682 §3.1: without new data the test cannot be made, and what is lost goes.
#[test]
fn without_new_data_a_timeout_is_not_doubted() {
    established(Config { tail_loss_probe: false, ..rack() })
        .writes_segments(3)
        .sends_segments(1..=3)
        .at(600)
        .sends(seg(1).again())
        .at(700)
        .gets(acks(1).answering_again())
        .sends_again(2..=3);
}

// RFC 2018 §8: a peer that drops what it held gets all of it again.
#[test]
fn a_peer_that_reneges_gets_everything_again() {
    ten_out(rack())
        .at(200)
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .sends(seg(11))
        .at(300)
        // What follows segment 1 was held, and is not acknowledged with it.
        .gets(acks(1).answering_again())
        .sends_again(2..=3);
}
