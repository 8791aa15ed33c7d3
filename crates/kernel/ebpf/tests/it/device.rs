//! The program that conditions packets, at the device of a host. Needs the right to make network namespaces and to load
//! eBPF.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use libbpf_rs::{ObjectBuilder, TC_EGRESS, TcHook};
use shortflow_ebpf::edge::{
    Buckets, Direction, EdgeAtDevice, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, Trial,
};
use shortflow_ebpf::{Error, Link};
use shortflow_elements::classifier::{MultiField, PortRange};
use shortflow_elements::meter::{
    FairMarkerParams, FlowTableSize, InitialRate, TokenBucketParams, TswParams,
};
use shortflow_packet::Dscp;
use shortflow_testbed::{Device, Home, Host, PortKind};
use shortflow_units::{Bytes, Duration as Span, Rate};

use crate::hosts::{read, two_hosts};

const COLORS: Option<[Dscp; 3]> = Some([Dscp::AF11, Dscp::AF12, Dscp::AF13]);

/// Port 9: `depth` bytes are green, as good as none come after them. Port 10: the first two packets of a flow are early,
/// and the rest have no rate to be green by.
fn plan(depth: u64) -> EdgePlan {
    let bit = Rate::from_bits_per_sec(1);
    let bucket = Buckets::TokenBucket(TokenBucketParams::new(bit, Bytes(depth)).unwrap());
    let bucket = EdgeMeter::Buckets { buckets: bucket, per: None };
    let tsw = TswParams::new(bit, Span::from_secs(1), InitialRate::Zero).unwrap();
    let fair = FairMarkerParams::new(tsw, 2, FlowTableSize::AtMost(100)).unwrap();
    let to = |port| MultiField {
        dst_ports: Some(PortRange::new(port, port).unwrap().into()),
        ..MultiField::default()
    };
    let class = |meter| EdgeClass { meter, code_points: COLORS, police: None };
    EdgePlan::new(&[(to(9), 0), (to(10), 1)], &[class(bucket), class(EdgeMeter::FairMarker(fair))])
        .unwrap()
}

/// Sends so many datagrams of 100 bytes, with the headers of IPv4 or IPv6 and UDP; the code points with which they come.
pub(crate) fn sent(
    home: &Home,
    host: &Host,
    device: &mut Device,
    to: &str,
    count: usize,
) -> Vec<Dscp> {
    let to: SocketAddr = to.parse().unwrap();
    let headers = if to.is_ipv4() { 28 } else { 48 };
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = host.within(home, || UdpSocket::bind((any, 5000))).unwrap().unwrap();
    let (begun, mut buffer, mut found) = (Instant::now(), [0; 2048], Vec::new());
    for _ in 0..count {
        socket.send_to(&vec![7; 100 - headers], to).unwrap();
    }
    while found.len() < count && begun.elapsed() < Duration::from_secs(5) {
        let Some(length) = read(device, &mut buffer) else {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        };
        if length == 100 {
            let ds = if buffer[0] >> 4 == 4 { buffer[1] } else { buffer[0] << 4 | buffer[1] >> 4 };
            found.push(Dscp::new(ds >> 2).unwrap());
        }
    }
    found
}

fn link(kind: PortKind) -> Link {
    if kind == PortKind::Tun { Link::None } else { Link::Ethernet }
}

#[test]
fn at_any_device_and_over_both_versions_of_ip_packets_leave_with_their_code_points() {
    for kind in PortKind::ALL {
        let attached = two_hosts(kind, 0, |home, [first, _]| {
            let program = EdgeProgram::load(&plan(250), link(kind))?;
            first.within(home, || program.attach(first.device, Direction::Egress))??;
            Ok(program)
        });
        let Some((home, hosts, mut devices, program)) = attached else { return };
        let mut sent = |to, count| sent(&home, &hosts[0], &mut devices[0], to, count);
        assert_eq!(sent("10.0.0.2:9", 3), [Dscp::AF11, Dscp::AF11, Dscp::AF12], "{kind:?}");
        assert_eq!(sent("[fd00::2]:9", 1), [Dscp::AF12], "the bucket is empty");
        assert_eq!(sent("[fd00::2]:11", 1), [Dscp::BEST_EFFORT], "of no class");
        let [green, yellow, _] = program.counters().unwrap()[0];
        assert_eq!([(green.packets, green.bytes), (yellow.packets, yellow.bytes)], [(2, 200); 2]);
    }
}

