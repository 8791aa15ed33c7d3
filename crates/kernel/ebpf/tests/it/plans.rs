//! The class of each packet beside a search through all prefixes. Needs the right to load eBPF.

use std::net::{Ipv4Addr, Ipv6Addr};

use shortflow_ebpf::Link;
use shortflow_ebpf::plans::{PlansAddress, PlansPrefix, PlansProgram, PlansSettings};
use shortflow_units::Rng;

use crate::loaded::loaded;

const ROOT: u16 = 0x5e00;
const UNKNOWN: u16 = 2;

fn program(address: PlansAddress) -> Option<PlansProgram> {
    let settings = PlansSettings { link: Link::Ethernet, address, root: ROOT, unknown: UNKNOWN };
    loaded(PlansProgram::load(&settings))
}

fn mapped(address: [u8; 4]) -> [u8; 16] {
    Ipv4Addr::from(address).to_ipv6_mapped().octets()
}

/// A frame of Ethernet with this type and packet, behind so many tags.
fn frame(tags: usize, kind: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 7]));
    frame.extend(kind.to_be_bytes());
    frame.extend(packet);
    frame
}

fn ipv4(tags: usize, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend(from);
    packet.extend(to);
    frame(tags, 0x0800, &packet)
}

fn ipv6(next: u8, first: u8, from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 8, next, 64];
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend([first, 0, 0, 0, 0, 0, 0, 0]);
    frame(0, 0x86dd, &packet)
}

/// The class of the longest prefix, by asking each.
fn searched(prefixes: &[(PlansPrefix, u16)], address: [u8; 16]) -> u16 {
    let value = u128::from_be_bytes(address);
    let has = |((bits, length), _): &&(PlansPrefix, u16)| {
        let shift = 128 - u32::from(*length);
        let top = |value: u128| value.checked_shr(shift).unwrap_or(0);
        top(u128::from_be_bytes(*bits)) == top(value)
    };
    let found = prefixes.iter().filter(has).max_by_key(|((_, length), _)| *length);
    found.map_or(UNKNOWN, |(_, class)| *class)
}

#[test]
fn packets_of_both_versions_get_the_class_of_the_longest_prefix() {
    let (Some(down), Some(up)) =
        (program(PlansAddress::Destination), program(PlansAddress::Source))
    else {
        return;
    };
    let mut rng = Rng::stream(1, "plans");
    // Few bits, so that prefixes lie in one another.
    let byte = |rng: &mut Rng| rng.below(4) as u8 * 64;
    let mut prefixes: Vec<(PlansPrefix, u16)> = Vec::new();
    for class in 10..210 {
        let is_ipv4 = rng.below(2) == 0;
        // Long enough that some addresses are of nobody.
        let length = 9 + rng.below(if is_ipv4 { 24 } else { 40 }) as u8;
        let mut address = [0; 16];
        (0..6).for_each(|at| address[at] = byte(&mut rng));
        if is_ipv4 {
            address = mapped([address[0], address[1], address[2], address[3]]);
        }
        let length = if is_ipv4 { 96 + length } else { length };
        let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        let address = (u128::from_be_bytes(address) & mask).to_be_bytes();
        if !prefixes.iter().any(|(prefix, _)| *prefix == (address, length)) {
            prefixes.push(((address, length), class));
        }
    }
    down.insert(&prefixes).unwrap();
    up.insert(&prefixes).unwrap();
    let mut known = 0;
    for packet in 0..4_000 {
        let mut four = || [(); 4].map(|()| byte(&mut rng));
        let (frame, from, to) = if packet % 2 == 0 {
            let (from, to) = (four(), four());
            (ipv4(packet % 3, from, to), mapped(from), mapped(to))
        } else {
            let mut address = || {
                let (high, low) = (four(), four());
                let mut octets = [0; 16];
                octets[..4].copy_from_slice(&high);
                octets[4..8].copy_from_slice(&low);
                octets
            };
            let (from, to) = (address(), address());
            (ipv6(17, 0, from.into(), to.into()), from, to)
        };
        for (program, address) in [(&down, to), (&up, from)] {
            let class = searched(&prefixes, address);
            known += u32::from(class != UNKNOWN);
            let expected = u32::from(ROOT) << 16 | u32::from(class);
            assert_eq!(program.try_packet(&frame).unwrap(), expected, "{frame:02x?}");
        }
    }
    let counts = [&down, &up].map(|program| program.counts().unwrap());
    let [customers, unknown] = [
        counts.iter().map(|counts| counts.customers.packets).sum::<u64>(),
        counts.iter().map(|counts| counts.unknown.packets).sum::<u64>(),
    ];
    assert_eq!((customers, unknown), (known.into(), 8_000 - u64::from(known)));
    assert!(known > 1_000 && known < 7_900, "both kinds are tried: {known}");
}

#[test]
fn what_is_no_ip_and_neighbour_discovery_pass_all_classes() {
    let Some(program) = program(PlansAddress::Destination) else { return };
    program.insert(&[(([0; 16], 0), 9)]).unwrap();
    let direct = u32::from(ROOT) << 16;
    let to = "2001:db8::1".parse().unwrap();
    let from = "fe80::1".parse().unwrap();
    let arp = frame(0, 0x0806, &[0; 28]);
    assert_eq!(program.try_packet(&arp).unwrap(), direct);
    for (kind, expected) in [(132, direct | 9), (133, direct), (137, direct), (138, direct | 9)] {
        assert_eq!(program.try_packet(&ipv6(58, kind, from, to)).unwrap(), expected, "{kind}");
    }
    // Of another protocol, the same byte says something else.
    assert_eq!(program.try_packet(&ipv6(17, 135, from, to)).unwrap(), direct | 9);
    assert_eq!(program.counts().unwrap().past_classes.packets, 3);
}
