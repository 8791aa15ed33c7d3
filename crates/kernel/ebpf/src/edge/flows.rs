//! The flows or hosts in a table, and the connections of an aggregate, as the program stores them: `struct table` of
//! programs/table.h, `struct aggregate` of programs/classes.h.

use std::net::Ipv6Addr;

use shortflow_elements::Aggregate;
use shortflow_packet::{Address, FlowKey, Protocol};
use shortflow_units::Duration;

use super::aggregate::{CONNECTION, HEAD};
use super::layout::Remembered;
use super::{EdgeFlow, MAX_CONNECTIONS, MAX_ENTRIES};

/// Where things stand in the table, and how long each is.
const USED: usize = 4;
const ENTRIES: usize = 64;
const ENTRY: usize = 64;
const SEEN_AT: usize = 48;
const NEIGHBOURS: usize = ENTRIES + MAX_ENTRIES * ENTRY;
const NEIGHBOUR: usize = 16;
const BYTES: usize = 8;
/// The same of a connection.
const CONNECTION_SEEN_AT: usize = 40;
const CONNECTION_BYTES: usize = 72;
const IS_KNOWN: usize = 84;

/// The `max` of them that have sent the most since they are known, at a time in nanoseconds; those that were silent for
/// too long are none.
pub(super) fn top(table: &[u8], of: &Remembered, now: u64, max: usize) -> Vec<EdgeFlow> {
    let used = table.get(USED..).and_then(|rest| rest.first_chunk());
    let used = used.map_or(0, |bytes| u32::from_ne_bytes(*bytes) as usize).min(MAX_ENTRIES);
    first((0..used).filter_map(|at| flow(table, of, now, at)), max)
}

/// The same of the connections of an aggregate.
pub(super) fn connections(
    aggregate: &[u8],
    of: &Remembered,
    now: u64,
    max: usize,
) -> Vec<EdgeFlow> {
    let places = (0..MAX_CONNECTIONS).map(|at| HEAD + at * CONNECTION);
    let known = places.filter(|at| aggregate.get(at + IS_KNOWN).is_some_and(|known| *known != 0));
    let each = known.map(|at| {
        let silent = now.saturating_sub(long(aggregate, at + CONNECTION_SEEN_AT));
        EdgeFlow {
            by: Aggregate::Flow,
            ipv6_prefix: 128,
            key: key(aggregate, at),
            bytes: long(aggregate, at + CONNECTION_BYTES),
            silent: Duration::from_nanos(silent),
        }
    });
    first(each.filter(|one| one.silent.nanos() <= of.idle_timeout), max)
}

fn first(each: impl Iterator<Item = EdgeFlow>, max: usize) -> Vec<EdgeFlow> {
    let mut flows: Vec<EdgeFlow> = each.collect();
    flows.sort_by_key(|flow| (std::cmp::Reverse(flow.bytes), flow.key));
    flows.truncate(max);
    flows
}

fn flow(table: &[u8], of: &Remembered, now: u64, at: usize) -> Option<EdgeFlow> {
    let entry = ENTRIES + at * ENTRY;
    let silent = now.saturating_sub(long(table, entry + SEEN_AT));
    let bytes = long(table, NEIGHBOURS + at * NEIGHBOUR + BYTES);
    let by = of.by.filter(|_| silent <= of.idle_timeout)?;
    Some(EdgeFlow {
        by,
        ipv6_prefix: of.ipv6_prefix,
        key: key(table, entry),
        bytes,
        silent: Duration::from_nanos(silent),
    })
}

/// The `struct name` at a place.
fn key(of: &[u8], at: usize) -> FlowKey {
    let words = [0, 1, 2, 3, 4].map(|word| long(of, at + 8 * word));
    FlowKey {
        src: address([words[0], words[1]]),
        dst: address([words[2], words[3]]),
        src_port: (words[4] >> 32) as u16,
        dst_port: (words[4] >> 16) as u16,
        protocol: Protocol(words[4] as u8),
    }
}

fn long(table: &[u8], at: usize) -> u64 {
    table
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// An IPv4 address is kept as ::ffff:a.b.c.d.
fn address([high, low]: [u64; 2]) -> Address {
    let address = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
    address.to_ipv4_mapped().map_or(Address::v6(address.to_bits()), |v4| Address::v4(v4.to_bits()))
}
