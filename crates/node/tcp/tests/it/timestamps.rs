//! Timestamps (RFC 7323): PAWS, TS.Recent, round trips from TSecr, spurious recoveries.

use shortflow_packet::Phase;
use shortflow_tcp::{Config, Connection, DelayedAck};
use shortflow_units::Duration;

use crate::script::*;

/// Losses told by time, with timestamps.
fn stamped() -> Config {
    Config { header: 52, ..rack() }
}

/// Ten segments of thirty are out at 100 ms.
fn ten_out(config: Config) -> Script {
    established(config).writes_segments(30).sends_segments(1..=10)
}

// RFC 7323 §5.3, R1: a segment with an older TSval than the one that filled a gap is discarded, even if it is in the window and
// new. Linux 6.18 does so when a retransmission overtakes delayed originals.
#[test]
fn a_segment_older_than_ts_recent_is_discarded() {
    established(stamped())
        .at(200)
        .gets(seg(2).tsval(120))
        .sends(acks(0).sacks(&[(2, 2)]))
        .gets(seg(1).tsval(190))
        .sends(acks(2))
        // Segment 3 is the next one, 5 is beyond a gap, and 1 is a duplicate.
        .gets(seg(3).tsval(121))
        .sends(acks(2))
        .gets(seg(5).tsval(189))
        .sends(acks(2))
        .gets(seg(1).tsval(119))
        .sends(acks(2))
        .then(|end| assert_eq!(end.received(), 2_000))
        .gets(seg(3).tsval(190))
        .sends(acks(3));
    // Without timestamps nothing tells.
    established(rack())
        .at(200)
        .gets(seg(2).tsval(120))
        .sends(acks(0).sacks(&[(2, 2)]))
        .gets(seg(1).tsval(190))
        .sends(acks(2))
        .gets(seg(3).tsval(121))
        .sends(acks(3));
}

// RFC 7323 §5.3 and RFC 2883 §4: a discarded segment is reported as a duplicate only if its data came before.
#[test]
fn a_discarded_segment_is_reported_if_it_is_a_duplicate() {
    established(Config { duplicate_sack: true, ..stamped() })
        .at(200)
        .gets(seg(2).tsval(120))
        .sends(acks(0).sacks(&[(2, 2)]))
        .gets(seg(1).tsval(190))
        .sends(acks(2))
        .gets(seg(1).tsval(119))
        .sends(acks(2).sacks(&[(1, 1)]))
        .gets(seg(3).tsval(121))
        .sends(acks(2));
}

// RFC 7323 §5.3, R1: PAWS applies to data and FINs. An acknowledgement without data is judged by its number alone.
#[test]
fn paws_discards_an_old_fin_but_not_an_old_acknowledgement() {
    established(stamped())
        .writes_segments(1)
        .sends(seg(1))
        .at(200)
        .gets(seg(1).acking(1).tsval(190))
        .sends(acks(1))
        .gets(fin(1001).acking(1).tsval(180))
        .sends(acks(1))
        .gets(acks(1).tsval(180))
        .then(|end| assert_eq!((end.acknowledged(), end.peer_closed()), (1_000, false)));
}

// RFC 7323 §5.5: TS.Recent expires after 24 days.
#[test]
fn a_segment_is_accepted_after_a_month_of_silence() {
    const DAYS: u64 = 24 * 3600 * 1000;
    established(stamped())
        .at(200)
        .gets(seg(1).tsval(190))
        .sends(acks(1))
        .at(30 * DAYS)
        .gets(seg(2).tsval(30 * DAYS - 10))
        .sends(acks(2));
}

// RFC 7323 §4.3: an acknowledgement echoes the first segment since the last acknowledgement. Segments after a gap and duplicates
// are not echoed.
#[test]
fn an_acknowledgement_echoes_the_first_segment_since_the_last_one() {
    let delay = DelayedAck { timeout: Duration::from_millis(100), segments: 2 };
    established(Config { delayed_ack: Some(delay), ..stamped() })
        .at(200)
        .gets(seg(1).tsval(190))
        .at(210)
        .gets(seg(2).tsval(195))
        .sends(acks(2).tsecr(190))
        .at(220)
        .gets(seg(4).tsval(210))
        .sends(acks(2).sacks(&[(4, 4)]).tsecr(190))
        .gets(seg(1).tsval(215))
        .sends(acks(2).sacks(&[(4, 4)]).tsecr(190))
        .gets(seg(3).tsval(217))
        .sends(acks(4).tsecr(217));
}

fn smoothed(micros: u64) -> impl Fn(&Connection) {
    move |end| assert_eq!(end.smoothed_rtt(), Some(Duration::from_micros(micros)))
}

// RFC 7323 §4.1: TSecr gives the round trip of a delayed segment, although it was retransmitted meanwhile. Without it only
// segments that overtake others give samples.
#[test]
fn a_retransmitted_segment_gives_a_round_trip_by_tsecr() {
    let one_again = || {
        ten_out(stamped())
            .at(200)
            .gets(acks(0).sacks(&[(2, 4)]).tsecr(100))
            .sends(seg(1).again())
            .sends(seg(11))
            .then(smoothed(100_000))
            .at(240)
    };
    // (7 · 100 ms + 140 ms) / 8.
    one_again().gets(acks(4).tsecr(100)).then(smoothed(105_000)).sends_segments(12..=15);
    // The second one is answered, after 40 ms.
    one_again().gets(acks(4).tsecr(200)).then(smoothed(92_500));
}

// RFC 3522 §3.2: a TSecr older than the first retransmission proves that recovery is spurious. One in the same tick does not.
#[test]
fn a_reduction_is_undone_if_tsecr_is_older_than_the_retransmission() {
    let one_again = || {
        ten_out(stamped())
            .at(200)
            .gets(acks(0).sacks(&[(2, 4)]).tsecr(100))
            .sends(seg(1).again())
            .sends(seg(11))
            .at(240)
    };
    one_again().gets(acks(4).tsecr(199)).phase_is(Phase::SlowStart).sends_segments(12..=15);
    one_again().gets(acks(4).tsecr(200)).phase_is(Phase::FastRecovery);
}

// RFC 5681 §3.1 opens the window for cumulative acknowledgements. Linux 6.18 also opens it for SACKed data once the reordering
// extent exceeds the duplicate threshold.
#[test]
fn sacked_data_open_the_window_if_segments_are_reordered_beyond_the_threshold() {
    ten_out(stamped())
        .at(200)
        .gets(acks(0).sacks(&[(6, 6)]).tsecr(100))
        .window_is(10)
        .sends(seg(11))
        // Five segments overtook 1.
        .gets(acks(1).sacks(&[(6, 6)]).tsecr(100))
        .window_is(11)
        .sends_segments(12..=13)
        .gets(acks(1).sacks(&[(6, 7)]).tsecr(100))
        .window_is(12)
        .sends_segments(14..=15);
    // Three did.
    ten_out(stamped())
        .at(200)
        .gets(acks(0).sacks(&[(4, 4)]).tsecr(100))
        .sends(seg(11))
        .gets(acks(1).sacks(&[(4, 4)]).tsecr(100))
        .window_is(11)
        .sends_segments(12..=13)
        .gets(acks(1).sacks(&[(4, 5)]).tsecr(100))
        .window_is(11)
        .sends(seg(14));
}
