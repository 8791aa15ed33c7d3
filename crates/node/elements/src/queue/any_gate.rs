//! Static dispatch over all gates.

use shortflow_units::{Instant, Length, Rate};

use super::{RedGate, TailDrop};
use crate::{Arrival, Gate, Verdict};

/// One of the gates. A host calls it at every packet and every transmission. It is therefore an enum instead
/// of a trait object, so that calls are inlined.
#[derive(Debug)]
pub enum AnyGate {
    /// The gate of a [`Fifo`](super::Fifo).
    TailDrop(TailDrop),
    /// The gate of a [`Red`](super::Red).
    Red(Box<RedGate>),
}

impl From<TailDrop> for AnyGate {
    fn from(gate: TailDrop) -> Self {
        AnyGate::TailDrop(gate)
    }
}

impl From<RedGate> for AnyGate {
    fn from(gate: RedGate) -> Self {
        AnyGate::Red(Box::new(gate))
    }
}

/// Calls the gate.
macro_rules! ask {
    ($any:expr, $gate:ident => $question:expr) => {
        match $any {
            AnyGate::TailDrop($gate) => $question,
            AnyGate::Red($gate) => $question,
        }
    };
}

impl Gate for AnyGate {
    #[inline(always)]
    fn admit(&mut self, now: Instant, packet: Arrival) -> Verdict {
        ask!(self, gate => gate.admit(now, packet))
    }

    #[inline(always)]
    fn begin(&mut self, now: Instant, left_at: Instant, packet: Arrival) {
        ask!(self, gate => gate.begin(now, left_at, packet));
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, left_at: Instant, packet: Arrival) -> Verdict {
        ask!(self, gate => gate.pass(now, left_at, packet))
    }

    fn departed(&mut self, now: Instant) {
        ask!(self, gate => gate.departed(now));
    }

    fn limit(&self) -> Length {
        ask!(self, gate => gate.limit())
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        ask!(self, gate => gate.set_rate(now, rate));
    }

    fn average(&self) -> Option<f64> {
        ask!(self, gate => gate.average())
    }

    fn ecn_marks(&self) -> u64 {
        ask!(self, gate => gate.ecn_marks())
    }
}
