//! The entities with events, in the order in which simultaneous events run: the departures of ports with
//! policy queues, the arrivals of all ports, the timers, the sources, the sampler.
//!
//! Fewer entities make the calendar's tree shallower. Ports whose departures follow from arrivals therefore
//! have no entity for them.

use crate::event::calendar::Entity;
use crate::network::index::PortId;
use crate::network::layout::Network;
use crate::network::port::Port;

/// The numbering of entities.
#[derive(Debug)]
pub(crate) struct Entities {
    /// The ports that have departures, by entity.
    served: Vec<PortId>,
    /// The entity of each port's departures; undefined for ports without.
    departures: Vec<u32>,
    ports: u32,
    sources: u32,
}

/// The kind of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntityKind {
    /// The departures of a port.
    Departure(PortId),
    /// The arrivals at the far end of a port.
    Arrival(PortId),
    /// The timers of all connections.
    Timers,
    /// A source.
    Source(u32),
    /// The sampler.
    Sampler,
}

impl Entities {
    /// Numbers the entities. Ports for which `is_served` is true have departures.
    pub(crate) fn new(
        network: &Network,
        sources: usize,
        is_served: impl Fn(&Port) -> bool,
    ) -> Self {
        let mut entities = Entities {
            served: Vec::new(),
            departures: Vec::new(),
            ports: network.ports.len() as u32,
            sources: sources as u32,
        };
        for (port, hop) in PortId::first(network.ports.len()).zip(network.ports.iter()) {
            entities.departures.push(entities.served.len() as u32);
            if is_served(&hop.port) {
                entities.served.push(port);
            }
        }
        entities
    }

    pub(crate) fn count(&self) -> usize {
        self.sampler().0 as usize + 1
    }

    #[inline]
    pub(crate) fn kind(&self, entity: Entity) -> EntityKind {
        // An entity below `served` wraps around, and matches no arrival.
        let place = entity.0.wrapping_sub(self.served.len() as u32);
        if place < self.ports { EntityKind::Arrival(PortId(place)) } else { self.rare_kind(entity) }
    }

    fn rare_kind(&self, entity: Entity) -> EntityKind {
        if let Some(&port) = self.served.get(entity.0 as usize) {
            return EntityKind::Departure(port);
        }
        match entity.0 - self.timers().0 {
            0 => EntityKind::Timers,
            source if source <= self.sources => EntityKind::Source(source - 1),
            _ => EntityKind::Sampler,
        }
    }

    #[inline]
    pub(crate) fn departure(&self, port: PortId) -> Entity {
        Entity(self.departures[port.index()])
    }

    #[inline]
    pub(crate) fn arrival(&self, port: PortId) -> Entity {
        Entity(self.served.len() as u32 + port.0)
    }

    #[inline]
    pub(crate) fn timers(&self) -> Entity {
        self.arrival(PortId(self.ports))
    }

    pub(crate) fn source(&self, source: usize) -> Entity {
        Entity(self.timers().0 + 1 + source as u32)
    }

    pub(crate) fn sampler(&self) -> Entity {
        self.source(self.sources as usize)
    }
}
