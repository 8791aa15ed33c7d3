//! Connections: two endpoints, the application, and records.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use shortflow_packet::Dscp;
use shortflow_scenario::NodeId;
use shortflow_tcp::{AggregateRtts, Algorithm, Config, Connection, Role};
use shortflow_units::Instant;

use crate::host::application::Application;
use crate::host::reordering::LatestSent;
use crate::network::key::NodeKey;
use crate::network::prefetch::prefetch_element;

/// The simulator's name of a flow: a dense index. Real packets have none, so elements do not see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct FlowId(pub(crate) u32);

impl FlowId {
    /// The number as an index.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// The 5-tuple of the packets that it sends.
    pub(crate) key: NodeKey,
    pub(crate) tcp: Connection,
    /// Application bytes received of which the application was notified.
    pub(crate) delivered: u64,
    /// When the timers check this endpoint next.
    pub(crate) armed: Instant,
    /// The code point of the last data packet, SYN or FIN received.
    pub(crate) received_dscp: Dscp,
    /// The queue of its host withholds a segment.
    pub(crate) is_withheld: bool,
    /// Detects reordered packets.
    pub(crate) latest: LatestSent,
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The end that opened it.
    Client = 0,
    /// The end that accepted it.
    Server = 1,
}

/// A value for each end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BySide<T>(pub(crate) [T; 2]);

impl<T> Index<Side> for BySide<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, side: Side) -> &T {
        &self.0[side as usize]
    }
}

impl<T> IndexMut<Side> for BySide<T> {
    #[inline(always)]
    fn index_mut(&mut self, side: Side) -> &mut T {
        &mut self.0[side as usize]
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Its number among all connections of the replica.
    pub(crate) serial: u64,
    /// Bytes of headers on each packet.
    pub(crate) header: u16,
    pub(crate) ends: BySide<Endpoint>,
    /// Bytes delivered at the server when the warm-up ended.
    pub(crate) delivered_before: u64,
    /// When an end gave up, or was reset; `NEVER` if none has.
    pub(crate) failed_at: Instant,
    pub(crate) application: Application,
    pub(crate) tally: Tally,
}

/// The packets of a connection, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    /// Packets sent.
    pub(crate) sent: u32,
    /// Packets dropped.
    pub(crate) dropped: u32,
    /// Delivered packets, marked green, yellow, red, or otherwise.
    pub(crate) marked: [u32; 4],
}

impl Flow {
    /// A connection before it opens.
    pub(crate) fn new(key: NodeKey, config: &Arc<Config>, application: Application) -> Self {
        let endpoint = |key, role| Endpoint {
            key,
            tcp: Connection::new(Arc::clone(config), role),
            delivered: 0,
            armed: Instant::NEVER,
            received_dscp: Dscp::BEST_EFFORT,
            is_withheld: false,
            latest: LatestSent::default(),
        };
        Flow {
            serial: 0,
            header: config.header,
            ends: BySide([endpoint(key, Role::Active), endpoint(key.reversed(), Role::Passive)]),
            delivered_before: 0,
            failed_at: Instant::NEVER,
            application,
            tally: Tally::default(),
        }
    }

    /// The 5-tuple of packets from client to server.
    #[inline]
    pub(crate) fn key(&self) -> NodeKey {
        self.ends[Side::Client].key
    }

    /// The same connection, with each end in the aggregate of its node.
    fn among(self, aggregates: &mut BTreeMap<NodeId, AggregateRtts>) -> Self {
        let nodes = [self.key().src, self.key().dst];
        let mut join = |end: Endpoint, node| {
            let control = end.tcp.config().in_aggregate(aggregates.entry(node).or_default());
            Endpoint { tcp: end.tcp.with_congestion_control(control), ..end }
        };
        let BySide([client, server]) = self.ends;
        let ends = BySide([join(client, nodes[0]), join(server, nodes[1])]);
        Flow { ends, ..self }
    }

    /// The end that receives packets with this 5-tuple; `None` if they belong to an earlier connection with
    /// the same index.
    #[inline]
    pub(crate) fn receiver(&self, key: NodeKey) -> Option<Side> {
        if key == self.ends[Side::Client].key {
            Some(Side::Server)
        } else if key == self.ends[Side::Server].key {
            Some(Side::Client)
        } else {
            None
        }
    }
}

/// The open connections. Each has a dense index, which is reused after it closes.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    slots: Vec<Option<Flow>>,
    free: Vec<u32>,
    open: usize,
    /// The round-trip times of the aggregate-fair connections of each node.
    aggregates: BTreeMap<NodeId, AggregateRtts>,
    /// The number of connections so far.
    opened: u64,
}

impl Flows {
    /// Adds a connection.
    pub(crate) fn insert(&mut self, mut flow: Flow) -> (FlowId, &mut Flow) {
        if flow.ends[Side::Client].tcp.config().congestion == Algorithm::AggregateFair {
            flow = flow.among(&mut self.aggregates);
        }
        self.open += 1;
        let serial = self.opened;
        self.opened += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        (FlowId(index), self.slots[index as usize].insert(Flow { serial, ..flow }))
    }

    /// Removes a connection.
    pub(crate) fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let flow = self.slots[id.index()].take()?;
        self.open -= 1;
        self.free.push(id.0);
        Some(flow)
    }

    /// The connection with this index, if it is still open.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.slots.get_mut(id.index())?.as_mut()
    }

    /// The connection with this index, if it is still open.
    pub(crate) fn get(&self, id: FlowId) -> Option<&Flow> {
        self.slots.get(id.index())?.as_ref()
    }

    /// Prefetches a connection.
    #[inline]
    pub(crate) fn prefetch(&self, id: FlowId) {
        prefetch_element(self.slots.as_ptr(), id.index());
    }

    /// All open connections.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.slots.iter().flatten()
    }

    /// All open connections with their indices.
    pub(crate) fn named(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        let slots = (0..).map(FlowId).zip(&self.slots);
        slots.filter_map(|(id, slot)| Some((id, slot.as_ref()?)))
    }

    /// All open connections, mutable.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.slots.iter_mut().flatten()
    }

    /// The number of open connections.
    pub(crate) fn len(&self) -> usize {
        self.open
    }
}

/// The number of an endpoint as the owner of a timer.
pub(crate) fn owner(id: FlowId, side: Side) -> u32 {
    2 * id.0 + side as u32
}

/// The endpoint with this owner number.
pub(crate) fn endpoint_of(owner: u32) -> (FlowId, Side) {
    (FlowId(owner / 2), if owner.is_multiple_of(2) { Side::Client } else { Side::Server })
}
