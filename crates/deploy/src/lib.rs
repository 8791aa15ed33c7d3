//! A policy's queues on a device of this machine: compiled to tc, applied, watched, taken away.
//!
//! ```text
//! Policy ── compile ──▶ Tree ──┐
//!                              ├── converge ──▶ steps (tc commands) ── Tc::apply ──▶ kernel
//! Tc::observe ──▶ Observed ────┘
//! ```
//!
//! [`compile()`] says what of a policy's role Linux can do, and refuses the rest by name. What is to be done on a
//! device follows from what is there and what is wanted, by [`converge()`]; so whatever was interrupted, the next
//! command goes on from it. Both are pure. All that is known of a deployment is in the kernel: its handles, and a
//! memo among its filters. There is no file that could be out of date.
//!
//! What a role does to packets before they wait is done by a program of `shortflow-ebpf` at the device's egress:
//! [`compile_edge`] says which, and [`converge_edge`] how it comes there.
//!
//! # What this crate does not know
//!
//! How a marker decides: the program does. What a policy's text says: it reads checked policies.

#![cfg(target_os = "linux")]

mod bytecode;
mod columns;
mod commands;
mod compile;
mod converge;
mod device;
mod doctor;
mod edge;
mod error;
mod kernel;
mod memo;
mod observe;
mod owner;
#[cfg(feature = "ebpf")]
mod program;
#[cfg(not(feature = "ebpf"))]
#[path = "program_left_out.rs"]
mod program;
mod reach;
mod repair;
mod route;
mod status;
mod tc;
mod times;
mod tree;
mod wanted;

pub use bytecode::{Choice, Instruction, Program, TooLong, classifier, neighbours};
pub use columns::columns;
pub use compile::{
    Behind, Edge, Past, Refusal, Settings, compile, compile_edge, compile_edge_past, roles_of,
};
pub use converge::{Step, converge};
pub use device::{Claim, Link, is_plain, link, may_be_device, numbers};
pub use doctor::{Finding, Report, examine, examine_kernel};
pub use edge::{EdgeMemo, EdgeObserved, converge_edge};
pub use error::Error;
pub use kernel::{KINDS, Kernel, Kind};
pub use memo::{Instead, Memo, short};
pub use observe::{Listings, Observed, Root};
pub use owner::{GroupState, Labelled, OwnedBy, OwnerText, Owners, any_owners, owner_text, owners};
pub use reach::{Ends, Reach};
pub use repair::Wrong;
pub use route::{Astray, astray};
pub use shortflow_ebpf::edge::{Cost, Effort, Owner};
pub use status::{BESIDE, ClassSeen, ClassStatus, DeviceStatus, EdgeStatus};
pub use tc::{Applied, Tc};
pub use tree::{Discipline, Inner, Leaf, Tree};
pub use wanted::{Site, Unwanted, Wanted};
