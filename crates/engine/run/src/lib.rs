//! The common part of all engines: cases and tasks, observers, names of what is recorded, and output folders.
//!
//! ```text
//! Cases ─▶ tasks ─▶ Engine (several side by side) ─▶ Outcomes ─▶ Results ─▶ OutputFolder
//!                     │
//!                     └─▶ Observer, Tap
//! ```
//!
//! An [`Engine`] computes what a policy does in a scenario. The simulator is an engine. Engines that compute
//! means from formulae, or that send real packets in real time, implement the same trait:
//!
//! ```
//! use shortflow_measure::{Summary, WorkloadSummary};
//! use shortflow_run::{Case, Engine, Error, Measured, Observers, Outcome, Refusal, Task, run_tasks};
//! use shortflow_scenario::{Overrides, Scenario, from_texts};
//!
//! /// Predicts that everything takes no time.
//! struct Optimist;
//!
//! impl Engine for Optimist {
//!     fn name(&self) -> &'static str {
//!         "optimist"
//!     }
//!     fn identity(&self) -> &str {
//!         "1"
//!     }
//!     fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
//!         if scenario.policy.is_none() {
//!             return Ok(());
//!         }
//!         Err(Refusal("no closed form for a policy; leave it out".to_owned()))
//!     }
//!     fn run(&self, task: &Task<'_>, _: Observers<'_>) -> Result<Outcome, Error> {
//!         let named = |name: &String| WorkloadSummary { name: name.clone(), ..Default::default() };
//!         let workloads = task.scenario.workloads.iter().map(|w| named(&w.name)).collect();
//!         Ok(Measured::Means(Box::new(Summary { workloads, ..Default::default() })).into())
//!     }
//! }
//!
//! let text = r#"
//!     duration = "10 s"
//!     hosts = { client = {}, server = {} }
//!     links.line = { between = ["client", "server"], rate = "10 Mbit/s", delay = "5 ms" }
//!     workloads.file.bulk = { from = "server", to = "client" }
//! "#;
//! let loaded = from_texts(&[("line.toml", text)], &Overrides::default())?;
//! let task = Task { scenario: &loaded.points()[0].scenario, replica: 0 };
//! let outcomes = run_tasks(&Optimist, &[task], 1, &false.into(), &());
//! assert!(matches!(outcomes[0].as_ref().unwrap().measured, Measured::Means(_)));
//! # Ok::<(), shortflow_text::Diagnostics>(())
//! ```
//!
//! # What this crate does not know
//!
//! How any engine works: it contains no event, no queue and no formula. It draws no random numbers, prints
//! nothing, and reads no arguments. The claims of a study.

mod case;
mod class_use;
mod command;
mod engine;
mod experiment;
mod fingerprint;
mod join;
mod memory;
mod names;
mod observe;
mod output;
mod parallel;
mod plan;
mod precision;
mod read;
mod replicas;
mod results;
mod stored;
mod tap;

pub use case::{Case, DifferentPoints, folder_name, input_warning};
pub use class_use::{ClassCounts, ClassUse};
pub use command::{command_line, shell_word};
pub use engine::{
    Engine, Error, Job, Measured, Observers, Outcome, Refusal, SideBySide, Stalls, Task,
    TcpInfoLog, TimingError,
};
pub use experiment::{Experiment, InMemory, Limits, Origin, StartTap, TcpInfoTimes, TimeLimit};
pub use fingerprint::{digest, fingerprint};
pub use join::{JoinError, different_inputs, join, renew_warnings};
pub use memory::{TooLarge, refuse_too_large};
pub use names::{
    code_points, conditioner_counts, drop_reasons, dropped_name, ingress_name, port_name, ports,
    queue_counter, role_at, seed_of, workload_counter,
};
pub use observe::{Observer, Progress};
pub use output::{OutputError, OutputFolder, finish_moving, refuse_other_run};
pub use parallel::{run_jobs, run_tasks};
pub use plan::{end_of, plan};
pub use precision::Widest;
pub use read::{ReadError, read_runs};
pub use replicas::{ReplicaNumbers, Shard, lacking, numbers_in};
pub use results::{Interruption, Results, manifest_of, which_tcp};
pub use stored::{Stored, StoredError};
pub use tap::{Event, Sight, Tap};
