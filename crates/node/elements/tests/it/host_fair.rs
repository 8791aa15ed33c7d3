//! Fairness between hosts, then between their flows.

use std::collections::BTreeMap;

use shortflow_elements::queue::{CoDelParams, Fairness, FlowQueueSettings, FqCodel, FqCodelParams};
use shortflow_elements::queue::{HostFair, HostFairParams};
use shortflow_elements::{DropReason, QueueDiscipline};
use shortflow_packet::{Address, FlowKey, Packet};
use shortflow_units::{Bytes, Duration, Rng};

use crate::bench::{ms, number_of, p};
use crate::fq_codel::{Line, patient, settings};

fn host_fair(settings: FlowQueueSettings, fairness: Fairness) -> Line<HostFair> {
    let params = HostFairParams::new(settings, fairness).unwrap();
    Line::new(HostFair::new(params, Rng::stream(1, "host-fair")))
}

/// A packet of 1000 bytes from `src` to `dst`.
fn packet(src: u32, dst: u32, port: u16, number: u32) -> Packet {
    let packet = p(number).of_flow(port).packet();
    Packet { key: FlowKey { src: Address::v4(src), dst: Address::v4(dst), ..packet.key }, ..packet }
}

/// The number of a host.
fn number(host: Address) -> u32 {
    host.as_v4().unwrap()
}

/// How many of the next `packets` packets are whose, when `flows` always have packets waiting.
fn served(
    line: &mut Line<impl QueueDiscipline>,
    flows: &[(u32, u32, u16)],
    packets: u32,
    whose: impl Fn(&FlowKey) -> u32,
) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::new();
    let add = |line: &mut Line<_>, &(src, dst, port): &(u32, u32, u16)| {
        line.takes_packet(ms(0), packet(src, dst, port, 0));
    };
    flows.iter().for_each(|flow| (0..3).for_each(|_| add(line, flow)));
    for _ in 0..packets {
        let given = line.gives(ms(0)).expect("all flows have packets waiting").key;
        *counts.entry(whose(&given)).or_default() += 1;
        add(line, &(number(given.src), number(given.dst), given.src_port));
    }
    counts
}

/// Host 1 sends 16 flows, host 2 one.
fn sixteen_against_one() -> Vec<(u32, u32, u16)> {
    (0..16).map(|port| (1, 100, port)).chain([(2, 100, 99)]).collect()
}

#[test]
fn a_host_with_sixteen_flows_and_one_with_a_single_flow_share_equally() {
    let flows = sixteen_against_one();
    let mut line = host_fair(patient(1000, 1024), Fairness::Source);
    let counts = served(&mut line, &flows, 3200, |key| number(key.src));
    // Each of the 17 flows may be a packet ahead or behind, and each began with a turn as new.
    assert!(counts[&1].abs_diff(counts[&2]) <= 2 * 17, "{counts:?}");

    // The same flows under FQ-CoDel, which knows no hosts: sixteen to one.
    let params = FqCodelParams::new(patient(1000, 1024)).unwrap();
    let mut line = Line::new(FqCodel::new(params, Rng::stream(3, "fq-codel")));
    let counts = served(&mut line, &flows, 3400, |key| number(key.src));
    assert!(counts[&2].abs_diff(200) <= 2, "{counts:?}");
}

#[test]
fn the_flows_of_a_host_share_what_it_has() {
    let mut line = host_fair(patient(1000, 1024), Fairness::Source);
    let counts = served(&mut line, &sixteen_against_one(), 3200, |key| key.src_port.into());
    for port in 0..16 {
        assert!(counts[&port].abs_diff(100) <= 2, "{counts:?}");
    }
}

#[test]
fn fairness_is_between_the_hosts_that_are_asked_for() {
    // Host 1 sends to hosts 100 to 115, host 2 to host 99.
    let flows: Vec<_> = (0..16).map(|n| (1, 100 + n, 7)).chain([(2, 99, 7)]).collect();
    let share = |fairness| {
        let mut line = host_fair(patient(1000, 1024), fairness);
        served(&mut line, &flows, 3400, |key| number(key.src))[&2]
    };
    // Between receivers, of which there are 17; between senders, 2; between both, the stricter.
    assert!(share(Fairness::Destination).abs_diff(200) <= 2);
    assert!(share(Fairness::Source).abs_diff(1700) <= 2 * 17);
    assert!(share(Fairness::Both).abs_diff(1700) <= 2 * 17);
}

