//! Queues: a FIFO that drops what does not fit, and RED with one or several levels.

mod fifo;
mod red;
mod ring;

pub use fifo::{Fifo, FifoParams};
pub use red::{AboveMax, Averages, DropCurve, EcnMode, Red, RedParams, RedSettings, Spacing};
pub(crate) use ring::{checked_limit, fits};
