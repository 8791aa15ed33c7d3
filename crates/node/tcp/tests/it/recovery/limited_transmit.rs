//! Limited transmit: the first two duplicates send new data (RFC 3042).

use super::*;

fn limited(config: Config) -> Config {
    Config { limited_transmit: true, ..config }
}

// RFC 3042 §2, and RFC 5681 §3.2, step 2: the two segments do not count in FlightSize.
#[test]
fn limited_transmit_sends_new_data_for_the_first_two_duplicates() {
    for config in [reno(), newreno()] {
        ten_out(limited(config))
            .at(200)
            .gets(acks(0))
            .sends(seg(11))
            .window_is(10)
            .gets(acks(0))
            .sends(seg(12))
            .window_is(10)
            .gets(acks(0))
            .sends(seg(1).again())
            .window_is(5);
    }
}

// RFC 3042 §2 with RFC 6675 §5, step 3.
#[test]
fn limited_transmit_sends_new_data_for_new_blocks() {
    ten_out(limited(sack()))
        .at(200)
        .gets(acks(0).sacks(&[(2, 2)]))
        .sends(seg(11))
        .gets(acks(0).sacks(&[(2, 3)]))
        .sends(seg(12))
        .gets(acks(0).sacks(&[(2, 4)]))
        .sends(seg(1).again())
        .window_is(5);
}

// RFC 3042 §2: where DupThresh is higher, still two segments beyond the window.
#[test]
fn limited_transmit_goes_two_segments_beyond_the_window_at_most() {
    ten_out(Config { duplicate_ack_threshold: 5, ..limited(newreno()) })
        .at(200)
        .gets(acks(0))
        .sends(seg(11))
        .gets(acks(0))
        .sends(seg(12))
        .gets_times(2, acks(0))
        .gets(acks(0))
        .sends(seg(1).again());
}

// RFC 3042 §2, the first condition.
#[test]
fn limited_transmit_stays_within_the_receivers_window() {
    established(limited(newreno()))
        .gets(ack(1).window(11_000))
        .writes_segments(30)
        .sends_segments(1..=10)
        .at(200)
        .gets(acks(0).window(11_000))
        .sends(seg(11))
        .gets(acks(0).window(11_000))
        .gets(acks(0).window(11_000))
        .sends(seg(1).again());
}

// RFC 3042 §2: the congestion window is not changed.
#[test]
fn limited_transmit_without_loss_leaves_no_trace() {
    ten_out(limited(newreno()))
        .at(200)
        .gets(acks(0))
        .sends(seg(11))
        .gets(acks(2))
        .window_is(11)
        .sends_segments(12..=13)
        .gets(acks(3))
        .window_is(12)
        .sends_segments(14..=15);
}

// RFC 5681 §3.2, step 2: only what goes beyond the window is limited transmit's.
#[test]
fn new_data_within_the_window_count_in_flight_size() {
    established(limited(newreno()))
        .writes_segments(5)
        .sends_segments(1..=5)
        .at(200)
        .gets(acks(0))
        .writes_segments(1)
        .sends(seg(6))
        .gets(acks(0))
        .gets(acks(0))
        .sends(seg(1).again())
        .window_is(3);
}
