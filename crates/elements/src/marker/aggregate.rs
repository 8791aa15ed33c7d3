//! Police-and-mark for the connections of an aggregate (Mehra, Tewari & Kandlur 1999, §4.2).

use shortflow_units::{Instant, Rng};

use crate::sharing::{AggregateProfile, ConnectionLimits, Connections, Sharing};
use crate::{Color, Dscp, Marker, Packet, SenderView};

/// Parameters of an [`AggregateMarker`].
#[derive(Debug, Clone)]
pub struct AggregateMarkerParams {
    /// What all connections together may send in profile.
    pub profile: AggregateProfile,
    /// What each may take of it.
    pub sharing: Sharing,
    /// How many have a share at once.
    pub connections: ConnectionLimits,
}

/// Marks what keeps to the profile of an aggregate green, the rest yellow. A connection takes its
/// tokens by its [share](Sharing) of the profile; its own host tells its round-trip time, where the
/// shares hang on it. It is known from the first packet that comes on: a marker that is put in place
/// takes over the connections that are open (§6.1).
///
/// A packet takes a step for each connection: how much one may take hangs on what others leave.
#[derive(Debug)]
pub struct AggregateMarker {
    connections: Connections,
    code_points: [Dscp; 3],
}

impl AggregateMarker {
    /// A marker that knows no connection yet, with a full bucket. `code_points` are those of green,
    /// yellow and red; its table hashes under a seed from `rng`.
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
