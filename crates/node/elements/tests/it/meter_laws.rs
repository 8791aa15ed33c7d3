//! What holds for every token meter, whatever it is offered: no interval holds more than the
//! profile allows. And srTCM against the token-by-token words of its RFC.

use proptest::prelude::*;
use shortflow_elements::meter::{
    ColorMode, SrTcm, SrTcmParams, TokenBucket, TokenBucketParams, TrTcm, TrTcmParams, TwoBuckets,
    TwoBucketsParams,
};
use shortflow_elements::{Aggregate, Color, Meter, Per, PerAggregate};
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::bench::{p, rng};

/// Packets: the time since the one before in nanoseconds, the size.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((0..3_000_000u64, 1..1500u32), 1..80)
}

/// When each packet came, its size, and its colour.
type Colored = Vec<(Instant, u32, Color)>;

fn colored(mut meter: impl Meter, arrivals: &[(u64, u32)]) -> Colored {
    let mut now = Instant::START;
    arrivals
        .iter()
        .map(|&(gap, size)| {
            now += Duration::from_nanos(gap);
            (now, size, meter.meter(now, &p(0).sized(size).packet()))
        })
        .collect()
}

/// Checks that over every interval the bytes coloured `worst` or better keep to rate·t + burst,
/// without any rounding.
fn assert_within(packets: &Colored, worst: Color, rate: Rate, burst: u64) {
    for first in 0..packets.len() {
        let mut bytes = 0;
        for &(now, size, color) in &packets[first..] {
            if color <= worst {
                bytes += u128::from(size);
            }
            let elapsed = u128::from(now.since(packets[first].0).nanos());
            let allowed = u128::from(rate.bits_per_sec()) * elapsed;
            assert!(bytes * 8_000_000_000 <= allowed + u128::from(burst) * 8_000_000_000);
        }
    }
}

proptest! {
    #[test]
    fn a_token_bucket_keeps_to_its_profile_over_every_interval(
        arrivals in arrivals(), rate in 1..20_000_000u64, burst in 1..5000u64,
    ) {
        let rate = Rate::from_bits_per_sec(rate);
        let params = TokenBucketParams::new(rate, Bytes(burst)).unwrap();
        let packets = colored(TokenBucket::new(params), &arrivals);
        assert_within(&packets, Color::Green, rate, burst);
    }

    #[test]
    fn a_single_rate_meter_keeps_to_both_profiles_over_every_interval(
        arrivals in arrivals(), rate in 1..20_000_000u64,
        committed in 0..5000u64, excess in 1..5000u64,
    ) {
        let rate = Rate::from_bits_per_sec(rate);
        let params =
            SrTcmParams::new(rate, Bytes(committed), Bytes(excess), ColorMode::Blind).unwrap();
        let packets = colored(SrTcm::new(params), &arrivals);
        assert_within(&packets, Color::Green, rate, committed);
        assert_within(&packets, Color::Yellow, rate, committed + excess);
    }

    #[test]
    fn a_two_rate_meter_keeps_to_both_profiles_over_every_interval(
        arrivals in arrivals(), committed in 1..20_000_000u64, more in 0..20_000_000u64,
        committed_burst in 1..5000u64, peak_burst in 1..5000u64,
    ) {
        let (rate, peak) =
            (Rate::from_bits_per_sec(committed), Rate::from_bits_per_sec(committed + more));
        let params = TrTcmParams::new(
            rate, Bytes(committed_burst), peak, Bytes(peak_burst), ColorMode::Blind,
        ).unwrap();
        let packets = colored(TrTcm::new(params), &arrivals);
        assert_within(&packets, Color::Green, rate, committed_burst);
        assert_within(&packets, Color::Yellow, peak, peak_burst);
    }

    #[test]
    fn two_buckets_keep_to_their_profiles_each_and_together_over_every_interval(
        arrivals in arrivals(), green in 1..20_000_000u64, yellow in 1..20_000_000u64,
        green_burst in 1..5000u64, yellow_burst in 1..5000u64,
    ) {
        let bucket = |rate, burst| {
            TokenBucketParams::new(Rate::from_bits_per_sec(rate), Bytes(burst)).unwrap()
        };
        let packets = colored(TwoBuckets::new(TwoBucketsParams {
            green: bucket(green, green_burst),
            yellow: bucket(yellow, yellow_burst),
            mode: ColorMode::Blind,
        }), &arrivals);
        let rate = Rate::from_bits_per_sec;
        assert_within(&packets, Color::Green, rate(green), green_burst);
        assert_within(&packets, Color::Yellow, rate(green + yellow), green_burst + yellow_burst);
        let of_yellow = packets.into_iter().filter(|packet| packet.2 == Color::Yellow).collect();
        assert_within(&of_yellow, Color::Yellow, rate(yellow), yellow_burst);
    }

    #[test]
    fn each_aggregate_has_the_meter_that_it_would_have_alone(
        arrivals in prop::collection::vec((0..3_000_000u64, 0..4u16, 1..1500u32), 1..80),
        rate in 1..20_000_000u64, burst in 1..5000u64,
    ) {
        let params =
            TokenBucketParams::new(Rate::from_bits_per_sec(rate), Bytes(burst)).unwrap();
        let per = Per::new(Aggregate::Flow, 4, Duration::MAX).unwrap();
        let mut together = PerAggregate::new(per, TokenBucket::new(params.clone()), rng()).unwrap();
        let mut alone: Vec<_> = (0..4).map(|_| TokenBucket::new(params.clone())).collect();
        let mut now = Instant::START;
        for (gap, flow, size) in arrivals {
            now += Duration::from_nanos(gap);
            let packet = p(0).of_flow(flow).sized(size).packet();
            let expected = alone[usize::from(flow)].meter(now, &packet);
            prop_assert_eq!(together.meter(now, &packet), expected);
        }
    }

    #[test]
    fn a_single_rate_meter_agrees_with_rfc_2697_token_by_token(
        arrivals in prop::collection::vec((0..4000u64, 1..1500u32), 1..80),
        committed in 1..3000u64, excess in 0..3000u64,
    ) {
        // A byte per microsecond, arrivals at whole microseconds: tokens come one at a time.
        let rate = Rate::from_bits_per_sec(8_000_000);
        let params =
            SrTcmParams::new(rate, Bytes(committed), Bytes(excess), ColorMode::Blind).unwrap();
        let nanos: Vec<_> = arrivals.iter().map(|&(micros, size)| (micros * 1000, size)).collect();
        let colors: Vec<_> =
            colored(SrTcm::new(params), &nanos).iter().map(|packet| packet.2).collect();

        let (mut tc, mut te) = (committed, excess);
        let expected: Vec<_> = arrivals.iter().map(|&(micros, size)| {
            for _ in 0..micros {
                if tc < committed { tc += 1 } else if te < excess { te += 1 }
            }
            let b = u64::from(size);
            if tc >= b { tc -= b; Color::Green }
            else if te >= b { te -= b; Color::Yellow }
            else { Color::Red }
        }).collect();
        prop_assert_eq!(colors, expected);
    }
}
