//! The program that finds a packet's class, beside the elements' own classifier.

use std::fmt::Debug;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use shortflow_deploy::{Choice, Instruction, Program, classifier, neighbours};
use shortflow_elements::classifier::{AnyOf, Classifier, DscpSet, MultiField, PortRange};
use shortflow_packet::{Address, Dscp, Prefix, Protocol};
use shortflow_wire::{Layers, Stop};

/// Offsets from the IP header (`SKF_NET_OFF`), and what the link says it carries (`SKF_AD_PROTOCOL`).
const NET: i64 = -0x10_0000;
const ETHER_TYPE: i64 = -0x1000;

/// Runs a program as bpf(4) describes it, over an IP packet on a link that carries `ether_type`. A load beyond the
/// packet ends it with 0.
fn run(program: &Program, ether_type: u16, packet: &[u8]) -> u32 {
    let (mut register, mut index, mut notes) = (0u32, 0u32, [0u32; 16]);
    let load = |at: i64, size: usize| -> Option<u32> {
        if at == ETHER_TYPE {
            return Some(ether_type.into());
        }
        let start = usize::try_from(at - NET).expect("programs look behind the link's header");
        let bytes = packet.get(start..start + size)?;
        Some(bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
    };
    let mut at = 0;
    loop {
        let Instruction { code, jump_true, jump_false, operand } = program.instructions()[at];
        at += 1;
        let offset = i64::from(operand.cast_signed());
        let mut jump = |so: bool| at += usize::from(if so { jump_true } else { jump_false });
        let size = match code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            _ => 1,
        };
        match code {
            0x00 => register = operand,
            0x01 => index = operand,
            0x20 | 0x28 | 0x30 => match load(offset, size) {
                Some(found) => register = found,
                None => return 0,
            },
            0x48 | 0x50 => match load(offset + i64::from(index), size) {
                Some(found) => register = found,
                None => return 0,
            },
            0x60 => register = notes[operand as usize],
            0x02 => notes[operand as usize] = register,
            0x04 => register = register.wrapping_add(operand),
            0x0c => register = register.wrapping_add(index),
            0x54 => register &= operand,
            0x64 => register <<= operand,
            0x74 => register >>= operand,
            0x07 => index = register,
            0x87 => register = index,
            0x05 => at += operand as usize,
            0x15 => jump(register == operand),
            0x25 => jump(register > operand),
            0x35 => jump(register >= operand),
            0x06 => return operand,
            other => panic!("no instruction {other:#x} is ever written"),
        }
    }
}

pub(crate) fn rule() -> impl Strategy<Value = MultiField> {
    let dscps = prop::collection::vec(0u8..64, 1..4)
        .prop_map(|them| them.into_iter().filter_map(Dscp::new).collect::<DscpSet>());
    // Few different values, so that rules and packets meet.
    let ports = (0u16..4, 0u16..4)
        .prop_map(|(a, b)| PortRange::new(a.min(b), a.max(b)).expect("it is in order"));
    let protocol = prop::sample::select(vec![6u8, 17, 1, 50, 51, 44, 0, 132]).prop_map(Protocol);
    (
        prop::option::weighted(0.3, list(prefix())),
        prop::option::weighted(0.3, list(prefix())),
        prop::option::weighted(0.3, list(ports.clone())),
        prop::option::weighted(0.3, list(ports.clone())),
        prop::option::weighted(0.3, list(ports)),
        prop::option::weighted(0.4, list(protocol)),
        prop::option::weighted(0.5, dscps),
    )
        .prop_map(|(src, dst, src_ports, dst_ports, ports, protocol, dscps)| MultiField {
            src,
            dst,
            src_ports,
            dst_ports,
            ports,
            protocol,
            dscps,
            sender: None,
        })
}

fn list<T: Debug>(one: impl Strategy<Value = T>) -> impl Strategy<Value = AnyOf<T>> {
    prop::collection::vec(one, 1..3).prop_map(|all| AnyOf::from_list(all).expect("one at least"))
}

fn prefix() -> impl Strategy<Value = Prefix> {
    let v4 = (any::<u32>(), 0u8..=32).prop_map(|(bits, length)| {
        let bits =
            (0x0a00_0000 | bits & 3) & u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        Prefix::new(Address::v4(bits), length).expect("bits beyond the prefix are zero")
    });
    let v6 = (any::<u128>(), 0u8..=128).prop_map(|(bits, length)| {
        let bits = 0x2001_0db8 << 96 | bits & 3;
        let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        Prefix::new(Address::v6(bits & mask), length).expect("bits beyond the prefix are zero")
    });
    prop_oneof![v4, v6]
}

