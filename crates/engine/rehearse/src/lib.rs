//! Scenarios over the kernel's own TCP: the second engine.
//!
//! ```text
//!  load ── sockets ── host (namespace) ═ Tun ═▶ router { LiveNetwork } ═ Tun ═▶ host ── sockets ── load
//! ```
//!
//! Hosts are network namespaces of this machine. The network between them is that of the simulator in real time, with
//! the same elements, lines and buffers. Workloads have the same arrivals as in the simulation, over sockets. One
//! thread forwards packets and another one generates the load. Both have real-time priority if the machine permits
//! it. Each run reports how late its packets were.
//!
//! # What this crate does not know
//!
//! It does not know how results are shown, nor what a policy means: it is an engine like the others, and its measures
//! have the same names.

#![cfg(target_os = "linux")]

mod applications;
mod capture;
mod clock;
mod cpu_wakers;
mod datagrams;
mod engine;
mod hosts;
mod interactive;
mod ip;
mod kernel;
mod monitor;
mod on_console;
mod open_files;
mod programs;
mod realtime;
mod recent;
mod record;
mod retries;
mod router;
mod site;
mod speed;
mod thread_load;
mod threads;
mod traffic;
mod wait;
mod without_effect;

pub use engine::Rehearsal;
pub use interactive::InteractiveRehearsal;
pub use monitor::{Monitor, WatchedPort};
pub use on_console::OnConsole;
pub use programs::{End, HostProgram, HostPrograms, ProgramObserver};
pub use shortflow_scenario::IpVersion;
pub use shortflow_sim::{NetworkSnapshot, PortSnapshot};
pub use shortflow_testbed::{PortKind, Streams, Terminal, User};
pub use speed::{Speed, SpeedPlan, SpeedSummary, Spread, Way, measure_speed, summary};
pub use without_effect::WITHOUT_EFFECT;
