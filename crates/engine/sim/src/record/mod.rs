//! What a run records: counters, samples over time, packets for a tap.

pub(crate) mod classes;
pub(crate) mod counters;
pub(crate) mod flow_sampler;
pub(crate) mod ports;
pub(crate) mod replica;
pub(crate) mod sampler;
pub(crate) mod tap;
pub(crate) mod tcp_sampler;
