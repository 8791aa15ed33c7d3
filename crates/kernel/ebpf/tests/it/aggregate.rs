//! The shares that connections of an aggregate have of its profile: every decision of the program beside that of the
//! element. Needs the right to make network namespaces and to load eBPF.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Barrier;

use libbpf_rs::{ObjectBuilder, TC_EGRESS, TcHook};
use shortflow_ebpf::edge::{
    Direction, EdgeAtDevice, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, Trial,
};
use shortflow_ebpf::{Link, Record};
use shortflow_elements::Marker;
use shortflow_elements::classifier::{MultiField, PortRange};
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::marker::{AggregateMarker, AggregateMarkerParams};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits, Depths, Sharing};
use shortflow_packet::{Dscp, SenderView};
use shortflow_testbed::PortKind;
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};
use shortflow_wire::Layers;

use crate::device::sent;
use crate::edge::{Shown, all, compare_of, compare_tables, drawn, program, recorded};
use crate::hosts::two_hosts;
use crate::packets::checksum;
use crate::sender::while_carrying;

/// Packets that each test shows to both.
const PACKETS: u64 = 60_000;

const SECOND: u64 = 1_000_000_000;

/// An aggregate of so many connections, which are silent for so long.
fn params(profile: AggregateProfile, sharing: Sharing, max: usize, idle: u64) -> EdgeMeter {
    let connections = ConnectionLimits::new(max, Duration::from_nanos(idle)).unwrap();
    EdgeMeter::Aggregate(AggregateMarkerParams { profile, sharing, connections })
}

fn profile(bits: u64, depth: u64) -> AggregateProfile {
    AggregateProfile::new(Rate::from_bits_per_sec(bits), Bytes(depth), Bytes(1_500)).unwrap()
}

const COLORS: [Dscp; 3] = [Dscp::AF11, Dscp::AF12, Dscp::AF13];

fn class(meter: EdgeMeter) -> EdgeClass {
    EdgeClass { meter, code_points: Some(COLORS), police: None }
}

