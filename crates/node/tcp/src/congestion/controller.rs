//! The congestion control of a connection. The common one needs no virtual call.

use shortflow_units::{Bytes, Instant, Rate};

use super::{Ack, Aimd, Congestion, CongestionControl};
use crate::EchoRule;

/// A connection's congestion control. Rare ones are boxed, so that a connection stays small.
#[derive(Debug)]
pub(crate) enum Controller {
    Aimd(Aimd),
    Other(Box<Box<dyn CongestionControl>>),
}

impl Controller {
    pub(crate) fn new(control: impl CongestionControl + 'static) -> Self {
        Controller::Other(Box::new(Box::new(control)))
    }
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        match self {
            Controller::Aimd(aimd) => aimd.on_ack(now, ack),
            Controller::Other(other) => {
                // Only this copy has an address, so that the common control reads registers.
                let copy = *ack;
                other.on_ack(now, &copy);
            }
        }
    }

    fn on_congestion(&mut self, now: Instant, event: Congestion, in_flight: Bytes) {
        match self {
            Controller::Aimd(aimd) => aimd.on_congestion(now, event, in_flight),
            Controller::Other(other) => other.on_congestion(now, event, in_flight),
        }
    }

    fn cap_window(&mut self, limit: Bytes) {
        match self {
            Controller::Aimd(aimd) => aimd.cap_window(limit),
            Controller::Other(other) => other.cap_window(limit),
        }
    }

    fn threshold(&self) -> Option<Bytes> {
        match self {
            Controller::Aimd(aimd) => aimd.threshold(),
            Controller::Other(other) => other.threshold(),
        }
    }

    fn restore(&mut self, window: Bytes, threshold: Bytes) {
        match self {
            Controller::Aimd(aimd) => aimd.restore(window, threshold),
            Controller::Other(other) => other.restore(window, threshold),
        }
    }

    #[inline]
    fn window(&self) -> Bytes {
        match self {
            Controller::Aimd(aimd) => aimd.window(),
            Controller::Other(other) => other.window(),
        }
    }

    fn is_slow_start(&self) -> bool {
        match self {
            Controller::Aimd(aimd) => aimd.is_slow_start(),
            Controller::Other(other) => other.is_slow_start(),
        }
    }

    fn is_rate_based(&self) -> bool {
        match self {
            Controller::Aimd(aimd) => aimd.is_rate_based(),
            Controller::Other(other) => other.is_rate_based(),
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match self {
            Controller::Aimd(aimd) => aimd.pacing_rate(),
            Controller::Other(other) => other.pacing_rate(),
        }
    }

    fn echo(&self) -> EchoRule {
        match self {
            Controller::Aimd(aimd) => aimd.echo(),
            Controller::Other(other) => other.echo(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_as_small_as_the_common_one() {
        assert_eq!(size_of::<Controller>(), 16);
    }
}
