//! What few links have at their ends besides a port: roles, loss, somebody who looks on.

use shortflow_elements::dropper::LinkLoss;
use shortflow_elements::{DropReason, Packet, SenderView};
use shortflow_policy::Conditioner;
use shortflow_scenario::NodeId;

use crate::engine::Engine;
use crate::flow::Flows;
use crate::network::{Hop, Network};
use crate::pool::Slot;
use crate::routes::PortIndex;
use crate::tap::{Event, Sight, Tap};

/// What packets pass before they join the port's queue.
#[derive(Default)]
pub(crate) struct NearEnd {
    pub(crate) conditioner: Option<Conditioner>,
    is_watched: bool,
}

/// What packets pass as they enter the node at the far end.
#[derive(Default)]
pub(crate) struct FarEnd {
    /// Loses packets on the link.
    pub(crate) loss: Option<LinkLoss>,
    pub(crate) conditioner: Option<Conditioner>,
    is_watched: bool,
}

impl NearEnd {
    /// None where there is nothing to pass.
    pub(crate) fn of(conditioner: Option<Conditioner>) -> Option<Box<Self>> {
        let is_empty = conditioner.is_none();
        (!is_empty).then(|| Box::new(NearEnd { conditioner, is_watched: false }))
    }
}

impl FarEnd {
    /// None where there is nothing to pass.
    pub(crate) fn of(
        loss: Option<LinkLoss>,
        conditioner: Option<Conditioner>,
    ) -> Option<Box<Self>> {
        let is_empty = loss.is_none() && conditioner.is_none();
        (!is_empty).then(|| Box::new(FarEnd { loss, conditioner, is_watched: false }))
    }
}

impl Network {
    /// Marks the links at which `tap` looks.
    pub(crate) fn show_to(&mut self, tap: &dyn Tap) {
        for hop in &mut self.ports {
            if tap.watches(NodeId(hop.from), NodeId(hop.to)) {
                hop.near.get_or_insert_default().is_watched = true;
                hop.far.get_or_insert_default().is_watched = true;
            }
        }
    }
}

impl Engine {
    /// Passes a packet by what stands before a port's queue; a reason when it goes no further.
    pub(crate) fn pass_near_end(
        &mut self,
        index: PortIndex,
        slot: &Slot,
        sender: Option<&SenderView>,
    ) -> Option<DropReason> {
        let hop = &mut self.network.ports[index as usize];
        let end = hop.near.as_mut()?;
        let conditioner = end.conditioner.as_mut();
        let packet = self.pool.packet_mut(slot);
        let refused = conditioner.and_then(|c| c.condition(self.now, packet, sender));
        if end.is_watched {
            self.show(index, slot, Event::Sent);
        }
        refused
    }

    /// Passes a packet by what stands at the far end of a link; none when it goes no further.
    pub(crate) fn pass_far_end(&mut self, index: PortIndex, mut slot: Slot) -> Option<Slot> {
        let hop = &mut self.network.ports[index as usize];
        let Some(end) = hop.far.as_mut() else { return Some(slot) };
        if let Some(loss) = &mut end.loss {
            match loss.pass(self.pool.remove(slot), &mut self.drops) {
                Some(kept) => slot = self.pool.insert(kept),
                None => {
                    self.account_drops(index);
                    return None;
                }
            }
        }
        let packet = self.pool.packet_mut(&slot);
        if let Some(conditioner) = &mut end.conditioner
            && let Some(reason) = conditioner.condition(self.now, packet, None)
        {
            let packet = self.pool.remove(slot);
            self.drop_at(index, &packet, reason);
            return None;
        }
        if end.is_watched {
            self.show(index, &slot, Event::Arrived);
        }
        Some(slot)
    }

    #[cold]
    fn show(&mut self, index: PortIndex, slot: &Slot, event: Event) {
        let hop = &self.network.ports[index as usize];
        let Some(tap) = &mut self.tap else { return };
        tap.see(&sight(self.now, hop, event, self.pool.packet(slot), &mut self.flows));
    }

    /// Shows a packet that was dropped, if somebody looks at its link.
    pub(crate) fn show_dropped(&mut self, index: PortIndex, packet: &Packet, reason: DropReason) {
        let hop = &self.network.ports[index as usize];
        let Some(tap) = &mut self.tap else { return };
        if hop.near.as_ref().is_some_and(|end| end.is_watched) {
            tap.see(&sight(self.now, hop, Event::Dropped(reason), packet, &mut self.flows));
        }
    }
}

fn sight<'a>(
    now: shortflow_units::Instant,
    hop: &Hop,
    event: Event,
    packet: &'a Packet,
    flows: &'a mut Flows,
) -> Sight<'a> {
    // The name of a flow is given again once it is over, so the 5-tuple must be its own.
    let flow = flows.get_mut(packet.flow).filter(|flow| flow.receiver(&packet.key).is_some());
    Sight {
        now,
        from: NodeId(hop.from),
        to: NodeId(hop.to),
        event,
        packet,
        tcp: flow.map(|flow| flow.ends[0].tcp.config()),
    }
}
