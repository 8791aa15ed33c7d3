//! The lines of a scenario: their rates, and their queues.

use shortflow_elements::classifier::DscpTable;
use shortflow_elements::dropper::{GilbertElliottParams, LossParams};
use shortflow_elements::queue::{Place, ShaperSettings};
use shortflow_elements::sharing::Sharing;
use shortflow_packet::{Dscp, Packet};
use shortflow_policy::QueuePlan;
use shortflow_run::{port_name, ports, role_at};
use shortflow_scenario::{Direction, Line as Described, NodeId, Scenario, Workload, WorkloadKind};
use shortflow_units::{LinkLayer, Probability, Rate};

use crate::band::Band;
use crate::profile::Profile;
use crate::queues::Bands;

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
    /// What a packet takes at the line and at each shaper before it, with the bytes per second of each.
    framing: Vec<(LinkLayer, f64)>,
    /// The bytes that each shaper lets through at once after a pause.
    bursts: Vec<f64>,
    /// The probability that the link loses a packet.
    pub(crate) link_loss: f64,
    /// Whether it loses packets in bursts.
    pub(crate) loses_in_bursts: bool,
    /// Whether it loses some code points more than others.
    loses_by_code_point: bool,
    /// Its queues.
    pub(crate) queues: Bands,
    /// The profiles that hold packets up before it.
    pub(crate) profiles: Vec<Profile>,
    /// The role that conditions packets where they go out to it, and that where they come in from it, as places among the
    /// policy's.
    pub(crate) conditioned: [Option<usize>; 2],
    /// Why its queue has no closed form, if so.
    pub(crate) lacks: Option<String>,
}

/// The place among the policy's roles of that which conditions packets at `node` in this direction.
fn conditions(scenario: &Scenario, node: NodeId, direction: Direction) -> Option<usize> {
    let role = role_at(scenario, node, direction).filter(|role| role.conditions())?;
    scenario.policy.as_ref()?.roles.iter().position(|one| one.name == role.name)
}

impl Line {
    fn new(
        scenario: &Scenario,
        (from, to, line): (NodeId, NodeId, &Described),
        reading: usize,
    ) -> Line {
        // Rates that change are refused before.
        let Described { rate, rate_over_time: _, delay, limit, link_layer, loss } = line;
        let (link_loss, loses_in_bursts) = match loss {
            Some(LossParams::Bernoulli(each)) => (each.loss.get(Dscp::BEST_EFFORT).value(), false),
            Some(LossParams::GilbertElliott(both)) => (mean_loss(both), true),
            None => (0.0, false),
        };
        let by_code_point = match loss {
            Some(LossParams::Bernoulli(each)) => {
                each.loss.values().any(|loss| loss.value() != link_loss)
            }
            _ => false,
        };
        let mut found = Line {
            name: port_name(scenario, from, to),
            from,
            to,
            rate: rate.bytes_per_sec(),
            part: 1.0,
            delay: delay.as_secs_f64(),
            framing: vec![(*link_layer, rate.bytes_per_sec())],
            bursts: Vec::new(),
            link_loss,
            loses_in_bursts,
            loses_by_code_point: by_code_point,
            queues: Bands::plain(*limit),
            profiles: Vec::new(),
            conditioned: [
                conditions(scenario, from, Direction::To(to)),
                conditions(scenario, to, Direction::From(from)),
            ],
            lacks: None,
        };
        if by_code_point {
            found.lacks = Some(format!("losses by code point at {}", found.name));
            return found;
        }
        let role = role_at(scenario, from, Direction::To(to));
        if let Some((role, queue)) = role.and_then(|role| Some((role, role.queue.as_ref()?))) {
            found.lacks = found
                .take(scenario, queue, reading)
                .err()
                .map(|what| format!("{what} in the role `{}` at {}", role.name, found.name));
        }
        found
    }

    /// Takes a policy's queue in a reading; else in words what has no closed form.
    fn take(
        &mut self,
        scenario: &Scenario,
        queue: &QueuePlan,
        reading: usize,
    ) -> Result<(), String> {
        match queue {
            QueuePlan::Shaper(shaper) => {
                // A burst after a pause is at most what fits its bucket: rates that last know nothing of it.
                let ShaperSettings { rate, burst, link_layer } = shaper.params().settings();
                self.shape(rate, link_layer);
                self.bursts.push(burst.0 as f64);
                self.take(scenario, shaper.queue(), reading)
            }
            QueuePlan::AggregateShaper(params) => {
                let profile = Profile::of_aggregate(params)?;
                let has_fixed_parts = matches!(params.sharing, Sharing::Partitioned(_));
                if has_fixed_parts
                    && sends_long_flows(scenario, self.from)
                    && ways_from(scenario, self.from) > 1
                {
                    return Err(
                        "an aggregate-shaper with fixed parts, some of which flows leave unused,"
                            .to_owned(),
                    );
                }
                if sends_long_flows(scenario, self.from) && params.place() == Place::Tcp {
                    return Err("an aggregate-shaper that withholds long flows in TCP".to_owned());
                }
                self.queues = Bands::plain(params.limit());
                if sends_long_flows(scenario, self.from) {
                    // Its bucket is empty all the time.
                    self.shape(params.profile.rate(), LinkLayer::default());
                    self.bursts.push(params.profile.depth().0 as f64);
                } else {
                    self.profiles = vec![profile];
                }
                Ok(())
            }
            QueuePlan::SourceScheduler(params) => {
                self.queues = Bands::one(Band::by_tokens(queue, params.limits().limit));
                self.profiles = Profile::of_scheduler(params);
                Ok(())
            }
            _ => {
                self.queues = Bands::new(queue, reading)?;
                Ok(())
            }
        }
    }

