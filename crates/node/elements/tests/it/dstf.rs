//! Discrete Smallest Transmitted Flow first, and what splitting a transfer gains under it.

use proptest::prelude::*;
use shortflow_elements::marker::{Counted, DstfMarker, DstfParams, SizeLevels};
use shortflow_elements::{Aggregate, Color, Marker, Per};
use shortflow_packet::{Address, Dscp, Packet};
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::bench::{ms, p, rng};

fn harp() -> SizeLevels {
    SizeLevels::new(&SizeLevels::HARP, SizeLevels::default_code_points(8)).unwrap()
}

fn per(aggregate: Aggregate, table_size: usize) -> Per {
    Per::new(aggregate, table_size, Duration::from_secs(60)).unwrap()
}

fn params(aggregate: Aggregate) -> DstfParams {
    DstfParams::new(harp(), per(aggregate, 1000), Counted::Packet, Rate::ZERO).unwrap()
}

/// With these levels, and a count that `bits_per_sec` makes good, kept for as long as that takes.
fn decaying(
    levels: SizeLevels,
    aggregate: Aggregate,
    entries: usize,
    bits_per_sec: u64,
) -> DstfParams {
    let decay = Rate::from_bits_per_sec(bits_per_sec);
    let idle = DstfParams::settled_after(&levels, decay).max(Duration::from_secs(60));
    let per = Per::new(aggregate, entries, idle).unwrap();
    DstfParams::new(levels, per, Counted::Packet, decay).unwrap()
}

/// The priority, from 1, of a packet of this flow and size.
fn priority(marker: &mut DstfMarker, now: Instant, flow: u16, size: u32) -> u8 {
    let mut packet = p(0).of_flow(flow).sized(size).packet();
    let _ = marker.mark(now, &mut packet, None);
    8 - packet.dscp.value() / 8
}

#[test]
fn a_flow_falls_through_the_priorities_of_the_paper_as_it_sends() {
    let mut marker = DstfMarker::new(params(Aggregate::Flow), rng());
    let priorities: Vec<u8> = (0..1300).map(|_| priority(&mut marker, ms(0), 1, 1000)).collect();
    // Packet n finds n KB sent: priority i as long as these are at most thresh_{i+1}.
    let first_of = |level| priorities.iter().position(|&found| found == level);
    let firsts: Vec<_> = (1..=8).map(|level| first_of(level).unwrap()).collect();
    assert_eq!(firsts, [0, 6, 11, 21, 41, 101, 301, 1201]);
    assert!(priorities.is_sorted());
}

#[test]
fn the_packet_itself_counts_after_it_is_marked() {
    let mut marker = DstfMarker::new(params(Aggregate::Flow), rng());
    assert_eq!(priority(&mut marker, ms(0), 1, 1_300_000), 1);
    assert_eq!(priority(&mut marker, ms(0), 1, 40), 8);
}

#[test]
fn flows_have_counts_of_their_own_and_start_anew_after_silence() {
    let mut marker = DstfMarker::new(params(Aggregate::Flow), rng());
    assert_eq!(priority(&mut marker, ms(0), 1, 5_001), 1);
    assert_eq!(priority(&mut marker, ms(0), 2, 100), 1);
    assert_eq!(priority(&mut marker, ms(60_000), 1, 100), 2);
    assert_eq!(priority(&mut marker, ms(120_001), 1, 100), 1);
}

#[test]
fn payload_counts_without_headers_where_that_is_wanted() {
    let per = per(Aggregate::Flow, 1000);
    let params = DstfParams::new(harp(), per, Counted::Payload, Rate::ZERO).unwrap();
    let mut marker = DstfMarker::new(params, rng());
    let mut send = |payload| {
        let mut packet = Packet { payload, ..p(0).packet() };
        marker.mark(ms(0), &mut packet, None)
    };
    assert_eq!([send(5_000), send(0), send(1), send(0)][..3], [Color::Green; 3]);
    assert_eq!(send(0), Color::Yellow);
}

#[test]
fn an_evicted_flow_starts_anew_but_only_after_as_many_others_as_the_table_holds() {
    let per = per(Aggregate::Flow, 10);
    let params = DstfParams::new(harp(), per, Counted::Packet, Rate::ZERO).unwrap();
    let mut marker = DstfMarker::new(params, rng());
    assert_eq!(priority(&mut marker, ms(0), 0, 20_000), 1);
    (1..10).for_each(|other| assert_eq!(priority(&mut marker, ms(1), other, 40), 1));
    assert_eq!(priority(&mut marker, ms(2), 0, 40), 3, "nine others do not push it out");
    (1..=10).for_each(|other| assert_eq!(priority(&mut marker, ms(3), other, 40), 1));
    assert_eq!(priority(&mut marker, ms(4), 0, 40), 1, "ten do");
}

