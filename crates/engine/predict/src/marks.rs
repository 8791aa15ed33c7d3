//! The band and the level of a flow's packets at each line, by the bytes that the flow has sent.

use shortflow_packet::{Address, Dscp, FlowKey, Packet, Protocol};
use shortflow_tcp::Config;
use shortflow_units::Rate;

use crate::slow_start::acknowledged_segments;

/// Packets of a flow, as a classifier sees them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Whose packets, and to whom.
    pub(crate) addresses: (Address, Address),
    pub(crate) protocol: Protocol,
    /// Source and destination port.
    pub(crate) ports: (u16, u16),
    /// What the sender writes.
    pub(crate) dscp: Dscp,
    /// Bytes of a full packet, and of the headers in it.
    pub(crate) packet: f64,
    pub(crate) header: f64,
    /// Bytes per second of a flow that lasts; 0 where it is as fast as it can.
    pub(crate) rate: f64,
    /// How the window of its sender grows.
    pub(crate) window: SlowStart,
}

/// The window of slow start in segments: the first, how much an acknowledged segment adds, and the greatest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlowStart {
    pub(crate) first: f64,
    pub(crate) growth: f64,
    pub(crate) max: f64,
}

impl SlowStart {
    /// That of these settings.
    pub(crate) fn from_config(tcp: &Config) -> SlowStart {
        let max = (tcp.receive_window.0 as f64 / f64::from(tcp.mss)).max(1.0);
        let growth = if tcp.quick_acks > 0 { 1.0 } else { 1.0 / acknowledged_segments(tcp) };
        SlowStart { first: f64::from(tcp.initial_window).min(max), growth, max }
    }
}

impl Kind {
    /// A packet with this code point.
    pub(crate) fn sample(&self, dscp: Dscp) -> Packet {
        let key = FlowKey {
            src: self.addresses.0,
            dst: self.addresses.1,
            src_port: self.ports.0,
            dst_port: self.ports.1,
            protocol: self.protocol,
        };
        let payload = (self.packet - self.header) as u16;
        Packet { size: self.packet as u32, payload, key, dscp, ..Packet::default() }
    }
}

/// The packets of a flow from when it has sent so many bytes on, payload and headers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) from: f64,
    /// Where they belong, with the share of them that does.
    pub(crate) places: Vec<Place>,
}

/// A part of the packets of a piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) band: usize,
    pub(crate) level: usize,
    pub(crate) share: Share,
}

/// Which share of packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Share {
    All,
    /// What this meter finds within its profile, of those that it protects first or of the rest.
    Within(usize, Protected),
    /// What it finds beyond.
    Beyond(usize, Protected),
    /// What this meter finds beyond its profile and within its peak rate.
    Between(usize),
    /// What it finds beyond its peak rate.
    Above(usize),
    /// What it gives this drop precedence by SIMA.
    Precedence(usize, usize),
    /// Always the same.
    Part(f64),
}

/// Whether a meter takes packets first, as those of a flow's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protected {
    First,
    Rest,
}

/// A meter with a profile that packets share.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    /// Its place and class.
    name: String,
    /// Bytes per second of the profile, and up to which it has a second colour: no less.
    pub(crate) committed: f64,
    pub(crate) peak: f64,
}

/// Bytes per second up to which a meter finds packets within its profile, and within its peak rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) committed: f64,
    pub(crate) peak: f64,
}

impl Rates {
    /// A profile alone.
    pub(crate) fn from_committed(committed: Rate) -> Rates {
        let committed = committed.bytes_per_sec();
        Rates { committed, peak: committed }
    }
}

/// The meters of a network, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meters(pub(crate) Vec<Meter>);

impl Meters {
    /// The number of the meter of this name.
    pub(crate) fn number(&mut self, name: String, Rates { committed, peak }: Rates) -> usize {
        let known = self.0.iter().position(|meter| meter.name == name);
        known.unwrap_or_else(|| {
            self.0.push(Meter { name, committed, peak });
            self.0.len() - 1
        })
    }
}

/// A line on the way of a flow, and where its packets belong there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hop {
    pub(crate) line: usize,
    pub(crate) pieces: Vec<Piece>,
    /// Meters that its packets have passed up to here: which, and the bytes sent up to which packets count as
    /// protected.
    pub(crate) metered: Option<(usize, f64)>,
    /// Bytes per second that markers up to here forget of what a flow has sent.
    pub(crate) forgets: f64,
    /// The window in segments beyond which markers up to here write what they write last; 0 where none goes by the window.
    pub(crate) window: f64,
    /// Why it is not known where they belong.
    pub(crate) lacks: Option<String>,
}

/// What is written in the packets of a flow from so many bytes on.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) from: f64,
    pub(crate) code_points: Vec<(Dscp, Share)>,
}

impl Written {
    /// One code point for all packets.
    pub(crate) fn all(from: f64, dscp: Dscp) -> Written {
        Written { from, code_points: vec![(dscp, Share::All)] }
    }
}
