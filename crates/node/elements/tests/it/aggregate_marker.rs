//! The police-and-mark of Mehra, Tewari & Kandlur 1999 as timelines, and against a reference.

use std::collections::BTreeMap;

use proptest::prelude::*;
use shortflow_elements::marker::{AggregateMarker, AggregateMarkerParams};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits, Depths, Sharing};
use shortflow_elements::{Color, Marker};
use shortflow_packet::{Dscp, Phase, SenderView, TcpFlags};
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::bench::{P, ms, p, rng};

pub(crate) fn params(
    rate: Rate,
    depth: u64,
    sharing: Sharing,
    connections: usize,
) -> AggregateMarkerParams {
    AggregateMarkerParams {
        profile: AggregateProfile::new(rate, Bytes(depth), Bytes(1500)).unwrap(),
        sharing,
        connections: ConnectionLimits::new(connections, Duration::from_secs(60)).unwrap(),
    }
}

pub(crate) fn marker(
    rate: Rate,
    depth: u64,
    sharing: Sharing,
    connections: usize,
) -> AggregateMarker {
    let colors = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
    AggregateMarker::new(params(rate, depth, sharing, connections), colors, rng())
}

/// 1000 bytes take 8 ms.
fn mbit() -> Rate {
    Rate::from_bits_per_sec(1_000_000)
}

fn with_rtt(millis: u64) -> SenderView {
    SenderView { smoothed_rtt: Some(Duration::from_millis(millis)), ..SenderView::default() }
}

/// Whether packets of these flows, all at `now`, are compliant.
fn green(marker: &mut AggregateMarker, now: Instant, flows: &[u16]) -> Vec<bool> {
    let mark = |&flow: &u16| {
        let mut packet = p(1).of_flow(flow).packet();
        let color = marker.mark(now, &mut packet, None);
        assert_eq!(packet.dscp, if color == Color::Green { Dscp::AF11 } else { Dscp::AF12 });
        color == Color::Green
    };
    flows.iter().map(mark).collect()
}

#[test]
fn one_connection_takes_all_of_a_common_bucket_and_its_part_of_the_others() {
    let sent = [1, 2, 1, 1, 1, 2, 2, 2];
    let mut common = marker(mbit(), 4_000, Sharing::Common, 9);
    let expected = [true, true, true, true, false, false, false, false];
    green(&mut common, ms(0), &[1, 2]);
    assert_eq!(green(&mut common, ms(1_000), &sent), expected);
    for sharing in [Sharing::Partitioned(Depths::Equal), Sharing::Logical(Depths::Equal)] {
        let mut parted = marker(mbit(), 4_000, sharing, 9);
        let expected = [true, true, true, false, false, true, false, false];
        green(&mut parted, ms(0), &[1, 2]);
        assert_eq!(green(&mut parted, ms(1_000), &sent), expected, "{sharing:?}");
    }
}

/// §4.2.1 and §4.2.3: what an idle connection has no room for is lost, or is the others'.
#[test]
fn what_a_silent_connection_leaves_is_lost_where_buckets_are_partitioned_and_used_where_logical() {
    for (sharing, in_a_second) in [
        (Sharing::Partitioned(Depths::Equal), 62),
        (Sharing::Logical(Depths::Equal), 125),
        (Sharing::Common, 125),
    ] {
        let mut marker = marker(mbit(), 4_000, sharing, 9);
        green(&mut marker, ms(0), &[1, 2, 1, 1, 1, 1, 2]);
        // The second is silent from here on; its bucket is full again after 32 ms. The first offers
        // a packet each millisecond in the second after that.
        let taken = (100..1_100).filter(|&at| green(&mut marker, ms(at), &[1])[0]).count();
        // It begins with a full bucket of its own: 2 packets, or 4 of the common one.
        let burst = if sharing == Sharing::Common { 4 } else { 2 };
        assert!(taken.abs_diff(in_a_second + burst) <= 1, "{sharing:?}: {taken}");
    }
}

/// b_i = B · rtt_i/Σ rtt (§4.2.3), as the host tells the round-trip times.
#[test]
fn a_bucket_is_as_deep_as_the_round_trip_time_that_the_host_tells_asks_for() {
    let mut marker = marker(mbit(), 12_000, Sharing::Partitioned(Depths::ByRtt), 9);
    let mut mark = |at, flow, rtt| {
        let mut packet = p(1).of_flow(flow).packet();
        marker.mark(ms(at), &mut packet, Some(&with_rtt(rtt))) == Color::Green
    };
    mark(0, 1, 100);
    mark(0, 2, 500);
    // After 10 s both are full: 2 packets and 10.
    let burst = |mark: &mut dyn FnMut(u64, u16, u64) -> bool, flow, rtt| {
        (0..12).filter(|_| mark(10_000, flow, rtt)).count()
    };
    assert_eq!(burst(&mut mark, 1, 100), 2);
    assert_eq!(burst(&mut mark, 2, 500), 10);
}

