//! Which class the program finds for a packet, beside the classifier of the elements: at every edge that the tables of the rules
//! have. Needs the right to load eBPF.

use libbpf_rs::query::ProgInfoIter;
use shortflow_ebpf::edge::{EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, Owner, Trial};
use shortflow_elements::Color;
use shortflow_elements::classifier::{
    AnyOf, Classifier, DscpSet, MultiField, PortRange, SenderMatch,
};
use shortflow_packet::{Address, Dscp, Label, Prefix, Protocol, SenderView};
use shortflow_units::{Bytes, Rng};
use shortflow_wire::Layers;

use crate::edge::{all, classes, compare, dscp, program};

/// Classes, each of which gives a code point of its own.
const CLASSES: usize = 32;
/// The code point with which packets come where it does not matter: that of no class.
const UNMARKED: u8 = 63;

/// A packet by hand.
#[derive(Clone, Copy)]
struct Sent {
    /// Whether it is of IPv6; an address of IPv4 is then one of those that stand for it.
    is_ipv6: bool,
    src: u128,
    dst: u128,
    protocol: u8,
    code_point: u8,
    ports: [u16; 2],
    /// Whether it is of the rest of a packet that was cut.
    is_late: bool,
    /// Bytes of transport that are there.
    transport: usize,
}

fn mapped(bits: u32) -> u128 {
    0xffff << 32 | u128::from(bits)
}

const SENT: Sent = Sent {
    is_ipv6: false,
    src: 0xffff_0a00_0001,
    dst: 0xffff_0a00_0002,
    protocol: 17,
    code_point: UNMARKED,
    ports: [5_000, 9],
    is_late: false,
    transport: 8,
};

impl Sent {
    fn bytes(&self) -> Vec<u8> {
        let mut packet = vec![2; 12];
        let fragment = u8::from(self.is_late);
        let ds = self.code_point << 2;
        if self.is_ipv6 {
            let (next, chain) = if self.is_late { (44, 8) } else { (self.protocol, 0) };
            let length = (chain + self.transport) as u8;
            packet.extend([0x86, 0xdd, 0x60 | ds >> 4, ds << 4, 0, 0, 0, length, next, 64]);
            packet.extend(self.src.to_be_bytes());
            packet.extend(self.dst.to_be_bytes());
            if self.is_late {
                packet.extend([self.protocol, 0, fragment, 0, 0, 0, 0, 0]);
            }
        } else {
            let length = (20 + self.transport) as u8;
            packet.extend([8, 0, 0x45, ds, 0, length, 0, 0, fragment, 0, 64, self.protocol, 0, 0]);
            packet.extend((self.src as u32).to_be_bytes());
            packet.extend((self.dst as u32).to_be_bytes());
        }
        let [source, destination] = self.ports.map(u16::to_be_bytes);
        let transport = [source, destination, [0, 8], [0, 0]].concat();
        packet.extend(&transport[..self.transport]);
        packet
    }
}

/// What a host tells of a packet's connection.
#[derive(Clone, Copy, Default)]
struct SocketState {
    mark: u32,
    sent: Option<u32>,
    remaining: Option<u32>,
}

/// The program and the classifier, of the same rules.
struct Pair {
    program: EdgeProgram,
    classifier: Classifier,
    /// The mark of each label, from 1 on.
    marks: Vec<u32>,
    out: Vec<u8>,
}

impl Pair {
    /// Rule after rule belongs to the next class, and after the last to the first again.
    fn new(rules: Vec<MultiField>, marks: &[u32]) -> Option<Pair> {
        let class = |class: usize| EdgeClass {
            meter: EdgeMeter::Fixed(Color::Green),
            code_points: Some([dscp(class as u8); 3]),
            police: None,
        };
        let classes: Vec<_> = (0..CLASSES).map(class).collect();
        let owners = (1..).map(Label).zip(marks.iter().map(|mark| Owner::Mark(*mark)));
        let owners: Vec<_> = owners.collect();
        let rules: Vec<_> =
            rules.into_iter().enumerate().map(|(at, rule)| (rule, at % CLASSES)).collect();
        let program = program(&EdgePlan::with_owners(&rules, &classes, &owners).unwrap())?;
        let classifier = Classifier::new(rules);
        Some(Pair { program, classifier, marks: marks.to_vec(), out: Vec::new() })
    }

