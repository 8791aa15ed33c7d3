//! Building elements from a checked policy: fresh ones for every port.

use shortflow_elements::classifier::Classifier;
use shortflow_elements::marker::{AdmissionControl, ColorMarker, DstfMarker, FixedMarker};
use shortflow_elements::marker::{SrptMarker, TcpStateMarker};
use shortflow_elements::meter::TwoBuckets;
use shortflow_elements::meter::{FairMarker, SrTcm, TokenBucket, TrTcm, Tsw2Cm, Tsw3Cm};
use shortflow_elements::queue::{Fifo, Red, RedParams, RedSettings};
use shortflow_elements::queue::{FqCodel, HostFair};
use shortflow_elements::queue::{SharedPriority, Stf, Wfq};
use shortflow_elements::scheduler::{DeficitRoundRobin, SourceScheduler};
use shortflow_elements::scheduler::{StrictPriority, WeightedRoundRobin};
use shortflow_elements::{Color, Conditioner, Dscp, Marker, Meter, NewClass, PerAggregate};
use shortflow_elements::{QueueDiscipline, Settling};
use shortflow_units::{Rate, Rng};

use crate::model::{MarkerPlan, Metered, QueuePlan, RedPlan, Role};

/// Where elements are built: what names their random streams and what their link is.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The port, unique in the scenario: `r1->r2` for egress, `r1<-server0` for ingress.
    pub name: &'a str,
    /// The run's seed.
    pub seed: u64,
    /// The rate of the link that the port sends on, above zero.
    pub rate: Rate,
}

impl Place<'_> {
    fn stream(&self, element: &str) -> Rng {
        Rng::stream(self.seed, &format!("{}/{element}", self.name))
    }

    /// The stream of a class's marker. The queue and its children have `queue`, `queue/0` and so on:
    /// a role of that name gives its markers another one, which no role can have.
    fn marker_stream(&self, role: &str, class: &str) -> Rng {
        let role = if role == "queue" { "role queue" } else { role };
        self.stream(&format!("{role}/{class}"))
    }
}

impl Role {
    /// Fresh conditioning elements for one port, or `None` when the role conditions nothing.
    pub fn conditioner(&self, place: Place<'_>) -> Option<Conditioner> {
        if !self.conditions() {
            return None;
        }
        let rules = self.classes.iter().enumerate();
        let classifier = Classifier::new(rules.map(|(i, class)| (class.rule.clone(), i)).collect());
        let classes = self.classes.iter().map(|class| NewClass {
            name: class.name.clone(),
            marker: class.marker.as_ref().map(|plan| {
                plan.build(self.code_points, place.marker_stream(&self.name, &class.name))
            }),
            police: class.police,
        });
        Some(Conditioner::new(classifier, classes, self.acks))
    }

    /// A fresh queue for an egress port, or `None` when the role has none.
    pub fn queue(&self, place: Place<'_>) -> Option<Box<dyn QueueDiscipline>> {
        self.queue.as_ref().map(|plan| plan.build(place, "queue"))
    }
}

impl MarkerPlan {
    fn build(&self, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        let meter: Box<dyn Meter> = match self.clone() {
            MarkerPlan::Fixed(dscp, None) => return Box::new(FixedMarker::new(dscp, Color::Green)),
            MarkerPlan::Fixed(dscp, Some(bucket)) => {
                return Box::new(ColorMarker::new(bucket.build(TokenBucket::new, rng), [dscp; 3]));
            }
            MarkerPlan::Dstf(params) => return Box::new(DstfMarker::new(params, rng)),
            MarkerPlan::Srpt(params) => return Box::new(SrptMarker::new(params)),
            MarkerPlan::TcpState(params) => {
                return Box::new(TcpStateMarker::new(params, code_points, rng));
            }
            MarkerPlan::Admission(params) => return Box::new(AdmissionControl::new(params, rng)),
            MarkerPlan::TokenBucket(metered) => metered.build(TokenBucket::new, rng),
            MarkerPlan::SrTcm(metered) => metered.build(SrTcm::new, rng),
            MarkerPlan::TrTcm(metered) => metered.build(TrTcm::new, rng),
            MarkerPlan::TwoBuckets(metered) => metered.build(TwoBuckets::new, rng),
            MarkerPlan::Tsw2Cm(params) => Box::new(Tsw2Cm::new(params, rng)),
            MarkerPlan::Tsw3Cm(params) => Box::new(Tsw3Cm::new(params, rng)),
            MarkerPlan::FairMarker(params) => Box::new(FairMarker::new(params, rng)),
        };
        Box::new(ColorMarker::new(meter, code_points))
    }
}

