//! The identification of a packet in its IP header.

use std::net::IpAddr;

use shortflow_packet::{Address, FlowKey};
use shortflow_run::Sight;

/// The identification of a packet: the same at every capture point, and different when the same data are sent
/// again. Programs then do not count a retransmission as a packet that was captured twice. It is a hash of
/// the flow, the sequence numbers and the time of sending. With 16 bits, two packets of a flow rarely have
/// the same value. Packets that are not fragmented require no more (RFC 6864 §4.1).
pub(crate) fn identification(sight: &Sight<'_>) -> u16 {
    let Sight { packet, header: tcp, sent_at, .. } = sight;
    let key = &packet.key;
    let sacked = tcp.sack.as_slice().iter().flat_map(|(from, to)| [*from, *to]);
    let numbers = [
        key.src.as_v4().unwrap_or_default(),
        key.dst.as_v4().unwrap_or_default(),
        u32::from(key.src_port) << 16 | u32::from(key.dst_port),
        tcp.seq,
        tcp.ack,
        u32::from(tcp.flags.0) << 16 | u32::from(packet.payload),
    ];
    let mut hash = fnv(FNV_BASIS, &sent_at.nanos().to_be_bytes());
    for number in numbers.into_iter().chain(sacked) {
        hash = fnv(hash, &number.to_be_bytes());
    }
    (hash >> 48 ^ hash >> 32 ^ hash >> 16 ^ hash) as u16
}

/// A number for each flow. Two flows rarely have the same one.
pub(crate) fn flow_number(key: &FlowKey) -> u32 {
    let FlowKey { src, dst, src_port, dst_port, protocol } = key;
    let octets = |address: &Address| match IpAddr::from(*address) {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let mut hash = fnv(FNV_BASIS, &octets(src));
    hash = fnv(hash, &octets(dst));
    hash = fnv(hash, &[src_port.to_be_bytes(), dst_port.to_be_bytes()].concat());
    hash = fnv(hash, &[protocol.0]);
    (hash >> 32 ^ hash) as u32
}

/// FNV-1a (draft-eastlake-fnv) with 64 bits.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
