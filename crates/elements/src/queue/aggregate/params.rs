//! What is set of a shaper of an aggregate.

use shortflow_units::{Duration, Length};

use crate::ParamsError;
use crate::params::above_zero;
use crate::queue::checked_limit;
use crate::sharing::{AggregateProfile, ConnectionLimits, Sharing};
use crate::traits::SenderEvent;

/// Parameters of an [`AggregateShaper`](super::AggregateShaper): the profile and its sharing, the buffer, and when packets that
/// wait may go. [`AggregateShaperParams::settings`] has all of them.
#[derive(Debug, Clone)]
pub struct AggregateShaperParams {
    /// What all connections together may send.
    pub profile: AggregateProfile,
    /// What each may take of it.
    pub sharing: Sharing,
    /// How many have a share at once.
    pub connections: ConnectionLimits,
    pub(super) limit: Length,
    pub(super) timer: Duration,
    pub(super) order: ServiceOrder,
    pub(super) fresh: FreshPackets,
    pub(super) triggers: Triggers,
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
}

impl AggregateShaperParams {
    /// A shaper that holds `limit` at most. Its timer expires each `timer` while packets wait.
    /// Connections are served in the first order, one whose packet is fresh takes its turn, and every
    /// event at a sender is a trigger.
    pub fn new(
        profile: AggregateProfile,
        sharing: Sharing,
        connections: ConnectionLimits,
        limit: Length,
        timer: Duration,
    ) -> Result<Self, ParamsError> {
        let (order, fresh, triggers) =
            (ServiceOrder::FirstCome, FreshPackets::InTurn, Triggers::ALL);
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
        };
        Ok(params)
    }

    /// The same where connections are served in `order`.
    #[must_use]
    pub fn with_order(self, order: ServiceOrder) -> Self {
        AggregateShaperParams { order, ..self }
    }

    /// The same where this becomes of fresh packets.
    #[must_use]
    pub fn with_fresh_packets(self, fresh: FreshPackets) -> Self {
        AggregateShaperParams { fresh, ..self }
    }

    /// The same where only these events are triggers.
    #[must_use]
    pub fn with_triggers(self, triggers: Triggers) -> Self {
        AggregateShaperParams { triggers, ..self }
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
        }
    }

    /// What it holds at most.
    pub fn limit(&self) -> Length {
        self.limit
    }

    /// After how long the timer expires.
    pub fn timer(&self) -> Duration {
        self.timer
    }

    /// In which order connections are served.
    pub fn order(&self) -> ServiceOrder {
        self.order
    }

    /// What becomes of a packet that comes while others wait.
    pub fn fresh_packets(&self) -> FreshPackets {
        self.fresh
    }

    /// Which events at senders let packets go that conform.
    pub fn triggers(&self) -> Triggers {
        self.triggers
    }
}

/// In which order connections whose packets wait are served (§4.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceOrder {
    /// Always from the first of the list, which is the one that has been known longest.
    Sequential,
    /// By when they became non-compliant. One that has been served as far as it conforms becomes
    /// non-compliant anew.
    FirstCome,
    /// The one whose last token was assigned longest ago, packet by packet. One that was never assigned
    /// any counts from when it came.
    LeastRecentlyServed,
}

/// Who goes when tokens have come and a sender has something new: the ones before, or its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshPackets {
    /// With a common bucket, a packet that comes while others wait takes its turn in the service order, and
    /// a trigger lets those go whose turn it is (§6.3).
    InTurn,
    /// A packet that conforms when it comes goes at once, before those that wait, and a trigger lets its own
    /// connection alone go: whoever invokes TCP's output routine is checked for compliance (§4.1). The timer
    /// serves all in their order.
    Overtake,
}

/// Which events at senders are triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triggers(u8);

impl Triggers {
    /// None: the timer alone lets waiting packets go.
    pub const NONE: Triggers = Triggers(0);
    /// Every event.
    pub const ALL: Triggers = Triggers((1 << SenderEvent::ALL.len()) - 1);

    /// These and `event`.
    #[must_use]
    pub const fn with(self, event: SenderEvent) -> Self {
        Triggers(self.0 | 1 << event as u8)
    }

    /// Whether `event` is a trigger.
    pub const fn has(self, event: SenderEvent) -> bool {
        self.0 & 1 << event as u8 != 0
    }

    /// Those events that are triggers.
    pub fn iter(self) -> impl Iterator<Item = SenderEvent> {
        SenderEvent::ALL.into_iter().filter(move |&event| self.has(event))
    }
}
