//! Closed forms, as pure functions: one file per paper's formulae.
//!
//! Each function says where its formula stands, in which units it takes and gives, and where it
//! holds. Nothing here simulates; the simulator is checked against these.

pub mod pftk;
pub mod queueing;
