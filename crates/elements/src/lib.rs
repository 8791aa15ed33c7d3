//! What a DiffServ node does to packets (RFC 2475, RFC 3290).
//!
//! An element is pure: no I/O, no clock. It takes `now` as its first argument, owns its random
//! stream, and hands every packet that goes no further to [`Drops`]. What is simulated is what can be
//! deployed: a host, such as a simulator or a router, calls these elements for each packet.
//!
//! | folder | elements |
//! |---|---|
//! | `classifier` | which class a packet belongs to |
//! | `meter` | whether a stream keeps to its profile: a colour per packet |
//! | `marker` | what is written into the DS field: by colour, bytes sent or remaining, TCP's state; admission |
//! | `dropper` | packets refused by colour, packets lost on a link |
//! | `queue` | FIFO; RED with one or several levels; shared-buffer priority; least attained service; WFQ; flows and hosts with CoDel; a shaper over any of them, and one of an aggregate |
//! | `scheduler` | which of several queues is served next |
//! | `sharing` | the tokens of one profile, shared by connections |
//!
//! An edge that marks 5 Mbit/s green, and a queue that it feeds:
//!
//! ```
//! use shortflow_elements::marker::ColorMarker;
//! use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
//! use shortflow_elements::queue::{Fifo, FifoParams, Shaper, ShaperParams};
//! use shortflow_elements::{Color, Drops, Dscp, FlowKey, Marker, Packet, Protocol, QueueDiscipline};
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
//! let colors = [1, 2, 3].map(|_| {
//!     let key = FlowKey::without_ports("10.0.0.1".parse()?, "10.0.0.2".parse()?, Protocol::ESP);
//!     let mut packet = Packet { size: 1000, key, ..Packet::default() };
//!     let color = marker.mark(now, &mut packet, None);
//!     queue.enqueue(now, packet, &mut drops);
//!     Ok::<Color, String>(color)
//! });
//! assert_eq!(colors, [Ok(Color::Green), Ok(Color::Green), Ok(Color::Yellow)]);
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
//! - **Time and chance**: it reads no clock and asks no system for random numbers. `now` and a stream
//!   under a seed are handed in, so a run can be repeated bit for bit.
//! - **The host**: no threads, sockets, files, network cards or event queues. Who calls, and when, is
//!   the host's business; [`QueueDiscipline::ready_at`] tells it when to come back.
//! - **The bytes of a packet**: it sees a descriptor ([`Packet`]), never a header or a payload. The host
//!   parses, and writes the code point and the ECN mark back.
//! - **How policies and scenarios are written**: elements are built from parameters that have been
//!   checked. Names, files and units in text are another crate's.
//! - **The far end**: a router's elements know nothing of the connection. What a source host's kernel
//!   tells besides stands in a [`SenderView`], and each element does without where nobody tells.

mod address;
mod aggregate;
mod chains;
pub mod classifier;
mod conditioner;
pub mod dropper;
mod drops;
mod flow_hash;
mod flow_map;
pub mod marker;
pub mod meter;
mod packet;
mod packet_store;
mod params;
pub mod queue;
pub mod scheduler;
pub mod sharing;
mod slab;
mod table;
mod traits;

pub use address::{Address, Prefix};
pub use aggregate::{Aggregate, Per, PerAggregate, Settling};
pub use conditioner::{Acknowledgements, ClassCounters, Conditioner, NewClass};
pub use drops::{DropReason, Dropped, Drops};
pub use packet::{
    Color, Dscp, Ecn, FlowKey, FrameId, Packet, ParseDscpError, Protocol, TcpFlags, TrafficClass,
};
pub use params::ParamsError;
pub use traits::{
    Arrival, Backlog, Gate, Label, Marker, Meter, Phase, QueueDiscipline, Queued, SenderEvent,
    SenderUpdate, SenderView, Verdict,
};
