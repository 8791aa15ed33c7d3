//! Congestion control: how much a sender may have in flight, and how fast it sends.
//!
//! Each control is one file here and one row of [`Algorithm`]: its name, its description, what it requires of
//! the receiver, and its constructor. All files, messages and tables use the rows.

mod aimd;
mod controller;
mod cubic;
mod dctcp;
mod growth;
mod hystart;
mod rate_window;

use std::fmt;

use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::recovery::LossPhase;
use crate::{Config, EchoRule};
use dctcp::Dctcp;
use rate_window::RateWindow;

pub use aimd::Aimd;
pub(crate) use controller::Controller;
pub use cubic::Cubic;
pub use growth::{AggregateRtts, Growth};

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease (RFC 5681 §3.1), as in Reno, NewReno and SACK.
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// DCTCP (RFC 8257).
    Dctcp,
    /// Constant-Rate (Floyd 1991).
    ConstantRate,
    /// Increase-by-K (Henderson et al. 1998).
    IncreaseByK,
    /// Aggregate-fair (Mehra, Tewari & Kandlur 1999, §5).
    AggregateFair,
}

/// The properties of an algorithm.
struct Row {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    echo: EchoRule,
    make: fn(&Config, Bytes) -> Controller,
}

impl Algorithm {
    /// All there are.
    pub const ALL: &[Algorithm] = &[
        Algorithm::Reno,
        Algorithm::Cubic,
        Algorithm::Dctcp,
        Algorithm::ConstantRate,
        Algorithm::IncreaseByK,
        Algorithm::AggregateFair,
    ];

    const fn row(self) -> Row {
        match self {
            Algorithm::Reno => Row {
                name: "reno",
                title: "Reno",
                about: "additive increase, multiplicative decrease (RFC 5681)",
                echo: EchoRule::UntilReduced,
                make: |config, window| Controller::Aimd(aimd(config, window)),
            },
            Algorithm::Cubic => Row {
                name: "cubic",
                title: "CUBIC",
                about: "the window grows as a cubic function of time (RFC 9438)",
                echo: EchoRule::UntilReduced,
                make: |config, window| {
                    let cubic = Cubic::new(config.mss, window).in_form(config.cubic);
                    let cubic =
                        if config.whole_segments { cubic.in_whole_segments() } else { cubic };
                    Controller::new(if config.hystart { cubic.with_hystart() } else { cubic })
                },
            },
            Algorithm::Dctcp => Row {
                name: "dctcp",
                title: "DCTCP",
                about: "decrease in proportion to the share of marked bytes (RFC 8257); requires ecn = true",
                echo: EchoRule::Exact,
                make: |config, window| Controller::new(Dctcp::new(aimd(config, window))),
            },
            Algorithm::ConstantRate => Row {
                name: "constant-rate",
                title: "Constant-Rate",
                about: "Reno, but growth by rtt²/reference_rtt² segments per round trip (Floyd 1991)",
                echo: EchoRule::UntilReduced,
                make: |config, window| {
                    let (reno, mss) = (aimd(config, window), config.mss);
                    Controller::new(Growth::constant_rate(reno, mss, config.reference_rtt))
                },
            },
            Algorithm::IncreaseByK => Row {
                name: "increase-by-k",
                title: "Increase-by-K",
                about: "Reno, but growth by `increase` segments per round trip above reference_rtt (Henderson \
                        et al. 1998)",
                echo: EchoRule::UntilReduced,
                make: |config, window| {
                    let (reno, mss) = (aimd(config, window), config.mss);
                    Controller::new(Growth::by(reno, mss, config.increase, config.reference_rtt))
                },
            },
            Algorithm::AggregateFair => Row {
                name: "aggregate-fair",
                title: "aggregate-fair Reno",
                about: "Reno, but growth by (rtt / mean rtt)² segments per round trip, with the mean over all such \
                        connections of the host (Mehra, Tewari & Kandlur 1999)",
                echo: EchoRule::UntilReduced,
                make: |config, window| {
                    let reno = aimd(config, window);
                    let alone = AggregateRtts::default();
                    Controller::new(Growth::aggregate_fair(reno, config.mss, &alone))
                },
            },
        }
    }

    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in sentences.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// A short description.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// The echo that it requires of the receiver. [`EchoRule::Exact`] requires ECN.
    pub const fn echo(self) -> EchoRule {
        self.row().echo
    }

    /// A control with the settings of `config`, in slow start from `initial_window`.
    pub(crate) fn controller(self, config: &Config, initial_window: Bytes) -> Controller {
        let control = (self.row().make)(config, initial_window);
        bounded(config, control)
    }
}

impl Config {
    /// The aggregate-fair control of a connection of `aggregate`, with these settings.
    pub fn in_aggregate(&self, aggregate: &AggregateRtts) -> Box<dyn CongestionControl> {
        let window = Bytes(u64::from(self.initial_window) * u64::from(self.mss));
        let growth = Growth::aggregate_fair(aimd(self, window), self.mss, aggregate);
        match self.window_rate {
            Some(rate) => Box::new(RateWindow::new(Controller::new(growth), self.mss, rate)),
            None => Box::new(growth),
        }
    }
}