    /// The class that both find.
    #[track_caller]
    fn class(&mut self, sent: Sent, state: SocketState) -> Option<usize> {
        let packet = sent.bytes();
        let SocketState { mark, sent, remaining } = state;
        let trial = Trial { packet: &packet, mark, sent, remaining, ..Trial::default() };
        assert!(self.program.try_packet(trial, &mut self.out).unwrap());
        let descriptor = Layers::of_ethernet(&packet).descriptor(None).unwrap();
        let label = self.marks.iter().position(|known| *known == mark);
        let bytes = |bytes: u32| Bytes(bytes.into());
        let view = SenderView {
            label: Label(label.map_or(0, |at| at as u16 + 1)),
            sent: sent.map(bytes).unwrap_or_default(),
            remaining: remaining.map(bytes),
            ..SenderView::default()
        };
        let is_known = sent.is_some() || label.is_some();
        let expected = self.classifier.classify_at(&descriptor, is_known.then_some(&view));
        let found = Layers::of_ethernet(&self.out).descriptor(None).unwrap().dscp;
        let marked = expected.map_or(descriptor.dscp, |class| dscp(class as u8));
        assert_eq!(found, marked, "{packet:02x?}");
        expected
    }
}

#[test]
fn rules_give_each_packet_the_class_that_they_give_it_here() {
    let prefix =
        |text: &str, length| AnyOf::from(Prefix::new(text.parse().unwrap(), length).unwrap());
    let ports = |first, last| Some(PortRange::new(first, last).unwrap().into());
    let rules = [
        (MultiField { src: Some(prefix("10.1.0.0", 16)), dst_ports: ports(80, 81), ..all() }, 0),
        (
            MultiField {
                dst: Some(prefix("fd01::", 16)),
                protocol: Some(Protocol::UDP.into()),
                ..all()
            },
            1,
        ),
        (
            MultiField {
                src: Some(prefix("10.0.0.4", 30)),
                dst: Some(prefix("10.0.0.0", 8)),
                ..all()
            },
            2,
        ),
        (
            MultiField {
                dscps: Some(DscpSet::EMPTY.with(dscp(46)).with(dscp(63)).with(dscp(0))),
                ..all()
            },
            3,
        ),
        (MultiField { src: Some(prefix("fd00::5", 128)), ..all() }, 4),
        (MultiField { protocol: Some(Protocol(44).into()), ..all() }, 5),
        (
            MultiField {
                protocol: Some(Protocol::TCP.into()),
                src_ports: ports(1, 65_535),
                ..all()
            },
            6,
        ),
        (MultiField { src: Some(prefix("0.0.0.0", 0)), ..all() }, 7),
        (MultiField { src: Some(prefix("::", 0)), dst_ports: ports(0, 0), ..all() }, 8),
    ];
    // The rest belongs to no class.
    compare(&rules, &classes()[..9], 77, 50_000);
    let none: [(MultiField, usize); 0] = [];
    compare(&none, &[], 78, 50_000);
}

