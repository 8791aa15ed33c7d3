//! The lines of a scenario, what is offered to them, and the ways of its traffic over them.

use shortflow_elements::dropper::LossParams;
use shortflow_elements::{Dscp, queue};
use shortflow_models::red::{AboveMax, Level, Spacing};
use shortflow_policy::QueuePlan;
use shortflow_run::{port_name, ports, role_at};
use shortflow_scenario::{Direction, Line as Described, NodeId, Scenario};
use shortflow_units::Length;

/// A direction of a link, and what waits before it.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Its name in results.
    pub(crate) name: String,
    /// Bytes per second.
    pub(crate) rate: f64,
    /// Seconds of propagation.
    pub(crate) delay: f64,
    /// Bytes that are added to each packet.
    pub(crate) overhead: f64,
    /// The probability that the link loses a packet.
    pub(crate) link_loss: f64,
    /// The room of its queue.
    pub(crate) limit: Length,
    /// The curve of its RED, if it has one, with how drops are spread.
    pub(crate) red: Option<(Curve, Spacing)>,
    /// What comes to it whatever the network does.
    pub(crate) streams: Vec<Stream>,
}

/// A drop curve in packets or in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curve {
    min: Length,
    max: Length,
    max_probability: f64,
    above_max: AboveMax,
}

/// Packets of a workload that come to a line whatever the network does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    /// Packets per second.
    pub(crate) rate: f64,
    /// Seconds that one takes on the line, on average.
    pub(crate) service: f64,
    /// The mean square of that.
    pub(crate) square: f64,
    /// Whether they come in the bursts of windows.
    pub(crate) is_tcp: bool,
}

impl Line {
    fn new(scenario: &Scenario, (from, to, line): (NodeId, NodeId, &Described)) -> Line {
        let queue = role_at(scenario, from, Direction::To(to)).and_then(|role| role.queue.as_ref());
        let (limit, red) = match queue {
            Some(QueuePlan::Fifo(fifo)) => (fifo.limit(), None),
            Some(QueuePlan::Red(red)) => {
                let curve = &red.curves()[red.level_of(Dscp::BEST_EFFORT)];
                let curve = Curve {
                    min: curve.min_threshold(),
                    max: curve.max_threshold(),
                    max_probability: curve.max_probability(),
                    above_max: match curve.above_max() {
                        queue::AboveMax::Forced => AboveMax::Forced,
                        queue::AboveMax::Gentle => AboveMax::Gentle,
                    },
                };
                (red.limit(), Some((curve, Spacing::Uniform)))
            }
            _ => (line.limit, None),
        };
        let link_loss = match &line.loss {
            Some(LossParams::Bernoulli(bernoulli)) => bernoulli.loss.get(Dscp::BEST_EFFORT).value(),
            _ => 0.0,
        };
        Line {
            name: port_name(scenario, from, to),
            rate: line.rate.bytes_per_sec(),
            delay: line.delay.as_secs_f64(),
            overhead: f64::from(line.overhead),
            link_loss,
            limit,
            red,
            streams: Vec::new(),
        }
    }

    /// Seconds for a packet of so many bytes.
    pub(crate) fn time(&self, bytes: f64) -> f64 {
        (bytes + self.overhead) / self.rate
    }

    /// The share of time that goes to what comes whatever the network does.
    pub(crate) fn load(&self) -> f64 {
        self.streams.iter().map(|stream| stream.rate * stream.service).sum()
    }

    /// The room in packets of so many bytes.
    pub(crate) fn room(&self, packet: f64) -> f64 {
        packets(self.limit, packet)
    }
}

impl Curve {
    /// In packets of so many bytes.
    pub(crate) fn level(&self, packet: f64) -> Level {
        Level {
            min_threshold: packets(self.min, packet),
            max_threshold: packets(self.max, packet),
            max_probability: self.max_probability,
            above_max: self.above_max,
        }
    }
}

fn packets(length: Length, packet: f64) -> f64 {
    match length {
        Length::Packets(packets) => packets as f64,
        Length::Bytes(bytes) => bytes.0 as f64 / packet,
    }
}

/// All lines, forward then back in the order of the links, with nothing on them.
pub(crate) fn lines(scenario: &Scenario) -> Vec<Line> {
    ports(scenario).map(|port| Line::new(scenario, port)).collect()
}

/// Where packets go between two nodes, and where what answers them comes back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Way {
    /// The lines to the second node.
    pub(crate) there: Vec<usize>,
    /// The lines back.
    pub(crate) back: Vec<usize>,
}

/// The ways of these pairs.
pub(crate) fn ways(scenario: &Scenario, pairs: &[(NodeId, NodeId)]) -> Vec<Way> {
    let turned: Vec<_> = pairs.iter().map(|&(from, to)| (to, from)).collect();
    let both = scenario.ways(pairs).into_iter().zip(scenario.ways(&turned));
    both.map(|(there, back)| Way { there, back }).collect()
}