/// Some bytes of a segment of TCP over IPv4, from the header of Ethernet on.
fn segment(flow: u64, flags: u8, length: u64) -> Vec<u8> {
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0]);
    packet.extend((length as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 1, 0, 0]);
    let sum = checksum(&packet[14..34]);
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    packet.extend([0, 80]);
    packet.extend((1024 + flow as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    packet.resize(14 + length as usize, 0);
    packet
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Segments of connections that come and go, some with bursts and pauses, some with round-trip times that change; one
/// connection is quiet now and then, and all of them are. Of 4096 packets 4095 come within `mean_gap` or so.
fn connections(seed: u64, flows: u64, mean_gap: u64) -> impl Iterator<Item = Shown> {
    let (mut rng, mut now) = (Rng::stream(seed, "segments"), 0_u64);
    (0..PACKETS).map(move |_| {
        now = match rng.below(4096) {
            0 => now + rng.below(1000 * SECOND),
            // As long as some are known to the nanosecond, and no longer.
            1..8 => now + [SECOND / 10, SECOND, 2 * SECOND][rng.below(3) as usize],
            8..64 => now.saturating_sub(rng.below(4 * mean_gap)),
            64..2048 => now,
            // What 1500 bytes take at the peak rate, less a part of a nanosecond.
            2048..2560 => now + 1_200_000,
            _ => now + rng.below(4 * mean_gap),
        };
        // Half of the packets are of the first few.
        let flow = if rng.below(2) == 0 { rng.below(3) } else { rng.below(flows) };
        let flags = match rng.below(64) {
            0 => FIN | ACK,
            1 => RST,
            2 | 3 => SYN,
            _ => ACK,
        };
        let length = match rng.below(8) {
            0 => 40,
            1 => 40 + rng.below(2_000),
            _ => 1_500,
        };
        let rtt = match rng.below(8) {
            0 => 0,
            // The longest that counts is a microsecond less than the first of these.
            1 => [1 << 24, 1, rng.below(1 << 26) as u32][rng.below(3) as usize],
            2..4 => 20_000 + rng.below(1_000) as u32,
            _ => 10_000 * (1 + flow as u32 % 60),
        };
        Shown { packet: segment(flow, flags, length), now, rtt, ..Shown::default() }
    })
}

/// Each way to share, with few and with many connections, buckets that hold a packet and such as hold thousands, rates of
/// a bit and of a terabit in a second, and a peak rate or none.
fn aggregates() -> Vec<EdgeMeter> {
    let mut found = Vec::new();
    for sharing in Sharing::ALL {
        let peaked = profile(3_000_000, 40_000).with_peak(Rate::from_bits_per_sec(9_999_999));
        found.extend([
            params(profile(5_000_000, 200_000), sharing, 256, 60 * SECOND),
            params(peaked.unwrap(), sharing, 20, 2 * SECOND),
            params(profile(1_234_567, 1_500), sharing, 1, SECOND / 10),
            params(profile(1, 1 << 23), sharing, 100, SECOND),
            params(profile(1_000_000_000_000, 1 << 28), sharing, 7, SECOND),
        ]);
    }
    found
}

#[test]
fn connections_take_from_a_profile_what_they_take_in_the_element() {
    for (number, meter) in aggregates().into_iter().enumerate() {
        let (seed, flows) = (number as u64, [4, 30, 600][number % 3]);
        // 1200 bytes every 2 ms are 5 Mbit/s, of which there are about two times as many.
        let shown = connections(seed, flows, SECOND / 1_000);
        let mut class = class(meter);
        let drops = [PolicerAction::Forward, PolicerAction::Drop, PolicerAction::Drop];
        class.police = (number % 2 == 1).then_some(drops);
        let found = compare_of(&[(all(), 0)], &[class], shown);
        let Some((conditioner, program)) = found else { return };
        let table = program.tables().unwrap()[0];
        let [seen, evicted] = [table.misses, table.evictions];
        let expected = vec![("connections seen", seen), ("connections evicted", evicted)];
        assert_eq!(conditioner.counters()[0].marker, expected);
        let [green, yellow, _] = program.counters().unwrap()[0].map(|color| color.packets);
        // Nobody comes to the end of a bucket that a terabit per second fills.
        assert!(green > 600 && (yellow > 600 || number % 5 == 4), "{number}: {green} and {yellow}");
    }
}

#[test]
fn packets_of_any_kind_and_recorded_ones_take_what_they_take_in_the_element() {
    for (number, sharing) in Sharing::ALL.into_iter().enumerate() {
        let meter = params(profile(3_000_000, 60_000), sharing, 48, SECOND);
        let of = [(all(), 0)];
        let drawn = drawn(number as u64, 500_000);
        let Some((conditioner, program)) = compare_of(&of, &[class(meter.clone())], drawn) else {
            return;
        };
        compare_tables(&conditioner, &program);
        compare_of(&of, &[class(meter)], recorded(number as u64, 1));
    }
}

/// L_m bounds each of the packets on the line, not what the kernel hands on in one piece.
#[test]
fn a_packet_that_a_device_will_cut_keeps_to_the_largest_packet_by_its_segments() {
    let meter = params(profile(8, 10_000), Sharing::Common, 4, SECOND);
    let Some(program) = program(&EdgePlan::new(&[(all(), 0)], &[class(meter)]).unwrap()) else {
        return;
    };
    // Headers of 40 bytes, and of each of the two segments.
    let is_green = |payload: u64, segment_payload| {
        let packet = segment(1, ACK, 40 + payload);
        let (segments, mut out) = (2, Vec::new());
        let trial =
            Trial { packet: &packet, segments, segment: segment_payload, ..Trial::default() };
        assert!(program.try_packet(trial, &mut out).unwrap());
        out[15] >> 2 == Dscp::AF11.value()
    };
    assert!(is_green(2_000, 1_460), "segments of 1500 and 580 bytes");
    assert!(!is_green(2_000, 1_461), "a segment of 1501 bytes");
    assert!(is_green(2_920, 1_460), "2080 and 3000 bytes of 10,000");
    assert!(is_green(2_920, 1_460));
    assert!(!is_green(2_920, 1_460), "1920 are left");
    let (table, counters) = (program.tables().unwrap()[0], program.counters().unwrap()[0]);
    let packets: u64 = counters.iter().map(|color| color.packets).sum();
    assert_eq!((packets, table.hits, table.misses), (10, 9, 1), "segments, wherever they count");
}

#[test]
fn of_a_profile_the_connections_are_told_that_have_sent_the_most() {
    let meter = params(profile(8, 10_000), Sharing::Common, 3, SECOND * 100);
    let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let plan = EdgePlan::new(&[(all(), 0)], &[class(meter)])?;
        let program = EdgeProgram::load(&plan, Link::None)?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        Ok(())
    });
    let Some((home, [first, _], mut devices, ())) = attached else { return };
    for (port, count) in [(9, 2), (10, 5), (11, 3), (12, 4)] {
        sent(&home, &first, &mut devices[0], &format!("10.0.0.2:{port}"), count);
    }
    let find = || EdgeAtDevice::find(first.device, Direction::Egress).unwrap().unwrap();
    let there = first.within(&home, find).unwrap();
    let reported = |max| {
        let flows = there.flows(1, max).unwrap().remove(0);
        flows.iter().map(|flow| (flow.to_string(), flow.bytes)).collect::<Vec<_>>()
    };
    let of = |port: u16, bytes| (format!("udp 10.0.0.1:5000 > 10.0.0.2:{port}"), bytes);
    assert_eq!(reported(10), [of(10, 500), of(12, 400), of(11, 300)], "one gave way");
    assert_eq!(reported(1), [of(10, 500)]);
}

