//! The retransmission timer (RFC 6298). Every handshake of these takes 100 ms.

use shortflow_tcp::{Config, Failure};
use shortflow_units::Duration;

use crate::script::*;

// RFC 6298 §2.1: before a sample it is what is set, here the one second of the RFC.
#[test]
fn the_first_timeout_is_as_set() {
    script(Config { rto_initial: Duration::from_secs(1), ..newreno() })
        .opens()
        .sends(syn(0))
        .rto_is(1_000)
        .at(1_000)
        .sends(syn(0).again());
}

// RFC 6298 §2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4·RTTVAR. The handshake gives the sample.
#[test]
fn the_first_sample_makes_the_timeout_three_round_trips() {
    established(newreno())
        .then(|end| assert_eq!(end.smoothed_rtt(), Some(Duration::from_millis(100))))
        .rto_is(300);
}

// RFC 6298 §2.3: RTTVAR = 3/4·50 + 1/4·|100 - 180| = 57.5, SRTT = 7/8·100 + 1/8·180 = 110.
#[test]
fn a_later_sample_moves_the_averages_by_a_quarter_and_an_eighth() {
    established(newreno())
        .writes_segments(1)
        .sends(seg(1))
        .at(280)
        .gets(acks(1))
        .then(|end| assert_eq!(end.smoothed_rtt(), Some(Duration::from_millis(110))))
        .rto_is(110 + 230);
}

// RFC 6298 §2.3: G, one clock tick, where the variation is smaller.
#[test]
fn a_steady_round_trip_leaves_one_tick_of_room() {
    let config = Config {
        rto_min: Duration::from_millis(1),
        clock_granularity: Duration::from_millis(100),
        ..newreno()
    };
    let script = established(config).rto_is(300);
    // Each sample of 100 ms makes RTTVAR a quarter smaller, from 50 ms.
    (1..=20)
        .fold(script, |script, number| {
            script
                .writes_segments(1)
                .sends(seg(number))
                .at(100 * u64::from(number) + 100)
                .gets(acks(number))
        })
        .rto_is(200);
}

// RFC 6298 §2.4.
#[test]
fn the_timeout_has_a_least_value() {
    let config = Config { rto_min: Duration::from_secs(1), ..newreno() };
    established(config).writes_segments(1).sends(seg(1)).at(1_100).sends(seg(1).again());
}

// RFC 6298 §2.5 and §5.5.
#[test]
fn the_timeout_doubles_up_to_its_greatest_value() {
    established(Config {
        rto_max: Duration::from_secs(1),
        rto_initial: Duration::from_secs(1),
        ..newreno()
    })
    .writes_segments(1)
    .sends(seg(1))
    .at(400)
    .sends(seg(1).again())
    .at(1_000)
    .sends(seg(1).again())
    .at(2_000)
    .sends(seg(1).again())
    .at(3_000)
    .sends(seg(1).again());
}

// RFC 6298 §5.5 and §3 (Karn): the back-off stays until something sent once is acknowledged.
#[test]
fn the_timeout_doubles_and_stays_so_until_a_new_sample() {
    established(newreno())
        .writes_segments(1)
        .sends(seg(1))
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
        .at(1_100)
        .gets(acks(1))
        .rto_is(1_200)
        .writes_segments(1)
        .sends(seg(2))
        .at(1_200)
        .gets(acks(2))
        // A second sample of 100 ms: RTTVAR falls from 50 to 37.5 ms.
        .rto_is(250);
}

// RFC 6298 §3 (Karn): which copy an acknowledgement answers is not known; 150 ms is no sample.
#[test]
fn the_acknowledgement_of_a_retransmission_is_no_sample() {
    established(newreno())
        .writes_segments(5)
        .sends_segments(1..=5)
        .at(200)
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .at(250)
        .gets(acks(5))
        .then(|end| assert_eq!(end.smoothed_rtt(), Some(Duration::from_millis(100))))
        .rto_is(300);
}

// RFC 6298 §5.1: it is started with the first segment, and runs on when more are sent.
#[test]
fn the_timer_starts_with_the_first_segment_out() {
    established(newreno())
        .writes_segments(1)
        .sends(seg(1))
        .at(300)
        .writes_segments(1)
        .sends(seg(2))
        .at(400)
        .sends(seg(1).again());
}

// RFC 6298 §5.2.
#[test]
fn the_timer_stops_when_all_is_acknowledged() {
    established(newreno())
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(200)
        .gets(acks(2))
        .at(100_000)
        .repairs_are(0, 0)
        .writes_segments(1)
        .sends(seg(3))
        .at(100_250)
        .sends(seg(3).again());
}

// RFC 6298 §5.3.
#[test]
fn the_timer_restarts_when_new_data_are_acknowledged() {
    established(newreno())
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(200)
        .gets(acks(1))
        // SRTT 100, RTTVAR 37.5: RTO 250 ms from here.
        .at(450)
        .sends(seg(2).again());
}

// RFC 6298 §5.3: not when nothing new is.
#[test]
fn duplicates_do_not_restart_the_timer() {
    established(newreno())
        .writes_segments(3)
        .sends_segments(1..=3)
        .at(300)
        .gets_times(2, acks(0))
        .at(400)
        .sends(seg(1).again());
}

// RFC 6298 §5.4 to §5.6: the earliest segment goes again, and the timer starts with twice the
// timeout.
#[test]
fn the_first_segment_goes_again_and_the_timer_starts_anew() {
    established(newreno())
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(400)
        .sends(seg(1).again())
        .rto_is(600)
        .at(999)
        .at(1_000)
        .sends(seg(1).again())
        .rto_is(1_200)
        .repairs_are(0, 2);
}

// RFC 9293 §3.8.3: R2, after which a connection is given up, is settable.
#[test]
fn a_sender_gives_up_after_its_last_retry() {
    established(Config { data_retries: Some(2), ..newreno() })
        .writes_segments(1)
        .sends(seg(1))
        .at(400)
        .sends(seg(1).again())
        .at(1_000)
        .sends(seg(1).again())
        .at(2_200)
        .then(|end| assert_eq!(end.failure(), Some(Failure::TimedOut)));
}

// RFC 9293 §3.8.3: the retries are counted for one segment.
#[test]
fn progress_gives_back_all_retries() {
    established(Config { data_retries: Some(1), ..newreno() })
        .writes_segments(2)
        .sends_segments(1..=2)
        .at(400)
        .sends(seg(1).again())
        .at(500)
        .gets(acks(1))
        .sends(seg(2).again())
        .at(1_100)
        .sends(seg(2).again())
        .at(1_200)
        .gets(acks(2))
        .then(|end| assert_eq!((end.failure(), end.acknowledged()), (None, 2_000)));
}
