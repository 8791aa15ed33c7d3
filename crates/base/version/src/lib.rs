//! The version of Shortflow.
//!
//! # What this crate does not know
//!
//! The features of a program, and everything else about it.

/// The version of the packages and, in a checkout, the commit: `0.1.0 (693e85ea12)`.
pub const VERSION: &str = env!("SHORTFLOW_VERSION");
