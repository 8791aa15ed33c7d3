//! The discrete-event simulator: event queue, links, nodes, run loop.
//!
//! ```text
//! scenario → build → RunLoop { Fabric { Network, Pool, Calendar }, Flows, Sources } → Replica
//! ```
//!
//! Time is in whole nanoseconds. Each port, each source and the timers of all connections have at most one
//! pending event; simultaneous events run in a fixed order. A packet stays in its slot of one pool from host
//! to host, and nothing is allocated per packet. The same scenario and seed give the same result, bit for
//! bit, however many replicas run in parallel.
//!
//! ```
//! use shortflow_run::{Engine, Observers, Task};
//! use shortflow_scenario::{Overrides, from_texts};
//! use shortflow_sim::{Simulator, run_replica};
//!
//! let text = r#"
//!     duration = "10 s"
//!     hosts = { client = {}, server = {} }
//!     links.line = { between = ["client", "server"], rate = "10 Mbit/s", delay = "5 ms" }
//!     workloads.file.bulk = { from = "server", to = "client" }
//!     measure.ports = ["server->client"]
//! "#;
//! let loaded = from_texts(&[("line.toml", text)], &Overrides::default())?;
//! let scenario = &loaded.points()[0].scenario;
//! Simulator.check(scenario)?;
//! let found = run_replica(scenario, 0, None, |_| true)?;
//! let line = found.replica.port("server->client").unwrap();
//! assert!(line.utilisation > 0.9, "one flow fills the line");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not know
//!
//! Clocks, files, sockets and threads: callers have them. The text form of policies and scenarios, and the
//! algorithms of queues and TCP: it gets elements and connections, and calls them. The names of what is
//! recorded, and the use of results: these are common to all engines.

mod build;
mod engine;
mod event;
mod host;
mod live;
mod network;
mod record;
mod simulator;
mod without_effect;

pub use live::{
    ConnectionTally, Hosts, LiveNetwork, LiveRecord, NetworkSnapshot, PortSnapshot, Tallies,
    Unroutable,
};
pub use network::fabric::Totals;
pub use record::replica::{
    Simulated, Watched, run_replica, run_replica_before, run_replica_watched,
};
pub use simulator::Simulator;
pub use without_effect::WITHOUT_EFFECT;