#[test]
fn a_host_that_ends_its_flows_no_longer_pays_for_them() {
    let mut line = host_fair(patient(1000, 1024), Fairness::Source);
    served(&mut line, &sixteen_against_one(), 1000, |key| number(key.src));
    while line.gives(ms(1)).is_some() {}
    let flows = [(1, 100, 1), (2, 100, 99)];
    let counts = served(&mut line, &flows, 1000, |key| number(key.src));
    assert!(counts[&1].abs_diff(counts[&2]) <= 2, "{counts:?}");
}

/// Mbit/s that the bulk flows of two hosts get of a line of 10 Mbit/s, when the first has `sparse`
/// other flows, each with a packet of 100 bytes every 20 ms: 40 kbit/s.
fn bulk_beside(sparse: u64) -> [f64; 2] {
    let mut line = host_fair(patient(10_000, 1024), Fairness::Source);
    let mut bytes = [0_u64; 2];
    // A byte takes 800 ns.
    let (mut now, mut next_sparse) = (0_u64, 0_u64);
    let at = |nanos| ms(0) + Duration::from_nanos(nanos);
    let seconds = 20;
    for host in [1, 2] {
        (0..20).for_each(|n| line.takes_packet(at(0), packet(host, 100, 1, n)));
    }
    while now < seconds * 1_000_000_000 {
        while sparse > 0 && next_sparse * 20_000_000 / sparse <= now {
            let port = 1000 + (next_sparse % sparse) as u16;
            let small = Packet { size: 100, ..packet(1, 100, port, 0) };
            line.takes_packet(at(now), small);
            next_sparse += 1;
        }
        let given = line.gives(at(now)).expect("the bulk flows always have packets waiting");
        if given.key.src_port == 1 {
            bytes[number(given.key.src) as usize - 1] += u64::from(given.size);
            line.takes_packet(at(now), packet(number(given.key.src), 100, 1, 0));
        }
        now += 800 * u64::from(given.size);
    }
    bytes.map(|bytes| bytes as f64 * 8.0 / 1e6 / seconds as f64)
}

#[test]
fn a_host_pays_nothing_for_flows_whose_queues_are_empty() {
    // What the sparse flows leave of the line, halved.
    for (sparse, share) in [(0, 5.0), (5, 4.9), (20, 4.6), (50, 4.0), (100, 3.0)] {
        let found = bulk_beside(sparse);
        for mbit in found {
            assert!((mbit - share).abs() < 0.02, "{sparse} sparse flows: {found:?}, not {share}");
        }
    }
}

#[test]
fn addresses_of_one_ipv6_subnet_are_one_host_unless_longer_prefixes_are_asked_for() {
    let share = |length: u8| {
        let params = HostFairParams::new(patient(1000, 1024), Fairness::Source).unwrap();
        let params = params.with_ipv6_prefix(length).unwrap();
        let mut line = Line::new(HostFair::new(params, Rng::stream(1, "host-fair")));
        // Sixteen addresses of one subnet, and one of another.
        let sources: Vec<Address> =
            (0..17_u128).map(|n| Address::v6((0x2001_0db8 << 96) + ((n / 16) << 64) + n)).collect();
        let from = |src| {
            let packet = packet(1, 100, 1, 0);
            Packet { key: FlowKey { src, dst: sources[0], ..packet.key }, ..packet }
        };
        for &src in &sources {
            (0..3).for_each(|_| line.takes_packet(ms(0), from(src)));
        }
        let mut of_the_last = 0;
        for _ in 0..3400 {
            let src = line.gives(ms(0)).expect("all flows have packets waiting").key.src;
            of_the_last += u32::from(src == sources[16]);
            line.takes_packet(ms(0), from(src));
        }
        of_the_last
    };
    assert!(share(64).abs_diff(1700) <= 2 * 17, "{}", share(64));
    assert!(share(128).abs_diff(200) <= 2, "{}", share(128));
}

