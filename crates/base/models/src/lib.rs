//! Closed forms, as pure functions: one file per paper's formulae.
//!
//! Each function names the source of its formula, its units and its range. It refuses an input outside the range, and
//! reports the residual of a fixed point that was not found ([`ModelError`]). Nothing here simulates; the simulator
//! is checked against these formulas.
//!
//! | what | where |
//! |---|---|
//! | waits of packets, their distribution, priorities | [`mm1`], [`md1`], [`queueing`], [`delay_tail`] |
//! | flows served by what they have had, or alike | [`attained_service`], [`processor_sharing`], [`sizes`] |
//! | rates of long connections | [`pftk`], [`long_flow`], [`cubic`], [`window_growth`] |
//! | completion times of transfers | [`slow_start`], [`short_flow`], [`latency`] |
//! | where a queue or a table settles | [`red`], [`flow_table`], [`fixed_point`] |
//!
//! ```
//! use shortflow_models::queueing::{CustomerClass, fcfs_wait};
//!
//! // Packets of constant service time at a load of 0.5 wait half a service time on average.
//! let wait = fcfs_wait(&[CustomerClass::constant(50.0, 0.01)]).expect("the load is below 1");
//! assert!((wait - 0.005).abs() < 1e-12);
//! // At a load of 1 or more there is no mean.
//! let refused = fcfs_wait(&[CustomerClass::constant(100.0, 0.01)]).unwrap_err();
//! assert_eq!(refused.to_string(), "the load must be below 1 for the model to hold; found 1");
//! ```
//!
//! # What this crate does not know
//!
//! It uses no other crate of the project, so that an error of the simulator cannot hide in its reference.

pub mod attained_service;
pub mod cubic;
pub mod delay_tail;
mod error;
pub mod finite_room;
pub mod flow_table;
pub mod latency;
pub mod long_flow;
pub mod md1;
pub mod mm1;
pub mod pftk;
pub mod processor_sharing;
pub mod queueing;
pub mod red;
pub mod short_flow;
pub mod sizes;
pub mod slow_start;
mod solve;
pub mod window_growth;

pub use error::{ModelError, Range};
pub use solve::fixed_point;