/// Packets of either version, with extension headers and fragments, cut off or damaged at times.
pub(crate) fn packet() -> impl Strategy<Value = Vec<u8>> {
    let fields = (any::<bool>(), any::<u8>(), host(), host(), 0u16..4, 0u16..4);
    let kind = prop::sample::select(vec![6u8, 17, 1, 50, 51, 132, 59]);
    let chain = prop::collection::vec(
        prop::sample::select(vec![0u8, 43, 44, 51, 60, 135, 139, 140]),
        0..10,
    );
    let fragment = prop_oneof![3 => Just(0u16), 1 => Just(8), 1 => Just(0x2000)];
    let damage = (prop::option::weighted(0.1, any::<prop::sample::Index>()), any::<u8>());
    let cut = prop::option::weighted(0.1, any::<prop::sample::Index>());
    (fields, kind, chain, fragment, damage, cut).prop_map(
        |((v6, ds, src, dst, sport, dport), kind, chain, fragment, (at, by), cut)| {
            let chain = if v6 { chain } else { chain.into_iter().filter(|it| *it == 51).collect() };
            let mut body = extensions(&chain, kind, fragment);
            body.extend(sport.to_be_bytes());
            body.extend(dport.to_be_bytes());
            body.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
            let first = chain.first().copied().unwrap_or(kind);
            let mut packet = if v6 {
                v6_header(ds, first, src, dst, &body)
            } else {
                v4_header(ds, first, src, dst, fragment, &body)
            };
            if let Some(at) = at {
                let at = at.index(packet.len());
                packet[at] ^= by;
            }
            if let Some(cut) = cut {
                packet.truncate(cut.index(packet.len()));
            }
            packet
        },
    )
}

/// The last byte of an address, and whether it is one of IPv4, which a packet of IPv6 has as `::ffff:a.b.c.d`.
type Host = (u8, bool);

fn host() -> impl Strategy<Value = Host> {
    (0u8..4, prop::bool::weighted(0.25))
}

fn extensions(chain: &[u8], kind: u8, fragment: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, header) in chain.iter().enumerate() {
        let next = chain.get(at + 1).copied().unwrap_or(kind);
        match header {
            44 => {
                let place = if fragment == 0x2000 { 1 } else { fragment << 3 };
                bytes.extend([next, 0]);
                bytes.extend(place.to_be_bytes());
                bytes.extend([0; 4]);
            }
            51 => bytes.extend([next, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            _ => {
                bytes.extend([next, at as u8 % 2]);
                bytes.extend(vec![0; if at % 2 == 0 { 6 } else { 14 }]);
            }
        }
    }
    bytes
}

fn v4_header(
    ds: u8,
    protocol: u8,
    (src, _): Host,
    (dst, _): Host,
    fragment: u16,
    body: &[u8],
) -> Vec<u8> {
    let length = (20 + body.len()) as u16;
    let mut packet = vec![0x45, ds];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, src, 10, 0, 0, dst]);
    packet.extend(body);
    packet
}

fn v6_header(ds: u8, next: u8, src: Host, dst: Host, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60 | ds >> 4, ds << 4, 0, 0];
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    for (last, is_v4) in [src, dst] {
        let address = if is_v4 { 0xffff_0a00_0000 } else { 0x2001_0db8 << 96 };
        packet.extend((address | u128::from(last)).to_be_bytes());
    }
    packet.extend(body);
    packet
}

fn program(rules: &[MultiField]) -> Program {
    let each = rules.iter().cloned().zip((1..).map(Choice::Class));
    let otherwise = Box::new(Choice::Class(OTHERWISE));
    classifier(&Choice::Among { rules: each.collect(), otherwise }).expect("it is short enough")
}

const HOSTS: [Host; 2] = [(1, false), (2, false)];

pub(crate) const OTHERWISE: u32 = 0xffff_fff0;

