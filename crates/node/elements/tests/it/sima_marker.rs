//! The access node of SIMA: drop precedence by momentary bit rate over nominal bit rate.

use shortflow_elements::classifier::SimaClass;
use shortflow_elements::marker::{SimaMarker, SimaParams};
use shortflow_elements::meter::MomentaryRateParams;
use shortflow_elements::{Aggregate, Color, Marker, Per};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::bench::{mbit, ms, p, rng};

/// Real-time traffic from a link of 10 Mbit/s, with the weight of Laatu et al. 2003, §3.4.
pub(crate) fn sima(nominal: u64, per: Option<Per>) -> SimaParams {
    let meter = MomentaryRateParams::new(mbit(10), Bytes(1500), 0.01).unwrap();
    let code_points = SimaParams::default_code_points(SimaClass::RealTime);
    SimaParams::new(Rate::from_bits_per_sec(nominal), meter, per, code_points).unwrap()
}

fn per_flow(table_size: usize) -> Per {
    Per::new(Aggregate::Flow, table_size, Duration::from_secs(60)).unwrap()
}

/// The drop precedence of a packet of 1000 bytes of `flow`, with its colour.
fn marked(marker: &mut SimaMarker, now: Instant, flow: u16) -> (u8, Color) {
    let mut packet = p(0).of_flow(flow).packet();
    let color = marker.mark(now, &mut packet, None);
    let value = packet.dscp.value();
    assert_eq!(value & 0b10_0011, 0b10_0011, "real time");
    (value >> 2 & 0b111, color)
}

/// The drop precedence at which a stream of 1000 bytes every 10 ms, 800 kbit/s, settles.
fn settles_at(nominal: u64) -> (u8, Color) {
    let mut marker = SimaMarker::new(sima(nominal, None), rng());
    (0..2000).map(|n| marked(&mut marker, ms(10 * n), 1)).last().unwrap()
}

#[test]
fn a_stream_at_its_nominal_rate_has_precedence_4_and_each_doubling_costs_one() {
    // x = 4.5 + log2 of these.
    let nominal = [4, 2, 1].map(|share| 800_000 * share);
    let best = [(6, Color::Green), (5, Color::Yellow), (4, Color::Yellow)];
    assert_eq!(nominal.map(settles_at), best);
    let nominal = [2, 4, 8, 16, 32].map(|share| 800_000 / share);
    let (yellow, red) = (Color::Yellow, Color::Red);
    let worse = [(3, yellow), (2, yellow), (1, yellow), (0, red), (0, red)];
    assert_eq!(nominal.map(settles_at), worse);
}

#[test]
fn a_stream_that_starts_keeps_the_best_precedence_until_its_rate_is_measured() {
    let mut marker = SimaMarker::new(sima(100_000, None), rng());
    let found: Vec<u8> = (0..200).map(|n| marked(&mut marker, ms(10 * n), 1).0).collect();
    assert_eq!((found[0], found[199]), (6, 1));
    assert!(found.iter().rev().is_sorted(), "it falls: {found:?}");
    // After a silence of many time constants (1.2 ms over 0.01) it is as at the start.
    assert_eq!(marked(&mut marker, ms(60_000), 1).0, 6);
}

#[test]
fn flows_of_an_aggregate_share_its_nominal_rate_and_flows_with_their_own_do_not() {
    let settled = |per| {
        let mut marker = SimaMarker::new(sima(800_000, per), rng());
        let mut found = 0;
        for n in 0..2000 {
            // Two flows of 800 kbit/s each.
            let _ = marked(&mut marker, ms(10 * n), 1);
            found = marked(&mut marker, ms(10 * n + 5), 2).0;
        }
        found
    };
    assert_eq!((settled(None), settled(Some(per_flow(9)))), (3, 4));
}

#[test]
fn in_a_full_table_a_new_flow_takes_over_the_rate_of_the_least_recent() {
    let mut marker = SimaMarker::new(sima(100_000, Some(per_flow(1))), rng());
    let settled = (0..2000).map(|n| marked(&mut marker, ms(10 * n), 1).0).last();
    assert_eq!(settled, Some(1));
    assert_eq!(marked(&mut marker, ms(20_000), 2).0, 1, "a new flow gains nothing");
    let mut counted = Vec::new();
    marker.counters(&mut |name, count| counted.push((name, count)));
    let packets = counted.iter().filter(|(name, _)| name.ends_with(" packets"));
    assert_eq!(packets.map(|(_, count)| count).sum::<u64>(), 2001);
    let bytes = counted.iter().filter(|(name, _)| name.ends_with(" bytes"));
    assert_eq!(bytes.map(|(_, count)| count).sum::<u64>(), 2_001_000);
    assert!(counted.contains(&("aggregates seen", 2)));
    assert!(counted.contains(&("aggregates evicted", 1)));
}

#[test]
fn a_timeout_after_which_a_forgotten_account_would_gain_is_refused() {
    let per = Per::new(Aggregate::Flow, 9, Duration::from_millis(100)).unwrap();
    let meter = MomentaryRateParams::new(mbit(10), Bytes(1500), 0.01).unwrap();
    let refused = SimaParams::new(mbit(1), meter, Some(per), [Dscp::EF; 7]).unwrap_err();
    assert_eq!(refused.parameter(), "idle_timeout");
    let message = refused.to_string();
    assert!(message.starts_with("idle_timeout 100 ms must be at least "), "{message}");
}
