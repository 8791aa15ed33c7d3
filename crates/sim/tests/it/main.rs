//! Whole simulations against theory, hand computation and laws.

mod aggregate;
mod bench;
mod censoring;
mod completion_time;
mod conservation;
mod determinism;
mod end_to_end;
mod live;
mod long_flows;
mod marking;
mod measuring;
mod memory;
mod ports;
mod queueing;
mod random_loss;
mod schedulers;
mod sessions;
mod shaping;
mod short_flows;
mod splitting;
mod statistics;
mod stopping;
mod switch;
mod through;
