//! Hosts on this machine: network namespaces, each with the kernel's own TCP and one device, whose
//! other end is a file descriptor here.
//!
//! ```text
//! sockets of a host ── kernel's TCP/IP ── eth0 ═══ Device::read, Device::write
//! └────────────── network namespace ───────────────┘
//! ```
//!
//! No namespace has a name: it lives as long as a descriptor of it is open, and so does its device. When the
//! process ends, however it ends, the kernel takes all of them away. Nothing is written outside the
//! namespaces: settings of the kernel are those of one namespace each. A [`Program`] inside a host ends with the
//! process too, and so does whatever it has started.
//!
//! # What this crate does not know
//!
//! Scenarios, routers and packets: it is told addresses and settings, and hands out devices. What goes
//! from one device to the other is the business of whoever holds them.

#![cfg(target_os = "linux")]

mod error;
mod host;
mod host_check;
mod kernel_path;
mod namespace;
mod netlink;
mod ports;
mod program;

pub use error::Error;
pub use host::{Host, HostSpec, RouteSpec};
pub use host_check::Missing;
pub use kernel_path::KernelPath;
pub use namespace::Home;
pub use ports::{Device, PortKind, Ports};
pub use program::{Program, ProgramSpec, Streams, Terminal, User};
