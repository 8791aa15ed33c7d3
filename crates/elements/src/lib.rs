//! What a DiffServ node does to packets (RFC 2475, RFC 3290).
//!
//! An element is pure: no I/O, no clock. It takes `now` as its first argument, owns its random
//! stream, and hands every packet that goes no further to [`Drops`]. The same elements run in the
//! simulator and in the rehearsal router.
//!
//! | folder | elements |
//! |---|---|
//! | `classifier` | which class a packet belongs to |
//! | `meter` | whether a stream keeps to its profile: a colour per packet |
//! | `marker` | what is written into the DS field: by colour, bytes sent or remaining, TCP's state; admission |
//! | `dropper` | packets refused by colour, packets lost on a link |
//! | `queue` | FIFO; RED with one or several levels; shared-buffer priority; least attained service; WFQ; flows and hosts with CoDel |
//! | `scheduler` | which of several queues is served next |
//!
//! ```
//! use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
//! use shortflow_elements::marker::ColorMarker;
//! use shortflow_elements::{Dscp, Marker};
//!
//! // AF11 for 5 Mbit/s with bursts of 10 KB, AF12 for what is beyond.
//! let profile = TokenBucketParams::new("5 Mbit/s".parse()?, "10 KB".parse()?)?;
//! let meter = Box::new(TokenBucket::new(profile));
//! let marker: Box<dyn Marker> =
//!     Box::new(ColorMarker::new(meter, [Dscp::AF11, Dscp::AF12, Dscp::AF13]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod aggregate;
mod chains;
pub mod classifier;
mod conditioner;
pub mod dropper;
mod drops;
mod flow_hash;
pub mod marker;
pub mod meter;
mod packet;
mod packet_store;
mod params;
pub mod queue;
pub mod scheduler;
mod table;
mod traits;

pub use address::{Address, Prefix};
pub use aggregate::{Aggregate, Per, PerAggregate, Settling};
pub use conditioner::{Acknowledgements, ClassCounters, Conditioner, NewClass};
pub use drops::{DropReason, Dropped, Drops};
pub use packet::{
    Color, Dscp, Ecn, FlowId, FlowKey, FrameId, Packet, ParseDscpError, Protocol, SackBlocks,
    TcpFlags, TcpHeader,
};
pub use params::ParamsError;
pub use traits::{Backlog, Label, Marker, Meter, Phase, QueueDiscipline, Queued, SenderView};