#[test]
fn a_full_table_of_rules_is_gone_through_to_its_end() {
    let host = |at: usize| {
        let source = Prefix::host(format!("10.0.0.{}", 200 - at).parse().unwrap());
        (MultiField { src: Some(source.into()), ..all() }, 0)
    };
    let mut rules: Vec<_> = (0..63).map(host).collect();
    rules.push((all(), 1));
    let fixed = |color| EdgeClass {
        meter: EdgeMeter::Fixed(color),
        code_points: Some([Dscp::AF11, Dscp::AF12, Dscp::AF13]),
        police: None,
    };
    let plan = EdgePlan::new(&rules, &[fixed(Color::Green), fixed(Color::Red)]).unwrap();
    let Some(program) = program(&plan) else { return };
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 138, 10, 0, 0, 1]);
    let mut out = Vec::new();
    let mut code_point = |packet: &[u8]| {
        let trial = Trial { packet, ..Trial::default() };
        assert!(program.try_packet(trial, &mut out).unwrap());
        dscp(out[15] >> 2)
    };
    assert_eq!(code_point(&packet), Dscp::AF11, "the 63rd");
    packet[29] = 137;
    assert_eq!(code_point(&packet), Dscp::AF13, "the last");
}

fn ports(first: u16, last: u16) -> Option<AnyOf<PortRange>> {
    Some(PortRange::new(first, last).unwrap().into())
}

fn prefix(bits: u128, length: u8) -> Option<AnyOf<Prefix>> {
    Some(one_prefix(bits, length).into())
}

fn one_prefix(bits: u128, length: u8) -> Prefix {
    let bits = if length == 0 { 0 } else { bits & u128::MAX << (128 - length) };
    let network = Address::v6(bits);
    let length = if network.as_v4().is_some() { length.saturating_sub(96) } else { length };
    Prefix::new(network, length).unwrap()
}

/// Ranges with 128 ends, which is as many as 64 rules can have, that overlap or touch; the last is of all ports.
#[test]
fn every_port_from_0_to_65535_is_of_the_first_range_that_has_it() {
    let mut rng = Rng::stream(1, "ports");
    let mut range = |at: u16| match at {
        0 => ports(0, 0),
        1 => ports(65_535, 65_535),
        2 => ports(1, 1),
        3 => ports(65_534, 65_535),
        63 => ports(0, 65_535),
        _ => {
            let [one, other] = [0; 2].map(|_: u16| rng.below(1 << 16) as u16);
            // Wide ones come last, so that they do not hide all others.
            let width = one.abs_diff(other) >> (15 - u32::from(at) / 4);
            ports(one, one.saturating_add(width))
        }
    };
    let ranges: Vec<_> = (0..64).map(&mut range).collect();
    for is_source in [true, false] {
        let rule = |ports: &Option<AnyOf<PortRange>>| match is_source {
            true => MultiField { src_ports: ports.clone(), ..all() },
            false => MultiField { dst_ports: ports.clone(), ..all() },
        };
        let Some(mut pair) = Pair::new(ranges.iter().map(rule).collect(), &[]) else { return };
        let mut found = [0; CLASSES];
        for port in 0..=u16::MAX {
            let ports = if is_source { [port, 7] } else { [7, port] };
            let class = pair.class(Sent { ports, ..SENT }, SocketState::default());
            found[class.expect("the last has all")] += 1;
        }
        assert!(found.iter().filter(|count| **count > 0).count() > 25, "{found:?}");
        // Without ports it has the ports 0.
        for sent in [
            Sent { is_late: true, ..SENT },
            Sent { is_late: true, is_ipv6: true, ..SENT },
            Sent { protocol: 1, ..SENT },
            Sent { transport: 3, ..SENT },
        ] {
            assert_eq!(
                pair.class(Sent { ports: [80; 2], ..sent }, SocketState::default()),
                Some(0)
            );
        }
    }
}

