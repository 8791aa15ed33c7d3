//! Queues: drop-tail FIFO, RED with one or several levels, strict priority over one buffer, two buffers
//! behind a test of precedence, least attained service, weighted fair queueing, per-flow and per-host queues
//! with CoDel, a shaper over any of them, and a shaper of an aggregate of connections.

mod aggregate;
mod any_gate;
mod blue;
mod codel;
mod fifo;
mod flow_queues;
mod fq_codel;
mod gated;
mod host_fair;
mod pie;
mod ranking;
mod red;
mod ring;
mod shaper;
mod shared_priority;
mod sima;
mod stf;
mod wfq;

pub use aggregate::{AggregateShaper, AggregateShaperParams, AggregateShaperSettings};
pub use aggregate::{FreshPackets, Place, ServiceOrder, Triggers};
pub use any_gate::AnyGate;
pub use codel::CoDelParams;
pub use fifo::{Fifo, FifoParams, TailDrop};
pub use fq_codel::{FlowQueueSettings, FqCodel, FqCodelParams};
pub use gated::Gated;
pub use host_fair::{Fairness, HostFair, HostFairParams};
pub use pie::{Pie, PieParams, PieSettings};
pub(crate) use ranking::Ranking;
pub use red::{
    AboveMax, Averages, DropCurve, EcnMode, Red, RedGate, RedParams, RedSettings, Spacing,
};
pub(crate) use ring::{checked_limit, fits};
pub use shaper::{Shaper, ShaperParams, ShaperSettings};
pub use shared_priority::{BandOf, SharedPriority, SharedPriorityParams};
pub use sima::{PrecedenceMap, Sima, SimaBuffer, SimaQueueParams};
pub use stf::{Stf, StfParams, StfSettings};
pub use wfq::{Share, Weight, Wfq, WfqClass, WfqClassSettings, WfqParams, WfqSettings, WhenFull};
