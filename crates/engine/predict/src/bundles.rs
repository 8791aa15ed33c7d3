//! Bundles of long flows, and the line that holds each back.

use shortflow_models::pftk::Path;
use shortflow_tcp::{Algorithm, Config, RtoFloor};

use crate::joint_loss;
use crate::marks::Piece;
use crate::network::Network;
use crate::slow_start::{acknowledged_segments, growing};
use crate::traffic::{Demand, Source};
use crate::within::{Within, value};

/// What Reno leaves of a window.
pub(crate) const RENO_KEEPS: f64 = 0.5;

/// Flows of one workload over one route.
#[derive(Debug, Clone)]
pub(crate) struct Bundle {
    pub(crate) source: usize,
    pub(crate) route: usize,
    pub(crate) connections: f64,
    /// The line that holds them back.
    pub(crate) bottleneck: usize,
    /// Bytes of a full packet, of its payload and of its headers.
    pub(crate) packet: f64,
    pub(crate) payload: f64,
    pub(crate) header: f64,
    /// Segments that an acknowledgement covers.
    pub(crate) answered: f64,
    segments_per_ack: f64,
    max_window: f64,
    rto_min: f64,
    floor: RtoFloor,
    /// What is left of a window after a loss.
    pub(crate) kept: f64,
    /// Whether a mark tells it to send less (RFC 3168).
    pub(crate) ecn: bool,
    /// Packets per second that come through of all together.
    pub(crate) rate: f64,
}

/// The bundles of sources that have a closed form.
pub(crate) fn bundles(sources: &[Source]) -> Vec<Bundle> {
    let mut found = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let Demand::Endless { connections } = source.demand else { continue };
        if source.lacks.is_some() {
            continue;
        }
        for (number, route) in source.routes.iter().enumerate() {
            found.push(Bundle::new(index, number, connections * route.share, &source.tcp));
        }
    }
    found
}

impl Bundle {
    fn new(source: usize, route: usize, connections: f64, tcp: &Config) -> Bundle {
        let (payload, header) = (f64::from(tcp.mss), f64::from(tcp.header));
        Bundle {
            source,
            route,
            connections,
            bottleneck: 0,
            packet: payload + header,
            payload,
            header,
            answered: acknowledged_segments(tcp),
            segments_per_ack: growing(tcp),
            // A sender waits until there is room for a whole segment (RFC 9293 §3.8.6.2.1).
            max_window: (tcp.receive_window.0 as f64 / payload).floor().max(1.0),
            rto_min: tcp.rto_min.as_secs_f64(),
            floor: tcp.rto_floor,
            // RFC 9438 §4.6, RFC 5681 §3.1.
            kept: if tcp.congestion == Algorithm::Cubic { 0.7 } else { RENO_KEEPS },
            ecn: tcp.ecn,
            rate: 0.0,
        }
    }

    /// How many turns it has of a queue that gives each flow one, or each host.
    pub(crate) fn turns(&self, has_hosts: bool) -> f64 {
        if has_hosts { 1.0 } else { self.connections }
    }

    /// Its path, without the wait at its bottleneck.
    pub(crate) fn path(&self, network: &Network, wait: f64) -> Path {
        let rtt = network.round_trip(self) - wait;
        let seen = rtt + wait;
        let timeout = match self.floor {
            RtoFloor::Timeout => self.rto_min.max(seen),
            RtoFloor::Variation => self.rto_min + seen,
        };
        Path { rtt, timeout, segments_per_ack: self.segments_per_ack, max_window: self.max_window }
    }

    /// What links lose of its packets.
    pub(crate) fn lost_at_links(&self, network: &Network) -> f64 {
        joint_loss::any(network.hops(self).iter().map(|hop| network.lines[hop.line].link_loss))
    }

    /// What is lost of its packets apart from its bottleneck's queue.
    pub(crate) fn lost_elsewhere(&self, network: &Network) -> f64 {
        let hops = network.hops(self);
        let kept: f64 = hops
            .iter()
            .map(|hop| {
                let link = network.lines[hop.line].link_loss;
                if hop.line == self.bottleneck {
                    return 1.0 - link;
                }
                let (band, shares) = network.last(hop);
                1.0 - network.met[hop.line][band].loss_of(&shares)
            })
            .product();
        1.0 - kept
    }
}

/// A flow is held back by the line on its way that has least for each.
pub(crate) fn find_bottlenecks(network: &mut Network) {
    let mut crowds = vec![0.0; network.lines.len()];
    for bundle in &network.bundles {
        for hop in network.hops(bundle) {
            crowds[hop.line] += bundle.connections;
        }
    }
    let left = |network: &Network, bundle: &Bundle| {
        let min = network.hops(bundle).iter().map(|hop| {
            let (band, _) = network.last(hop);
            let load: f64 = network.loads.by_line[hop.line]
                .iter()
                .filter(|entry| entry.band <= band)
                .map(|entry| network.visits[entry.source] * entry.busy)
                .sum();
            let rate = network.lines[hop.line].rate * (1.0 - load).max(0.0);
            (hop.line, rate / crowds[hop.line])
        });
        min.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(line, _)| line)
    };
    let found: Vec<usize> = network.bundles.iter().map(|bundle| left(network, bundle)).collect();
    for (bundle, at) in network.bundles.iter_mut().zip(found) {
        bundle.bottleneck = at;
    }
}

/// The shares of the levels in the packets of a piece.
pub(crate) fn levels(piece: &Piece, count: usize, within: &[Within]) -> Vec<f64> {
    let mut shares = vec![0.0; count];
    for place in &piece.places {
        shares[place.level] += value(place.share, within);
    }
    shares
}
