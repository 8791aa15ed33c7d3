//! Compiles rules on headers to a program that finds the class of a packet.

use std::net::IpAddr;

use shortflow_elements::classifier::{AnyOf, Classifier, MultiField, PortRange};
use shortflow_packet::Prefix;

use super::Program;
use super::assembler::{
    ADD, ADD_INDEX, AND, Assembler, FROM_INDEX, LOAD_BYTE, LOAD_BYTE_FROM_INDEX, LOAD_HALF,
    LOAD_HALF_FROM_INDEX, LOAD_NOTE, LOAD_NUMBER, LOAD_WORD, Label, RETURN, SHIFT_LEFT,
    SHIFT_RIGHT, STORE_NOTE, TO_INDEX,
};

/// The outcome for a packet: a class, or a question whose answer is one.
#[derive(Debug, Clone)]
pub enum Choice<T> {
    /// This class.
    Class(T),
    /// That of the first rule that fits.
    Among {
        /// The rules in order, each with what it leads to.
        rules: Vec<(MultiField, Choice<T>)>,
        /// The outcome if no rule matches, or the packet is not IP.
        otherwise: Box<Choice<T>>,
    },
}

impl<T: Clone> Choice<T> {
    /// The choice between the classes of a scheduler, of which each has a choice of its own.
    pub(crate) fn among(
        classifier: &Classifier,
        each: &[Choice<T>],
        otherwise: usize,
    ) -> Choice<T> {
        let rules = classifier.rules().iter();
        Choice::Among {
            rules: rules.map(|(rule, class)| (rule.clone(), each[*class].clone())).collect(),
            otherwise: Box::new(each[otherwise].clone()),
        }
    }

    /// The same, where each class is a choice of its own.
    pub(crate) fn join<U: Clone>(&self, of: &impl Fn(&T) -> Choice<U>) -> Choice<U> {
        match self {
            Choice::Class(class) => of(class),
            Choice::Among { rules, otherwise } => Choice::Among {
                rules: rules.iter().map(|(rule, inner)| (rule.clone(), inner.join(of))).collect(),
                otherwise: Box::new(otherwise.join(of)),
            },
        }
    }

    /// The same with other names of classes.
    pub(crate) fn map<U>(&self, name: &impl Fn(&T) -> U) -> Choice<U> {
        match self {
            Choice::Class(class) => Choice::Class(name(class)),
            Choice::Among { rules, otherwise } => Choice::Among {
                rules: rules.iter().map(|(rule, of)| (rule.clone(), of.map(name))).collect(),
                otherwise: Box::new(otherwise.map(name)),
            },
        }
    }

    /// The class of what is no packet of IP.
    fn last(&self) -> &T {
        match self {
            Choice::Class(class) => class,
            Choice::Among { otherwise, .. } => otherwise.last(),
        }
    }

    /// Whether some rule says `so`.
    fn any(&self, so: &impl Fn(&MultiField) -> bool) -> bool {
        match self {
            Choice::Class(_) => false,
            Choice::Among { rules, otherwise } => {
                rules.iter().any(|(rule, of)| so(rule) || of.any(so)) || otherwise.any(so)
            }
        }
    }
}

/// The rules come to more instructions than a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// How many.
    pub instructions: usize,
}

/// The first bytes of the IP header, whatever precedes it (`SKF_NET_OFF`).
pub(super) const IP: u32 = -0x10_0000_i32 as u32;
/// What the link says it carries (`SKF_AD_OFF` and `SKF_AD_PROTOCOL`).
pub(super) const ETHER_TYPE: u32 = -0x1000_i32 as u32;
/// IPv4 and IPv6, and the tags of virtual LANs, behind which either stands.
const ETHER_TYPES: [u32; 4] = [0x0800, 0x86dd, 0x8100, 0x88a8];

/// Places of the scratch memory.
const DSCP: u32 = 0;
const PROTOCOL: u32 = 1;
const SOURCE_PORT: u32 = 2;
const DESTINATION_PORT: u32 = 3;
/// Of the source and of the destination: whether the address is one of IPv4, and its last 32 bits.
const ADDRESSES: [[u32; 2]; 2] = [[4, 5], [6, 7]];

