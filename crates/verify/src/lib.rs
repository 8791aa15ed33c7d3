//! Does it work? Probes and transfers from this machine to a peer, through whatever is deployed on the device between.
//!
//! The [peer](Peer) runs on the machine at the other end: it sends datagrams back, each with the code point that it came
//! with, and takes transfers. From here probes of each [class](Class) go there, alone and beside long flows, and short
//! transfers are timed. What that comes to is judged from medians of parts of the time, in pairs, so that what changes on
//! the path meanwhile changes both.
//!
//! [`Plan`] says what is looked at, [`Findings`] what came of it, and [`Switch`] puts one queue in the policy's place for a
//! while, so that it shows what the policy is good for.
//!
//! # What this crate does not know
//!
//! What a policy's text says, and how queues come to a device: it is given [trees](shortflow_deploy::Tree), and has
//! `shortflow-deploy` change them.

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