#[test]
fn every_protocol_with_every_code_point_is_of_the_first_rule_for_both() {
    let mut rng = Rng::stream(2, "code points");
    let mut rule = |at: u8| {
        let mut set = DscpSet::EMPTY;
        // Of none a packet is; such a rule never matches.
        for _ in 0..rng.below(12) {
            set = set.with(dscp(rng.below(64) as u8));
        }
        let protocol = Protocol([0, 255, at, 17][rng.below(4) as usize]);
        let (any_protocol, any_code_point) = (rng.below(4) == 0, rng.below(16) == 0);
        MultiField {
            protocol: (!any_protocol).then_some(protocol.into()),
            dscps: (!any_code_point).then_some(set),
            ..all()
        }
    };
    let Some(mut pair) = Pair::new((0..64).map(&mut rule).collect(), &[]) else { return };
    let (mut found, mut none) = (0, 0);
    for protocol in 0..=u8::MAX {
        for code_point in 0..64 {
            let sent = Sent { protocol, code_point, ..SENT };
            match pair.class(sent, SocketState::default()) {
                Some(_) => found += 1,
                None => none += 1,
            }
        }
    }
    assert!(found > 1_000 && none > 100, "{found} {none}");
}

/// Prefixes of one address, the longest first: an address that differs in one bit is of the longest that ends before it.
#[test]
fn an_address_is_of_the_longest_prefix_of_every_length_that_it_shares() {
    let [ipv4, ipv6] = [mapped(0x0a5a_c3f1), 0x2001_0db8_5555_aaaa_3333_cccc_0f0f_f0f0];
    let lengths: [(u128, Vec<u8>); 4] = [
        (ipv4, (96..=128).rev().collect()),
        (ipv6, (0..=128).rev().step_by(3).collect()),
        (ipv6, (0..=127).rev().step_by(3).collect()),
        (ipv6, (0..=126).rev().step_by(3).collect()),
    ];
    for (address, lengths) in lengths {
        for is_source in [true, false] {
            let rule = |length: &u8| match is_source {
                true => MultiField { src: prefix(address, *length), ..all() },
                false => MultiField { dst: prefix(address, *length), ..all() },
            };
            let rules: Vec<_> = lengths.iter().map(rule).collect();
            let Some(mut pair) = Pair::new(rules, &[]) else { return };
            let mut class = |is_ipv6, bits| {
                let sent = Sent { is_ipv6, ..SENT };
                let sent = match is_source {
                    true => Sent { src: bits, ..sent },
                    false => Sent { dst: bits, ..sent },
                };
                pair.class(sent, SocketState::default())
            };
            let of = |shared| lengths.iter().position(|length| *length <= shared);
            let families: &[bool] = if address == ipv4 { &[false, true] } else { &[true] };
            for is_ipv6 in families {
                assert_eq!(class(*is_ipv6, address), of(128).map(|at| at % CLASSES));
            }
            for shared in 0..128 {
                let other = address ^ 1 << (127 - shared);
                if address != ipv4 || shared >= 96 {
                    let is_ipv6 = address == ipv6;
                    assert_eq!(class(is_ipv6, other), of(shared).map(|at| at % CLASSES));
                }
                // Of IPv6, and not one that stands for an address of IPv4.
                assert_eq!(class(true, other), of(shared).map(|at| at % CLASSES));
            }
            // The other family, with whose addresses it shares the first bits at most.
            let other = if address == ipv4 { 0xfd << 120 } else { mapped(7) };
            assert_eq!(class(address == ipv4, other), None);
        }
    }
}

/// 64 bounds; what was sent, or remains, stands at, below and above each, or is not known.
#[test]
fn a_connection_is_of_the_first_bound_that_it_has_not_passed() {
    let bounds: Vec<u64> =
        (0..63).map(|at| at * at * 1_000_000).chain([u64::MAX]).collect::<Vec<_>>();
    for is_sent in [true, false] {
        let rule = |max: &u64| {
            let max = Some(Bytes(*max));
            let sender = match is_sent {
                true => SenderMatch { sent_up_to: max, ..SenderMatch::default() },
                false => SenderMatch { remaining_up_to: max, ..SenderMatch::default() },
            };
            MultiField { sender: Some(sender), ..all() }
        };
        let Some(mut pair) = Pair::new(bounds.iter().map(rule).collect(), &[]) else { return };
        let mut class = |bytes: u64| {
            let bytes = Some(u32::try_from(bytes).unwrap());
            let state = if is_sent {
                SocketState { sent: bytes, ..SocketState::default() }
            } else {
                SocketState { sent: Some(0), remaining: bytes, ..SocketState::default() }
            };
            pair.class(SENT, state)
        };
        for (at, bound) in bounds[..63].iter().enumerate() {
            assert_eq!(class(*bound), Some(at % CLASSES));
            assert_eq!(class(bound + 1), Some((at + 1) % CLASSES));
        }
        assert_eq!(pair.class(SENT, SocketState::default()), None, "nobody knows");
    }
}

