//! `aggregate-shaper`: a source host's shaper of an aggregate of connections.

use shortflow_elements::queue::{AggregateShaper, AggregateShaperParams};
use shortflow_elements::queue::{FreshPackets, ServiceOrder, Triggers};
use shortflow_elements::{QueueDiscipline, SenderEvent};
use shortflow_units::{Duration, Length, Rate};

use crate::Asked;
use crate::check::Checker;
use crate::keys::{OneOf, aggregate_keys, asks_rtt, choices};
use crate::scheme::{Port, QueueScheme};

aggregate_keys! {
    /// Holds packets of an aggregate of connections until they keep to its profile, at the host that
    /// sends them. What waits goes, connection by connection, when a coarse timer expires or when an
    /// event at a sender is a trigger.
    #[schemars(rename = "AggregateShaper")]
    struct Keys {
        /// What all connections hold together.
        #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
        limit: Length,
        /// The period of the timer, which runs while packets wait.
        #[serde(default = "timer")]
        #[schemars(extend("x-range" = "above zero"))]
        timer: Duration,
        /// In which order connections are served whose packets wait.
        #[serde(default = "order")]
        order: OneOf<ServiceOrder>,
        /// Who goes when tokens have come and a sender has something new, while packets of others wait.
        /// Section 6.3, which describes the implementation, says "in-turn", section 4.1, which describes the
        /// simulator, "overtake".
        #[serde(default = "fresh")]
        fresh: OneOf<FreshPackets>,
        /// Which events let packets go before the timer expires; all by default. Only a connection's own
        /// host tells them.
        #[serde(default = "triggers")]
        triggers: Vec<OneOf<SenderEvent>>,
    }
}

choices!(ServiceOrder as "ServiceOrder" {
    /// From the one that has been known longest.
    "sequential" => ServiceOrder::Sequential,
    /// By when they became non-compliant.
    "fcfs" => ServiceOrder::FirstCome,
    /// The one whose last token was assigned longest ago, packet by packet.
    "lru" => ServiceOrder::LeastRecentlyServed,
});

choices!(FreshPackets as "FreshPackets" {
    /// With a common bucket, a packet that comes takes its turn, and a trigger lets those go whose turn
    /// it is.
    "in-turn" => FreshPackets::InTurn,
    /// A packet that finds tokens goes at once, and a trigger lets its own connection alone go.
    "overtake" => FreshPackets::Overtake,
});

choices!(SenderEvent as "SenderEvent" {
    /// New data are acknowledged, and more wait to be sent.
    "ack" => SenderEvent::Acknowledgement,
    /// New data are acknowledged, and there is nothing to send.
    "idle-ack" => SenderEvent::IdleAcknowledgement,
    /// A duplicate acknowledgement has come.
    "duplicate-ack" => SenderEvent::DuplicateAcknowledgement,
    /// The application has handed in data, and the window is closed.
    "closed-window" => SenderEvent::ClosedWindow,
    /// A connection is new.
    "new-connection" => SenderEvent::NewConnection,
});

/// Mehra, Tewari & Kandlur 1999, §4.1.
fn timer() -> Duration {
    Duration::from_millis(15)
}

fn order() -> OneOf<ServiceOrder> {
    OneOf(ServiceOrder::FirstCome)
}

fn fresh() -> OneOf<FreshPackets> {
    OneOf(FreshPackets::InTurn)
}

fn triggers() -> Vec<OneOf<SenderEvent>> {
    SenderEvent::ALL.into_iter().map(OneOf).collect()
}

/// The shaper's parameters.
pub type Plan = Box<AggregateShaperParams>;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Mehra, Tewari & Kandlur 1999, sections 4.2 and 6";
    const EXAMPLE: &'static str = r#"[roles.servers.queue.aggregate-shaper]
rate = "5 Mbit/s"
depth = "200 KB"
sharing = "logical"
limit = "1000 pkt"
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.limit(path, self.limit);
        let (profile, connections) = (self.profile(checker, path), self.limits(checker, path));
        let sharing = self.sharing.0;
        let params =
            AggregateShaperParams::new(profile?, sharing, connections?, self.limit, self.timer);
        let triggers = self.triggers.iter().fold(Triggers::NONE, |all, event| all.with(event.0));
        let params = checker.accept(path, params)?.with_order(self.order.0);
        Some(Box::new(params.with_fresh_packets(self.fresh.0).with_triggers(triggers)))
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Box::new(AggregateShaper::new((**plan).clone(), port.stream()))
    }

    fn asks(plan: &Plan) -> Asked {
        asks_rtt(plan.sharing)
    }

    fn shaped_to(plan: &Plan) -> Option<Rate> {
        Some(plan.profile.rate())
    }
}
