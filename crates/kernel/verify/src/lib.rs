//! Verifies a deployment: sends probes and transfers from this machine to a peer, through the device.
//!
//! The [peer](Peer) runs on the machine at the other end: it returns datagrams, each with the code point with which
//! it arrived, and accepts transfers. This machine sends probes of each [class](Class) there, alone and during long
//! flows, and measures short transfers. The results use medians of parts of the time, in pairs, so that a change of
//! the path affects both sides.
//!
//! [`Plan`] says what to measure, [`Findings`] holds the results, and [`Switch`] temporarily replaces the policy by
//! one queue, to measure its gain.
//!
//! # What this crate does not know
//!
//! It does not know the text of a policy, nor how queues are deployed: it is given [trees](shortflow_deploy::Tree),
//! and `shortflow-deploy` applies them.

#![cfg(target_os = "linux")]

mod class;
mod class_separation;
mod code_points;
mod datagrams;
mod error;
mod findings;
mod gain;
mod load;
mod marking_bypass;
mod message;
mod peer;
mod probes;
mod switch;
mod transfers;
mod verify;

pub use class::{Class, Way};
pub use error::Error;
pub use findings::Findings;
pub use marking_bypass::MarkingBypass;
pub use peer::{PORT, Peer, Served};
pub use switch::Switch;
pub use verify::{Plan, ProgressFn};
