//! Closed forms, as pure functions: one file per paper's formulae.
//!
//! Each function says where its formula stands, in which units it takes and gives, and where it
//! holds. Nothing here simulates; the simulator is checked against these.
//!
//! ```
//! use shortflow_models::queueing::{CustomerClass, fcfs_wait};
//!
//! // Packets of constant service time at a load of 0.5 wait half a service time on average.
//! let wait = fcfs_wait(&[CustomerClass::constant(50.0, 0.01)]).expect("the load is below 1");
//! assert!((wait - 0.005).abs() < 1e-12);
//! // At a load of 1 or more there is no mean.
//! assert_eq!(fcfs_wait(&[CustomerClass::constant(100.0, 0.01)]), None);
//! ```
//!
//! # What this crate does not know
//!
//! Everything else: it uses no other crate of the project, so that no mistake of the simulator can hide in
//! what it is checked against.

pub mod pftk;
pub mod queueing;
