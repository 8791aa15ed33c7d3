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

mod application;
mod build;
mod calendar;
mod counters;
mod ends;
mod engine;
mod entities;
mod fabric;
mod flow;
mod flow_sampler;
mod network;
mod pool;
mod port;
mod prefetch;
mod reordering;
mod replica;
mod replicas;
mod routes;
mod sampler;
mod session;
mod source;
mod tail_drop;
mod tap;
mod through;
mod timers;

pub use fabric::Totals;
pub use replica::{Error, Outcome, end_of, run_replica, run_replica_before};
pub use replicas::{Observer, Task, run_tasks};
pub use tap::{Event, Sight, Tap};
