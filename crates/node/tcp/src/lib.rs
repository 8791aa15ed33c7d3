//! A TCP endpoint without I/O: no sockets, no clock, no threads.
//!
//! The host passes segments and timer expiries to a [`Connection`], and takes from it the segments to send.
//! Inside, sequence numbers are 64-bit stream offsets.
//!
//! # Example
//!
//! A client sends 1000 bytes. The two ends exchange segments until neither has more to send.
//!
//! ```
//! use std::sync::Arc;
//! use shortflow_tcp::{Connection, Era, Role};
//! use shortflow_units::Instant;
//!
//! let config = Arc::new(Era::LinuxToday.config());
//! assert_eq!(config.description(), "Linux today (CUBIC, RACK)");
//! let mut client = Connection::new(Arc::clone(&config), Role::Active);
//! let mut server = Connection::new(config, Role::Passive);
//! let now = Instant::START;
//! server.open(now);
//! client.open(now);
//! client.write(now, 1000);
//! while let Some(segment) = client.poll_transmit(now) {
//!     server.on_segment(now, now, &segment.header, segment.payload, segment.ecn);
//!     while let Some(reply) = server.poll_transmit(now) {
//!         client.on_segment(now, now, &reply.header, reply.payload, reply.ecn);
//!     }
//! }
//! assert_eq!(server.received(), 1000);
//! ```
//!
//! # What this crate does not know
//!
//! - **Time and randomness.** There is no clock: `now` is an argument, and the host reads the next
//!   [deadline](Connection::deadline) after every call. Nothing is random.
//! - **The network.** No addresses, ports, routes or packets: the host puts a [`Segment`] into a packet, and
//!   finds the connection of a segment.
//! - **The data.** Bytes are counted, not stored. The application reads at once, so the offered window never
//!   shrinks.
//! - **Options on the wire.** Window scaling and SACK are always available. Segments have timestamps (RFC 7323)
//!   if the header is long enough, 52 bytes; otherwise they show only whether a transmission is the first
//!   ([`Stamps`]).
//! - **Not yet**: path MTU discovery. Retransmissions are not paced.
//!
//! # Files
//!
//! | file | content |
//! |---|---|
//! | `config`, `era`, `describe` | the settings, the presets, and their names for readers |
//! | `header`, `segment` | what goes on the wire |
//! | `connection` | the endpoint: joins the halves below |
//! | `input`, `output`, `handshake` | segments in, segments out, opening (RFC 9293 §3.10.7) |
//! | `gate` | a profile of the host, asked before each segment leaves |
//! | `state` | the states and their transitions (RFC 9293 §3.3.2) |
//! | `sender` | windows, Nagle, persist, the retransmission timer |
//! | `recovery/` | a value beside the sender: Reno, NewReno, SACK with its scoreboard |
//! | `repair` | what the sender does when recovery asks, and when the timer expires |
//! | `recovery/rack/`, `by_time` | RACK-TLP with its record of segments; what the sender does with it |
//! | `congestion/` | the congestion window: a row of [`Algorithm`] and a [`CongestionControl`] for each kind |
//! | `rates` | delivery rates and pacing, for the controls that ask for them |
//! | `receiver`, `reassembly`, `ack_delay` | delayed acknowledgements, data out of order, SACK blocks |
//! | `rtt`, `timestamps`, `ecn`, `seq` | RFC 6298; RFC 7323; RFC 3168; numbers that wrap |

mod ack_delay;
mod config;
mod congestion;
mod connection;
mod describe;
mod ecn;
mod era;
mod gate;
mod handshake;
mod header;
mod input;
mod output;
mod rack_tlp;
mod rates;
mod reassembly;
mod receiver;
mod recovery;
mod repair;
mod right_sizing;
mod rtt;
mod segment;
mod sender;
mod seq;
mod snapshot;
mod state;
mod stats;
mod timer_wheel;
mod timestamps;
mod withholding;

pub use config::{Config, CubicForm, DelayedAck, EchoRule, EcnCapable, Recovery, RtoFloor};
pub use congestion::{
    Ack, AggregateRtts, Aimd, Algorithm, Congestion, CongestionControl, Cubic, Delivery,
};
pub use congestion::{Growth, Limit};
pub use connection::{Connection, ENDLESS};
pub use era::Era;
pub use gate::OutputGate;
pub use header::{SackBlocks, Stamps, TcpHeader};
pub use recovery::LossPhase;
pub use segment::{Extent, Segment};
pub use snapshot::SenderSnapshot;
pub use state::{Failure, Role, State};
pub use stats::Stats;
pub use timestamps::Tsecr;
