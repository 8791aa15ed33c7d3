//! `aggregate-shaper`: a source host's shaper of an aggregate of connections.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{AggregateShaper, AggregateShaperParams};
use shortflow_elements::queue::{FreshPackets, Place, ServiceOrder, Triggers};
use shortflow_packet::SenderEvent;
use shortflow_units::{Duration, Length, Rate};

use crate::Asked;
use crate::check::Checker;
use crate::keys::{OneOf, aggregate_keys, asks_rtt, choices};
use crate::scheme::{Port, QueueScheme};

aggregate_keys! {
    /// Withholds segments of an aggregate of connections until they conform to its profile, at the host that
    /// sends them. They leave, connection by connection, when a coarse timer expires or when an event at a
    /// sender triggers it.
    #[schemars(rename = "AggregateShaper")]
    struct Keys {
        /// Where a segment waits. Packets of other senders than the TCPs of this host wait in the queue.
        #[serde(default = "place")]
        place: OneOf<Place>,
        /// Limit of all packets in the queue together.
        #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
        limit: Length,
        /// Period of the timer, which runs while packets wait.
        #[serde(default = "timer")]
        #[schemars(extend("x-range" = "above zero"))]
        timer: Duration,
        /// Order in which connections with waiting packets are served.
        #[serde(default = "order")]
        order: OneOf<ServiceOrder>,
        /// Which packets leave when tokens arrive and a sender has new data while packets of other
        /// connections wait. The paper has "in-turn" in section 6.3 (the implementation) and "overtake" in
        /// section 4.1 (the simulator).
        #[serde(default = "fresh")]
        fresh: OneOf<FreshPackets>,
        /// Events that release packets before the timer expires. Only the sending host sees them.
        #[serde(default = "triggers")]
        triggers: Vec<OneOf<SenderEvent>>,
    }
}

choices!(Place as "ShapingPlace" {
    /// In TCP, unsent, as in the paper: TCP asks before each segment. What waits is not in flight, and does not
    /// lengthen the round trip. Only as the whole queue of a port of the sending host.
    "tcp" => Place::Tcp,
    /// In the queue, behind TCP: what waits is in flight.
    "queue" => Place::Queue,
});

choices!(ServiceOrder as "ServiceOrder" {
    /// The oldest connection first.
    "sequential" => ServiceOrder::Sequential,
    /// The connection that became non-compliant first.
    "fcfs" => ServiceOrder::FirstCome,
    /// The connection whose last token was assigned longest ago, packet by packet.
    "lru" => ServiceOrder::LeastRecentlyServed,
});

choices!(FreshPackets as "FreshPackets" {
    /// With a common bucket, an arriving packet waits for its turn, and a trigger releases the packets whose
    /// turn it is.
    "in-turn" => FreshPackets::InTurn,
    /// A packet that finds tokens leaves at once, and a trigger releases packets of its own connection only.
    "overtake" => FreshPackets::Overtake,
});

choices!(SenderEvent as "SenderEvent" {
    /// New data are acknowledged, and more data wait to be sent.
    "ack" => SenderEvent::Acknowledgement,
    /// New data are acknowledged, and no data wait to be sent.
    "idle-ack" => SenderEvent::IdleAcknowledgement,
    /// A duplicate acknowledgement arrives.
    "duplicate-ack" => SenderEvent::DuplicateAcknowledgement,
    /// The application writes data while the window is closed.
    "closed-window" => SenderEvent::ClosedWindow,
    /// A connection opens.
    "new-connection" => SenderEvent::NewConnection,
});

/// Mehra, Tewari & Kandlur 1999, §4.1.
fn timer() -> Duration {
    Duration::from_millis(15)
}

/// Mehra, Tewari & Kandlur 1999, §4.1 and §6.1.
fn place() -> OneOf<Place> {
    OneOf(Place::Tcp)
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
        checker.managed_limit(path, self.limit);
        let (profile, connections) = (self.profile(checker, path), self.limits(checker, path));
        let sharing = self.sharing.0;
        let params =
            AggregateShaperParams::new(profile?, sharing, connections?, self.limit, self.timer);
        let triggers = self.triggers.iter().fold(Triggers::NONE, |all, event| all.with(event.0));
        let params = checker.accept(path, params)?.with_order(self.order.0);
        Some(Box::new(
            params
                .with_fresh_packets(self.fresh.0)
                .with_triggers(triggers)
                .with_place(self.place.0),
        ))
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        AggregateShaper::new((**plan).clone(), port.stream()).into()
    }

    fn asks(plan: &Plan) -> Asked {
        asks_rtt(plan.sharing)
    }

    fn withholds(plan: &Plan) -> bool {
        plan.place() == Place::Tcp
    }

    fn shaped_to(plan: &Plan) -> Option<Rate> {
        Some(plan.profile.rate())
    }
}