#[test]
fn what_64_bits_do_not_hold_is_refused_by_name() {
    let refused = |profile, connections| {
        let meter = params(profile, Sharing::Common, connections, SECOND);
        EdgePlan::new(&[(all(), 0)], &[class(meter)]).unwrap_err().to_string()
    };
    assert_eq!(
        refused(profile(8, 10_000), 257),
        "the program supports at most 256 connections of an aggregate; found 257: combine some"
    );
    assert_eq!(
        refused(profile(8, (1 << 28) + 1), 256),
        "a bucket must hold at most 268435456 bytes; found 268435457"
    );
    assert_eq!(
        refused(profile(2_000_000_000_000_000, 10_000), 256),
        "the rate of an aggregate must be at most 1000000 Gbit/s; found 2000000 Gbit/s"
    );
}

/// Segments of three connections by turns, each answered before the next, so that none is cut, and each with the round-trip
/// time that its socket had then, as the program that tells it writes it before the packet.
#[test]
fn a_share_is_as_deep_as_the_round_trip_time_of_the_connection_s_own_socket_asks_for() {
    for sharing in [Sharing::Partitioned(Depths::ByRtt), Sharing::Logical(Depths::ByRtt)] {
        // Nothing is earned meanwhile, so that it does not matter when a packet came.
        let meter = params(profile(1, 60_000), sharing, 20, 60 * SECOND);
        let EdgeMeter::Aggregate(of_element) = meter.clone() else { unreachable!("it is one") };
        let attached = two_hosts(PortKind::Tun, Record::LENGTH as u32, |home, [first, _]| {
            let program =
                EdgeProgram::load(&EdgePlan::new(&[(all(), 0)], &[class(meter)])?, Link::None)?;
            first.within(home, || program.attach(first.device, Direction::Egress))??;
            let built = include_bytes!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));
            let reported = ObjectBuilder::default().open_memory(built)?.load()?;
            let teller = reported.progs().find(|program| program.name() == "sender").unwrap();
            let mut hook = TcHook::new(teller.as_fd());
            let at = first.device.cast_signed();
            hook.ifindex(at).attach_point(TC_EGRESS).handle(1).priority(0x6000);
            first.within(home, || hook.create().and_then(|_| hook.attach()))??;
            Ok((program, reported))
        });
        let Some((home, [first, second], mut devices, _attached)) = attached else { return };
        let listener = second.within(&home, || TcpListener::bind("10.0.0.2:80")).unwrap().unwrap();
        let carried = while_carrying(&mut devices, usize::MAX, || {
            let connect = || first.within(&home, || TcpStream::connect("10.0.0.2:80")).unwrap();
            let mut streams: Vec<_> =
                (0..3).map(|_| (connect().unwrap(), listener.accept().unwrap().0)).collect();
            let mut heard = [0; 1_000];
            for turn in 0..150 {
                let (near, far) = &mut streams[turn % 3];
                near.write_all(&[7; 1_000]).unwrap();
                far.read_exact(&mut heard).unwrap();
                // They differ in how long an answer takes.
                std::thread::sleep(std::time::Duration::from_micros(300 * (turn as u64 % 3)));
                far.write_all(&[7]).unwrap();
                near.read_exact(&mut heard[..1]).unwrap();
            }
        });
        drop(listener);
        let mut marker = AggregateMarker::new(of_element, COLORS, Rng::stream(1, "flows"));
        let (mut seen, mut rtts) = ([0; 3], std::collections::BTreeSet::new());
        for (number, (record, bytes)) in carried.iter().enumerate() {
            let mut packet = Layers::of_ip(bytes).descriptor(None).unwrap();
            let found = packet.dscp;
            let rtt = match record {
                Record::Connection(state) => state.smoothed_rtt,
                Record::Nothing | Record::Request => None,
            };
            let smoothed_rtt = rtt.map(|rtt| Duration::from_nanos(rtt.as_nanos() as u64));
            let view = SenderView { smoothed_rtt, ..SenderView::default() };
            let color = marker.mark(Instant::START, &mut packet, Some(&view));
            assert_eq!(found, COLORS[color as usize], "packet {number}: {record:?}");
            seen[color as usize] += 1;
            rtts.extend(smoothed_rtt);
        }
        assert!(seen[0] > 20 && seen[1] > 20 && rtts.len() > 50, "{seen:?}, {}", rtts.len());
    }
}

