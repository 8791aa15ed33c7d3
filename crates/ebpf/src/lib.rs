//! Programs that run in the kernel. At a device one tells what the kernel knows of the sender of a packet, and one
//! conditions packets ([`edge`]); in TCP one is a congestion control ([`AggregateFair`]).
//!
//! ```text
//! kernel's TCP/IP ── packet ──▶ [sender.bpf.c] ── Record, packet ──▶ eth0 (TUN) ── Record::split ──▶ who reads
//! ```
//!
//! An eBPF program at a host's device sees each packet with the socket that sends it, while the socket is as it
//! was when TCP decided to send. It writes a record of it before the packet, so that whoever reads the device has
//! both at once: nothing is to be looked up, and nothing has changed meanwhile.
//!
//! The program is built and loaded where the feature `ebpf` is on. Without it everything else is there, and
//! [`SenderProgram::load`] says what to do.
//!
//! # What this crate does not know
//!
//! What is made of a record, and where devices come from.

#![cfg(target_os = "linux")]

pub mod edge;
mod error;
#[cfg(feature = "ebpf")]
mod growth;
#[cfg(not(feature = "ebpf"))]
#[path = "growth_unavailable.rs"]
mod growth;
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

/// A program of somebody else that sees a device's packets before those at its `clsact`, ours among them (tcx).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcxProgram {
    /// Its number.
    pub id: u32,
    /// Its name; empty where it has none.
    pub name: String,
    /// The number of the link that holds it there; none where it was attached without.
    pub link: Option<u32>,
    /// Which packets it sees.
    pub direction: edge::Direction,
}

/// What stands before the IP packets that a device sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing, as before those of a TUN device.
    None,
    /// The header of Ethernet, as before those of a cable (veth).
    Ethernet,
}

pub use error::{Error, Program};
pub use growth::AggregateFair;
pub use record::{ConnectionState, Record, Recovery};
pub use sender::SenderProgram;
