//! Packet captures of a run, for Wireshark, tshark and tcptrace.
//!
//! [`places`] finds the capture points: hosts and ports. A [`Trace`] observes a run there and writes pcapng:
//! Ethernet, IP and TCP or UDP headers with the addresses, sequence numbers, flags, options, DSCP and ECN of
//! the packet, and correct checksums. In a simulation the payload is all zeros; it counts in lengths and
//! checksums but is not stored. Real packets are stored as they are, whole or truncated.
//!
//! ```text
//! Sight → frame (headers as bytes), real (its own bytes) → pcapng (blocks) → output (a whole file, or a pipe)
//! ```
//!
//! ```
//! use shortflow_scenario::{Overrides, from_texts};
//!
//! let text = r#"
//!     duration = "10 s"
//!     hosts = { client = {}, server = {} }
//!     links.line = { between = ["client", "server"], rate = "10 Mbit/s", delay = "5 ms" }
//!     workloads.file.bulk = { from = "server", to = "client" }
//! "#;
//! let loaded = from_texts(&[("line.toml", text)], &Overrides::default())?;
//! let scenario = &loaded.points()[0].scenario;
//! let asked = ["client".to_owned(), "server->client".to_owned()];
//! assert_eq!(shortflow_trace::places(scenario, &asked)?.len(), 2);
//! assert!(shortflow_trace::places(scenario, &["router".to_owned()]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not know
//!
//! Which engine runs: it is one tap among others, and observes packets at the ends of links.

mod capture_point;
mod frame;
mod identification;
mod output;
mod pcapng;
mod pipe_writer;
mod real;
mod request;
mod trace;

pub use capture_point::{CapturePoint, UnknownCapturePoint, both_ends, places};
pub use request::{Request, RequestError};
pub use trace::Trace;
