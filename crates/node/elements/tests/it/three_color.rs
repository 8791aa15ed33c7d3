//! Token bucket, srTCM and trTCM as timelines.

use shortflow_elements::Color::{Green, Red, Yellow};
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::meter::{
    ColorMode, SrTcm, SrTcmParams, TokenBucket, TokenBucketParams, TrTcm, TrTcmParams, TwoBuckets,
    TwoBucketsParams,
};
use shortflow_elements::{Color, Meter};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Instant, Rate};

use crate::bench::{mbit, ms, p, us};

/// The colours of packets that come in their colours `(at, size, incoming)`.
fn colors(meter: &mut dyn Meter, packets: &[(Instant, u32, Color)]) -> Vec<Color> {
    let code_point = |color| [Dscp::AF11, Dscp::AF12, Dscp::AF13][color as usize];
    packets
        .iter()
        .map(|&(now, size, color)| {
            meter.meter(now, &p(0).sized(size).marked(code_point(color)).packet())
        })
        .collect()
}

fn aware() -> ColorMode {
    let table = DscpTable::filled(Red).with(Dscp::AF11, Green).with(Dscp::AF12, Yellow);
    ColorMode::Aware(table)
}

#[test]
fn a_token_bucket_lets_a_burst_pass_and_then_the_rate() {
    // 8 Mbit/s is a byte per microsecond.
    let params = TokenBucketParams::new(mbit(8), Bytes(2000)).unwrap();
    let mut bucket = TokenBucket::new(params);
    let burst = [(ms(0), 1000, Green); 3];
    assert_eq!(colors(&mut bucket, &burst), [Green, Green, Yellow]);
    let later = [(us(999), 1000, Green), (us(1000), 1000, Green), (us(1001), 2, Green)];
    assert_eq!(colors(&mut bucket, &later), [Yellow, Green, Yellow]);
}

#[test]
fn a_token_bucket_loses_no_fraction_of_a_token_over_millions_of_packets() {
    // 1 kbit/s earns a byte per 8 ms; asked every 7,919 ns, almost every time for nothing.
    let params = TokenBucketParams::new(Rate::from_bits_per_sec(1000), Bytes(1)).unwrap();
    let mut bucket = TokenBucket::new(params);
    let byte = p(0).sized(1).packet();
    let steps = 2_000_000;
    let green = (0..steps)
        .filter(|step| bucket.meter(Instant::from_nanos(step * 7_919), &byte) == Green)
        .count();
    // The first byte, then one at the first chance after each 8 ms from the one before.
    let chances_per_byte = 8_000_000u64.div_ceil(7_919);
    assert_eq!(green as u64, 1 + (steps - 1) / chances_per_byte);
}

#[test]
fn a_single_rate_meter_is_green_then_yellow_then_red() {
    let mut meter =
        SrTcm::new(SrTcmParams::new(mbit(8), Bytes(2000), Bytes(1000), ColorMode::Blind).unwrap());
    let burst = [(ms(0), 1000, Green); 4];
    assert_eq!(colors(&mut meter, &burst), [Green, Green, Yellow, Red]);
    // After 3 ms the committed bucket has filled first, and then the excess bucket.
    let later = [(ms(3), 1000, Green); 4];
    assert_eq!(colors(&mut meter, &later), [Green, Green, Yellow, Red]);
    // 1 ms fills only the committed one.
    let soon = [(ms(4), 1000, Green); 2];
    assert_eq!(colors(&mut meter, &soon), [Green, Red]);
}

#[test]
fn a_colour_aware_single_rate_meter_never_improves_a_colour() {
    let mut meter =
        SrTcm::new(SrTcmParams::new(mbit(8), Bytes(2000), Bytes(1000), aware()).unwrap());
    let packets = [(ms(0), 500, Red), (ms(0), 500, Yellow), (ms(0), 1000, Green)];
    assert_eq!(colors(&mut meter, &packets), [Red, Yellow, Green]);
    // 500 tokens of excess are left: two yellow packets need 1000.
    let packets = [(ms(0), 500, Yellow), (ms(0), 500, Yellow), (ms(0), 1000, Green)];
    assert_eq!(colors(&mut meter, &packets), [Yellow, Red, Green]);
}

