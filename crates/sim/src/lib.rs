//! The discrete-event simulator: event queue, links, nodes, run loop, replicas.
//!
//! ```text
//! scenario → build → Engine { Calendar, Network (ports, routes), Flows, Sources } → Replica
//! ```
//!
//! Time is in whole nanoseconds. Each port, each source and the timers of all connections have at
//! most one pending event; simultaneous events run in a fixed order. Packets move by value through
//! ring buffers, and nothing is allocated per packet. The same scenario and seed give the same
//! result, bit for bit, however many replicas run beside each other.

mod application;
mod build;
mod calendar;
mod counters;
mod ends;
mod engine;
mod entities;
mod flow;
mod network;
mod pool;
mod port;
mod replica;
mod replicas;
mod routes;
mod sampler;
mod source;
mod tap;
mod timers;

pub use engine::Totals;
pub use replica::{Error, Outcome, end_of, run_replica, run_replica_before};
pub use replicas::{Observer, Task, run_tasks};
pub use tap::{Event, Sight, Tap};
