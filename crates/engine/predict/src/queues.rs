//! A policy's queue as bands of the closed forms: the order of service of its classes.
//!
//! Settings are destructured without `..`: a new setting does not compile until its effect here is decided.

use std::sync::Arc;

use shortflow_elements::classifier::Classifier;
use shortflow_elements::queue::{
    self, BandOf, SimaQueueParams, WfqClassSettings, WfqParams, WfqSettings, WhenFull,
};
use shortflow_elements::scheduler::RateRange;
use shortflow_packet::Packet;
use shortflow_policy::QueuePlan;
use shortflow_policy::keys::Turns;
use shortflow_units::Length;

use crate::band::{Acts, Band, FULL, FlowTurns, Order};
use crate::precedences;

/// Which band a packet belongs to.
#[derive(Debug, Clone)]
enum Rule {
    First,
    /// By classes in the policy's order: the band of each, and that of what belongs to none.
    Classes {
        classifier: Classifier,
        places: Vec<usize>,
        otherwise: usize,
    },
    CodePoints(Arc<QueuePlan>),
    /// By the buffer of SIMA.
    Precedences(Arc<QueuePlan>),
}

/// What a class of a weighted scheduler gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Its weight.
    pub(crate) weight: f64,
    /// Whether the weight counts packets, whatever their size, instead of bytes.
    pub(crate) counts_packets: bool,
    /// Bytes that it may send in a turn, where a packet has so many.
    pub(crate) quantum: f64,
}

impl Turn {
    /// What it gets of a line beside others, where a packet of its class takes so many seconds.
    pub(crate) fn share(&self, packet: f64) -> f64 {
        if self.counts_packets { self.weight * packet } else { self.weight }
    }
}

/// The bands of a line, served one after another in their order.
#[derive(Debug, Clone)]
pub(crate) struct Bands {
    pub(crate) each: Vec<Band>,
    rule: Rule,
    /// What each band gets where they take turns by weights. Their order is then one reading of several.
    pub(crate) weights: Option<Vec<Turn>>,
}

/// So many classes with weights are looked at in every order.
const MAX_WEIGHTED: usize = 4;

impl Bands {
    /// One queue in the order of arrival.
    pub(crate) fn plain(limit: Length) -> Bands {
        Bands::one(Band::plain(limit))
    }

    /// One band.
    pub(crate) fn one(band: Band) -> Bands {
        Bands { each: vec![band], rule: Rule::First, weights: None }
    }

    /// A policy's queue, with classes that take turns by weights in the order of this number; else in words what has no closed
    /// form.
    pub(crate) fn new(queue: &QueuePlan, reading: usize) -> Result<Bands, String> {
        match queue {
            QueuePlan::StrictPriority(turns) => {
                let each = turns.classes().iter().map(|(_, queue)| Band::new(queue));
                let each: Vec<Band> = each.collect::<Result<_, _>>()?;
                let rule = Rule::Classes {
                    classifier: turns.classifier().clone(),
                    places: (0..each.len()).collect(),
                    otherwise: each.len() - 1,
                };
                Ok(Bands { each, rule, weights: None })
            }
            QueuePlan::SharedPriority(shared) => Ok(Bands {
                each: vec![Band::plain(shared.limit()); shared.bands()],
                rule: match shared.band_of() {
                    BandOf::CodePoint(_) => Rule::CodePoints(Arc::new(queue.clone())),
                    BandOf::Rules { classifier, otherwise } => {
                        let (classifier, otherwise) = (classifier.clone(), *otherwise);
                        let places = (0..shared.bands()).collect();
                        Rule::Classes { classifier, places, otherwise }
                    }
                },
                weights: None,
            }),
            QueuePlan::Drr(turns) => {
                let each = turns.classes().iter().map(|(quantum, queue)| {
                    let quantum = quantum.0 as f64;
                    Ok((
                        Turn { weight: quantum, counts_packets: false, quantum },
                        Band::new(queue)?,
                    ))
                });
                weighted(
                    turns.classifier(),
                    each.collect::<Result<_, String>>()?,
                    turns.classes().len() - 1,
                    reading,
                )
            }
            QueuePlan::Wrr(turns) => {
                let each = turns.classes().iter().map(|(packets, queue)| {
                    let weight = f64::from(*packets);
                    let turn = Turn { weight, counts_packets: true, quantum: weight * FULL };
                    Ok((turn, Band::new(queue)?))
                });
                weighted(
                    turns.classifier(),
                    each.collect::<Result<_, String>>()?,
                    turns.classes().len() - 1,
                    reading,
                )
            }
            QueuePlan::Htb(classes) => guaranteed(classes, reading),
            QueuePlan::Wfq(wfq) => by_weights(wfq, reading),
            QueuePlan::Sima(params) => by_precedence(queue, params),
            other => Band::new(other).map(Bands::one),
        }
    }

    /// In how many orders the classes of a queue are looked at.
    pub(crate) fn readings(queue: &QueuePlan) -> usize {
        let count = match queue {
            QueuePlan::Drr(turns) => turns.classes().len(),
            QueuePlan::Htb(classes) => classes.classes().len(),
            QueuePlan::Wrr(turns) => turns.classes().len(),
            QueuePlan::Wfq(wfq) => wfq.classes().len(),
            QueuePlan::Shaper(shaper) => return Bands::readings(shaper.queue()),
            _ => 1,
        };
        if count <= MAX_WEIGHTED { (1..=count).product() } else { 1 }
    }