    /// Carries no more than a rate.
    fn shape(&mut self, rate: Rate, link_layer: LinkLayer) {
        let rate = rate.bytes_per_sec();
        let shaped = self.rate.min(rate);
        self.part *= shaped / self.rate;
        self.rate = shaped;
        self.framing.push((link_layer, rate));
    }

    /// Its bands, the first served first.
    pub(crate) fn bands(&self) -> &[Band] {
        &self.queues.each
    }

    /// Seconds that a packet of so many bytes takes at the line itself, whatever shapes what comes to it.
    pub(crate) fn min_time(&self, bytes: f64) -> f64 {
        let (layer, rate) = self.framing[0];
        layer.mean_wire_size(bytes) / rate
    }

    /// The shapers before it: what makes of a packet's bytes those that it counts for, the rate, and the burst.
    fn shapers(&self) -> impl Iterator<Item = (LinkLayer, f64, f64)> {
        let shapers = self.framing.iter().skip(1).zip(&self.bursts);
        shapers.map(|(&(layer, rate), &burst)| (layer, rate, burst))
    }

    /// Seconds that so many packets of so many bytes, and one of `last`, take at least to pass its shapers. In t seconds a
    /// shaper lets rate·t + burst bytes through, and one packet.
    pub(crate) fn min_shaped(&self, count: f64, packet: f64, last: f64) -> f64 {
        let each = self.shapers().map(|(layer, rate, burst)| {
            let size = |bytes: f64| layer.mean_wire_size(bytes);
            let all = count * size(packet) + size(last);
            (all - burst - size(packet.max(last))) / rate
        });
        each.fold(0.0, f64::max)
    }

    /// The most packets of so many bytes that pass it in a second, on average over so many.
    pub(crate) fn max_packets(&self, bytes: f64, seconds: f64) -> f64 {
        let shaped = self.shapers().map(|(layer, rate, burst)| {
            let packet = layer.mean_wire_size(bytes);
            (rate + (burst + packet) / seconds) / packet
        });
        shaped.fold(1.0 / self.min_time(bytes), f64::min)
    }

    /// The most packets of so many bytes that wait for it: any number where its queue is not known.
    pub(crate) fn max_room(&self, bytes: f64) -> f64 {
        match self.lacks {
            Some(_) => f64::INFINITY,
            None => self.bands().iter().map(|band| band.room(bytes)).fold(0.0, f64::max),
        }
    }

    /// What its link loses of all packets at least: nothing is known where that depends on the code point.
    pub(crate) fn min_loss(&self) -> f64 {
        if self.loses_by_code_point { 0.0 } else { self.link_loss }
    }

    /// Seconds for a packet of so many bytes.
    pub(crate) fn time(&self, bytes: f64) -> f64 {
        let times = self.framing.iter().map(|(layer, rate)| layer.mean_wire_size(bytes) / rate);
        times.fold(0.0, f64::max)
    }

    /// What tells lines apart that packets of one size take different times on.
    pub(crate) fn framing(&self) -> impl Iterator<Item = f64> {
        self.framing.iter().flat_map(|(layer, rate)| {
            let cells = f64::from(layer.framing() as u8);
            [f64::from(layer.overhead()), layer.mpu().0 as f64, cells, *rate]
        })
    }

    /// Whether it treats packets by what is written in them.
    pub(crate) fn distinguishes_packets(&self) -> bool {
        self.bands().len() > 1 || self.bands().iter().any(|band| band.levels() > 1)
    }

    /// The band of a packet, and its level there.
    pub(crate) fn place(&self, packet: &Packet) -> (usize, usize) {
        self.queues.place(packet)
    }
}

/// Whether flows without an end are sent at a node.
fn sends_long_flows(scenario: &Scenario, node: NodeId) -> bool {
    scenario.workloads.iter().any(|workload| match &workload.kind {
        WorkloadKind::Bulk(bulk) => bulk.pairs.iter().any(|(from, _)| *from == node),
        _ => false,
    })
}

/// How many ways start at a node: those of long flows that go there, and of all else both ways.
fn ways_from(scenario: &Scenario, node: NodeId) -> usize {
    let of = |workload: &Workload| {
        let is_long = matches!(workload.kind, WorkloadKind::Bulk(_));
        let pairs = workload.kind.traffic().pairs().iter();
        pairs.filter(|(from, to)| *from == node || !is_long && *to == node).count()
    };
    scenario.workloads.iter().map(of).sum()
}

/// The share of packets that a link loses over all of its states.
fn mean_loss(link: &GilbertElliottParams) -> f64 {
    let of = |table: &DscpTable<Probability>| table.get(Dscp::BEST_EFFORT).value();
    let bad = link.bad_share();
    (1.0 - bad) * of(link.loss_good()) + bad * of(link.loss_bad())
}

/// All lines in a reading, forward then back in the order of the links.
pub(crate) fn lines(scenario: &Scenario, reading: usize) -> Vec<Line> {
    ports(scenario).map(|port| Line::new(scenario, port, reading)).collect()
}

/// In how many orders the classes of the policy's queues are read.
pub(crate) fn readings(scenario: &Scenario) -> usize {
    let roles = scenario.policy.iter().flat_map(|policy| &policy.roles);
    let queues = roles.filter_map(|role| role.queue.as_ref());
    queues.map(Bands::readings).max().unwrap_or(1)
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
