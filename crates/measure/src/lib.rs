//! Records, histograms, series, confidence intervals, and results on disk.
//!
//! ```text
//! Plan → Recorder (one per replica, fed by the run) → Replica → Summary (over replicas) → results
//! ```
//!
//! A [`Recorder`] keeps means, variances and histograms only, so that its memory does not grow with
//! simulated time; every single transfer can be streamed to disk beside it. A [`Replica`] is what
//! one run found; a [`Summary`] gives each measure over replicas with its 95 % interval. Places,
//! workloads and code points are known here by dense index and name alone.
//!
//! Times in results are in seconds, rates in bits per second.

mod estimate;
mod histogram;
mod moments;
mod plan;
mod port;
mod recorder;
mod replica;
pub mod results;
mod settle;
mod summary;
mod transfer;

pub use estimate::{Estimate, jain, mean, paired, paired_gain, relative_gain};
pub use histogram::Histogram;
pub use moments::Moments;
pub use plan::{Plan, SizeClass, WorkloadPlan};
pub use port::{CodePointCounts, Count, PortCounts, PortResult, Sample};
pub use recorder::Recorder;
pub use replica::{ClassResult, DatagramResult, LongFlows, Replica, WorkloadResult};
pub use results::{Manifest, Point, TransferSink};
pub use summary::{
    ClassSummary, CodePointSummary, DatagramSummary, PortSummary, Summary, WorkloadSummary,
};
pub use transfer::{Transfer, TransferColor};
