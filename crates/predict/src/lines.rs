//! The lines of a scenario: how fast they are, and how packets wait before them.

use std::sync::Arc;

use shortflow_elements::classifier::DscpTable;
use shortflow_elements::dropper::{GilbertElliottParams, LossParams};
use shortflow_elements::queue::{self, BandOf};
use shortflow_elements::{Dscp, Packet};
use shortflow_models::red::{AboveMax, Level, Spacing};
use shortflow_policy::QueuePlan;
use shortflow_run::{port_name, ports, role_at};
use shortflow_scenario::{Direction, Line as Described, NodeId, Scenario};
use shortflow_units::{Length, Probability};

/// A direction of a link, and what waits before it.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Its name in results.
    pub(crate) name: String,
    /// The node that sends.
    pub(crate) from: NodeId,
    /// The node at the far end.
    pub(crate) to: NodeId,
    /// Bytes per second, of its shaper where it has one; and the part of what the line carries that this is.
    pub(crate) rate: f64,
    pub(crate) part: f64,
    /// Seconds of propagation.
    pub(crate) delay: f64,
    /// Bytes that are added to each packet.
    pub(crate) overhead: f64,
    /// The probability that the link loses a packet.
    pub(crate) link_loss: f64,
    /// Whether it loses packets in bursts.
    pub(crate) loses_in_bursts: bool,
    /// Which packets go first.
    pub(crate) order: Order,
    /// The seconds that each flow may wait for where each has its turn (RFC 8289 §4.3).
    pub(crate) target: f64,
    /// Queues that are served one after another; one where packets go as they came.
    pub(crate) bands: Vec<Band>,
    band_of: BandRule,
    /// The role that conditions packets where they go out to it, and that where they come in from it, as places among the
    /// policy's.
    pub(crate) conditioned: [Option<usize>; 2],
    /// Why there is no closed form for its queue, if there is none.
    pub(crate) lacks: Option<String>,
}

/// Which packets go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Those of a band before those of the next, in a band as they came.
    Bands,
    /// Each flow in its turn.
    Fair,
    /// The flow that has sent least.
    LeastAttained,
}

/// A queue of a line, first in, first out.
#[derive(Debug, Clone)]
pub(crate) struct Band {
    /// Its room.
    pub(crate) limit: Length,
    /// The drop curves of its RED, if it has one, the best protected first.
    pub(crate) curves: Vec<Curve>,
    /// How drops are spread.
    pub(crate) spacing: Spacing,
    /// Whether it marks packets of who understands that, instead of dropping them.
    pub(crate) marks: bool,
    level_of: Option<Arc<QueuePlan>>,
}

/// A drop curve in packets or in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curve {
    min: Length,
    max: Length,
    max_probability: f64,
    above_max: AboveMax,
}

/// Which band a packet belongs to.
#[derive(Debug, Clone)]
enum BandRule {
    First,
    Strict(Arc<QueuePlan>),
    Shared(Arc<QueuePlan>),
}

/// The place among the policy's roles of that which conditions packets at `node` in this direction.
fn conditions(scenario: &Scenario, node: NodeId, direction: Direction) -> Option<usize> {
    let role = role_at(scenario, node, direction).filter(|role| role.conditions())?;
    scenario.policy.as_ref()?.roles.iter().position(|one| one.name == role.name)
}

