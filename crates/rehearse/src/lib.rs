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
