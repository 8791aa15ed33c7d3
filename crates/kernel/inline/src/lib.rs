//! A policy between two devices of any kernel: a router in user space that runs the simulator's own elements.
//!
//! ```text
//!          ┌────────── XDP program: no socket listens, or not IP ──────────┐
//! dev 1 ───┤                                                           bridge ─── dev 2
//!          └── AF_XDP socket ─▶ Frames, descriptor ─▶ Direction ─▶ AF_XDP socket ──┘
//! ```
//!
//! Both devices are ports of a Linux bridge. An XDP program at each hands the IP packets that cross the bridge to this
//! process, and everything else to the bridge. When the process ends, whatever ends it, the kernel detaches the program,
//! and the bridge forwards all packets.
//!
//! Each [`Direction`] has elements of its own: it conditions packets and queues them, and a line of the given rate takes
//! them out.
//!
//! # What this crate does not know
//!
//! It does not know how schemes decide: the elements do. It does not know the text of a policy.

#![cfg(target_os = "linux")]

mod bridge;
mod direction;
mod error;
mod ethtool;
mod frames;
mod ip;
mod line;
mod occupied;
mod plan;
mod router;
mod schedule;
mod socket;
mod timer;
mod warnings;
mod watched;

pub use bridge::Bridge;
pub use direction::Direction;
pub use error::Error;
pub use plan::{Plan, Refused, acting_roles};
pub use router::{DirectionReport, Inline, Report};
pub use schedule::schedule;
pub use warnings::warnings;
pub use watched::Change;
