//! Hosts on this machine: network namespaces, each with the kernel's own TCP and one device, whose
//! other end is a file descriptor here.
//!
//! ```text
//! sockets of a host ── kernel's TCP/IP ── eth0 ═══ Device::read, Device::write
//! └────────────── network namespace ───────────────┘
//! ```
//!
//! Namespaces have no names: a namespace exists as long as a descriptor of it is open, and so does its device. When
//! the process ends for any reason, the kernel removes all of them. Nothing is written outside the namespaces: kernel
//! settings apply to one namespace each. A [`Program`] inside a host also ends with the process, and so do its
//! children.
//!
//! # What this crate does not know
//!
//! It does not know scenarios, routers and packets: its caller gives addresses and settings, receives the devices,
//! and moves packets from one device to the other.

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
pub use kernel_path::{Checksums, KernelPath};
pub use namespace::Home;
pub use ports::{Device, PortKind, Ports};
pub use program::{Program, ProgramSpec, Streams, Terminal, User};
