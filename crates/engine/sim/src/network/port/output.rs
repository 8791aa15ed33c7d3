//! A port whose queue decides when the TCPs of its host may send.

use shortflow_packet::{FlowKey, Packet};
use shortflow_units::Instant;

use super::{Buffer, Changed, Port, Served};

impl Port {
    /// Whether the TCPs of its host ask it before they send.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(&self.buffer, Buffer::Policy(served) if served.is_asked)
    }

    /// Whether a connection of this host, which it calls `asker`, may send `packet` at `now`.
    pub(crate) fn ask(&mut self, now: Instant, packet: Packet, asker: u32) -> (bool, Changed) {
        let served = self.asked(now);
        let gate = served.gate().expect("only a queue that withholds is asked");
        let may_send = gate.ask(now, packet, asker);
        (may_send, self.change_departure(now))
    }

    /// The connection that may go on at `now`.
    pub(crate) fn next_asker(&mut self, now: Instant) -> (Option<u32>, Changed) {
        let asker = self.asked(now).gate().and_then(|gate| gate.next(now));
        (asker, self.change_departure(now))
    }

    /// Whether a connection may go on.
    pub(crate) fn has_asker(&mut self) -> bool {
        let Buffer::Policy(served) = &mut self.buffer else { return false };
        served.gate().is_some_and(|gate| gate.has_next())
    }

    /// The connection with this name is gone.
    pub(crate) fn forget_asker(&mut self, now: Instant, key: &FlowKey) -> Changed {
        if let Some(gate) = self.asked(now).gate() {
            gate.forget(now, key);
        }
        self.change_departure(now)
    }

    fn asked(&mut self, now: Instant) -> &mut Served {
        let Buffer::Policy(served) = &mut self.buffer else {
            unreachable!("a queue that is asked is a policy's")
        };
        served.tell(now, self.line.free_at);
        served
    }

    /// Computes again when the queue is asked next: at once if a packet may leave that was released before `now`.
    pub(super) fn change_departure(&mut self, now: Instant) -> Changed {
        let Buffer::Policy(served) = &mut self.buffer else { return Changed::default() };
        let departs_at = served.next_at(self.line.free_at).max(now);
        let before = std::mem::replace(&mut served.departs_at, departs_at);
        Changed { sent: None, departure: departs_at != before }
    }
}
