//! What is recorded of a run: counters, samples over time, packets shown to somebody who looks on.

pub(crate) mod classes;
pub(crate) mod counters;
pub(crate) mod flow_sampler;
pub(crate) mod ports;
pub(crate) mod replica;
pub(crate) mod sampler;
pub(crate) mod tap;
