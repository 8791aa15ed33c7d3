//! The scenario format from outside.

mod bad;
mod examples;
mod senders;
mod sweeps;
mod tcp;
mod topologies;