/// KB of the best priority, when a host sends 640 KB over 10 s to another, cut into `flows`.
fn best_of_split(params: DstfParams, flows: u16) -> u64 {
    let mut marker = DstfMarker::new(params, rng());
    let sent = (0..640).filter(|&n| {
        let flow = n as u16 % flows;
        priority(&mut marker, ms(n * 10_000 / 640), flow, 1000) == 1
    });
    sent.count() as u64
}

#[test]
fn cutting_a_transfer_into_flows_gains_nothing_when_pairs_of_hosts_are_counted() {
    let decaying = |kilobits: u64| decaying(harp(), Aggregate::HostPair, 1000, 1000 * kilobits);
    let rows = [1, 4, 16, 64].map(|flows| {
        format!(
            "{flows:>2} flows: {:>3} KB by flow, {} KB by pair, {} KB by pair with decay\n",
            best_of_split(params(Aggregate::Flow), flows),
            best_of_split(params(Aggregate::HostPair), flows),
            best_of_split(decaying(8), flows),
        )
    });
    // By flow each has 6 packets. By pair there are 5 KB and a packet, whatever the flows; a decay
    // of 8 kbit/s forgets 10 KB in the 10 s, if the count is ever low enough again to matter.
    assert_eq!(
        rows.concat(),
        " 1 flows:   6 KB by flow, 6 KB by pair, 6 KB by pair with decay
 4 flows:  24 KB by flow, 6 KB by pair, 6 KB by pair with decay
16 flows:  96 KB by flow, 6 KB by pair, 6 KB by pair with decay
64 flows: 384 KB by flow, 6 KB by pair, 6 KB by pair with decay
"
    );
}

#[test]
fn a_pair_that_stays_below_the_decay_keeps_the_best_priority() {
    let params = decaying(harp(), Aggregate::HostPair, 1000, 80_000);
    let mut marker = DstfMarker::new(params, rng());
    // A packet of 1000 bytes every 100 ms is 80 kbit/s; then a burst, and its end after a while.
    (0..1000).for_each(|n| assert_eq!(priority(&mut marker, ms(100 * n), n as u16, 1000), 1));
    (0..40).for_each(|_| assert!(priority(&mut marker, ms(99_900), 7, 1000) <= 4));
    // 41 KB are counted, of which 10 KB go every second.
    assert_eq!(priority(&mut marker, ms(99_900), 8, 40), 5);
    assert_eq!(priority(&mut marker, ms(99_900 + 3_000), 8, 40), 3, "11,040 bytes are left");
    assert_eq!(priority(&mut marker, ms(99_900 + 3_700), 8, 40), 1, "4,080 bytes are left");
}

proptest! {
    /// Over a table of four counts and `pairs` pairs: with up to four pairs each keeps the law for
    /// itself; beyond that all together get no more than four counts allow.
    #[test]
    fn however_pairs_split_and_however_many_they_are_the_best_bytes_keep_to_threshold_and_decay(
        arrivals in prop::collection::vec(
            (0..40_000_000u64, 0..20u16, 0..9u32, 40..1500u32), 1..120,
        ),
        pairs in prop::sample::select(vec![1u32, 4, 5, 9]),
        decay in 1..2_000_000u64,
        first_threshold in 1..20_000u64,
    ) {
        let levels = SizeLevels::new(
            &[Bytes(first_threshold), Bytes(first_threshold + 9_000)],
            SizeLevels::default_code_points(3),
        );
        let params = decaying(levels.unwrap(), Aggregate::HostPair, 4, decay);
        let mut marker = DstfMarker::new(params, rng());
        let mut now = Instant::START;
        let marked: Vec<(Instant, u32, u32, Color)> = arrivals
            .iter()
            .map(|&(gap, flow, pair, size)| {
                now += Duration::from_nanos(gap);
                let mut packet = p(0).of_flow(flow).sized(size).packet();
                packet.key.dst = Address::v4(pair % pairs);
                (now, pair % pairs, size, marker.mark(now, &mut packet, None))
            })
            .collect();
        // Whose bytes are looked at, how many counts they have, and of how many packets each may
        // be the last.
        let views: Vec<(Option<u32>, u128)> =
            if pairs <= 4 { (0..pairs).map(|pair| (Some(pair), 1)).collect() } else { vec![(None, 4)] };
        for (pair, counts) in views {
            for (worst, threshold) in
                [(Color::Green, first_threshold), (Color::Yellow, first_threshold + 9_000)]
            {
                let of: Vec<_> = marked
                    .iter()
                    .filter(|(_, other, ..)| pair.is_none_or(|pair| pair == *other))
                    .filter(|(.., color)| *color <= worst)
                    .collect();
                for first in 0..of.len() {
                    let mut bytes = 0_u128;
                    for &&(at, _, size, _) in &of[first..] {
                        bytes += u128::from(size);
                        let elapsed = u128::from(at.since(of[first].0).nanos());
                        let each = u128::from(threshold + 1500) * 8_000_000_000
                            + u128::from(decay) * elapsed;
                        prop_assert!(bytes * 8_000_000_000 <= counts * each);
                    }
                }
            }
        }
    }
}

