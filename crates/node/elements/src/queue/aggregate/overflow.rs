//! Chooses the connection that loses a packet when the common limit is exceeded.

use shortflow_packet::Packet;
use shortflow_units::Length;

use super::AggregateShaper;
use crate::queue::ring::fits;
use crate::{Backlog, DropReason, Drops};

impl AggregateShaper {
    /// Pushes out packets of connections that hold more behind their first packet than the connection of
    /// `packet` would, until `packet` fits. Returns false if it does not fit in the end. Under a limit in
    /// bytes, some packets may be pushed out anyway. One step per waiting connection, if the limit is
    /// reached.
    pub(super) fn make_room(&mut self, packet: &Packet, drops: &mut Drops) -> bool {
        let limit = self.params.limit;
        if fits(limit, self.backlog, packet) {
            return true;
        }
        if self.is_common() || !fits(limit, Backlog::default(), packet) {
            return false;
        }
        let own = self.connections.find(&packet.key);
        let line = own.and_then(|number| self.lines.get(number as usize));
        let mut with_arrival = Backlog::default();
        if let Some(line) = line.filter(|line| !line.packets.is_empty()) {
            with_arrival = line.packets.behind_first(&self.store);
            with_arrival.add(packet);
        }
        while !fits(limit, self.backlog, packet) {
            match self.longest() {
                Some((longest, place)) if longest > length(limit, with_arrival) => {
                    self.push_out(place, drops);
                }
                _ => return false,
            }
        }
        true
    }

    /// The longest waiting connection, and its index. If several are equal, the one that waits first.
    fn longest(&self) -> Option<(u64, usize)> {
        let each = self.waiting.iter().enumerate().filter_map(|(place, &number)| {
            let behind = self.lines[number as usize].packets.behind_first(&self.store);
            (behind.packets > 0).then(|| (length(self.params.limit, behind), place))
        });
        each.reduce(|longest, other| if other.0 > longest.0 { other } else { longest })
    }

    /// Drops the newest packet of the connection at `place`, which has more than one.
    fn push_out(&mut self, place: usize, drops: &mut Drops) {
        let number = self.waiting[place];
        let packets = &mut self.lines[number as usize].packets;
        let queued = packets.pop_newest(&mut self.store).expect("more than one waits");
        self.backlog.remove(&queued.packet);
        drops.push(queued.packet, DropReason::PushedOut);
    }
}

/// In the unit of `limit`.
fn length(limit: Length, held: Backlog) -> u64 {
    match limit {
        Length::Packets(_) => held.packets,
        Length::Bytes(_) => held.bytes.0,
    }
}
