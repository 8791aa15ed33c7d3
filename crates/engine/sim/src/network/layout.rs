//! The network's layout: ports, routes, and bound roles.

use std::sync::Arc;

use shortflow_elements::{Color, Conditioner, QueueDiscipline};
use shortflow_packet::{Dscp, Label};
use shortflow_scenario::{Addresses, NodeId};
use shortflow_units::Length;

use crate::network::ends::{FarEnd, NearEnd};
use crate::network::index::Ports;
use crate::network::port::Port;
use crate::network::prefetch::prefetch_start;
use crate::network::routes::Routes;
use crate::network::through::Through;

/// A port, and what its packets pass on the way to the next node. Rare parts are boxed: the engine accesses
/// many of these, each in separate cache lines.
#[repr(align(64))]
pub(crate) struct Hop {
    pub(crate) port: Port,
    /// Its node.
    pub(crate) from: NodeId,
    /// The node at the far end.
    pub(crate) to: NodeId,
    /// What packets pass before the port's queue.
    pub(crate) near: Option<Box<NearEnd>>,
    /// What packets pass when they enter the node at the far end.
    pub(crate) far: Option<Box<FarEnd>>,
    /// Set if this port hands packets on at once.
    pub(crate) through: Option<Box<Through>>,
}

impl Hop {
    /// Prefetches the policy's state for each packet that joins this port.
    #[inline]
    pub(crate) fn prefetch_policy(&self) {
        self.near.as_deref().inspect(|near| prefetch_start(*near));
        self.port.prefetch_queue();
    }
}

/// The roles bound to a port.
pub(crate) struct Roles {
    /// The conditioners before its queue.
    pub(crate) near: Option<Conditioner>,
    /// The conditioners where its link enters the next node.
    pub(crate) far: Option<Conditioner>,
    pub(crate) queue: Option<Box<dyn QueueDiscipline>>,
    /// The limit if it has no policy queue.
    pub(crate) limit: Length,
}

/// Ports and routes.
pub(crate) struct Network {
    pub(crate) ports: Ports,
    /// `r1->r2`.
    pub(crate) port_names: Vec<String>,
    /// `r2<-r1`, the far end.
    pub(crate) ingress_names: Vec<String>,
    pub(crate) nodes: usize,
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) routes: Routes,
    pub(crate) colors: Colors,
    /// The label of each workload's connections, by its number in the policy.
    pub(crate) labels: Vec<Label>,
}

impl Network {
    /// The label of a workload's connections.
    #[inline]
    pub(crate) fn label(&self, workload: u16) -> Label {
        self.labels[usize::from(workload)]
    }
}

/// Assigns code points to the entries of a tally.
#[derive(Debug, Clone)]
pub(crate) struct Colors([u8; Dscp::COUNT]);

impl Colors {
    /// The entries of green, yellow and red under `code_points`; all others have the last entry.
    pub(crate) fn new(code_points: [Dscp; 3]) -> Self {
        let mut places = [3; Dscp::COUNT];
        for color in Color::ALL {
            places[usize::from(code_points[color as usize].value())] = color as u8;
        }
        Colors(places)
    }

    #[inline]
    pub(crate) fn place(&self, dscp: Dscp) -> usize {
        usize::from(self.0[usize::from(dscp.value())])
    }
}
