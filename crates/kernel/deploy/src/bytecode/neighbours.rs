//! Matches ARP and neighbour discovery: without them no other packet arrives, so no policy may starve them.

use super::Program;
use super::assembler::{Assembler, LOAD_BYTE, LOAD_HALF, RETURN};
use super::classifier::{ETHER_TYPE, IP};

const ARP: u32 = 0x0806;
const IPV6: u32 = 0x86dd;
const ICMPV6: u32 = 58;
/// From the solicitation of routers to redirects (RFC 4861 §4).
const DISCOVERY: [u32; 2] = [133, 137];
/// A packet that a router has passed on has less (RFC 4861 §7.1).
const HOPS: u32 = 255;

/// A program that returns `class` for packets of ARP and neighbour discovery, and takes no others.
pub fn neighbours(class: u32) -> Program {
    let mut program = Assembler::default();
    let [finds, others] = [(); 2].map(|()| program.label());
    program.then(LOAD_HALF, ETHER_TYPE);
    program.jump_if_equal(ARP, finds);
    program.require_equal(IPV6, others);
    program.then(LOAD_BYTE, IP + 6);
    program.require_equal(ICMPV6, others);
    program.then(LOAD_BYTE, IP + 7);
    program.require_equal(HOPS, others);
    program.then(LOAD_BYTE, IP + 40);
    program.require_within(DISCOVERY, others);
    program.place(finds);
    program.then(RETURN, class);
    program.place(others);
    program.then(RETURN, 0);
    program.finish()
}
