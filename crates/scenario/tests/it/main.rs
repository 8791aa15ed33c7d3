//! The scenario format from outside.

mod bad;
mod examples;
mod offered;
mod senders;
mod sweeps;
mod tcp;
mod topologies;
