//! The Fair Marker.

use proptest::prelude::*;
use shortflow_elements::meter::{
    FairMarker, FairMarkerParams, FlowTableSize, InitialRate, Tsw2Cm, TswParams,
};
use shortflow_elements::{Color, Meter};
use shortflow_units::{Bytes, Duration, Instant, Rng};

use crate::bench::{mbit, ms, p};

fn tsw(initial: InitialRate) -> TswParams {
    TswParams::new(mbit(4), Duration::from_secs(1), initial).unwrap()
}

fn rng() -> Rng {
    Rng::stream(1, "marker")
}

fn fair_marker(threshold: u64, table: FlowTableSize) -> FairMarker {
    let params = FairMarkerParams::new(tsw(InitialRate::Committed), threshold, table).unwrap();
    FairMarker::new(params, rng())
}

/// The colours of packets given by the time since the one before, the flow and the size.
fn colors(meter: &mut dyn Meter, arrivals: &[(u64, u16, u32)]) -> Vec<Color> {
    let mut now = Instant::START;
    arrivals
        .iter()
        .map(|&(gap, flow, size)| {
            now += Duration::from_nanos(gap);
            meter.meter(now, &p(0).of_flow(flow).sized(size).packet())
        })
        .collect()
}

proptest! {
    #[test]
    fn without_a_table_or_with_one_branch_it_is_tsw2cm_draw_for_draw(
        // About twice the CIR.
        arrivals in prop::collection::vec((0..1_000_000u64, 0..5u16, 40..1500u32), 500),
        initial in prop::sample::select(vec![InitialRate::Zero, InitialRate::Committed]),
        (threshold, size) in prop::sample::select(vec![(7, 0), (0, 30), (u64::MAX, 30), (0, 0)]),
    ) {
        let params =
            FairMarkerParams::new(tsw(initial), threshold, FlowTableSize::AtMost(size)).unwrap();
        let fair = colors(&mut FairMarker::new(params, rng()), &arrivals);
        prop_assert_eq!(fair, colors(&mut Tsw2Cm::new(tsw(initial), rng()), &arrivals));
    }
}

#[test]
fn the_first_packets_of_a_flow_are_green_while_a_long_flow_takes_all_it_can() {
    let mut marker = fair_marker(3, FlowTableSize::AtMost(30));
    // Flow 1 sends 16 Mbit/s for 10 s; then flow 2 sends 6 packets in its midst.
    let mut at = ms(0);
    let mut green_of_long = 0;
    for _ in 0..20_000 {
        at += Duration::from_micros(500);
        green_of_long += u32::from(marker.meter(at, &p(0).of_flow(1).packet()) == Color::Green);
    }
    assert!((4000..6500).contains(&green_of_long), "a quarter of 20,000, but {green_of_long}");
    let short: Vec<_> = (0..6).map(|_| marker.meter(at, &p(0).of_flow(2).packet())).collect();
    assert_eq!(short[..3], [Color::Green; 3]);
    assert_eq!(marker.stats().pre_marked_packets, 6, "three of each flow");
}

/// Rates in Mbit/s over 200 s after 10 s: green of short flows, green of a long one. The short
/// flows send one packet each, `short` Mbit/s in all; the long one sends `long` Mbit/s.
fn green_rates(short: f64, long: f64) -> (f64, f64) {
    let mut marker = fair_marker(1, FlowTableSize::AtMost(30));
    let mut gaps = Rng::stream(3, "gaps");
    let mut now = Instant::START;
    let mut flow = 1;
    let (mut green_short, mut green_long) = (0.0, 0.0);
    while now.as_secs_f64() < 210.0 {
        let mean_gap = Duration::from_secs_f64(8000.0 / ((short + long) * 1e6));
        now += gaps.exponential_duration(mean_gap);
        let is_short = gaps.bernoulli(short / (short + long));
        if is_short {
            flow = 1 + flow % 60_000;
        }
        let color = marker.meter(now, &p(0).of_flow(if is_short { flow } else { 0 }).packet());
        if color == Color::Green && now.as_secs_f64() > 10.0 {
            *(if is_short { &mut green_short } else { &mut green_long }) += 8000.0 / 200.0 / 1e6;
        }
    }
    (green_short, green_long)
}