#[test]
fn a_sparse_flow_of_a_busy_host_goes_first() {
    let mut line = host_fair(patient(1000, 1024), Fairness::Source);
    served(&mut line, &sixteen_against_one(), 1000, |key| number(key.src));
    line.takes_packet(ms(1), Packet { size: 60, ..packet(1, 100, 5000, 42) });
    assert_eq!(number_of(&line.gives(ms(1)).unwrap()), 42);
}

#[test]
fn eight_flows_have_queues_of_their_own_among_eight_and_the_next_shares_one_in_order() {
    let mut line = host_fair(patient(1000, 8), Fairness::Source);
    for number in 0..40u32 {
        for port in 0..12 {
            line.takes_packet(ms(0), packet(1, 100, port, number));
        }
    }
    let mut last = BTreeMap::new();
    let mut number = 40;
    for turn in 0..2000u32 {
        let given = line.gives(ms(1)).unwrap();
        let before = last.insert(given.key.src_port, number_of(&given));
        assert!(before.is_none_or(|before| before < number_of(&given)), "flow {:?}", given.key);
        // Half the flows send on, so that the queues of the others run empty and are used again.
        if turn % 3 < 2 {
            number += 1;
            line.takes_packet(ms(1), packet(1, 100, (turn % 12) as u16, number));
        }
        if line.queue.backlog().packets == 0 {
            break;
        }
    }
    assert!(number > 400);
}

#[test]
fn each_queue_has_a_codel_of_its_own() {
    let mut line = host_fair(settings(1000, 1024), Fairness::Source);
    (0..100).for_each(|number| line.takes_packet(ms(0), packet(1, 100, 1, number)));
    let mut dropped = Vec::new();
    for millis in (5..=300).step_by(5) {
        // A flow whose packets leave at once beside one whose packets wait.
        line.takes_packet(ms(millis), packet(2, 100, 2, 1000));
        line.number(ms(millis)).unwrap();
        line.number(ms(millis)).unwrap();
        dropped.extend(line.dropped(DropReason::Early));
    }
    // At 105, 205 and 275.7 ms.
    assert_eq!(dropped.len(), 3);
    assert!(dropped.iter().all(|&number| number < 1000));
}

#[test]
fn a_flow_that_does_not_listen_is_cut_down_by_blue_until_it_overflows_no_longer() {
    // CoDel would begin after 1000 s: every early drop is BLUE's.
    let codel =
        CoDelParams::new(Duration::from_millis(5), Duration::from_secs(1000), Bytes(1000)).unwrap();
    let settings = FlowQueueSettings { codel, ..settings(100, 1024) };
    let mut line = host_fair(settings, Fairness::Source);
    let mut lost = [BTreeMap::new(), BTreeMap::new()];
    for millis in 0..10_000 {
        // Flow 1 sends four times what the line carries, flow 2 a twentieth of it.
        (0..4).for_each(|_| line.takes_packet(ms(millis), packet(1, 100, 1, 1)));
        if millis % 20 == 0 {
            line.takes_packet(ms(millis), packet(2, 100, 2, 2));
        }
        let _ = line.number(ms(millis));
        for (number, reason) in line.all_dropped() {
            assert_eq!(number, 1, "flow 2 loses nothing");
            let is_early = reason == DropReason::Early;
            *lost[usize::from(is_early)].entry(millis / 1000).or_insert(0) += 1;
        }
    }
    let [overflow, early] = lost;
    // 3050 packets are too many each second. First the limit drops them; later BLUE does, once its
    // probability is about 3/4.
    assert!(overflow[&0] > 2000, "{overflow:?}");
    assert!(overflow.get(&9).is_none_or(|&packets| packets < 300), "{overflow:?}");
    assert!(early[&9] > 2700, "{early:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let error = HostFairParams::new(settings(10, 12), Fairness::Source).unwrap_err();
    assert_eq!(
        (error.parameter(), &*error.to_string()),
        ("queues", "queues must be a multiple of 8; found 12")
    );
    let empty = FlowQueueSettings { quantum: Bytes(0), ..settings(10, 8) };
    assert!(HostFairParams::new(empty, Fairness::Source).is_err());
}