#[test]
fn a_new_program_goes_on_with_shares_of_the_same_bucket_and_begins_anew_with_another() {
    let plan = |depth, sharing| {
        let profile = AggregateProfile::new(Rate::from_bits_per_sec(1), Bytes(depth), Bytes(100));
        let meter = params(profile.unwrap(), sharing, 9, SECOND);
        EdgePlan::new(&[(all(), 0)], &[class(meter)]).unwrap()
    };
    let load = |depth, sharing| EdgeProgram::load(&plan(depth, sharing), Link::None);
    let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let program = load(250, Sharing::Common)?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        Ok(())
    });
    let Some((home, [first, _], mut devices, ())) = attached else { return };
    let mut sent = |count| sent(&home, &first, &mut devices[0], "10.0.0.2:9", count);
    assert_eq!(sent(1), [Dscp::AF11], "150 of 250 bytes are left");
    let after = |next: &EdgeProgram| {
        let bring = || {
            let old = EdgeAtDevice::find(first.device, Direction::Egress).unwrap().unwrap();
            let goes_on = next.adopt(&old, &[(0, 0)]).unwrap();
            next.attach(first.device, Direction::Egress).unwrap();
            goes_on[0]
        };
        first.within(&home, bring).unwrap()
    };
    assert!(after(&load(250, Sharing::Common).unwrap()));
    assert_eq!(sent(2), [Dscp::AF11, Dscp::AF12], "150 bytes were left");
    assert!(!after(&load(350, Sharing::Common).unwrap()));
    assert_eq!(sent(4), [Dscp::AF11, Dscp::AF11, Dscp::AF11, Dscp::AF12]);
    assert!(!after(&load(350, Sharing::Logical(Depths::Equal)).unwrap()));
}

/// Four connections send at the same time, from all processors that there are: none finds the shares while another one changes
/// them.
#[test]
fn a_profile_is_kept_to_the_last_packet_where_processors_work_on_it_at_once() {
    for sharing in [Sharing::Common, Sharing::Logical(Depths::Equal)] {
        let profile =
            AggregateProfile::new(Rate::from_bits_per_sec(1), Bytes(3_000_000), Bytes(100));
        let meter = params(profile.unwrap(), sharing, 4, 60 * SECOND);
        let to_9 = MultiField { dst_ports: Some(PortRange::new(9, 9).unwrap().into()), ..all() };
        let attached = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
            let program =
                EdgeProgram::load(&EdgePlan::new(&[(to_9, 0)], &[class(meter)])?, Link::None)?;
            first.within(home, || program.attach(first.device, Direction::Egress))??;
            Ok(program)
        });
        let Some((home, [first, _], _devices, program)) = attached else { return };
        let sockets = [5001, 5002, 5003, 5004].map(|port| {
            first.within(&home, || UdpSocket::bind(("10.0.0.1", port))).unwrap().unwrap()
        });
        // What the device has no room for is lost behind the program.
        let send = |socket: &UdpSocket| drop(socket.send_to(&[7; 72], "10.0.0.2:9"));
        // Each has its share before one of them sends all it has.
        sockets.iter().for_each(send);
        let begin = &Barrier::new(4);
        std::thread::scope(|scope| {
            for socket in &sockets {
                scope.spawn(move || {
                    begin.wait();
                    (1..10_000).for_each(|_| send(socket));
                });
            }
        });
        let [green, yellow, _] = program.counters().unwrap()[0];
        // Each of four shares may keep less than a packet.
        let min = if sharing == Sharing::Common { 30_000 } else { 29_997 };
        assert!((min..=30_000).contains(&green.packets), "{sharing:?}: {green:?}");
        assert!(yellow.packets >= 10_000, "{yellow:?}");
    }
}