/// The offsets of addresses in headers of IPv4 and of IPv6.
const IN_V4: [u32; 2] = [IP + 12, IP + 16];
const IN_V6: [u32; 2] = [IP + 8, IP + 24];

/// The most extension headers that are walked, as in `shortflow-wire`.
const MAX_EXTENSIONS: usize = 8;
const HOP_BY_HOP: u32 = 0;
const FRAGMENT: u32 = 44;
const AUTHENTICATION: u32 = 51;
/// Routing, destination options, mobility, HIP, Shim6: a byte that says what follows, and one that says how long.
const OPAQUE: [u32; 5] = [43, 60, 135, 139, 140];
/// TCP, UDP, DCCP, SCTP and UDP-Lite begin with two ports.
const WITH_PORTS: [u32; 5] = [6, 17, 33, 132, 136];

/// A program that returns the class of a packet, and 0 where the headers that it asks for are cut off.
///
/// # Errors
/// When it is too long for a kernel.
pub fn classifier(choice: &Choice<u32>) -> Result<Program, TooLong> {
    let mut program = Assembler::default();
    let other = program.label();
    if let Choice::Among { .. } = choice {
        read_headers(&mut program, choice, other);
    }
    decide(&mut program, choice);
    // The kernel takes what stands behind a return for something that goes on from it, and nothing is noted here: so
    // nothing may stand behind this one.
    program.place(other);
    program.then(RETURN, *choice.last());
    let program = program.finish();
    match program.0.len() {
        instructions if instructions > Program::MAX_INSTRUCTIONS => Err(TooLong { instructions }),
        _ => Ok(program),
    }
}

/// Loads the fields that rules need, once for all of them; packets that are not IP continue at `other`.
fn read_headers(program: &mut Assembler, choice: &Choice<u32>, other: Label) {
    let asks_ports = choice
        .any(&|rule| rule.src_ports.is_some() || rule.dst_ports.is_some() || rule.ports.is_some());
    let asks_protocol = asks_ports || choice.any(&|rule| rule.protocol.is_some());
    let asks = [choice.any(&|rule| rule.src.is_some()), choice.any(&|rule| rule.dst.is_some())];
    let asked: Vec<usize> = (0..2).filter(|end| asks[*end]).collect();
    let [is_ip, v4, v6, done] = [(); 4].map(|()| program.label());
    program.then(LOAD_HALF, ETHER_TYPE);
    ETHER_TYPES.iter().for_each(|kind| program.jump_if_equal(*kind, is_ip));
    program.jump(other);

    program.place(is_ip);
    program.then(LOAD_NUMBER, 0).then(STORE_NOTE, SOURCE_PORT).then(STORE_NOTE, DESTINATION_PORT);
    program.then(LOAD_BYTE, IP).then(SHIFT_RIGHT, 4);
    program.jump_if_equal(4, v4);
    program.jump_if_equal(6, v6);
    program.jump(other);

    program.place(v4);
    program.then(LOAD_BYTE, IP + 1).then(SHIFT_RIGHT, 2).then(STORE_NOTE, DSCP);
    asked.iter().for_each(|end| note_v4(program, *end));
    if asks_protocol {
        program.then(LOAD_BYTE, IP + 9).then(STORE_NOTE, PROTOCOL);
        // Of a fragment that is not the first nothing more can be read.
        program.then(LOAD_HALF, IP + 6).then(AND, 0x1fff);
        program.require_equal(0, done);
        program.then(LOAD_BYTE, IP).then(AND, 15).then(SHIFT_LEFT, 2).then(TO_INDEX, 0);
        walk_extensions(program, 4, asks_ports, done);
    } else {
        program.jump(done);
    }

    program.place(v6);
    program.then(LOAD_HALF, IP).then(SHIFT_RIGHT, 6).then(AND, 63).then(STORE_NOTE, DSCP);
    asked.iter().for_each(|end| note_v6(program, *end));
    if asks_protocol {
        program.then(LOAD_BYTE, IP + 6).then(STORE_NOTE, PROTOCOL);
        program.index(40);
        walk_extensions(program, 6, asks_ports, done);
    }
    program.place(done);
}

