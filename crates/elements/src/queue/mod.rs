//! Queues: a FIFO that drops what does not fit, RED with one or several levels, strict priority
//! over one buffer, least attained service, and weighted fair queueing.

mod fifo;
mod flow_map;
mod ranking;
mod red;
mod ring;
mod shared_priority;
mod slab;
mod stf;
mod wfq;

pub use fifo::{Fifo, FifoParams};
pub use red::{AboveMax, Averages, DropCurve, EcnMode, Red, RedParams, RedSettings, Spacing};
pub use shared_priority::{SharedPriority, SharedPriorityParams};
pub use stf::{Stf, StfParams};
pub use wfq::{Share, Weight, Wfq, WfqClass, WfqParams};
