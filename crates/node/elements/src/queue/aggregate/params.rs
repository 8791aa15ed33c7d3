//! Parameters of a shaper of an aggregate.

use shortflow_packet::SenderEvent;
use shortflow_units::{Duration, Length};

use crate::ParamsError;
use crate::params::above_zero;
use crate::queue::checked_limit;
use crate::sharing::{AggregateProfile, ConnectionLimits, Sharing};

/// Parameters of an [`AggregateShaper`](super::AggregateShaper): the profile and its sharing, the buffer, and when packets that
/// wait may go. [`AggregateShaperParams::settings`] has all of them.
#[derive(Debug, Clone)]
pub struct AggregateShaperParams {
    /// The profile of all connections together.
    pub profile: AggregateProfile,
    /// How it is shared.
    pub sharing: Sharing,
    /// How many connections have a share at the same time.
    pub connections: ConnectionLimits,
    pub(super) limit: Length,
    pub(super) timer: Duration,
    pub(super) order: ServiceOrder,
    pub(super) fresh: FreshPackets,
    pub(super) triggers: Triggers,
    pub(super) place: Place,
}

/// The settings of an [`AggregateShaperParams`], as [`AggregateShaperParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct AggregateShaperSettings<'p> {
    /// What all connections together may send.
    pub profile: &'p AggregateProfile,
    /// What each may take of it.
    pub sharing: Sharing,
    /// How many have a share at once.
    pub connections: ConnectionLimits,
    /// What it holds at most.
    pub limit: Length,
    /// After how long the timer expires.
    pub timer: Duration,
    /// In which order connections are served.
    pub order: ServiceOrder,
    /// What becomes of a packet that comes while others wait.
    pub fresh: FreshPackets,
    /// Which events at senders let packets go that conform.
    pub triggers: Triggers,
    /// Where packets wait.
    pub place: Place,
}

impl AggregateShaperParams {
    /// A shaper with this `limit`. Its timer expires every `timer` while packets wait. By default connections
    /// are served in the first order, an arriving packet takes its turn, every event at a sender is a trigger,
    /// and segments are withheld in TCP.
    pub fn new(
        profile: AggregateProfile,
        sharing: Sharing,
        connections: ConnectionLimits,
        limit: Length,
        timer: Duration,
    ) -> Result<Self, ParamsError> {
        let (order, fresh, triggers, place) =
            (ServiceOrder::FirstCome, FreshPackets::InTurn, Triggers::ALL, Place::Tcp);
        let (limit, timer) = (checked_limit(limit)?, above_zero("timer", timer)?);
        let params = AggregateShaperParams {
            profile,
            sharing,
            connections,
            limit,
            timer,
            order,
            fresh,
            triggers,
            place,
        };
        Ok(params)
    }

    /// Sets the order of service.
    #[must_use]
    pub fn with_order(self, order: ServiceOrder) -> Self {
        AggregateShaperParams { order, ..self }
    }

    /// Sets the treatment of arriving packets.
    #[must_use]
    pub fn with_fresh_packets(self, fresh: FreshPackets) -> Self {
        AggregateShaperParams { fresh, ..self }
    }

    /// Sets the triggers.
    #[must_use]
    pub fn with_triggers(self, triggers: Triggers) -> Self {
        AggregateShaperParams { triggers, ..self }
    }

    /// Sets where packets wait.
    #[must_use]
    pub fn with_place(self, place: Place) -> Self {
        AggregateShaperParams { place, ..self }
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> AggregateShaperSettings<'_> {
        let AggregateShaperParams {
            profile,
            sharing,
            connections,
            limit,
            timer,
            order,
            fresh,
            triggers,
            place,
        } = self;
        AggregateShaperSettings {
            profile,
            sharing: *sharing,
            connections: *connections,
            limit: *limit,
            timer: *timer,
            order: *order,
            fresh: *fresh,
            triggers: *triggers,
            place: *place,
        }
    }

    /// The limit.
    pub fn limit(&self) -> Length {
        self.limit
    }

    /// The period of the timer.
    pub fn timer(&self) -> Duration {
        self.timer
    }

    /// The order of service.
    pub fn order(&self) -> ServiceOrder {
        self.order
    }

    /// The treatment of a packet that arrives while others wait.
    pub fn fresh_packets(&self) -> FreshPackets {
        self.fresh
    }

    /// Where packets wait.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The events at senders that release conforming packets.
    pub fn triggers(&self) -> Triggers {
        self.triggers
    }
}

/// The order in which connections with waiting packets are served (§4.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceOrder {
    /// Always from the first of the list, the oldest connection.
    Sequential,
    /// By the time when they became non-compliant. A connection that was served as far as it conforms becomes
    /// non-compliant again.
    FirstCome,
    /// The connection whose last token was assigned longest ago, packet by packet. A connection without
    /// tokens counts from its arrival.
    LeastRecentlyServed,
}

/// Which packets leave when tokens arrive and a sender has new data: earlier ones, or its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshPackets {
    /// With a common bucket, a packet that arrives while others wait takes its turn in the service order, and
    /// a trigger releases the packets whose turn it is (§6.3).
    InTurn,
    /// A packet that conforms on arrival leaves at once, before waiting ones, and a trigger releases packets
    /// of its own connection only: TCP's output routine is checked for compliance when it runs (§4.1). The
    /// timer serves all in order.
    Overtake,
}

/// Where what does not conform waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In TCP, unsent: TCP's output routine asks before each segment (§4.1, §6.1). Packets of other senders,
    /// which do not ask, wait in the queue.
    Tcp,
    /// In the queue, behind TCP, which counts them as in flight.
    Queue,
}

/// The events at senders that are triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triggers(u8);

impl Triggers {
    /// None: only the timer releases waiting packets.
    pub const NONE: Triggers = Triggers(0);
    /// Every event.
    pub const ALL: Triggers = Triggers((1 << SenderEvent::ALL.len()) - 1);

    /// These events and `event`.
    #[must_use]
    pub const fn with(self, event: SenderEvent) -> Self {
        Triggers(self.0 | 1 << event as u8)
    }

    /// Whether `event` is a trigger.
    pub const fn has(self, event: SenderEvent) -> bool {
        self.0 & 1 << event as u8 != 0
    }

    /// The events that are triggers.
    pub fn iter(self) -> impl Iterator<Item = SenderEvent> {
        SenderEvent::ALL.into_iter().filter(move |&event| self.has(event))
    }
}
