//! The scenario format from outside.

mod addresses;
mod bad;
mod bound_parameters;
mod examples;
mod offered;
mod senders;
mod sweeps;
mod tcp;
mod topologies;
mod without_effect;
