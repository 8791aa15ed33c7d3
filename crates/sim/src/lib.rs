//! The discrete-event simulator: event queue, links, nodes, run loop, replicas.
//!
//! ```text
//! scenario → build → Engine { Fabric { Network, Pool, Calendar }, Flows, Sources } → Replica
//! ```
//!
//! Time is in whole nanoseconds. Each port, each source and the timers of all connections have at
//! most one pending event; simultaneous events run in a fixed order. A packet stays in its
//! slot of one pool from host to host, and nothing is allocated per packet. The same scenario and seed give the same
//! result, bit for bit, however many replicas run beside each other.

mod build;
mod engine;
mod event;
mod host;
mod network;
mod record;
mod replicas;

pub use network::fabric::Totals;
pub use record::replica::{Error, Outcome, end_of, run_replica, run_replica_before};
pub use record::tap::{Event, Sight, Tap};
pub use replicas::{Observer, Task, run_tasks};
