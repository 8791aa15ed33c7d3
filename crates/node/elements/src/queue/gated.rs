//! A first-in-first-out queue behind a gate.

use shortflow_packet::{Ecn, Packet};
use shortflow_units::{Instant, Rate};

use super::ring::Ring;
use crate::{Arrival, Backlog, Drops, Gate, QueueDiscipline, Queued, Verdict};

/// A FIFO of the packets that its [`Gate`] accepts.
#[derive(Debug)]
pub struct Gated<G> {
    pub(super) gate: G,
    ring: Ring,
    /// The host reports when a packet has left the line.
    is_reported: bool,
}

impl<G: Gate> Gated<G> {
    /// An empty queue behind `gate`.
    pub(super) fn behind(gate: G) -> Self {
        Gated { ring: Ring::new(gate.limit()), gate, is_reported: false }
    }

    /// When a packet that is returned at `now` has left the line.
    #[inline]
    fn left_at(&self, now: Instant) -> Instant {
        if self.is_reported { Instant::NEVER } else { now }
    }
}

impl<G: Gate> QueueDiscipline for Gated<G> {
    fn reserve(&mut self, packets: usize, _flows: usize) {
        self.ring.reserve(packets);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: Packet, drops: &mut Drops) {
        match self.gate.admit(now, Arrival::from(&packet)) {
            Verdict::Pass => {}
            Verdict::Mark => packet.ecn = Ecn::Ce,
            Verdict::Drop(reason) => return drops.push(packet, reason),
        }
        self.ring.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        let queued = self.ring.pop()?;
        self.gate.begin(now, self.left_at(now), Arrival::from(&queued.packet));
        Some(queued)
    }

    /// If no packet waits, an accepted packet is sent at once, without using the ring.
    #[inline]
    fn pass(&mut self, now: Instant, packet: &Packet) -> Option<Verdict> {
        if self.ring.backlog().packets > 0 {
            return None;
        }
        // The last packet may still be on the line, so the gate must not pass this one.
        let arrival = Arrival::from(packet);
        let verdict = self.gate.admit(now, arrival);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.gate.begin(now, self.left_at(now), arrival);
        }
        Some(verdict)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.ring.ready_at()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    #[inline]
    fn departed(&mut self, now: Instant) {
        self.is_reported = true;
        self.gate.departed(now);
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.gate.set_rate(now, rate);
    }

    fn average(&self) -> Option<f64> {
        self.gate.average()
    }

    fn ecn_marks(&self) -> u64 {
        self.gate.ecn_marks()
    }
}
