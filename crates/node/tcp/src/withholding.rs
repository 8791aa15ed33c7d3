//! What a sender does where its output gate withholds a segment.

use shortflow_units::Instant;

use crate::gate::{Delayed, OutputGate};
use crate::sender::{Chunk, Sender, Urgent};

impl Sender {
    /// The gate withholds the data from `next` on. The windows had room, so they do not grow for it, and a
    /// delivery rate sample that ends now underestimates the path.
    #[cold]
    pub(crate) fn withhold(&mut self) -> Option<Chunk> {
        if let Some(rates) = &mut self.rates {
            rates.on_app_limited();
        }
        if self.next < self.max {
            self.delayed = Delayed::ByGate;
        }
        self.hold_back()
    }

    /// Whether the gate lets a retransmission or a probe of `payload` bytes leave.
    pub(crate) fn may_repair(
        &mut self,
        now: Instant,
        payload: u64,
        gate: &mut impl OutputGate,
    ) -> bool {
        let may_send = gate.may_send(now, payload as u16);
        if !may_send {
            self.delayed = Delayed::ByGate;
        }
        may_send
    }

    /// Before the gate is asked again. If the data are acknowledged that it withheld, they are no longer urgent.
    /// Returns whether it still withholds a retransmission or a probe.
    pub(crate) fn take_withheld(&mut self) -> bool {
        let delayed = self.delayed;
        if delayed == Delayed::InVain && self.urgent != Urgent::Pause {
            self.urgent = Urgent::Nothing;
        }
        self.delayed = delayed.without_gate();
        delayed == Delayed::ByGate
    }

    /// Sets what is sent next. It does not replace anything that a gate withholds.
    pub(crate) fn urge(&mut self, urgent: Urgent) {
        self.urgent = urgent;
        self.delayed = self.delayed.without_gate();
    }
}
