//! The scenario format from outside.

mod bad;
mod examples;
mod sweeps;
mod topologies;
