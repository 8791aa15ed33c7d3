//! A TCP endpoint without I/O: no sockets, no clock, no threads.
//!
//! The host feeds a [`Connection`] segments and timer expiries, and takes from it the segments to
//! send. Inside, sequence numbers are 64-bit stream offsets.
//!
//! | file | what it knows |
//! |---|---|
//! | `config`, `era`, `describe` | the settings, the presets, and their names for readers |
//! | `connection` | the endpoint: joins the halves below |
//! | `input`, `output`, `handshake` | segments in, segments out, opening (RFC 9293 §3.10.7) |
//! | `state` | the states and their transitions (RFC 9293 §3.3.2) |
//! | `sender` | windows, Nagle, persist, the retransmission timer |
//! | `recovery/` | a value beside the sender: Reno, NewReno, SACK with its scoreboard |
//! | `repair` | what the sender does when recovery asks, and when the timer expires |
//! | `congestion/` | the congestion window: [`CongestionControl`] of Reno ([`Aimd`]) and of CUBIC ([`Cubic`]) |
//! | `receiver`, `reassembly` | delayed acknowledgements, data out of order, SACK blocks |
//! | `rtt`, `ecn`, `seq` | RFC 6298; RFC 3168; numbers that wrap |

mod config;
mod congestion;
mod connection;
mod describe;
mod ecn;
mod era;
mod handshake;
mod input;
mod output;
mod rates;
mod reassembly;
mod receiver;
mod recovery;
mod repair;
mod rtt;
mod segment;
mod sender;
mod seq;
mod state;
mod stats;

pub use config::{Config, DelayedAck, EchoRule, EcnCapable, Recovery, RtoFloor};
pub use congestion::{Ack, Aimd, Algorithm, Congestion, CongestionControl, Cubic, Delivery, Limit};
pub use connection::{Connection, ENDLESS};
pub use era::Era;
pub use recovery::LossPhase;
pub use segment::Segment;
pub use state::{Failure, Role, State};
pub use stats::Stats;
