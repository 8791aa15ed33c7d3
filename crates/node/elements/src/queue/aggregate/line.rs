//! What one connection of an aggregate wants to send.

use shortflow_packet::Packet;
use shortflow_units::{Duration, Instant};

use crate::Queued;
use crate::packet_store::{PacketList, PacketStore};

/// The waiting packets of one connection, and its place among the others.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) packets: PacketList,
    /// The segment that its TCP has asked for, and may not send yet.
    pub(super) asked: Option<Asked>,
    /// Its TCP asks before it sends, so the packets that come may go.
    pub(super) asks: bool,
    /// The connection with the smallest value is served first.
    pub(super) turn: u64,
    /// The smallest reported value, once there is one.
    pub(super) min_rtt: Option<Duration>,
    /// When its head conforms, if nothing else happens.
    pub(super) due_at: Instant,
}

/// A segment that TCP may not send yet.
#[derive(Debug)]
pub(super) struct Asked {
    /// The packet that it would be, and since when it waits.
    pub(super) head: Queued,
    /// The host's name for the connection.
    pub(super) asker: u32,
}

impl Line {
    /// What leaves next.
    pub(super) fn head<'l>(&'l self, store: &'l PacketStore) -> Option<&'l Queued> {
        self.packets.first(store).or(self.asked.as_ref().map(|asked| &asked.head))
    }

    /// The packet that leaves next.
    pub(super) fn packet<'l>(&'l self, store: &'l PacketStore) -> Option<&'l Packet> {
        self.head(store).map(|head| &head.packet)
    }

    /// Whether anything waits.
    pub(super) fn waits(&self) -> bool {
        !self.packets.is_empty() || self.asked.is_some()
    }
}