/// §6.1: a newly installed policy tags the connections that are open.
#[test]
fn a_marker_that_is_put_in_place_late_takes_over_connections_that_are_open() {
    let sharing = Sharing::Partitioned(Depths::Equal);
    let mut late = marker(mbit(), 4_000, sharing, 9);
    // No SYN is seen: data and acknowledgements of two connections, ten seconds into the run.
    let mut mark = |flow, flags| {
        let mut packet = p(1).of_flow(flow).packet();
        packet.flags = flags;
        late.mark(ms(10_000), &mut packet, Some(&with_rtt(80)))
    };
    let first = mark(1, TcpFlags::ACK);
    let others: Vec<_> = [2, 1, 1, 2, 2].map(|flow| mark(flow, TcpFlags::ACK)).into();
    assert_eq!(first, Color::Green);
    use Color::{Green, Yellow};
    // The first had the bucket to itself until the second came, which finds what is above the
    // first's new depth of 2000 bytes.
    assert_eq!(others, [Green, Green, Green, Yellow, Yellow]);
}

#[test]
fn a_flood_of_new_connections_stays_within_the_table_and_the_profile() {
    for sharing in Sharing::ALL {
        let mut marker = marker(mbit(), 12_000, sharing, 8);
        let mut bytes = 0;
        for number in 0..10_000_u32 {
            let now = ms(u64::from(number) / 10);
            let mut packet = p(number).of_flow((number % 5_000) as u16).packet();
            packet.key.src = shortflow_packet::Address::v4(number);
            if marker.mark(now, &mut packet, None) == Color::Green {
                bytes += 1_000;
            }
        }
        // 12,000 bytes at the start, and 125 each millisecond for a second.
        assert!(bytes <= 12_000 + 125_000, "{sharing:?}: {bytes}");
        assert!(bytes > 12_000 + 40_000, "{sharing:?}: {bytes}: newcomers have shares");
        let mut seen = BTreeMap::new();
        marker.counters(&mut |name, count| {
            seen.insert(name, count);
        });
        assert_eq!(seen["connections seen"], 10_000);
        assert_eq!(seen["connections evicted"], 10_000 - 8);
    }
}

/// Gap to the packet before in nanoseconds, flow, size, round-trip time in ms, what it carries.
type Arrival = (u64, u16, u32, u64, u8);

fn flags(what: u8) -> TcpFlags {
    match what {
        0 => TcpFlags::SYN,
        1 => TcpFlags::FIN.with(TcpFlags::ACK),
        2 => TcpFlags::RST,
        _ => TcpFlags::ACK,
    }
}

proptest! {
    /// Over every interval of τ the compliant bytes are at most r_m·τ + B, whatever connections come
    /// and go, close, reopen or push each other out of the table; checked over all pairs of packets.
    #[test]
    fn compliant_bytes_keep_to_the_profile_over_every_interval(
        arrivals in prop::collection::vec((0..4_000_000u64, 0..6u16, 40..1600u32, 1..900u64, 0..16u8), 1..120),
        rate in 100_000..20_000_000u64, depth in 1500..9000u64, connections in 1..5usize,
    ) {
        for sharing in Sharing::ALL {
            let rate = Rate::from_bits_per_sec(rate);
            let mut marker = marker(rate, depth, sharing, connections);
            let mut now = Instant::START;
            let mut green: Vec<(Instant, u128)> = Vec::new();
            for &(gap, flow, size, rtt, what) in &arrivals as &[Arrival] {
                now += Duration::from_nanos(gap);
                let mut packet = P { size, ..p(0) }.of_flow(flow).packet();
                packet.flags = flags(what);
                let view = SenderView { phase: Some(Phase::SlowStart), ..with_rtt(rtt) };
                if marker.mark(now, &mut packet, Some(&view)) == Color::Green {
                    prop_assert!(size <= 1500, "L_m");
                    green.push((now, size.into()));
                }
            }
            for first in 0..green.len() {
                let mut bytes = 0;
                for &(at, size) in &green[first..] {
                    bytes += size;
                    let elapsed = u128::from(at.since(green[first].0).nanos());
                    let allowed = u128::from(rate.bits_per_sec()) * elapsed;
                    prop_assert!(bytes * 8_000_000_000 <= allowed + u128::from(depth) * 8_000_000_000);
                }
            }
        }
    }
}