/// `control` with the rate window of `config`, if it has one.
fn bounded(config: &Config, control: Controller) -> Controller {
    match config.window_rate {
        Some(rate) => Controller::new(RateWindow::new(control, config.mss, rate)),
        None => control,
    }
}

fn aimd(config: &Config, initial_window: Bytes) -> Aimd {
    let aimd = Aimd::new(config.mss, initial_window);
    let aimd = if config.byte_counting { aimd } else { aimd.counting_acknowledgements() };
    if config.whole_segments { aimd.in_whole_segments() } else { aimd }
}

/// The content of an acknowledgement of new data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack {
    /// Bytes acknowledged for the first time.
    pub acknowledged: Bytes,
    /// The part of these for which the receiver reports a mark: all or nothing.
    pub marked: Bytes,
    /// The growth of the window in slow start: the acknowledged bytes, up to L segments (RFC 3465 §2.2).
    pub slow_start_increase: Bytes,
    /// Bytes in flight before its arrival.
    pub in_flight: Bytes,
    /// Whether recovery is in progress.
    pub phase: LossPhase,
    /// What limited the sender when it last sent.
    pub limit: Limit,
    /// The round-trip time, if the acknowledgement ends a measurement.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, once there is a sample.
    pub smoothed_rtt: Option<Duration>,
    /// The delivery rate, if the acknowledgement ends a measurement and the control [asks for
    /// it](CongestionControl::is_rate_based).
    pub delivery: Option<Delivery>,
}

impl Ack {
    /// Whether window-based controls may grow: the window was used, no mark was echoed (RFC 3168 §6.1.2), and
    /// fast recovery is not in progress (RFC 5681 §3.2).
    #[inline]
    pub fn opens_window(&self) -> bool {
        self.limit == Limit::Network && self.marked.0 == 0 && self.phase != LossPhase::Fast
    }
}

#[cfg(test)]
impl Ack {
    /// An acknowledgement of `acknowledged` bytes while the window limits the sender.
    pub(crate) fn plain(acknowledged: Bytes, in_flight: Bytes) -> Self {
        Ack {
            acknowledged,
            marked: Bytes(0),
            slow_start_increase: acknowledged,
            in_flight,
            phase: LossPhase::Open,
            limit: Limit::Network,
            rtt: None,
            smoothed_rtt: None,
            delivery: None,
        }
    }
}

/// What limits a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The congestion window, or the pacing rate.
    Network,
    /// The amount of data, or the receiver's window.
    Ends,
}

/// The amount of data delivered over one round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivery {
    /// Bytes acknowledged in the time that sending or acknowledging them took, whichever was longer.
    pub rate: Rate,
    /// The sender ran out of data meanwhile, so the path may be faster.
    pub app_limited: bool,
}

/// Signs of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Duplicate acknowledgements or SACK blocks show a loss.
    Loss,
    /// An ECN echo.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
    /// It expired again for a segment that it had sent again before.
    RepeatedTimeout,
}

/// Decides the congestion window, and the rate of controls that pace. It does not handle segments or timers.
pub trait CongestionControl: fmt::Debug + Send {
    /// An acknowledgement of new data arrived, in any phase.
    fn on_ack(&mut self, now: Instant, ack: &Ack);

    /// A sign of congestion arrived while `in_flight` (FlightSize of RFC 5681) was outstanding. Called once
    /// per window of data. An echo is reported after its acknowledgement.
    fn on_congestion(&mut self, now: Instant, event: Congestion, in_flight: Bytes);

    /// Lowers the window to `limit` if it is larger: after a lost SYN, after an idle time, and where recovery
    /// would end in a burst. The slow-start threshold does not change.
    fn cap_window(&mut self, limit: Bytes);

    /// ssthresh, if it can be [restored](Self::restore).
    fn threshold(&self) -> Option<Bytes> {
        None
    }

    /// A timeout was spurious: restores a window of at least `window`, and `threshold`, the values before it
    /// (RFC 5682 §4). Called only with a value of [`threshold`](Self::threshold).
    fn restore(&mut self, _window: Bytes, _threshold: Bytes) {}

    /// The congestion window; at least one full segment.
    fn window(&self) -> Bytes;

    /// Whether the window is below the slow-start threshold.
    fn is_slow_start(&self) -> bool;

    /// Whether it requires delivery rates, and pacing of new data.
    fn is_rate_based(&self) -> bool {
        false
    }

    /// The rate of new data; `None` is as fast as the window allows. Called only if the control [is
    /// rate-based](Self::is_rate_based).
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The echo that it requires of the receiver.
    fn echo(&self) -> EchoRule {
        EchoRule::UntilReduced
    }
}
