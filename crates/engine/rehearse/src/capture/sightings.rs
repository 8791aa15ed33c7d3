//! Packets that the network reports, noted until their bytes are fetched.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use shortflow_measure::results;
use shortflow_packet::Packet;
use shortflow_run::{Event, Sight, Tap};
use shortflow_scenario::{NodeId, Scenario};
use shortflow_sim::LiveNetwork;
use shortflow_units::Instant;

/// What was seen of a packet at one end of a link, as in a [`Sight`].
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) now: Instant,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) event: Event,
    /// A copy of the packet's description; the packet itself has moved on.
    pub(crate) packet: Packet,
    pub(crate) sent_at: Instant,
}

/// Observed packets that are not yet fetched. Only the network's thread uses it, so the lock is never contended; it
/// exists since a tap may be moved to another thread.
#[derive(Debug)]
pub(crate) struct Sightings(Arc<Mutex<Vec<Seen>>>);

impl Sightings {
    /// Notes from now on what a network shows of the links at which `tap` looks.
    pub(crate) fn begin(tap: &dyn Tap, scenario: &Scenario, network: &mut LiveNetwork) -> Self {
        let ends = scenario.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let links = ends.filter(|(from, to)| tap.watches(*from, *to)).collect();
        let noted = Arc::new(Mutex::new(Vec::with_capacity(AT_ONCE)));
        network.show_to(Box::new(Noting { links, noted: Arc::clone(&noted) }));
        Sightings(noted)
    }

    /// Takes all, in the order in which they came.
    pub(crate) fn drain(&self, take: impl FnMut(Seen)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(take);
    }
}

/// Room for as many as there are between two packets that come out.
const AT_ONCE: usize = 1024;

/// Notes what is seen.
struct Noting {
    links: BTreeSet<(NodeId, NodeId)>,
    noted: Arc<Mutex<Vec<Seen>>>,
}

impl Tap for Noting {
    fn watches(&self, from: NodeId, to: NodeId) -> bool {
        self.links.contains(&(from, to))
    }

    fn see(&mut self, sight: &Sight<'_>) {
        let Sight { now, from, to, event, packet, sent_at, .. } = *sight;
        let packet = Packet { ..*packet };
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.push(Seen { now, from, to, event, packet, sent_at });
    }

    fn finish(self: Box<Self>) -> Result<(), results::Error> {
        Ok(())
    }
}
