//! Builds elements from a checked policy. Every port gets elements of its own.

use shortflow_elements::queue::AnyGate;
use shortflow_elements::{Conditioner, NewClass, QueueDiscipline};
use shortflow_units::{Rate, Rng};

use crate::model::Role;
use crate::scheme::Port;

/// Where elements are built: the name of their random streams, and their link.
#[derive(Debug, Clone, Copy)]
pub struct PortSite<'a> {
    /// The port, unique in the scenario: `r1->r2` for egress, `r1<-server0` for ingress.
    pub name: &'a str,
    /// The run's seed.
    pub seed: u64,
    /// The rate of the link that the port sends on, above zero.
    pub rate: Rate,
}

impl<'a> PortSite<'a> {
    /// The position of the role's queue.
    fn port(self) -> Port<'a> {
        let PortSite { name, seed, rate } = self;
        Port { name, seed, rate, path: "queue".to_owned() }
    }

    fn stream(&self, element: &str) -> Rng {
        Rng::stream(self.seed, &format!("{}/{element}", self.name))
    }

    /// The random stream of a class's marker. The queue and its children use `queue`, `queue/0` and so on.
    /// The markers of a role named `queue` therefore use a name that no role can have.
    fn marker_stream(&self, role: &str, class: &str) -> Rng {
        let role = if role == "queue" { "role queue" } else { role };
        self.stream(&format!("{role}/{class}"))
    }
}

impl Role {
    /// New conditioning elements for one port, or `None` if the role conditions nothing.
    pub fn conditioner(&self, place: PortSite<'_>) -> Option<Conditioner> {
        if !self.conditions() {
            return None;
        }
        let classes = self.classes.iter().map(|class| NewClass {
            name: class.name.clone(),
            marker: class.marker.as_ref().map(|plan| {
                plan.build(self.code_points, place.marker_stream(&self.name, &class.name))
            }),
            police: class.police,
        });
        let conditioner = Conditioner::new(self.classifier.clone(), classes, self.acks);
        Some(conditioner.with_thresholds(self.thresholds))
    }

    /// A new queue for an egress port, or `None` if the role has no queue.
    pub fn queue(&self, place: PortSite<'_>) -> Option<Box<dyn QueueDiscipline>> {
        self.queue.as_ref().map(|plan| plan.build(&place.port()))
    }

    /// A new gate of that queue, for a host that stores the packets itself. `None` if the role has no queue,
    /// or a queue that is more than a gate before a FIFO.
    pub fn gate(&self, place: PortSite<'_>) -> Option<AnyGate> {
        self.queue.as_ref().and_then(|plan| plan.gate(&place.port()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_marker_draws_the_numbers_of_a_queue_whatever_its_role_and_class_are_called() {
        let place = PortSite { name: "r1->r2", seed: 1, rate: Rate::from_bits_per_sec(1) };
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