#[test]
fn a_priority_is_that_of_the_rule_that_names_it_and_a_larger_one_of_none() {
    let class = |code_point| EdgeClass {
        meter: EdgeMeter::Fixed(Color::Green),
        code_points: Some([code_point; 3]),
        police: None,
    };
    let labelled = |label| SenderMatch { label: Some(Label(label)), ..SenderMatch::default() };
    let of_label = |label| MultiField { sender: Some(labelled(label)), ..MultiField::default() };
    let owners = [(Label(1), Owner::Priority(1)), (Label(2), Owner::Priority(15))];
    let rules = [(of_label(1), 0), (of_label(2), 1), (MultiField::default(), 2)];
    let classes = [dscp(10), dscp(20), dscp(30)].map(class);
    let Some(program) = program(&EdgePlan::with_owners(&rules, &classes, &owners).unwrap()) else {
        return;
    };
    let packet = SENT.bytes();
    let mut out = Vec::new();
    for priority in [0, 1, 2, 14, 15, 16, 17, 31, u32::MAX] {
        assert!(
            program
                .try_packet(Trial { packet: &packet, priority, ..Trial::default() }, &mut out)
                .unwrap()
        );
        let expected = match priority {
            1 => 10,
            15 => 20,
            _ => 30,
        };
        let found = Layers::of_ethernet(&out).descriptor(None).unwrap().dscp;
        assert_eq!(found, dscp(expected), "{priority}");
    }
}

#[test]
fn a_mark_is_that_of_a_rule_only_where_all_its_bytes_are() {
    let marks: Vec<u32> = (0..32).map(|at| 1 << at).chain([0, u32::MAX, 0x0101_0101]).collect();
    let rule = |label: u16| {
        let sender = SenderMatch { label: Some(Label(label)), ..SenderMatch::default() };
        MultiField { sender: Some(sender), ..all() }
    };
    let rules: Vec<_> = (1..).map(rule).take(marks.len()).collect();
    let Some(mut pair) = Pair::new(rules, &marks) else { return };
    for (at, mark) in marks.iter().enumerate() {
        assert_eq!(
            pair.class(SENT, SocketState { mark: *mark, ..SocketState::default() }),
            Some(at % CLASSES)
        );
    }
    for mark in [3, 0x0101_0100, 0xffff_fffe, 0x8000_0001] {
        assert_eq!(pair.class(SENT, SocketState { mark, ..SocketState::default() }), None);
    }
}

/// Values at which something begins or ends for some rule.
struct Drawn(Rng);

