//! A queue of a line as one band of the closed forms: its order, its room and its drops.
//!
//! Settings are destructured without `..`: a new setting does not compile until its effect here is decided.

use std::sync::Arc;

use shortflow_elements::queue::{
    self, Averages, CoDelParams, Fairness, FlowQueueSettings, PieSettings, RedSettings, StfSettings,
};
use shortflow_models::red::{AboveMax, Level, Spacing};
use shortflow_packet::Dscp;
use shortflow_policy::QueuePlan;
use shortflow_policy::keys::RedPlan;
use shortflow_units::{Length, Rate};

use crate::precedences::{self, PRECEDENCES};

/// Which packets of a band go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they came.
    Fifo,
    /// Each flow in its turn.
    Fair,
    /// The flow that has sent least.
    LeastAttained,
}

/// A queue of a line.
#[derive(Debug, Clone)]
pub(crate) struct Band {
    /// Which of its packets go first.
    pub(crate) order: Order,
    /// What each flow's turn is like, where each has one.
    pub(crate) turns: Option<FlowTurns>,
    /// Its room.
    pub(crate) limit: Length,
    /// The drop curves of its RED, if it has one, the best protected first.
    pub(crate) curves: Vec<Curve>,
    /// How drops are spread.
    pub(crate) spacing: Spacing,
    /// Whether it marks packets of who understands that, instead of dropping them.
    pub(crate) marks: bool,
    /// Which packets the average of a level of its RED counts.
    pub(crate) averages: Averages,
    /// Whether an average follows the queue packet by packet, so that its curve is met at each length of the queue.
    pub(crate) follows: bool,
    /// The weight of a packet in that average, or 0 without one.
    pub(crate) weight: f64,
    /// From which occupancy of the fuller buffer of its line on packets of each level are dropped, where these are SIMA's drop
    /// precedences.
    pub(crate) precedences: Option<[f64; PRECEDENCES]>,
    /// What it does that has no closed form, once packets wait so long.
    pub(crate) acts: Option<Acts>,
    /// The queue that tells levels.
    pub(crate) level_of: Option<Arc<QueuePlan>>,
}

/// Queues of flows, each in its turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowTurns {
    /// The seconds that each flow may wait for, and for how long it may wait longer (RFC 8289 §4).
    pub(crate) target: f64,
    pub(crate) interval: f64,
    /// How many queues flows are hashed to.
    pub(crate) queues: f64,
    /// Bytes of a turn.
    pub(crate) quantum: f64,
    /// Between which hosts the line is shared first, if between any.
    pub(crate) hosts: Option<Fairness>,
}

/// What a queue does beyond a mean wait.
#[derive(Debug, Clone)]
pub(crate) struct Acts {
    /// From which mean queue on, in packets; or from which mean wait on, in seconds.
    pub(crate) from_packets: f64,
    pub(crate) from_wait: f64,
    /// Whether it does so as soon as long flows fill any band of the line.
    pub(crate) shares_room: bool,
    pub(crate) why: String,
}

/// A drop curve in packets or in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curve {
    min: Length,
    max: Length,
    max_probability: f64,
    above_max: AboveMax,
}

/// Bytes of a full packet, as turns by packets count them.
pub(crate) const FULL: f64 = 1500.0;

impl FlowTurns {
    /// Turns of packets without drops.
    pub(crate) const EXACT: FlowTurns = FlowTurns {
        target: f64::INFINITY,
        interval: f64::INFINITY,
        queues: f64::INFINITY,
        quantum: FULL,
        hosts: None,
    };
}

impl Band {
    /// One in the order of arrival.
    pub(crate) fn plain(limit: Length) -> Band {
        Band {
            order: Order::Fifo,
            turns: None,
            limit,
            curves: Vec::new(),
            spacing: Spacing::Independent,
            marks: false,
            averages: Averages::Shared,
            follows: false,
            weight: 0.0,
            precedences: None,
            acts: None,
            level_of: None,
        }
    }