#[test]
fn a_new_program_goes_on_with_the_tokens_and_flows_of_the_old_one_and_nothing_is_left_of_the_last()
{
    let kind = PortKind::Tun;
    let attached = two_hosts(kind, 0, |home, [first, _]| {
        let program = EdgeProgram::load(&plan(250), link(kind))?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        Ok(())
    });
    let Some((home, hosts, mut devices, ())) = attached else { return };
    let device = hosts[0].device;
    let mut sent = |to, count| sent(&home, &hosts[0], &mut devices[0], to, count);
    assert_eq!(sent("10.0.0.2:9", 1), [Dscp::AF11], "150 of 250 bytes are left");
    sent("10.0.0.2:10", 1);

    // Whoever comes next has only the device.
    let next = EdgeProgram::load(&plan(300), link(kind)).unwrap();
    let within = |act: &dyn Fn() -> bool| hosts[0].within(&home, act).unwrap();
    assert!(within(&|| {
        let old = EdgeAtDevice::find(device, Direction::Egress).unwrap().unwrap();
        assert_eq!(old.counters(2).unwrap()[0][0].packets, 1);
        assert_eq!(next.adopt(&old, &[(0, 0), (1, 1), (0, 1)]).unwrap(), [true, true, false]);
        next.attach(device, Direction::Egress).is_ok()
    }));
    assert_eq!(sent("10.0.0.2:9", 2), [Dscp::AF11, Dscp::AF12], "150 bytes were left");
    sent("10.0.0.2:10", 2);
    let seen = next.tables().unwrap()[1];
    assert_eq!((seen.hits, seen.misses), (2, 0), "the flow is known");

    assert!(within(&|| next.detach(device, Direction::Egress).unwrap()));
    assert!(within(&|| !next.detach(device, Direction::Egress).unwrap()), "there is none");
    assert!(within(&|| EdgeAtDevice::find(device, Direction::Egress).unwrap().is_none()));
    assert_eq!(sent("10.0.0.2:9", 1), [Dscp::BEST_EFFORT]);
}

#[test]
fn somebody_else_s_program_in_its_place_is_left_alone() {
    let built = include_bytes!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));
    let found = two_hosts(PortKind::Tun, 28, |home, [first, _]| {
        let other = ObjectBuilder::default().open_memory(built)?.load()?;
        let foreign = other.progs().next().expect("there is one");
        let mut hook = TcHook::new(foreign.as_fd());
        hook.ifindex(first.device.cast_signed())
            .attach_point(TC_EGRESS)
            .handle(0x5346)
            .priority(0x5346);
        first.within(home, || hook.create().and_then(|_| hook.attach()))??;
        let program = EdgeProgram::load(&plan(1), Link::None)?;
        let device = first.device;
        let refused = first.within(home, || program.attach(device, Direction::Egress))?;
        let is_left = first.within(home, || program.detach(device, Direction::Egress))??;
        let there = first.within(home, || hook.query())??;
        Ok((refused, is_left, there))
    });
    let Some((.., (refused, is_taken, there))) = found else { return };
    assert!(matches!(refused, Err(Error::Occupied { .. })), "{refused:?}");
    assert!(!is_taken && there > 0);
}

/// A program whose tables are otherwise is found to be none whose state could be gone on from, and another takes its place.
#[test]
fn one_of_ours_of_another_version_is_taken_over_from_in_nothing_but_its_place() {
    let built = include_bytes!(concat!(env!("OUT_DIR"), "/edge.bpf.o"));
    let found = two_hosts(PortKind::Tun, 0, |home, [first, _]| {
        let mut older = ObjectBuilder::default().open_memory(built)?;
        for mut map in older.maps_mut().filter(|map| map.name() == "levels") {
            map.set_value_size(592)?;
        }
        for mut program in older.progs_mut().filter(|program| program.name() == "shortflow_echo") {
            program.set_autoload(false);
        }
        let older = older.load()?;
        let program = older.progs().find(|program| program.name() == "shortflow_edge").unwrap();
        let mut hook = TcHook::new(program.as_fd());
        let at = first.device.cast_signed();
        hook.ifindex(at).attach_point(TC_EGRESS).handle(0x5346).priority(0x5346);
        first.within(home, || hook.create().and_then(|_| hook.attach()))??;
        let find = || EdgeAtDevice::find(first.device, Direction::Egress);
        let is_found = first.within(home, find)??.is_some();
        let next = EdgeProgram::load(&plan(1), Link::None)?;
        first.within(home, || next.attach(first.device, Direction::Egress))??;
        Ok((is_found, first.within(home, find)??.is_some()))
    });
    let Some((.., found)) = found else { return };
    assert_eq!(found, (false, true));
}

/// A Fair Marker's first packets are those on the line.
#[test]
fn a_piece_that_a_device_will_cut_counts_as_its_segments_to_a_fair_marker() {
    // The window is full from the beginning: a draw at the end leaves early packets green, and late ones nothing to be it by.
    let megabit = Rate::from_bits_per_sec(1_000_000);
    let tsw = TswParams::new(megabit, Span::from_secs(1), InitialRate::Committed).unwrap();
    let fair = FairMarkerParams::new(tsw, 2, FlowTableSize::AtMost(100)).unwrap();
    let class = EdgeClass { meter: EdgeMeter::FairMarker(fair), code_points: COLORS, police: None };
    let plan = EdgePlan::new(&[(MultiField::default(), 0)], &[class]).unwrap();
    let Some(program) = crate::edge::program(&plan) else { return };
    let mut packet = vec![0; 1014];
    packet[12..18].copy_from_slice(&[8, 0, 0x45, 0, 3, 0xe8]);
    packet[22..24].copy_from_slice(&[64, 17]);
    packet[30..38].copy_from_slice(&[10, 0, 0, 2, 0, 9, 0, 10]);
    let is_green = |segments| {
        let mut out = Vec::new();
        let (segment, draw) = (400, u32::MAX);
        let trial = Trial { packet: &packet, segments, segment, draw, ..Trial::default() };
        assert!(program.try_packet(trial, &mut out).unwrap());
        out[15] >> 2 == Dscp::AF11.value()
    };
    assert!(is_green(3), "it begins with the first packet of a flow");
    assert!(!is_green(1), "of which two are early");
    let table = program.tables().unwrap()[0];
    assert_eq!((table.hits, table.misses), (3, 1));
}
