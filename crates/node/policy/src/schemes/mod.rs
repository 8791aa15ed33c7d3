//! The schemes, one file each. A file has the name of its scheme.

pub mod markers;
pub mod queues;
