//! Programs that run in the kernel. At a device, one reports the kernel's state of a packet's sender, and one
//! conditions packets ([`edge`]), and one drops them before they wait ([`early`]), and one finds
//! their customers ([`plans`]); in TCP, one is a congestion control ([`AggregateFair`]), and
//! one keeps connections within a profile ([`profile`]). At a cgroup, one is a socket option ([`option`]).
//!
//! ```text
//! kernel's TCP/IP ── packet ──▶ [sender.bpf.c] ── Record, packet ──▶ eth0 (TUN) ── Record::split ──▶ who reads
//! ```
//!
//! An eBPF program at a host's device sees each packet with the socket that sends it, in the state in which TCP
//! decided to send. It writes a record of the state before the packet. So a reader of the device gets both at once,
//! with no lookup and no change in between.
//!
//! The program is built and loaded with the feature `ebpf`. Without it, all other parts are available, and
//! [`SenderProgram::load`] returns an error that says what to do.
//!
//! # What this crate does not know
//!
//! It does not know how a record is used, nor where devices come from.

#![cfg(target_os = "linux")]

#[cfg(feature = "ebpf")]
mod built;
#[cfg(feature = "ebpf")]
mod cgroup;
pub mod early;
pub mod edge;
mod error;
#[cfg(feature = "ebpf")]
mod growth;
#[cfg(not(feature = "ebpf"))]
#[path = "growth_unavailable.rs"]
mod growth;
#[cfg(feature = "ebpf")]
mod inline;
#[cfg(not(feature = "ebpf"))]
#[path = "inline_unavailable.rs"]
mod inline;
pub mod option;
mod packed;
pub mod plans;
pub mod profile;
pub mod qdisc;
mod record;
#[cfg(feature = "ebpf")]
mod sender;
#[cfg(not(feature = "ebpf"))]
#[path = "sender_unavailable.rs"]
mod sender;
#[cfg(feature = "ebpf")]
mod tcx;
#[cfg(not(feature = "ebpf"))]
#[path = "tcx_unavailable.rs"]
mod tcx;

/// Another owner's program that sees a device's packets before those at its `clsact`, which include ours (tcx).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcxProgram {
    /// Its number.
    pub id: u32,
    /// Its name; may be empty.
    pub name: String,
    /// The number of the link that holds it there; `None` if it was attached without a link.
    pub link: Option<u32>,
    /// Which packets it sees.
    pub direction: edge::Direction,
}

/// The header before the IP packets that a device sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing, as before those of a TUN device.
    None,
    /// The header of Ethernet, as before those of a cable (veth).
    Ethernet,
}

pub use error::{Error, Program};
pub use growth::AggregateFair;
pub use inline::{InlineProgram, InlineSettings};
pub use record::{ConnectionState, Record, Recovery};
pub use sender::SenderProgram;