#[test]
fn green_fills_the_committed_rate_and_never_exceeds_it() {
    let table: String = [(1.0, 2.0), (1.0, 8.0), (3.0, 8.0), (6.0, 8.0), (8.0, 0.5)]
        .map(|(short, long)| {
            let (green_short, green_long) = green_rates(short, long);
            format!(
                "short {short:.0}, long {long:>3}: green {green_short:.1} + {green_long:.1} = {:.1}\n",
                green_short + green_long
            )
        })
        .concat();
    assert_eq!(
        table,
        "short 1, long   2: green 1.0 + 2.0 = 3.0
short 1, long   8: green 1.0 + 3.0 = 4.0
short 3, long   8: green 3.0 + 1.0 = 4.0
short 6, long   8: green 4.0 + 0.0 = 4.0
short 8, long 0.5: green 3.9 + 0.0 = 4.0
"
    );
}

#[test]
fn what_short_flows_leave_of_the_committed_rate_is_handed_on_as_their_estimate_falls() {
    // Short flows at the CIR of 4 Mbit/s fall silent after 20 s; a long one sends 8 Mbit/s.
    let mut marker = fair_marker(1, FlowTableSize::AtMost(30));
    let mut promoted = Vec::new();
    for millis in 0..23_000 {
        if millis % 2 == 0 && millis < 20_000 {
            let _ = marker.meter(ms(millis), &p(0).of_flow(millis as u16 | 1).packet());
        }
        let _ = marker.meter(ms(millis), &p(0).of_flow(0).packet());
        promoted.push(marker.stats().promoted_packets);
    }
    // The green rate is 4/(1 + t) Mbit/s t seconds after, so that 4·t/(1 + t) is left: over 3 s
    // 4·(3 − ln 4) = 6.455 Mbit, or 807 packets, with a standard deviation below 25.
    let after = promoted[22_999] - promoted[19_999];
    assert!(after.abs_diff(807) < 75, "{after}");
}

#[test]
fn a_flow_that_was_evicted_is_new_again() {
    let mut marker = fair_marker(7, FlowTableSize::AtMost(2));
    for flow in [1, 2, 1, 3, 1, 2] {
        let _ = marker.meter(ms(0), &p(0).of_flow(flow).packet());
    }
    // 3 pushes out 2, seen less recently than 1; 2 pushes out 3.
    let stats = marker.stats();
    assert_eq!((stats.hits, stats.misses, stats.evictions, stats.flows), (2, 4, 2, 2));
}

#[test]
fn without_a_limit_flows_are_forgotten_after_their_silence_only() {
    let table = FlowTableSize::Unlimited { idle_timeout: Duration::from_millis(100) };
    let mut marker = fair_marker(1, table);
    let mut pre_marked = |at, flow| {
        let before = marker.stats().pre_marked_packets;
        let _ = marker.meter(at, &p(0).of_flow(flow).packet());
        marker.stats().pre_marked_packets > before
    };
    assert!((0..10_000).all(|flow| pre_marked(ms(0), flow)));
    assert!((0..10_000).all(|flow| !pre_marked(ms(100), flow)));
    assert!(!pre_marked(ms(200), 1));
    assert!(pre_marked(ms(201), 2));
    assert_eq!(marker.stats().flows, 2);
    assert_eq!(marker.stats().evictions, 0);
}

#[test]
fn the_counters_of_packets_and_bytes_add_up() {
    let mut marker = fair_marker(2, FlowTableSize::AtMost(4));
    let arrivals: Vec<_> = (0..5000).map(|n| (500_000, n % 4, 1000)).collect();
    let green =
        colors(&mut marker, &arrivals).into_iter().filter(|&color| color == Color::Green).count();
    let stats = marker.stats();
    assert_eq!(stats.hits + stats.misses, 5000);
    assert_eq!(stats.green_packets, green as u64);
    assert_eq!(stats.green_bytes, Bytes(1000 * green as u64));
    assert_eq!(stats.promoted_bytes, Bytes(1000 * stats.promoted_packets));
    assert!(stats.promoted_packets > 0);
    assert!(stats.green_packets - stats.promoted_packets <= stats.pre_marked_packets);

    let mut shown = Vec::new();
    marker.counters(&mut |name, count| shown.push((name, count)));
    assert!(shown.contains(&("promoted packets", stats.promoted_packets)));
}
