//! Packets from one device to the other: conditioned, queued, and sent by a line.

use shortflow_elements::{
    Backlog, ClassCounters, Conditioner, DropReason, Drops, QueueDiscipline, Queued,
};
use shortflow_packet::Packet;
use shortflow_units::Instant;

use crate::line::Line;

/// The elements of one direction. It knows neither sockets nor clocks.
pub struct Direction {
    conditioner: Option<Conditioner>,
    queue: Box<dyn QueueDiscipline>,
    line: Line,
    /// The queue is not yet notified that its last packet has left.
    is_sending: bool,
    drops: Drops,
    dropped: [u64; DropReason::ALL.len()],
}

impl Direction {
    pub(crate) fn new(
        conditioner: Option<Conditioner>,
        queue: Box<dyn QueueDiscipline>,
        line: Line,
    ) -> Self {
        let (drops, dropped) = (Drops::with_room_for(64), [0; DropReason::ALL.len()]);
        Direction { conditioner, queue, line, is_sending: false, drops, dropped }
    }

    /// Takes a packet that arrives at `now`. Calls `release` for each packet that is dropped, which may be others.
    pub fn arrive(&mut self, now: Instant, mut packet: Packet, release: impl FnMut(&Packet)) {
        let refused = self
            .conditioner
            .as_mut()
            .and_then(|conditioner| conditioner.condition(now, &mut packet, None));
        match refused {
            Some(reason) => self.drops.push(packet, reason),
            None => {
                self.tell(now);
                self.queue.enqueue(now, packet, &mut self.drops);
            }
        }
        self.count_drops(release);
    }

    /// When the last packet that departed has left the line.
    pub fn free_at(&self) -> Instant {
        self.line.free_at()
    }

    /// When the next packet may leave; `None` if none waits.
    pub fn next_at(&self) -> Option<Instant> {
        self.queue.ready_at().map(|ready| ready.max(self.line.free_at()))
    }

    /// The next packet, if one is due by `now`. The line begins to send it when it was due, unless that was long ago.
    pub fn depart(&mut self, now: Instant, release: impl FnMut(&Packet)) -> Option<Packet> {
        let due = self.next_at().filter(|due| *due <= now)?;
        let at = Line::begins(due, now);
        self.tell(at);
        let next = self.queue.dequeue(at, &mut self.drops);
        self.count_drops(release);
        let Queued { packet, .. } = next?;
        self.line.send(at, packet.size);
        self.is_sending = true;
        Some(packet)
    }

    /// What waits.
    pub(crate) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The number of dropped packets by reason, without reasons that never occurred.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().zip(self.dropped).filter(|(_, count)| *count > 0)
    }

    /// The counters of the classes.
    pub(crate) fn classes(&self) -> Vec<ClassCounters> {
        self.conditioner.as_ref().map(Conditioner::counters).unwrap_or_default()
    }

    /// The number of packets that the queue has marked by ECN.
    pub(crate) fn ecn_marks(&self) -> u64 {
        self.queue.ecn_marks()
    }

    /// Notifies the queue, before any other call at `now`, that its last packet has left.
    fn tell(&mut self, now: Instant) {
        if self.is_sending && self.line.free_at() <= now {
            self.queue.departed(self.line.free_at());
            self.is_sending = false;
        }
    }

    fn count_drops(&mut self, mut release: impl FnMut(&Packet)) {
        for dropped in self.drops.drain() {
            self.dropped[dropped.reason as usize] += 1;
            release(&dropped.packet);
        }
    }
}
