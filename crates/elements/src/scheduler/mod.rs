//! Schedulers: which of several queues is served next. A scheduler is a queue itself.

mod strict_priority;

pub use strict_priority::StrictPriority;
