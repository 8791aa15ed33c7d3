//! Records, histograms, series, confidence intervals, and results on disk.
//!
//! ```text
//! Plan → Recorder (one per replica, fed by the run) → Replica → Summary (over replicas) → results
//! Runs → View (what a command shows, computed once) → terminal, page, figures, JSON
//! ```
//!
//! A [`Recorder`] keeps only means, variances and histograms, so that its memory does not grow with simulated time;
//! every single transfer can also be streamed to disk. A [`Replica`] holds the results of one run; a [`Summary`]
//! gives each measure over replicas with its 95 % interval. Places, workloads and code points are known here only by
//! dense index and name. A [`View`] is what several runs show: ranking, comparisons, warnings and tables.
//!
//! ```
//! use shortflow_measure::{Plan, Recorder, Summary, Transfer, WorkloadPlan};
//! use shortflow_units::{Duration, Instant};
//!
//! let plan = Plan {
//!     workloads: vec![WorkloadPlan { name: "web".into(), ..Default::default() }],
//!     streams: vec![],
//!     limits: vec![],
//!     ports: vec![],
//!     code_points: vec![],
//!     drop_reasons: vec![],
//!     warm_up: Instant::START,
//!     end: Instant::START + Duration::from_secs(100),
//!     drain: Duration::ZERO,
//!     series_interval: None,
//!     idle_delays: vec![],
//! };
//! let replica = |millis| {
//!     let mut recorder = Recorder::new(&plan, None);
//!     let reply = Duration::from_millis(millis);
//!     recorder.transfer(&Transfer { reply, ..Default::default() });
//!     recorder.finish()
//! };
//! let summary = Summary::from_replicas(&[replica(190)?, replica(210)?]);
//! let mean = summary.workload("web").unwrap().all.mean.unwrap();
//! assert_eq!((mean.mean, mean.n), (0.2, 2));
//! # Ok::<(), shortflow_measure::results::Error>(())
//! ```
//!
//! Times in results are in seconds, rates in bits per second.
//!
//! # What this crate does not know
//!
//! It does not know engines, scenarios and policies: the caller of the recorder says what happened and when. It does
//! not draw results or set tables, nor decide whether they confirm a claim.

mod ages;
pub mod cases;
pub mod engines;
mod estimate;
mod gains;
mod grade;
mod histogram;
mod item;
mod measures;
mod moments;
mod plan;
mod port;
mod prediction_error;
mod ranking;
mod reading;
mod recorder;
mod replica;
pub mod results;
mod spread;
mod stability;
mod summary;
mod survival;
pub mod tables;
mod tcp_state;
mod throughput;
mod transfer;
mod view;
mod voice;
mod warning;

pub use estimate::{
    Estimate, jain, mean, paired, paired_gain, paired_gain_of_readings, relative_gain,
};
pub use gains::{Gain, PointGains, gains_at};
pub use grade::Grade;
pub use histogram::Histogram;
pub use item::Item;
pub use measures::{About, Better, Measure, Scope, Subject, Unit};
pub use moments::Moments;
pub use plan::{End, Plan, SizeClass, StreamPlan, WorkloadPlan};
pub use port::{CodePointCounts, Count, PortCounts, PortResult, Sample};
pub use prediction_error::{MIN_LOSS, PredictionError, is_model};
pub use ranking::{RankFigure, RankMeasure, RankedRun, Ranking, Service, Traffic, Worst};
pub use reading::{Likely, Reading};
pub use recorder::Recorder;
pub use replica::{
    ClassResult, DatagramResult, DelayPercentiles, JitterPercentiles, LongFlows, OverLimit,
    Replica, StreamResult, WorkloadResult,
};
pub use results::{Manifest, Point, RowNames, Run, TcpSink, TransferSink};
pub use summary::{
    CallSummary, ClassSummary, CodePointSummary, DatagramSummary, DelaySummary, JitterSummary,
    OverSummary, PortSummary, StreamSummary, Summary, WorkloadSummary,
};
pub use survival::Survival;
pub use tcp_state::{Occasion, Phase, TcpSample, TcpState};
pub use throughput::ThroughputSamples;
pub use transfer::{Ends, Transfer, TransferColor, TransferState};
pub use view::{
    Agreement, EngineComparison, EngineOrder, Pair, Positions, RunSet, SweptKey, View, Workload,
};
pub use warning::{Place, ScopedWarning, Warning, WarningKind, warnings};
