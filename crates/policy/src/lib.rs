//! Policy text, checked, and built into elements; the only place that knows names of schemes.
//!
//! A policy says what nodes do to packets, as a set of named roles. It knows no topology: a
//! scenario binds roles to ports, and each bound port gets elements of its own.

mod build;
mod check;
mod conditioner;
mod file;
mod load;
mod model;
pub mod text;

pub use build::Place;
pub use check::{NAME_RULE, is_name};
pub use conditioner::{ClassCounters, Conditioner};
pub use file::Scalar;
pub use load::{from_text, load, schema};
pub use model::{Class, Policy, Role};
