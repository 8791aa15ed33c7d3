//! A TCP endpoint without I/O: no sockets, no clock, no threads.
//!
//! The host feeds it segments and timer expiries, and takes from it the segments to send.

mod config;

pub use config::{Config, DelayedAck, Era, Recovery};