impl Line {
    fn new(scenario: &Scenario, (from, to, line): (NodeId, NodeId, &Described)) -> Line {
        let (link_loss, loses_in_bursts) = match &line.loss {
            Some(LossParams::Bernoulli(each)) => (each.loss.get(Dscp::BEST_EFFORT).value(), false),
            Some(LossParams::GilbertElliott(both)) => (mean_loss(both), true),
            None => (0.0, false),
        };
        let by_code_point = match &line.loss {
            Some(LossParams::Bernoulli(each)) => {
                each.loss.values().any(|loss| loss.value() != link_loss)
            }
            _ => false,
        };
        let mut found = Line {
            name: port_name(scenario, from, to),
            from,
            to,
            rate: line.rate.bytes_per_sec(),
            part: 1.0,
            delay: line.delay.as_secs_f64(),
            overhead: f64::from(line.overhead),
            link_loss,
            loses_in_bursts,
            order: Order::Bands,
            target: 0.0,
            bands: vec![Band::plain(line.limit)],
            band_of: BandRule::First,
            conditioned: [
                conditions(scenario, from, Direction::To(to)),
                conditions(scenario, to, Direction::From(from)),
            ],
            lacks: None,
        };
        if by_code_point {
            found.lacks = Some(format!("losses by code point, as at {}", found.name));
            return found;
        }
        let role = role_at(scenario, from, Direction::To(to));
        if let Some((role, queue)) = role.and_then(|role| Some((role, role.queue.as_ref()?))) {
            found.lacks = found.take(queue).err().map(|what| {
                format!("{what}, as that of the role `{}` at {}", role.name, found.name)
            });
        }
        found
    }

    /// Takes a policy's queue; else in words what has no closed form.
    fn take(&mut self, queue: &QueuePlan) -> Result<(), String> {
        match queue {
            QueuePlan::Fifo(_) | QueuePlan::Red(_) | QueuePlan::MultiRed(_) => {
                self.bands = vec![Band::of(queue)?];
            }
            QueuePlan::StrictPriority(turns) => {
                let bands = turns.classes().iter().map(|(_, queue)| Band::of(queue));
                self.bands = bands.collect::<Result<_, _>>()?;
                self.band_of = BandRule::Strict(Arc::new(queue.clone()));
            }
            QueuePlan::SharedPriority(shared) => {
                self.bands = vec![Band::plain(shared.limit()); shared.bands()];
                self.band_of = BandRule::Shared(Arc::new(queue.clone()));
            }
            QueuePlan::FqCodel(fair) => {
                self.order = Order::Fair;
                self.target = fair.settings().codel.target().as_secs_f64();
            }
            QueuePlan::Stf(stf) => {
                self.order = Order::LeastAttained;
                self.bands = vec![Band::plain(stf.limit())];
            }
            QueuePlan::Shaper(shaper) => {
                let shaped = self.rate.min(shaper.params().rate().bytes_per_sec());
                self.part *= shaped / self.rate;
                self.rate = shaped;
                self.overhead += shaper.params().overhead().0 as f64;
                self.take(shaper.queue())?;
            }
            other => return Err(format!("a queue of the kind `{}`", other.scheme())),
        }
        Ok(())
    }

    /// Seconds for a packet of so many bytes.
    pub(crate) fn time(&self, bytes: f64) -> f64 {
        (bytes + self.overhead) / self.rate
    }

    /// Whether it treats packets by what is written in them.
    pub(crate) fn tells_apart(&self) -> bool {
        self.bands.len() > 1 || self.bands.iter().any(|band| band.curves.len() > 1)
    }

    /// The band of a packet, and its level there.
    pub(crate) fn place(&self, packet: &Packet) -> (usize, usize) {
        let last = self.bands.len() - 1;
        let band = match &self.band_of {
            BandRule::First => 0,
            BandRule::Strict(plan) => match &**plan {
                QueuePlan::StrictPriority(turns) => {
                    turns.classifier().classify(packet).unwrap_or(last)
                }
                _ => unreachable!("the rule was made of such a queue"),
            },
            BandRule::Shared(plan) => match &**plan {
                QueuePlan::SharedPriority(shared) => match shared.band_of() {
                    BandOf::CodePoint(table) => table.get(packet.dscp) as usize,
                    BandOf::Rules { classifier, otherwise } => {
                        classifier.classify(packet).unwrap_or(*otherwise)
                    }
                },
                _ => unreachable!("the rule was made of such a queue"),
            },
        };
        (band, self.bands[band].level(packet.dscp))
    }
}

impl Band {
    fn plain(limit: Length) -> Band {
        Band {
            limit,
            curves: Vec::new(),
            spacing: Spacing::Independent,
            marks: false,
            level_of: None,
        }
    }

