//! A profile of the host inside TCP's output (Mehra, Tewari & Kandlur 1999, §4.1 and §6.1): what it withholds
//! is unsent.

use shortflow_packet::Phase;
use shortflow_tcp::Config;
use shortflow_units::Duration;

use crate::script::*;

/// Bytes that were never sent.
fn remaining(script: Script, segments: u64) -> Script {
    script.then(|end| {
        let remaining = end.sender_view().remaining.unwrap();
        assert_eq!(remaining.0, segments * u64::from(MSS), "bytes never sent");
    })
}

#[test]
fn what_is_withheld_is_not_in_flight_and_goes_when_it_may() {
    let script = established(newreno()).may_send(2).writes_segments(5).sends_segments(1..=2);
    let script = remaining(script, 3).at(150).may_send(1).sends(seg(3));
    // The windows have room for all, but an acknowledgement is no permission.
    let script = remaining(script.at(200).gets(acks(2)), 2);
    remaining(script.at(210).may_send(9).sends_segments(4..=5), 0);
}

/// RTO is 300 ms after a round trip of 100 ms: the wait for the profile is no part of it.
#[test]
fn a_round_trip_begins_when_the_segment_goes() {
    established(newreno())
        .may_send(0)
        .writes_segments(1)
        .at(1_100)
        .may_send(1)
        .sends(seg(1))
        .at(1_200)
        .gets(acks(1))
        .then(|end| assert_eq!(end.smoothed_rtt(), Some(Duration::from_millis(100))))
        .rto_is(250);
}

#[test]
fn no_timer_runs_for_what_was_never_sent() {
    established(newreno()).may_send(0).writes_segments(3).at(100_000).repairs_are(0, 0).rto_is(300);
}

/// The SYN as well: a connection of a host without tokens has not begun.
#[test]
fn a_connection_opens_when_its_syn_may_go() {
    script(newreno())
        .may_send(0)
        .opens()
        .at(50_000)
        .may_send(1)
        .sends(syn(0))
        .at(50_100)
        .gets(syn_ack(0, 1))
        .at(50_200)
        .may_send(1)
        .sends(ack(1))
        .then(|end| assert_eq!(end.stats().syn_retransmissions, 0));
}

/// The window of ten was never full, so it stays as it is (RFC 7661 §4.3 for TCPs that ask for its use).
#[test]
fn a_window_that_the_profile_leaves_unused_does_not_count_as_full() {
    let shares = |config: Config| {
        let script = established(config).may_send(1).writes_segments(9).sends(seg(1));
        script.at(200).gets(acks(1))
    };
    shares(rack()).window_is(10);
}

/// The retransmission that a timeout asks for waits for tokens. Until it is sent, no second timeout doubles
/// the interval; and the timer then counts from when it is sent.
#[test]
fn a_timeout_does_not_strike_again_for_a_retransmission_that_is_withheld() {
    for config in [newreno(), sack()] {
        established(config)
            .writes_segments(2)
            .sends_segments(1..=2)
            .may_send(0)
            .at(400)
            .repairs_are(0, 1)
            .rto_is(600)
            .at(5_000)
            .repairs_are(0, 1)
            .rto_is(600)
            .at(5_100)
            .may_send(1)
            .sends(seg(1).again())
            .at(5_699)
            .repairs_are(0, 1)
            .at(5_700)
            .repairs_are(0, 2);
    }
}

#[test]
fn todays_tcp_waits_likewise_with_its_probe_and_its_retransmission() {
    established(rack())
        .writes_segments(1)
        .sends(seg(1))
        .may_send(0)
        .at(30_000)
        .repairs_are(0, 0)
        .may_send(1)
        .sends(seg(1).again())
        .at(30_499)
        .repairs_are(0, 0)
        .at(30_500)
        .repairs_are(0, 1)
        .at(60_000)
        .repairs_are(0, 1)
        .may_send(1)
        .sends(seg(1).again())
        .at(60_100)
        .gets(acks(1))
        .at(90_000)
        .repairs_are(0, 1);
}

/// Three duplicates ask for the first segment again. Before it may go, its acknowledgement arrives after all.
#[test]
fn a_withheld_retransmission_is_given_up_when_its_data_are_acknowledged() {
    established(newreno())
        .writes_segments(5)
        .sends_segments(1..=5)
        .may_send(0)
        .at(200)
        .gets_times(3, acks(0))
        .phase_is(Phase::FastRecovery)
        .at(250)
        .gets(acks(5))
        .may_send(9)
        .writes_segments(1)
        .sends(seg(6));
}

/// RFC 9293 §3.8.6.1, with a profile that has no token for a probe: its peer is not given up.
#[test]
fn a_withheld_probe_of_a_closed_window_does_not_count_as_unanswered() {
    established(Config { data_retries: Some(2), ..newreno() })
        .gets(ack(1).window(0))
        .may_send(0)
        .writes(500)
        .at(60_000)
        .then(|end| assert_eq!(end.failure(), None))
        .may_send(1)
        .sends(data(1, 2))
        .then(|end| assert_eq!(end.stats().window_probes, 1));
}

/// An acknowledgement that may not go stays due, and goes with the next data.
#[test]
fn a_withheld_acknowledgement_goes_with_the_next_segment() {
    established(newreno())
        .may_send(0)
        .gets(seg(1).acking(1))
        .writes_segments(1)
        .at(300)
        .may_send(1)
        .sends(seg(1).acking(1 + MSS));
}