/// Notes the address at one end of a packet of IPv4.
fn note_v4(program: &mut Assembler, end: usize) {
    let [is_v4, last] = ADDRESSES[end];
    program.then(LOAD_WORD, IN_V4[end]).then(STORE_NOTE, last);
    program.then(LOAD_NUMBER, 1).then(STORE_NOTE, is_v4);
}

/// Notes the address at one end of a packet of IPv6, where `::ffff:a.b.c.d` is the address `a.b.c.d` of IPv4 (RFC 4291
/// §2.5.5.2).
fn note_v6(program: &mut Assembler, end: usize) {
    let [is_v4, last] = ADDRESSES[end];
    let [of_v6, done] = [(); 2].map(|()| program.label());
    program.then(LOAD_WORD, IN_V6[end] + 12).then(STORE_NOTE, last);
    for (word, mapped) in (0..).zip([0, 0, 0xffff]) {
        program.then(LOAD_WORD, IN_V6[end] + 4 * word);
        program.require_equal(mapped, of_v6);
    }
    program.then(LOAD_NUMBER, 1);
    program.jump(done);
    program.place(of_v6);
    program.then(LOAD_NUMBER, 0);
    program.place(done);
    program.then(STORE_NOTE, is_v4);
}

/// Walks from the place in the index register to the header of a transport protocol, and notes its ports if that is asked.
fn walk_extensions(program: &mut Assembler, version: u8, asks_ports: bool, done: Label) {
    let transport = program.label();
    for walked in 0..MAX_EXTENSIONS {
        let [opaque, fragment, authentication, next] = [(); 4].map(|()| program.label());
        program.then(LOAD_NOTE, PROTOCOL);
        // Of extension headers, IPv4 has the authentication header alone.
        if version == 6 {
            OPAQUE.iter().for_each(|kind| program.jump_if_equal(*kind, opaque));
            if walked == 0 {
                program.jump_if_equal(HOP_BY_HOP, opaque);
            }
            program.jump_if_equal(FRAGMENT, fragment);
        }
        program.jump_if_equal(AUTHENTICATION, authentication);
        program.jump(transport);
        if version == 6 {
            program.place(opaque);
            follow(program, [1, 3]);
            program.jump(next);
            program.place(fragment);
            program.then(LOAD_BYTE_FROM_INDEX, IP).then(STORE_NOTE, PROTOCOL);
            program.then(LOAD_HALF_FROM_INDEX, IP + 2).then(AND, 0xfff8);
            program.require_equal(0, done);
            program.then(FROM_INDEX, 0).then(ADD, 8).then(TO_INDEX, 0);
            program.jump(next);
        }
        program.place(authentication);
        follow(program, [2, 2]);
        program.place(next);
    }
    program.then(LOAD_NOTE, PROTOCOL);
    program.place(transport);
    if !asks_ports {
        return program.jump(done);
    }
    let ports = program.label();
    WITH_PORTS.iter().for_each(|kind| program.jump_if_equal(*kind, ports));
    program.jump(done);
    program.place(ports);
    program.then(LOAD_HALF_FROM_INDEX, IP).then(STORE_NOTE, SOURCE_PORT);
    program.then(LOAD_HALF_FROM_INDEX, IP + 2).then(STORE_NOTE, DESTINATION_PORT);
    program.jump(done);
}

/// Goes behind a header whose second byte and `more` are its length in units of 1 << `shift` bytes.
fn follow(program: &mut Assembler, [more, shift]: [u32; 2]) {
    program.then(LOAD_BYTE_FROM_INDEX, IP).then(STORE_NOTE, PROTOCOL);
    program.then(LOAD_BYTE_FROM_INDEX, IP + 1).then(ADD, more).then(SHIFT_LEFT, shift);
    program.then(ADD_INDEX, 0).then(TO_INDEX, 0);
}