impl Drawn {
    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.0.below(among.len() as u64) as usize]
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    fn port(&mut self) -> u16 {
        self.pick(&[0, 1, 2, 79, 80, 81, 443, 5_000, 32_767, 32_768, 65_534, 65_535])
    }

    fn ports(&mut self) -> Option<AnyOf<PortRange>> {
        self.list(&[1, 1, 2, 5], |drawn| {
            let (one, other) = (drawn.port(), drawn.port());
            PortRange::new(one.min(other), one.max(other)).unwrap()
        })
    }

    /// A list of one of these lengths.
    fn list<T>(&mut self, lengths: &[usize], one: impl Fn(&mut Drawn) -> T) -> Option<AnyOf<T>> {
        let length = self.pick(lengths);
        AnyOf::from_list((0..length).map(|_| one(self)).collect::<Vec<_>>())
    }

    fn address(&mut self, is_ipv6: bool) -> u128 {
        let low = self.pick(&[0, 1, 255, 256, 0x0a00_0001, 0x0a00_0002, 0x0aff_ffff, u32::MAX]);
        let high = self.pick(&[0, 0xffff << 32, 1 << 127, 0xfd << 120, u128::MAX << 32]);
        if is_ipv6 { high | u128::from(low) } else { mapped(low) }
    }

    fn prefix(&mut self) -> Prefix {
        let is_ipv6 = self.one_in(2);
        let bits = self.address(is_ipv6);
        let length = self.pick(&[0, 1, 8, 24, 31, 32]);
        one_prefix(bits, if is_ipv6 { 4 * length } else { 96 + length })
    }

    fn bytes(&mut self) -> u32 {
        self.pick(&[0, 1, 999, 1_000, 1_001, u32::MAX - 1])
    }

    fn rule(&mut self) -> MultiField {
        let mut rule = all();
        // Some ask for nothing, most for one thing, few for much.
        for _ in 0..self.pick(&[0, 1, 1, 1, 2, 2, 3, 6]) {
            let sender = rule.sender.unwrap_or_default();
            match self.0.below(10) {
                0 => rule.src = self.list(&[1, 1, 2, 3], Drawn::prefix),
                1 => rule.dst = self.list(&[1, 1, 2, 3], Drawn::prefix),
                2 => rule.src_ports = self.ports(),
                3 => rule.dst_ports = self.ports(),
                4 => {
                    rule.protocol = self.list(&[1, 1, 2, 3], |drawn| {
                        Protocol(drawn.pick(&[0, 1, 6, 17, 44, 58, 255]))
                    });
                }
                5 => rule.ports = self.ports(),
                6 => {
                    let set = (0..self.0.below(3))
                        .fold(DscpSet::EMPTY, |set, _| set.with(dscp(self.pick(&[0, 1, 46, 63]))));
                    rule.dscps = Some(set);
                }
                7 => {
                    let label = Some(Label(self.0.below(3) as u16 + 1));
                    rule.sender = Some(SenderMatch { label, ..sender });
                }
                8 => {
                    let sent_up_to = Some(Bytes(self.bytes().into()));
                    rule.sender = Some(SenderMatch { sent_up_to, ..sender });
                }
                _ => {
                    let remaining_up_to = Some(Bytes(self.bytes().into()));
                    rule.sender = Some(SenderMatch { remaining_up_to, ..sender });
                }
            }
        }
        rule
    }

    /// So many rules, or as many as the program has room for.
    fn rules(&mut self, count: usize) -> Vec<MultiField> {
        let mut rules = Vec::new();
        let mut room = 64;
        while rules.len() < count && room > 0 {
            let rule = self.rule();
            let addresses =
                |list: &Option<AnyOf<Prefix>>| list.as_ref().map_or(1, |list| list.iter().count());
            let ends = if rule.ports.is_some() { 2 } else { 1 };
            let takes = addresses(&rule.src) * addresses(&rule.dst) * ends;
            if takes <= room {
                room -= takes;
                rules.push(rule);
            }
        }
        rules
    }

    fn packet(&mut self) -> (Sent, SocketState) {
        let is_ipv6 = self.one_in(2);
        let sent = Sent {
            is_ipv6,
            src: self.address(is_ipv6),
            dst: self.address(is_ipv6),
            protocol: self.pick(&[6, 6, 17, 17, 1, 58, 255]),
            code_point: self.pick(&[0, 1, 46, 63]),
            ports: [self.port(), self.port()],
            is_late: self.one_in(8),
            transport: if self.one_in(8) { 3 } else { 8 },
        };
        if self.one_in(3) {
            return (sent, SocketState::default());
        }
        let mark = self.pick(&[0, 7, 1 << 31, u32::MAX, 5]);
        let remaining = self.one_in(2).then(|| self.bytes());
        (sent, SocketState { mark, sent: Some(self.bytes()), remaining })
    }
}

