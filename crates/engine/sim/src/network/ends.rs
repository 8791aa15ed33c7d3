//! What few links have at their ends besides a port: roles, loss, a tap.

use shortflow_elements::DropReason;
use shortflow_elements::dropper::LinkLoss;
use shortflow_elements::{Acknowledgements, Conditioner, ThresholdSource};
use shortflow_measure::results;
use shortflow_packet::{Packet, SenderView};
use shortflow_run::{Event, Tap};
use shortflow_scenario::NodeId;

use crate::network::fabric::Fabric;
use crate::network::index::PortId;
use crate::network::layout::Hop;
use crate::network::pool::Parcel;
use crate::record::tap::Watcher;

/// What packets pass before the port's queue.
#[derive(Default)]
pub(crate) struct NearEnd {
    pub(crate) conditioner: Option<Conditioner>,
    is_watched: bool,
}

/// What packets pass when they enter the node at the far end.
#[derive(Default)]
pub(crate) struct FarEnd {
    /// Packet loss on the link.
    pub(crate) loss: Option<LinkLoss>,
    pub(crate) conditioner: Option<Conditioner>,
    is_watched: bool,
}

impl NearEnd {
    /// `None` if there is nothing to pass.
    pub(crate) fn new(conditioner: Option<Conditioner>) -> Option<Box<Self>> {
        let is_empty = conditioner.is_none();
        (!is_empty).then(|| Box::new(NearEnd { conditioner, is_watched: false }))
    }

    /// What the host shows to it.
    #[inline]
    fn shown(&self) -> Shown {
        match self.conditioner.as_ref().map(Conditioner::acknowledgements) {
            Some(Acknowledgements::Echoed) if !self.is_watched => Shown::AllButEchoes,
            _ => Shown::All,
        }
    }
}

/// The part of the sending TCP's state that a host shows before a port's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing: no role needs it.
    Nothing,
    /// All of it.
    All,
    /// All of it, except for acknowledgements without data: they [echo](Fabric::leave_host) a code point.
    AllButEchoes,
}

impl FarEnd {
    /// `None` if there is nothing to pass.
    pub(crate) fn new(
        loss: Option<LinkLoss>,
        conditioner: Option<Conditioner>,
    ) -> Option<Box<Self>> {
        let is_empty = loss.is_none() && conditioner.is_none();
        (!is_empty).then(|| Box::new(FarEnd { loss, conditioner, is_watched: false }))
    }
}

impl Hop {
    /// Replaces the conditioners at its ends. Loss and taps stay.
    pub(crate) fn condition(&mut self, near: Option<Conditioner>, far: Option<Conditioner>) {
        match &mut self.near {
            Some(end) if end.is_watched || near.is_some() => end.conditioner = near,
            end => *end = NearEnd::new(near),
        }
        match &mut self.far {
            Some(end) if end.is_watched || end.loss.is_some() || far.is_some() => {
                end.conditioner = far;
            }
            end => *end = FarEnd::new(None, far),
        }
    }
}

impl Fabric {
    /// The port through which a host sends to `destination`, and what is shown there of the sender.
    #[inline(always)]
    pub(crate) fn outlet(&self, node: NodeId, destination: NodeId) -> (PortId, Shown) {
        let index = self.network.routes.port(node, destination);
        let near = self.network.ports[index].near.as_ref();
        (index, near.map_or(Shown::Nothing, |end| end.shown()))
    }

    /// Whether a role there asks applications where objects start.
    #[inline]
    pub(crate) fn asks_objects(&self, index: PortId) -> bool {
        let near = self.network.ports[index].near.as_ref();
        let conditioner = near.and_then(|end| end.conditioner.as_ref());
        conditioner.is_some_and(|at| at.thresholds() == ThresholdSource::Application)
    }

    /// Connects `tap`.
    pub(crate) fn show_to(&mut self, tap: Option<Box<dyn Tap>>) {
        let Some(tap) = tap else { return };
        for hop in self.network.ports.iter_mut() {
            if tap.watches(hop.from, hop.to) {
                hop.near.get_or_insert_default().is_watched = true;
                hop.far.get_or_insert_default().is_watched = true;
            }
        }
        self.watcher = Some(Watcher::new(tap));
    }

    /// Notifies the tap that the run is complete.
    pub(crate) fn finish_tap(&mut self) -> Result<(), results::Error> {
        self.watcher.take().map_or(Ok(()), |watcher| watcher.tap.finish())
    }

    /// Passes a packet, which is lent, through the conditioners before a port's queue. Returns the reason if
    /// it is dropped.
    #[inline]
    pub(crate) fn pass_near_end(
        &mut self,
        index: PortId,
        packet: &mut Packet,
        sender: Option<&SenderView>,
    ) -> Option<DropReason> {
        let end = self.network.ports[index].near.as_mut()?;
        let conditioner = end.conditioner.as_mut();
        let refused = conditioner.and_then(|at| at.condition(self.now, packet, sender));
        let ends = end.conditioner.as_mut().is_some_and(|at| refused.is_some() && at.take_ended());
        if end.is_watched {
            let parcel = self.pool.take_back(std::mem::take(packet));
            self.show(index, &parcel, Event::Sent);
            *packet = self.pool.lend(parcel);
        }
        if ends {
            self.note_ended();
        }
        refused
    }

    /// Passes a packet through the conditioners at the far end of this link, and counts it. `None` if it is
    /// dropped.
    pub(crate) fn pass_far_end(&mut self, index: PortId, mut parcel: Parcel) -> Option<Parcel> {
        let hop = &mut self.network.ports[index];
        let end = hop.far.as_mut().expect("something stands at the far end");
        if let Some(loss) = &mut end.loss {
            match loss.pass(self.pool.lend(parcel), &mut self.drops) {
                Some(kept) => parcel = self.pool.take_back(kept),
                None => {
                    self.account_drops(index);
                    return None;
                }
            }
        }
        let now = self.now;
        let refused = end.conditioner.as_mut().and_then(|conditioner| {
            self.pool.change(&mut parcel, |packet| conditioner.condition(now, packet, None))
        });
        if let Some(reason) = refused {
            self.drop_at(index, parcel, reason);
            return None;
        }
        if end.is_watched {
            self.show(index, &parcel, Event::Arrived);
        }
        self.network.ports[index].port.counters.forwarded(&parcel);
        Some(parcel)
    }

    #[cold]
    fn show(&mut self, index: PortId, parcel: &Parcel, event: Event) {
        let Some(watcher) = &mut self.watcher else { return };
        let hop = &self.network.ports[index];
        let (resident, packet) = (self.pool.packet(parcel), self.pool.shown(parcel));
        watcher.see(self.now, hop, event, resident, &packet);
    }

    /// Shows a dropped packet, if its link has a tap.
    pub(crate) fn show_dropped(&mut self, index: PortId, parcel: &Parcel, reason: DropReason) {
        let hop = &self.network.ports[index];
        if hop.near.as_ref().is_some_and(|end| end.is_watched) {
            self.show(index, parcel, Event::Dropped(reason));
        }
    }
}
