//! The elements of a DiffServ node (RFC 2475, RFC 3290).
//!
//! Elements are pure: no I/O, no clock. An element takes `now` as its first argument, owns its random stream,
//! and hands every dropped packet to [`Drops`]. A host, such as a simulator or a router, calls the same
//! elements for each packet, so what is simulated can be deployed.
//!
//! | folder | elements |
//! |---|---|
//! | `classifier` | the class of a packet |
//! | `meter` | whether a stream keeps to its profile: a colour per packet |
//! | `marker` | the code point of a packet: by colour, bytes sent or remaining, TCP's state, or admission |
//! | `dropper` | policers, and loss on links |
//! | `queue` | FIFO; RED with one or several levels; shared-buffer priority; least attained service; WFQ; per-flow and per-host queues with CoDel; shapers |
//! | `scheduler` | which of several queues is served next |
//! | `sharing` | the tokens of one profile, shared by connections |
//!
//! An edge that marks 5 Mbit/s green, and a queue that it feeds:
//!
//! ```
//! use shortflow_elements::marker::ColorMarker;
//! use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
//! use shortflow_elements::queue::{Fifo, FifoParams, Shaper, ShaperParams};
//! use shortflow_elements::{Color, Drops, Marker, QueueDiscipline};
//! use shortflow_packet::{Dscp, FlowKey, Packet, Protocol};
//! use shortflow_units::{Bytes, Instant};
//!
//! // AF11 for 5 Mbit/s with bursts of 2 KB, AF12 for what is beyond.
//! let profile = TokenBucketParams::new("5 Mbit/s".parse()?, "2 KB".parse()?)?;
//! let meter = Box::new(TokenBucket::new(profile));
//! let mut marker = ColorMarker::new(meter, [Dscp::AF11, Dscp::AF12, Dscp::AF13]);
//!
//! // 8 Mbit/s, whatever the line behind it can do: a packet of 1000 bytes each millisecond.
//! let fifo = Fifo::new(FifoParams::new("50 pkt".parse()?)?);
//! let shaper = ShaperParams::new("8 Mbit/s".parse()?, Bytes::ZERO)?;
//! let mut queue = Shaper::new(shaper, Box::new(fifo));
//! queue.reserve(50, 0);
//!
//! let now = Instant::START;
//! let mut drops = Drops::with_room_for(1);
//! let key = FlowKey::without_ports("10.0.0.1".parse()?, "10.0.0.2".parse()?, Protocol::ESP);
//! let colors = [1, 2, 3].map(|_| {
//!     let mut packet = Packet { size: 1000, key, ..Packet::default() };
//!     let color = marker.mark(now, &mut packet, None);
//!     queue.enqueue(now, packet, &mut drops);
//!     color
//! });
//! assert_eq!(colors, [Color::Green, Color::Green, Color::Yellow]);
//!
//! // The first leaves at once, the second a millisecond later.
//! assert!(queue.dequeue(now, &mut drops).is_some());
//! assert!(queue.dequeue(now, &mut drops).is_none());
//! assert_eq!(queue.ready_at(), Some(Instant::from_nanos(1_000_000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not know
//!
//! - **Time and randomness**: it has no clock and no source of randomness. `now` and a seeded stream are
//!   arguments, so a run is reproducible bit for bit.
//! - **The host**: no threads, sockets, files, network cards or event queues. The host decides when to call;
//!   [`QueueDiscipline::ready_at`] returns the time of the next call.
//! - **The bytes of a packet**: it sees a descriptor ([`Packet`](shortflow_packet::Packet)), never a header or a payload. The host
//!   parses packets, and writes the code point and the ECN mark back.
//! - **The text form of policies and scenarios**: elements are built from checked parameters. Another crate
//!   handles names, files and units.
//! - **The far end**: a router's elements know nothing about the connection. A source host's kernel provides
//!   more in a [`SenderView`](shortflow_packet::SenderView); elements also work without it.

mod aggregate;
mod boxed;
mod chains;
pub mod classifier;
mod color;
mod conditioner;
pub mod dropper;
mod drops;
mod flow_hash;
mod flow_map;
pub mod marker;
pub mod meter;
mod packet_store;
mod params;
pub mod queue;
pub mod scheduler;
pub mod sharing;
mod slab;
mod table;
mod traits;

pub use aggregate::{Aggregate, Per, PerAggregate, Settling};
pub use color::Color;
pub use conditioner::{Acknowledgements, ClassCounters, Conditioner, NewClass, ThresholdSource};
pub use drops::{DropReason, Dropped, Drops};
pub use params::ParamsError;
pub use traits::{Arrival, Backlog, Gate, Marker, Meter, OutputGate};
pub use traits::{QueueDiscipline, Queued, Verdict};

/// A packet for unit tests, which set the fields that they need.
#[cfg(test)]
pub(crate) fn test_packet() -> shortflow_packet::Packet {
    shortflow_packet::Packet { size: 1000, payload: 960, ..Default::default() }
}