#[test]
fn a_packet_is_of_the_first_of_any_rules_whatever_these_ask_for() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..40 {
        let mut drawn = Drawn(Rng::stream(seed, "rules"));
        let count = drawn.pick(&[1, 2, 7, 33, 63, 64]);
        let rules = drawn.rules(count);
        let Some(mut pair) = Pair::new(rules, &[7, 1 << 31, u32::MAX]) else { return };
        for _ in 0..1_000 {
            let (sent, state) = drawn.packet();
            match pair.class(sent, state) {
                Some(_) => found += 1,
                None => none += 1,
            }
        }
    }
    assert!(found > 10_000 && none > 5_000, "{found} and {none}");
}

#[test]
fn a_list_of_addresses_or_a_port_at_either_end_takes_several_of_the_rules() {
    let host = |last: u8| Prefix::host(Address::v4(0x0a00_0000 | u32::from(last)));
    let class = EdgeClass { meter: EdgeMeter::Fixed(Color::Red), code_points: None, police: None };
    let plan = |count: u8, ports| {
        let src = AnyOf::from_list((0..count).map(host));
        EdgePlan::new(&[(MultiField { src, ports, ..all() }, 0)], std::slice::from_ref(&class))
    };
    assert!(plan(64, None).is_ok());
    let refused = |count, ports| plan(count, ports).unwrap_err().to_string();
    assert!(refused(65, None).contains("at most 64 rules (a list of addresses"));
    assert!(plan(32, ports(443, 443)).is_ok());
    assert!(refused(33, ports(443, 443)).ends_with("found 66: combine some"));
}

#[test]
fn ports_with_more_boundaries_than_the_table_holds_are_refused_and_as_many_are_not() {
    let class = EdgeClass { meter: EdgeMeter::Fixed(Color::Red), code_points: None, police: None };
    let plan = |count: u16| {
        let odd = (0..count).map(|at| PortRange::new(2 * at + 1, 2 * at + 1).unwrap());
        let rule = MultiField { dst_ports: AnyOf::from_list(odd), ..all() };
        EdgePlan::new(&[(rule, 0)], std::slice::from_ref(&class))
    };
    assert!(plan(127).is_ok());
    let refused = plan(128).unwrap_err().to_string();
    assert!(refused.contains("at most 256 boundaries of ports; found 257"), "{refused}");
}

/// It gives up after a million, and whoever deploys waits for it. What no rule asks for it need not look at, so these ask for
/// everything.
#[test]
fn a_verifier_goes_through_fewer_than_a_hundred_thousand_instructions() {
    let max = Some(Bytes(1));
    let asking = |label| MultiField {
        src: prefix(mapped(1), 128),
        dst: prefix(1, 128),
        src_ports: ports(1, 2),
        dst_ports: ports(1, 2),
        ports: ports(1, 2),
        protocol: Some(Protocol::TCP.into()),
        dscps: Some(DscpSet::EMPTY),
        sender: Some(SenderMatch {
            label: Some(label),
            sent_up_to: max,
            remaining_up_to: max,
            byte_range: false,
        }),
    };
    let owners = [(Label(1), Owner::Mark(1)), (Label(2), Owner::Group { id: 1, level: 1 })];
    let class = EdgeClass { meter: EdgeMeter::Fixed(Color::Red), code_points: None, police: None };
    let rules = [(asking(Label(1)), 0), (asking(Label(2)), 0)];
    let plan = EdgePlan::with_owners(&rules, &[class], &owners).unwrap().echoing();
    let Some(_loaded) = program(&plan) else { return };
    let ours = ProgInfoIter::default().find(|program| program.name == "shortflow_edge").unwrap();
    assert!((1..100_000).contains(&ours.verified_insns), "{}", ours.verified_insns);
}