#[test]
fn a_pair_that_fetched_a_gigabyte_is_no_worse_off_than_one_that_passed_the_last_threshold() {
    // A decay of 64 kbit/s makes 8 KB good in a second: 35 h for a gigabyte.
    let mut marker = DstfMarker::new(decaying(harp(), Aggregate::HostPair, 1000, 64_000), rng());
    for n in 0..700_000 {
        priority(&mut marker, ms(n / 100), 1, 1500);
    }
    assert_eq!(priority(&mut marker, ms(7_000), 1, 40), 8, "it is still fetching");
    // 1.2 MB are made good in 150 s, and the packet that passed the threshold in less than one.
    assert_eq!(priority(&mut marker, ms(8_000), 1, 40), 7);
    assert_eq!(priority(&mut marker, ms(160_000), 1, 40), 1);
}

#[test]
fn a_timeout_in_which_a_count_does_not_decay_is_refused_and_none_is_asked_for_without_decay() {
    let per = per(Aggregate::HostPair, 1000);
    let decay = Rate::from_bits_per_sec(64_000);
    let refused = DstfParams::new(harp(), per, Counted::Packet, decay).unwrap_err();
    assert_eq!(
        (refused.parameter(), &*refused.to_string()),
        (
            "idle_timeout",
            "idle_timeout 60 s must be at least 158.191875 s, the time in which an account returns to its \
             initial state; an account that is removed earlier would exceed its limit"
        )
    );
    assert!(DstfParams::new(harp(), per, Counted::Packet, Rate::ZERO).is_ok());
}

#[test]
fn its_counters_show_each_priority_and_the_table() {
    let mut marker = DstfMarker::new(params(Aggregate::Source), rng());
    for (src, size) in [(1, 6_000), (1, 1_000), (2, 500)] {
        let mut packet = p(0).sized(size).packet();
        packet.key.src = Address::v4(src);
        let _ = marker.mark(ms(0), &mut packet, None);
    }
    let mut shown = Vec::new();
    marker.counters(&mut |name, count| shown.push((name, count)));
    let of = |name| shown.iter().find(|(shown, _)| *shown == name).map(|(_, count)| *count);
    assert_eq!((of("priority 1 packets"), of("priority 1 bytes")), (Some(2), Some(6_500)));
    assert_eq!((of("priority 2 packets"), of("priority 2 bytes")), (Some(1), Some(1_000)));
    assert_eq!((of("priority 8 packets"), of("priority 9 packets")), (Some(0), None));
    assert_eq!((of("aggregates seen"), of("aggregates evicted")), (Some(2), Some(0)));
}

#[test]
fn a_packet_carries_the_code_point_of_its_priority() {
    let code_points = [46, 10, 0].map(|value| Dscp::new(value).unwrap()).to_vec();
    let levels = SizeLevels::new(&[Bytes(1), Bytes(2_000)], code_points.clone()).unwrap();
    let per = per(Aggregate::Flow, 1000);
    let params = DstfParams::new(levels, per, Counted::Packet, Rate::ZERO).unwrap();
    let mut marker = DstfMarker::new(params, rng());
    let written: Vec<Dscp> = (0..4)
        .map(|_| {
            let mut packet = p(0).packet();
            let _ = marker.mark(ms(0), &mut packet, None);
            packet.dscp
        })
        .collect();
    assert_eq!(written, [code_points[0], code_points[1], code_points[1], code_points[2]]);
}

/// A table of 1000 flows, of which 100 new ones a second are believed: it should take 10 s to turn over.
#[test]
fn a_flood_of_new_flows_has_the_last_priority_and_those_who_were_there_before_keep_theirs() {
    let mut marker = DstfMarker::new(params(Aggregate::Flow).believing(100), rng());
    assert_eq!(priority(&mut marker, ms(0), 0, 1000), 1);
    (1..1000).for_each(|other| assert_eq!(priority(&mut marker, ms(0), other, 40), 1));
    assert_eq!(priority(&mut marker, ms(9_998), 0, 1000), 1, "who was there before");
    assert_eq!(priority(&mut marker, ms(9_999), 1000, 40), 8, "it displaces one of 9.999 s ago");
    assert_eq!(priority(&mut marker, ms(9_999), 1000, 40), 8, "and goes on so");
    assert_eq!(priority(&mut marker, ms(10_000), 1001, 40), 1, "the table took its time");
    assert_eq!(priority(&mut marker, ms(10_000), 0, 1000), 1);
    assert_eq!(priority(&mut marker, ms(70_001), 1000, 40), 1, "after its silence it is new");
}
