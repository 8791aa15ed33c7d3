//! The congestion control of a connection: one of those there are, without a call through a table.

use shortflow_units::{Bytes, Instant};

use super::{Ack, Aimd, Congestion, CongestionControl, Cubic};
use crate::{Algorithm, Config};

/// The control that a connection has. The rarer one lives apart, so that a connection stays small.
#[derive(Debug)]
pub(crate) enum Controller {
    Aimd(Aimd),
    Cubic(Box<Cubic>),
}

impl Controller {
    /// The control that `config` asks for, starting with `initial_window`.
    pub(crate) fn new(config: &Config, initial_window: Bytes) -> Self {
        let aimd = || Aimd::new(config.mss, initial_window);
        match config.congestion {
            Algorithm::Reno if config.byte_counting => Controller::Aimd(aimd()),
            Algorithm::Reno => Controller::Aimd(aimd().counting_acknowledgements()),
            Algorithm::Cubic => Controller::Cubic(Box::new(Cubic::new(config.mss, initial_window))),
        }
    }
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        match self {
            Controller::Aimd(aimd) => aimd.on_ack(now, ack),
            Controller::Cubic(cubic) => cubic.on_ack(now, ack),
        }
    }

    fn on_congestion(&mut self, now: Instant, event: Congestion, in_flight: Bytes) {
        match self {
            Controller::Aimd(aimd) => aimd.on_congestion(now, event, in_flight),
            Controller::Cubic(cubic) => cubic.on_congestion(now, event, in_flight),
        }
    }

    fn cap_window(&mut self, limit: Bytes) {
        match self {
            Controller::Aimd(aimd) => aimd.cap_window(limit),
            Controller::Cubic(cubic) => cubic.cap_window(limit),
        }
    }

    #[inline]
    fn window(&self) -> Bytes {
        match self {
            Controller::Aimd(aimd) => aimd.window(),
            Controller::Cubic(cubic) => cubic.window(),
        }
    }

    fn is_slow_start(&self) -> bool {
        match self {
            Controller::Aimd(aimd) => aimd.is_slow_start(),
            Controller::Cubic(cubic) => cubic.is_slow_start(),
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
