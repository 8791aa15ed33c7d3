//! Chooses the connection that loses a packet when the common limit is exceeded.

use shortflow_packet::Packet;
use shortflow_units::{Instant, Length};

use super::{Connection, SourceScheduler};
use crate::queue::fits;
use crate::{Backlog, DropReason, Drops};

/// By how much a connection exceeds its share: its class (the last one loses first), then what it holds
/// behind its first packet relative to its weight, to 2⁻³². Each connection of a class therefore keeps a
/// packet.
type Excess = (u8, u128);

impl SourceScheduler {
    /// Pushes out packets of connections that exceed their share more than the one at `place` would with
    /// `packet`, until `packet` fits. Returns false if it does not fit in the end. Under a limit in bytes,
    /// some packets may be pushed out anyway.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        now: Instant,
        place: usize,
        packet: &Packet,
        drops: &mut Drops,
    ) -> bool {
        let limits = &self.params.limits;
        let (limit, of_connection) = (limits.limit, limits.limit_per_connection);
        let held = self.connections[place].packets.backlog();
        let fits_alone = fits(limit, Backlog::default(), packet);
        if !fits_alone || !of_connection.is_none_or(|limit| fits(limit, held, packet)) {
            return false;
        }
        let mut with_arrival = self.connections[place].packets.behind_first(&self.store);
        if held.packets > 0 {
            with_arrival.add(packet);
        }
        let own = self.excess(&self.connections[place], with_arrival);
        while !fits(limit, self.backlog, packet) {
            match self.furthest_over() {
                Some((excess, victim)) if excess > own => self.push_out(now, victim, drops),
                _ => return false,
            }
        }
        true
    }

    fn excess(&self, connection: &Connection, behind_first: Backlog) -> Excess {
        let length = match self.params.limits.limit {
            Length::Packets(_) => behind_first.packets,
            Length::Bytes(_) => behind_first.bytes.0,
        };
        (connection.class, (u128::from(length) << 32) / u128::from(connection.weight))
    }

    /// If several are equal, the first by index.
    fn furthest_over(&self) -> Option<(Excess, usize)> {
        let waiting = self.connections.iter().enumerate();
        let waiting = waiting.filter(|(_, connection)| !connection.packets.is_empty());
        let each = waiting.map(|(place, connection)| {
            (self.excess(connection, connection.packets.behind_first(&self.store)), place)
        });
        each.reduce(|furthest, other| if other.0 > furthest.0 { other } else { furthest })
    }

    /// Drops the newest packet of the connection at `place`.
    fn push_out(&mut self, now: Instant, place: usize, drops: &mut Drops) {
        let connection = &mut self.connections[place];
        let queued = connection.packets.pop_newest(&mut self.store).expect("it waits");
        self.backlog.remove(&queued.packet);
        drops.push(queued.packet, DropReason::PushedOut);
        if !self.connections[place].packets.is_empty() {
            return;
        }
        self.rounds.leave(&self.connections[place], place);
        self.close(place);
        // Its head may have been the packet that could leave.
        let can_go = self.ready_at.is_some_and(|ready_at| ready_at <= now);
        if !can_go || self.next().is_none() {
            self.earn_tokens(now);
            self.remark(now);
            self.ready_at = self.find_ready_at(now);
        }
    }
}