    /// A queue inside a band; else in words what has no closed form.
    fn of(queue: &QueuePlan) -> Result<Band, String> {
        match queue {
            QueuePlan::Fifo(fifo) => Ok(Band::plain(fifo.limit())),
            QueuePlan::Red(red) | QueuePlan::MultiRed(red) => {
                if red.spare_below() > 0 || red.byte_mode() {
                    return Err("RED that looks at single packets".to_owned());
                }
                if red.averages() != queue::Averages::Shared && red.curves().len() > 1 {
                    return Err("RED with an average for each level".to_owned());
                }
                let curve = |curve: &queue::DropCurve| Curve {
                    min: curve.min_threshold(),
                    max: curve.max_threshold(),
                    max_probability: curve.max_probability(),
                    above_max: match curve.above_max() {
                        queue::AboveMax::Forced => AboveMax::Forced,
                        queue::AboveMax::Gentle => AboveMax::Gentle,
                    },
                };
                Ok(Band {
                    limit: red.limit(),
                    curves: red.curves().iter().map(curve).collect(),
                    spacing: Spacing::Uniform,
                    marks: red.marks(),
                    level_of: Some(Arc::new(queue.clone())),
                })
            }
            other => Err(format!("a queue of the kind `{}` in a band", other.scheme())),
        }
    }

    fn level(&self, dscp: Dscp) -> usize {
        match self.level_of.as_deref() {
            Some(QueuePlan::Red(red) | QueuePlan::MultiRed(red)) => red.level_of(dscp),
            _ => 0,
        }
    }

    /// How many levels of protection it has.
    pub(crate) fn levels(&self) -> usize {
        self.curves.len().max(1)
    }

    /// The room in packets of so many bytes.
    pub(crate) fn room(&self, packet: f64) -> f64 {
        packets(self.limit, packet)
    }

    /// The curves in packets of so many bytes.
    pub(crate) fn curves_in(&self, packet: f64) -> Vec<Level> {
        let level = |curve: &Curve| Level {
            min_threshold: packets(curve.min, packet),
            max_threshold: packets(curve.max, packet),
            max_probability: curve.max_probability,
            above_max: curve.above_max,
        };
        self.curves.iter().map(level).collect()
    }
}

/// The share of packets that a link loses over all of its states.
fn mean_loss(link: &GilbertElliottParams) -> f64 {
    let of = |table: &DscpTable<Probability>| table.get(Dscp::BEST_EFFORT).value();
    let bad = link.bad_share();
    (1.0 - bad) * of(link.loss_good()) + bad * of(link.loss_bad())
}

fn packets(length: Length, packet: f64) -> f64 {
    match length {
        Length::Packets(packets) => packets as f64,
        Length::Bytes(bytes) => bytes.0 as f64 / packet,
    }
}

/// All lines, forward then back in the order of the links.
pub(crate) fn lines(scenario: &Scenario) -> Vec<Line> {
    ports(scenario).map(|port| Line::new(scenario, port)).collect()
}

/// Where packets go between two nodes, line by line, and where what answers them comes back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Way {
    /// The two nodes.
    pub(crate) ends: (NodeId, NodeId),
    /// The lines to the second node.
    pub(crate) there: Vec<usize>,
    /// The lines back.
    pub(crate) back: Vec<usize>,
}

/// The ways of these pairs.
pub(crate) fn ways(scenario: &Scenario, lines: &[Line], pairs: &[(NodeId, NodeId)]) -> Vec<Way> {
    let turned: Vec<_> = pairs.iter().map(|&(from, to)| (to, from)).collect();
    let both = scenario.ways(pairs).into_iter().zip(scenario.ways(&turned));
    let in_order = |from: NodeId, passed: Vec<usize>| {
        let mut at = from;
        let mut found = Vec::with_capacity(passed.len());
        while let Some(&next) = passed.iter().find(|line| lines[**line].from == at)
            && found.len() < passed.len()
        {
            found.push(next);
            at = lines[next].to;
        }
        found
    };
    both.zip(pairs)
        .map(|((there, back), &(from, to))| Way {
            ends: (from, to),
            there: in_order(from, there),
            back: in_order(to, back),
        })
        .collect()
}
