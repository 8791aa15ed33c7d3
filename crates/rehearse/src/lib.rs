//! Scenarios over the kernel's own TCP: the second engine.
//!
//! ```text
//!  load ── sockets ── host (namespace) ═ Tun ═▶ router { LiveNetwork } ═ Tun ═▶ host ── sockets ── load
//! ```
//!
//! Hosts are network namespaces of this machine; what lies between them is the simulator's own network in real
//! time: the same elements, lines and buffers. Workloads have the same arrivals as in the simulation, over
//! sockets. One thread carries packets and one is the load; both run in real time where the machine lets
//! them, and how late packets were is told with every run.
//!
//! # What this crate does not know
//!
//! How results are shown, and what a policy says: it is an engine like others, and what is measured has the
//! same names.

#![cfg(target_os = "linux")]

mod applications;
mod attended;
mod awake;
mod board;
mod capture;
mod clock;
mod datagrams;
mod effort;
mod engine;
mod guests;
mod hosts;
mod ip;
mod kernel;
mod on_console;
mod open_files;
mod realtime;
mod recent;
mod record;
mod retries;
mod router;
mod site;
mod speed;
mod traffic;
mod wait;
mod without_effect;

pub use attended::Attended;
pub use board::{Board, WatchedPort};
pub use engine::Rehearsal;
pub use guests::{Audience, End, Guest, Guests};
pub use on_console::OnConsole;
pub use shortflow_scenario::IpVersion;
pub use shortflow_sim::{Glance, PortGlance};
pub use shortflow_testbed::{PortKind, Streams, Terminal, User};
pub use speed::{Speed, SpeedPlan, SpeedSummary, Spread, Way, measure_speed, summary};
pub use without_effect::WITHOUT_EFFECT;
