//! The time sliding window markers' meters.

use shortflow_elements::meter::{InitialRate, Tsw2Cm, Tsw3Cm, Tsw3CmParams, TswParams};
use shortflow_elements::{Color, Meter};
use shortflow_units::{Duration, Instant, Rate, Rng};

use crate::bench::{mbit, p};

fn params(committed: Rate) -> TswParams {
    TswParams::new(committed, Duration::from_secs(1), InitialRate::Committed).unwrap()
}

fn rng(seed: u64) -> Rng {
    Rng::stream(seed, "tsw")
}

/// The rate of each colour in Mbit/s over 200 s of a Poisson stream of 1000-byte packets at
/// `offered`, after 10 s.
fn rates(mut meter: impl Meter, offered: f64) -> [f64; 3] {
    let mut gaps = Rng::stream(3, "gaps");
    let mut now = Instant::START;
    let mut bytes = [0.0; 3];
    while now.as_secs_f64() < 210.0 {
        now += gaps.exponential_duration(Duration::from_secs_f64(8000.0 / (offered * 1e6)));
        let color = meter.meter(now, &p(0).packet());
        if now.as_secs_f64() > 10.0 {
            bytes[color as usize] += 1000.0;
        }
    }
    bytes.map(|bytes| bytes * 8.0 / 200.0 / 1e6)
}

fn assert_near(measured: f64, expected: f64) {
    assert!((measured - expected).abs() <= 0.02 * expected, "{measured} is not near {expected}");
}

#[test]
fn with_two_colours_green_converges_to_the_committed_rate() {
    for offered in [3.0, 6.0, 12.0] {
        let [green, yellow, red] = rates(Tsw2Cm::new(params(mbit(2)), rng(1)), offered);
        assert_near(green, 2.0);
        assert_near(yellow, offered - 2.0);
        assert_eq!(red, 0.0);
    }
}

#[test]
fn below_the_committed_rate_nearly_everything_is_green() {
    let [green, yellow, _] = rates(Tsw2Cm::new(params(mbit(2)), rng(1)), 1.0);
    assert!(green > 0.95 && yellow < 0.001, "{green} and {yellow} Mbit/s");
}

#[test]
fn with_three_colours_green_and_yellow_converge_to_the_two_rates() {
    let three = Tsw3CmParams::new(params(mbit(2)), mbit(5)).unwrap();
    let [green, yellow, red] = rates(Tsw3Cm::new(three, rng(1)), 8.0);
    assert_near(green, 2.0);
    assert_near(yellow, 3.0);
    assert_near(red, 3.0);
}

/// The colours of a thousand packets that come evenly at twice 4 Mbit/s.
fn even(mut meter: impl Meter) -> Vec<Color> {
    (1..=1000).map(|n| meter.meter(Instant::from_nanos(n * 1_000_000), &p(0).packet())).collect()
}

#[test]
fn two_colours_are_three_with_the_peak_at_the_committed_rate() {
    let three = Tsw3CmParams::new(params(mbit(4)), mbit(4)).unwrap();
    let red_is_yellow = |color| if color == Color::Red { Color::Yellow } else { color };
    let of_three: Vec<_> =
        even(Tsw3Cm::new(three, rng(1))).into_iter().map(red_is_yellow).collect();
    assert!(of_three.contains(&Color::Yellow) && of_three.contains(&Color::Green));
    assert_eq!(of_three, even(Tsw2Cm::new(params(mbit(4)), rng(1))));
}

#[test]
fn the_same_seed_gives_the_same_colours_and_another_seed_others() {
    let colors = |seed| even(Tsw2Cm::new(params(mbit(4)), rng(seed)));
    assert_eq!(colors(1), colors(1));
    assert_ne!(colors(1), colors(2));
}

#[test]
fn an_estimator_that_starts_from_zero_is_green_for_longer() {
    let first_yellow = |initial| {
        let params = TswParams::new(mbit(4), Duration::from_secs(1), initial).unwrap();
        even(Tsw2Cm::new(params, rng(1))).iter().position(|&color| color == Color::Yellow)
    };
    // At 8 Mbit/s, avg = 8·(1 − 0.999^n) Mbit/s (nearly) exceeds 4 Mbit/s at n = 694.
    assert!(first_yellow(InitialRate::Committed).unwrap() < 100);
    assert!(first_yellow(InitialRate::Zero).unwrap() >= 690);
}