/// Asks the rules, and returns the class.
fn decide(program: &mut Assembler, choice: &Choice<u32>) {
    match choice {
        Choice::Class(class) => {
            program.then(RETURN, *class);
        }
        Choice::Among { rules, otherwise } => {
            for (rule, of) in rules {
                let next = program.label();
                ask(program, rule, next);
                decide(program, of);
                program.place(next);
            }
            decide(program, otherwise);
        }
    }
}

/// Continues if `rule` matches, and otherwise jumps to `next`.
fn ask(program: &mut Assembler, rule: &MultiField, next: Label) {
    let MultiField { src, dst, src_ports, dst_ports, ports, protocol, dscps, sender } = rule;
    assert!(sender.is_none(), "a queue asks for nothing but the packet");
    if let Some(dscps) = dscps {
        let fits = program.label();
        program.then(LOAD_NOTE, DSCP);
        dscps.iter().for_each(|dscp| program.jump_if_equal(dscp.value().into(), fits));
        program.jump(next);
        program.place(fits);
    }
    if let Some(protocols) = protocol {
        program.then(LOAD_NOTE, PROTOCOL);
        one_of(program, protocols.iter(), next, |program, protocol, other| {
            program.require_equal(protocol.0.into(), other);
        });
    }
    ask_ports(program, src_ports, &[SOURCE_PORT], next);
    ask_ports(program, dst_ports, &[DESTINATION_PORT], next);
    ask_ports(program, ports, &[SOURCE_PORT, DESTINATION_PORT], next);
    for (end, prefixes) in [src, dst].into_iter().enumerate() {
        if let Some(prefixes) = prefixes {
            one_of(program, prefixes.iter(), next, |program, prefix, other| {
                ask_prefix(program, *prefix, end, other);
            });
        }
    }
}

/// Continues if one of the loaded ports is in one of the ranges.
fn ask_ports(
    program: &mut Assembler,
    ranges: &Option<AnyOf<PortRange>>,
    notes: &[u32],
    next: Label,
) {
    let Some(ranges) = ranges else { return };
    one_of(program, notes.iter(), next, |program, note, other| {
        program.then(LOAD_NOTE, *note);
        one_of(program, ranges.iter(), other, |program, range, other| {
            program.require_within(range.ends().map(u32::from), other);
        });
    });
}

/// Continues if one of the alternatives matches, and otherwise jumps to `next`. `ask` jumps to the label if its
/// alternative does not match.
fn one_of<T>(
    program: &mut Assembler,
    alternatives: impl Iterator<Item = T>,
    next: Label,
    mut ask: impl FnMut(&mut Assembler, T, Label),
) {
    let fits = program.label();
    let mut alternatives = alternatives.peekable();
    while let Some(alternative) = alternatives.next() {
        if alternatives.peek().is_none() {
            ask(program, alternative, next);
            break;
        }
        let other = program.label();
        ask(program, alternative, other);
        program.jump(fits);
        program.place(other);
    }
    program.place(fits);
}

/// Continues if the address at one end is in `prefix`.
fn ask_prefix(program: &mut Assembler, prefix: Prefix, end: usize, next: Label) {
    let [is_v4, last] = ADDRESSES[end];
    program.then(LOAD_NOTE, is_v4);
    match IpAddr::from(prefix.network()) {
        IpAddr::V4(network) => {
            program.require_equal(1, next);
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.length())).unwrap_or(0);
            program.then(LOAD_NOTE, last).then(AND, mask);
            program.require_equal(network.to_bits(), next);
        }
        IpAddr::V6(network) => {
            program.require_equal(0, next);
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.length())).unwrap_or(0);
            let word = |bits: u128, place: u32| (bits >> (96 - 32 * place)) as u32;
            for place in (0..4).filter(|place| word(mask, *place) != 0) {
                program.then(LOAD_WORD, IN_V6[end] + 4 * place).then(AND, word(mask, place));
                program.require_equal(word(network.to_bits(), place), next);
            }
        }
    }
}