impl<P> Metered<P> {
    /// One meter for all, or one for each aggregate.
    fn build<M: Settling + 'static>(self, new: impl Fn(P) -> M, rng: Rng) -> Box<dyn Meter> {
        let meter = new(self.params);
        match self.per {
            Some(per) => {
                let users = PerAggregate::new(per, meter, rng);
                Box::new(users.expect("a checked policy has a timeout in which buckets fill"))
            }
            None => Box::new(meter),
        }
    }
}

impl QueuePlan {
    fn build(&self, place: Place<'_>, name: &str) -> Box<dyn QueueDiscipline> {
        match self {
            QueuePlan::Fifo(params) => Box::new(Fifo::new(params.clone())),
            QueuePlan::Red(plan) => Box::new(Red::new(plan.params(place.rate), place.stream(name))),
            QueuePlan::StrictPriority { classifier, bands } => {
                let children = bands.iter().enumerate();
                let children =
                    children.map(|(i, band)| band.build(place, &format!("{name}/{i}"))).collect();
                let last = bands.len() - 1;
                let scheduler = StrictPriority::new(classifier.clone(), children, last);
                Box::new(scheduler.expect("a checked policy has a band for every class"))
            }
            QueuePlan::SharedPriority(params) => Box::new(SharedPriority::new(params.clone())),
            QueuePlan::Stf(params) => Box::new(Stf::new(params.clone(), place.stream(name))),
            QueuePlan::Wfq(params) => {
                Box::new(Wfq::new(params.clone(), place.rate, place.stream(name)))
            }
            QueuePlan::Wrr { classifier, classes } => {
                let children = build_classes(classes, place, name);
                let last = classes.len() - 1;
                let scheduler = WeightedRoundRobin::new(classifier.clone(), children, last);
                Box::new(scheduler.expect("a checked policy has weights above zero"))
            }
            QueuePlan::Drr { classifier, classes } => {
                let children = build_classes(classes, place, name);
                let last = classes.len() - 1;
                let scheduler = DeficitRoundRobin::new(classifier.clone(), children, last);
                Box::new(scheduler.expect("a checked policy has quanta above zero"))
            }
            QueuePlan::Source(params) => {
                Box::new(SourceScheduler::new((**params).clone(), place.stream(name)))
            }
            QueuePlan::FqCodel(params) => {
                Box::new(FqCodel::new(params.clone(), place.stream(name)))
            }
            QueuePlan::HostFair(params) => {
                Box::new(HostFair::new(params.clone(), place.stream(name)))
            }
        }
    }
}

/// The queues of classes that take turns, each with its share.
fn build_classes<T: Copy>(
    classes: &[(T, QueuePlan)],
    place: Place<'_>,
    name: &str,
) -> Vec<(T, Box<dyn QueueDiscipline>)> {
    let each = classes.iter().enumerate();
    each.map(|(i, (share, queue))| (*share, queue.build(place, &format!("{name}/{i}")))).collect()
}

impl RedPlan {
    fn params(&self, rate: Rate) -> RedParams {
        self.params_at(rate).expect("a checked policy has valid parameters")
    }

    /// The parameters for a link of this rate, which settles how fast the average falls when the
    /// queue is idle.
    pub(crate) fn params_at(
        &self,
        rate: Rate,
    ) -> Result<RedParams, shortflow_elements::ParamsError> {
        let settings = RedSettings {
            limit: self.limit,
            weight: self.weight,
            idle_packet: self.mean_packet,
            rate,
            mean_packet: self.byte_mode.then_some(self.mean_packet),
            spacing: self.spacing,
            ecn: self.ecn,
            spare_below: self.spare_below,
        };
        RedParams::with_levels(settings, self.curves.clone(), self.level_of.clone(), self.averages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_marker_draws_the_numbers_of_a_queue_whatever_its_role_and_class_are_called() {
        let place = Place { name: "r1->r2", seed: 1, rate: Rate::from_bits_per_sec(1) };
        let first = |mut rng: Rng| rng.below(u64::MAX);
        for child in ["0", "0/1"] {
            let queue = place.stream(&format!("queue/{child}"));
            assert_ne!(first(place.marker_stream("queue", child)), first(queue));
        }
        // Where nothing collides, the name is the one of always.
        let edge = place.stream("edge/web");
        assert_eq!(first(place.marker_stream("edge", "web")), first(edge));
    }
}