#[test]
fn a_two_rate_meter_is_red_above_the_peak_and_yellow_above_the_committed_profile() {
    let params =
        TrTcmParams::new(mbit(4), Bytes(1000), mbit(8), Bytes(3000), ColorMode::Blind).unwrap();
    let mut meter = TrTcm::new(params);
    let burst = [(ms(0), 1000, Green); 4];
    assert_eq!(colors(&mut meter, &burst), [Green, Yellow, Yellow, Red]);
    // A packet per millisecond is the peak rate: every second one is within the committed rate.
    let train: Vec<_> = (1..=4).map(|at| (ms(at), 1000, Green)).collect();
    assert_eq!(colors(&mut meter, &train), [Yellow, Green, Yellow, Green]);
}

#[test]
fn a_colour_aware_two_rate_meter_never_improves_a_colour() {
    let params = TrTcmParams::new(mbit(4), Bytes(1000), mbit(8), Bytes(3000), aware()).unwrap();
    let mut meter = TrTcm::new(params);
    let packets = [(ms(0), 1000, Red), (ms(0), 1000, Yellow), (ms(0), 1000, Green)];
    // The red packet took nothing, the yellow one no committed tokens.
    assert_eq!(colors(&mut meter, &packets), [Red, Yellow, Green]);
}

#[test]
fn parameters_that_contradict_each_other_are_refused_by_name_and_value() {
    let params = TrTcmParams::new(mbit(8), Bytes(1), mbit(4), Bytes(1), ColorMode::Blind);
    assert_eq!(
        params.unwrap_err().to_string(),
        "peak_rate 4 Mbit/s must not be below committed_rate 8 Mbit/s"
    );
    let params = SrTcmParams::new(mbit(8), Bytes(0), Bytes(0), ColorMode::Blind);
    assert_eq!(
        params.unwrap_err().to_string(),
        "committed_burst 0 B or excess_burst 0 B must be above zero"
    );
}

fn two_buckets(mode: ColorMode) -> TwoBuckets {
    let bucket = |kilobits: u64| {
        let rate = Rate::from_bits_per_sec(1000 * kilobits);
        TokenBucketParams::new(rate, Bytes(6000)).unwrap()
    };
    TwoBuckets::new(TwoBucketsParams { green: bucket(250), yellow: bucket(500), mode })
}

#[test]
fn an_edge_router_marks_green_then_yellow_then_red_as_its_two_buckets_run_dry() {
    let mut meter = two_buckets(ColorMode::Blind);
    let mut colors = |at, packets: usize| -> String {
        let color = |_| match meter.meter(at, &p(0).packet()) {
            Color::Green => 'g',
            Color::Yellow => 'y',
            Color::Red => 'r',
        };
        (0..packets).map(color).collect()
    };
    assert_eq!(colors(ms(0), 14), "ggggggyyyyyyrr", "6000 bytes of each");
    // 32 ms bring a packet to the green bucket and two to the yellow one.
    assert_eq!(colors(ms(32), 5), "gyyrr");
    assert_eq!(colors(ms(64), 3), "gyy");
}

#[test]
fn a_colour_aware_pair_of_buckets_moves_offending_packets_down() {
    let table = DscpTable::filled(Color::Red)
        .with(Dscp::AF11, Color::Green)
        .with(Dscp::AF12, Color::Yellow);
    let mut meter = two_buckets(ColorMode::Aware(table));
    let mut color = |dscp| meter.meter(ms(0), &p(0).marked(dscp).packet());
    assert_eq!([0; 6].map(|_| color(Dscp::AF11)), [Color::Green; 6]);
    assert_eq!(color(Dscp::AF11), Color::Yellow, "the seventh takes of the yellow bucket");
    assert_eq!([0; 5].map(|_| color(Dscp::AF12)), [Color::Yellow; 5]);
    assert_eq!([color(Dscp::AF12), color(Dscp::AF11)], [Color::Red; 2]);
    assert_eq!(color(Dscp::BEST_EFFORT), Color::Red, "never moved up");
}
