//! Policing and marking for the connections of an aggregate (Mehra, Tewari & Kandlur 1999, §4.2).

use shortflow_packet::{Dscp, Packet, SenderView};
use shortflow_units::{Instant, Rng};

use crate::sharing::{AggregateProfile, ConnectionLimits, Connections, Sharing};
use crate::{Color, Marker};

/// Parameters of an [`AggregateMarker`].
#[derive(Debug, Clone)]
pub struct AggregateMarkerParams {
    /// The profile of all connections together.
    pub profile: AggregateProfile,
    /// How it is shared.
    pub sharing: Sharing,
    /// How many connections have a share at the same time.
    pub connections: ConnectionLimits,
}

/// Marks packets green that keep to the profile of an aggregate, else yellow. A connection takes tokens from
/// its [share](Sharing) of the profile. If shares depend on round-trip times, the sending host provides them.
/// A connection is known from its first packet on: a new marker also handles connections that are already
/// open (§6.1).
///
/// A packet takes one step per connection, because a connection's tokens depend on what others leave.
#[derive(Debug)]
pub struct AggregateMarker {
    connections: Connections,
    code_points: [Dscp; 3],
}

impl AggregateMarker {
    /// A marker without connections, with a full bucket. `code_points` are those of green, yellow and red.
    /// The hash of its table has a seed from `rng`.
    pub fn new(params: AggregateMarkerParams, code_points: [Dscp; 3], rng: Rng) -> Self {
        let AggregateMarkerParams { profile, sharing, connections } = params;
        let connections = Connections::new(profile, sharing, connections, rng);
        AggregateMarker { connections, code_points }
    }
}

impl Marker for AggregateMarker {
    fn reserve(&mut self, flows: usize) {
        self.connections.reserve(flows);
    }

    fn mark(&mut self, now: Instant, packet: &mut Packet, sender: Option<&SenderView>) -> Color {
        let seen = self.connections.see(now, packet);
        let connection = seen.expect("nothing waits in a marker").number;
        if let Some(rtt) = sender.and_then(|sender| sender.smoothed_rtt) {
            self.connections.set_rtt(connection, rtt);
        }
        let conforms = self.connections.shared.admit(connection, packet);
        self.connections.passed(connection, packet);
        let color = if conforms { Color::Green } else { Color::Yellow };
        packet.dscp = self.code_points[color as usize];
        color
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let stats = self.connections.stats();
        visit("connections seen", stats.joined);
        visit("connections evicted", stats.evicted);
    }
}