    /// The band of a packet, and its level there.
    pub(crate) fn place(&self, packet: &Packet) -> (usize, usize) {
        let band = match &self.rule {
            Rule::First => 0,
            Rule::Classes { classifier, places, otherwise } => {
                classifier.classify(packet).map_or(*otherwise, |class| places[class])
            }
            Rule::CodePoints(plan) => match &**plan {
                QueuePlan::SharedPriority(shared) => match shared.band_of() {
                    BandOf::CodePoint(table) => table.get(packet.dscp) as usize,
                    BandOf::Rules { .. } => unreachable!("the rule was made of code points"),
                },
                _ => unreachable!("the rule was made of such a queue"),
            },
            Rule::Precedences(plan) => match &**plan {
                QueuePlan::Sima(params) => precedences::place(params, packet.dscp).0,
                _ => unreachable!("the rule was made of such a queue"),
            },
        };
        (band, self.each[band].level(packet.dscp))
    }
}

/// The classes of `htb` in the order of a reading: shares in proportion to what each gets at least.
fn guaranteed(classes: &Turns<RateRange>, reading: usize) -> Result<Bands, String> {
    let each = classes.classes().iter().map(|(rates, queue)| {
        if rates.at_most().is_some() {
            return Err("a class with `at_most` in `htb`".to_owned());
        }
        let weight = rates.at_least().bits_per_sec() as f64;
        Ok((Turn { weight, counts_packets: false, quantum: FULL }, Band::new(queue)?))
    });
    let each = each.collect::<Result<_, String>>()?;
    weighted(classes.classifier(), each, classes.classes().len() - 1, reading)
}

/// The classes of weighted fair queueing in the order of a reading.
fn by_weights(wfq: &WfqParams, reading: usize) -> Result<Bands, String> {
    let WfqSettings { classes, classifier, otherwise, shared_limit, when_full } = wfq.settings();
    let acts = match when_full {
        WhenFull::PushOut => None,
        WhenFull::TailDrop => Some(Acts {
            from_packets: f64::INFINITY,
            from_wait: f64::INFINITY,
            shares_room: true,
            why: "a full buffer that drops packets of all its classes".to_owned(),
        }),
    };
    let each = classes.iter().map(|class| {
        let WfqClassSettings { weight, share, limit } = class.settings();
        let weight = weight.value() as f64;
        let turn = Turn { weight, counts_packets: false, quantum: FULL };
        let limit = limit.or(shared_limit);
        let mut band = Band::plain(limit.unwrap_or(Length::Packets(u64::MAX)));
        band.acts = acts.clone();
        if let queue::Share::Flow { limit: _ } = share {
            // Each flow has the weight: how many there are decides what the class gets.
            band.order = Order::Fair;
            band.turns = Some(FlowTurns::EXACT);
        }
        (turn, band)
    });
    weighted(classifier, each.collect(), otherwise, reading)
}

/// The two buffers of SIMA.
fn by_precedence(queue: &QueuePlan, params: &SimaQueueParams) -> Result<Bands, String> {
    let of = Arc::new(queue.clone());
    let precedences = Some(precedences::thresholds(params)?);
    let one = |limit| Band {
        precedences,
        acts: Some(Acts {
            from_packets: f64::INFINITY,
            from_wait: f64::INFINITY,
            shares_room: true,
            why: "a `sima` queue that long flows fill".to_owned(),
        }),
        level_of: Some(Arc::clone(&of)),
        ..Band::plain(Length::Bytes(limit))
    };
    let each = vec![one(params.real_time().limit()), one(params.non_real_time().limit())];
    Ok(Bands { each, rule: Rule::Precedences(of), weights: None })
}

/// Classes with weights in the order of a reading; what no rule matches belongs to the class `otherwise`.
fn weighted(
    classifier: &Classifier,
    classes: Vec<(Turn, Band)>,
    otherwise: usize,
    reading: usize,
) -> Result<Bands, String> {
    if classes.len() > MAX_WEIGHTED {
        return Err(format!("more than {MAX_WEIGHTED} classes with weights"));
    }
    let order = permutation(classes.len(), reading);
    let mut places = vec![0; classes.len()];
    order.iter().enumerate().for_each(|(band, class)| places[*class] = band);
    let weights = order.iter().map(|class| classes[*class].0).collect();
    let each = order.iter().map(|class| classes[*class].1.clone()).collect();
    let otherwise = places[otherwise];
    let rule = Rule::Classes { classifier: classifier.clone(), places, otherwise };
    Ok(Bands { each, rule, weights: Some(weights) })
}

/// The permutation of so many things that has this number, round and round.
fn permutation(count: usize, number: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..count).collect();
    let mut number = number;
    let mut found = Vec::with_capacity(count);
    while !left.is_empty() {
        let at = number % left.len();
        number /= left.len();
        found.push(left.remove(at));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_three_classes_is_read_once() {
        let mut all: Vec<Vec<usize>> = (0..6).map(|number| permutation(3, number)).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|one| (0..3).all(|class| one.contains(&class))));
    }
}