/// The class that the elements find; none of what is cut off, or damaged where its lengths are told.
pub(crate) fn expected(rules: &[MultiField], packet: &[u8]) -> Option<u32> {
    let layers = Layers::of_ip(packet);
    let is_whole = layers.ip.is_some_and(|ip| ip.packet_length() == packet.len());
    if !is_whole || matches!(layers.stop, Some(Stop::Malformed(_))) {
        return None;
    }
    let descriptor = layers.descriptor(None)?;
    let numbered = rules.iter().cloned().enumerate().map(|(at, rule)| (rule, at)).collect();
    let class = Classifier::new(numbered).classify(&descriptor);
    Some(class.map_or(OTHERWISE, |class| class as u32 + 1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_program_finds_the_class_that_the_elements_find(
        rules in prop::collection::vec(rule(), 0..6),
        packet in packet(),
    ) {
        let ether_type = if packet.first().is_some_and(|first| first >> 4 == 6) { 0x86dd } else { 0x0800 };
        let found = run(&program(&rules), ether_type, &packet);
        if let Some(expected) = expected(&rules, &packet) {
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn packets_meet_the_rules_often_enough_for_the_comparison_to_say_something() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut by_class, mut unknown) = ([0u32; 3], 0);
    for _ in 0..2000 {
        let rules = prop::collection::vec(rule(), 1..6).new_tree(&mut runner).unwrap().current();
        let packet = packet().new_tree(&mut runner).unwrap().current();
        match expected(&rules, &packet) {
            None => unknown += 1,
            Some(OTHERWISE) => by_class[0] += 1,
            Some(1) => by_class[1] += 1,
            Some(_) => by_class[2] += 1,
        }
    }
    assert!(by_class.iter().all(|count| *count > 200) && unknown < 500, "{by_class:?} {unknown}");
}

#[test]
fn what_is_no_packet_of_ip_goes_where_what_no_rule_fits_goes() {
    let rules = [MultiField { protocol: Some(Protocol::UDP.into()), ..MultiField::default() }];
    let arp = [0, 1, 8, 0, 6, 4, 0, 1];
    assert_eq!(run(&program(&rules), 0x0806, &arp), OTHERWISE);
}

#[test]
fn a_packet_inside_a_tag_of_a_virtual_lan_is_found() {
    let rules = [MultiField { protocol: Some(Protocol::UDP.into()), ..MultiField::default() }];
    let packet = v4_header(0, 17, HOSTS[0], HOSTS[1], 0, &[0; 8]);
    assert_eq!([0x8100, 0x88a8].map(|kind| run(&program(&rules), kind, &packet)), [1, 1]);
}

#[test]
fn an_address_that_stands_for_one_of_ipv4_is_of_that_family_in_a_packet_of_ipv6_too() {
    let prefix =
        |text: &str, length| Some(Prefix::new(text.parse().unwrap(), length).unwrap().into());
    let from = |src| MultiField { src, ..MultiField::default() };
    let to = |dst| MultiField { dst, ..MultiField::default() };
    let rules = [
        from(prefix("::", 80)),
        to(prefix("::", 0)),
        from(prefix("10.0.0.1", 32)),
        to(prefix("10.0.0.0", 8)),
    ];
    let class = |src, dst| run(&program(&rules), 0x86dd, &v6_header(0, 17, src, dst, &[0; 8]));
    assert_eq!(class((1, true), (2, true)), 3);
    assert_eq!(class((2, true), (2, true)), 4);
    assert_eq!(class((1, true), (2, false)), 2);
    assert_eq!(class((1, false), (2, true)), 4);
}

#[test]
fn rules_that_come_to_more_instructions_than_a_kernel_takes_are_refused() {
    let rule = |port| {
        let ports = Some(AnyOf::from(PortRange::new(port, port).unwrap()));
        MultiField { src_ports: ports.clone(), dst_ports: ports, ..MultiField::default() }
    };
    let rules: Vec<_> = (0..600).map(|port| (rule(port), Choice::Class(1))).collect();
    let choice = Choice::Among { rules, otherwise: Box::new(Choice::Class(2)) };
    assert!(classifier(&choice).unwrap_err().instructions > Program::MAX_INSTRUCTIONS);
}

/// What the kernel checks before it takes a program (`check_load_and_stores`): each note is written before it is read,
/// whichever way was taken, where a return is not taken for an end.
fn notes_are_written_before_they_are_read(program: &Program) -> bool {
    let instructions = program.instructions();
    let mut known = vec![u16::MAX; instructions.len() + 1];
    let mut notes = 0u16;
    for (at, it) in instructions.iter().enumerate() {
        notes &= known[at];
        let ways: Vec<usize> = match it.code {
            0x02 => {
                notes |= 1 << it.operand;
                continue;
            }
            0x60 if notes >> it.operand & 1 == 0 => return false,
            0x05 => vec![it.operand as usize],
            0x15 | 0x25 | 0x35 => vec![it.jump_true.into(), it.jump_false.into()],
            _ => continue,
        };
        ways.into_iter().for_each(|way| known[at + 1 + way] &= notes);
        notes = u16::MAX;
    }
    true
}

proptest! {
    #[test]
    fn a_kernel_takes_every_program(rules in prop::collection::vec(rule(), 0..6)) {
        prop_assert!(notes_are_written_before_they_are_read(&program(&rules)));
    }
}

#[test]
fn what_finds_neighbours_is_known_and_what_a_router_passed_on_is_not_taken_for_it() {
    let program = neighbours(7);
    let arp = [0, 1, 8, 0, 6, 4, 0, 1];
    assert_eq!(run(&program, 0x0806, &arp), 7);
    let found = |kind: u8, hops: u8, protocol: u8| {
        let mut packet = v6_header(0, protocol, HOSTS[0], HOSTS[1], &[kind, 0, 0, 0, 0, 0, 0, 0]);
        packet[7] = hops;
        run(&program, 0x86dd, &packet)
    };
    assert_eq!([133, 135, 136, 137].map(|kind| found(kind, 255, 58)), [7; 4]);
    assert_eq!([found(135, 254, 58), found(128, 255, 58), found(135, 255, 17)], [0; 3]);
    let v4 = v4_header(0, 1, HOSTS[0], HOSTS[1], 0, &[135; 40]);
    assert_eq!(run(&program, 0x0800, &v4), 0);
    assert!(notes_are_written_before_they_are_read(&program));
}