    /// A queue of its own, or inside a band; else in words what has no closed form.
    pub(crate) fn new(queue: &QueuePlan) -> Result<Band, String> {
        match queue {
            QueuePlan::Fifo(fifo) => Ok(Band::plain(fifo.limit())),
            QueuePlan::Red(red) | QueuePlan::MultiRed(red) => Ok(Band::red(queue, red)),
            QueuePlan::FqCodel(fair) => Ok(Band::fair(*fair.settings(), None)),
            QueuePlan::HostFair(fair) => {
                // Between the hosts of one site addresses of IPv6 are all alike or all different.
                Ok(Band::fair(*fair.settings(), Some(fair.fairness())))
            }
            QueuePlan::Stf(stf) => {
                let StfSettings { limit, max_flows, idle_timeout } = stf.settings();
                let forgets = max_flows < MIN_KNOWN || idle_timeout.as_secs_f64() < MIN_IDLE;
                let acts = forgets.then(|| Acts {
                    from_packets: FAST_AVERAGE,
                    from_wait: f64::INFINITY,
                    shares_room: false,
                    why: "a queue that forgets flows while they send".to_owned(),
                });
                Ok(Band { order: Order::LeastAttained, acts, ..Band::plain(limit) })
            }
            QueuePlan::Pie(pie) => Ok(Band::pie(*pie.settings())),
            other => Err(format!("a `{}` queue", other.scheme())),
        }
    }

    fn red(queue: &QueuePlan, red: &RedPlan) -> Band {
        let params = red.params(Rate::from_bits_per_sec(1));
        let RedSettings {
            limit,
            weight,
            // The average falls in idle times, of which queues that are worth it have few.
            idle_packet: _,
            rate: _,
            mean_packet,
            spacing,
            ecn,
            spare_below,
        } = params.settings().clone();
        let looks_at_packets = mean_packet.is_some() || spare_below > 0;
        let follows =
            !looks_at_packets && weight >= FOLLOWING_WEIGHT && spacing != queue::Spacing::Unclamped;
        let why = if looks_at_packets {
            Some("RED in byte mode or with `spare_below`")
        } else if red.averages() != queue::Averages::Shared && red.curves().len() > 1 {
            Some("RED with an average for each level")
        } else if spacing == queue::Spacing::Unclamped {
            Some("RED that stops dropping where its average rises fast")
        } else if !USUAL_WEIGHTS.contains(&weight) {
            Some("RED whose average follows single bursts, or almost nothing")
        } else {
            None
        };
        let curve = |curve: &queue::DropCurve| Curve {
            min: curve.min_threshold(),
            max: curve.max_threshold(),
            max_probability: curve.max_probability(),
            above_max: match curve.above_max() {
                queue::AboveMax::Forced => AboveMax::Forced,
                queue::AboveMax::Gentle => AboveMax::Gentle,
            },
        };
        let curves: Vec<Curve> = red.curves().iter().map(curve).collect();
        let least = curves.iter().map(|curve| packets(curve.min, FULL)).fold(f64::MAX, f64::min);
        let part = if weight <= *USUAL_WEIGHTS.end() { SLOW_AVERAGE } else { FAST_AVERAGE };
        Band {
            curves,
            spacing: match spacing {
                queue::Spacing::Uniform | queue::Spacing::Unclamped => Spacing::Uniform,
                queue::Spacing::Wait => Spacing::Wait,
                queue::Spacing::Geometric => Spacing::Independent,
            },
            marks: ecn.marks(),
            averages: red.averages(),
            follows,
            weight,
            acts: why.map(|why| Acts {
                // What an average that follows the queue drops is known as long as no long flow fills it.
                from_packets: if follows { f64::INFINITY } else { least * part },
                from_wait: f64::INFINITY,
                shares_room: false,
                why: why.to_owned(),
            }),
            level_of: Some(Arc::new(queue.clone())),
            ..Band::plain(limit)
        }
    }

