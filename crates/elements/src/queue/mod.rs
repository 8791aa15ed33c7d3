//! Queues: a FIFO that drops what does not fit, RED with one or several levels, strict priority
//! over one buffer, and least attained service.

mod fifo;
mod flow_map;
mod ranking;
mod red;
mod ring;
mod shared_priority;
mod slab;
mod stf;

pub use fifo::{Fifo, FifoParams};
pub use red::{AboveMax, Averages, DropCurve, EcnMode, Red, RedParams, RedSettings, Spacing};
pub use shared_priority::{SharedPriority, SharedPriorityParams};
pub use stf::{Stf, StfParams};