    fn fair(settings: FlowQueueSettings, hosts: Option<Fairness>) -> Band {
        let FlowQueueSettings { limit, queues, quantum, codel, ecn } = settings;
        let turns = FlowTurns {
            queues: queues as f64,
            quantum: quantum.0 as f64,
            hosts,
            ..FlowTurns::with(&codel)
        };
        Band { order: Order::Fair, turns: Some(turns), marks: ecn.marks(), ..Band::plain(limit) }
    }

    fn pie(settings: PieSettings) -> Band {
        // Below its target it drops nothing, however it is set.
        let PieSettings { limit, target, update: _, max_burst: _, alpha: _, beta: _, ecn } =
            settings;
        let acts = Acts {
            from_packets: f64::INFINITY,
            from_wait: target.as_secs_f64() * FAST_AVERAGE,
            shares_room: false,
            why: "PIE with drops".to_owned(),
        };
        Band { marks: ecn.marks(), acts: Some(acts), ..Band::plain(limit) }
    }

    /// Whether hosts share it first, and then their flows.
    pub(crate) fn shares_by_hosts(&self) -> bool {
        self.turns.is_some_and(|turns| turns.hosts.is_some())
    }

    /// The seconds that each flow may wait for where each has its turn.
    pub(crate) fn target(&self) -> f64 {
        self.turns.map_or(0.0, |turns| turns.target)
    }

    /// That of a source host, which serves levels of packets by the tokens that they wait for.
    pub(crate) fn by_tokens(queue: &QueuePlan, limit: Length) -> Band {
        Band { level_of: Some(Arc::new(queue.clone())), ..Band::plain(limit) }
    }

    /// The level of a packet with this code point.
    pub(crate) fn level(&self, dscp: Dscp) -> usize {
        match self.level_of.as_deref() {
            Some(QueuePlan::Red(red) | QueuePlan::MultiRed(red)) => red.level_of(dscp),
            Some(QueuePlan::SourceScheduler(source)) => {
                let named = source.code_points().iter().position(|known| *known == dscp);
                named.unwrap_or(TOKEN_LEVELS - 1)
            }
            Some(QueuePlan::Sima(params)) => precedences::place(params, dscp).1,
            _ => 0,
        }
    }

    /// The room in packets of so many bytes for those of a level.
    pub(crate) fn room_for(&self, level: usize, packet: f64) -> f64 {
        let part = self.precedences.map_or(1.0, |from| from[level]);
        part * self.room(packet)
    }

    /// How many levels of protection it has.
    pub(crate) fn levels(&self) -> usize {
        match self.level_of.as_deref() {
            Some(QueuePlan::SourceScheduler(_)) => TOKEN_LEVELS,
            Some(QueuePlan::Sima(_)) => PRECEDENCES,
            _ => self.curves.len().max(1),
        }
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

impl FlowTurns {
    fn with(codel: &CoDelParams) -> FlowTurns {
        FlowTurns {
            target: codel.target().as_secs_f64(),
            interval: codel.interval().as_secs_f64(),
            ..FlowTurns::EXACT
        }
    }
}

/// HIGH, MED and LOW of a source host.
const TOKEN_LEVELS: usize = 3;

/// How many flows must be remembered, and for how many seconds of silence, so that none is forgotten while it sends.
const MIN_KNOWN: usize = 64;
const MIN_IDLE: f64 = 5.0;

/// The weight of RED's average from which on it follows the queue within a few packets.
pub(crate) const FOLLOWING_WEIGHT: f64 = 0.3;

/// The weights of RED's average with which it follows a queue that long flows fill, and no single burst.
const USUAL_WEIGHTS: std::ops::RangeInclusive<f64> = 0.001..=0.005;

/// The part of a threshold up to which a mean queue leaves an average below it: one over hundreds of packets, and one that
/// follows bursts.
const SLOW_AVERAGE: f64 = 0.5;
const FAST_AVERAGE: f64 = 0.25;

fn packets(length: Length, packet: f64) -> f64 {
    match length {
        Length::Packets(packets) => packets as f64,
        Length::Bytes(bytes) => bytes.0 as f64 / packet,
    }
}
