//! Reads and checks scenarios: topology, workloads, bindings, measurements.
//!
//! [`load`] reads a scenario file and its policy, applies overrides, expands the sweep, and returns one
//! [`Scenario`] per point: plain structs that an engine can run without further checks.
//!
//! ```
//! let text = r#"
//!     duration = "10 s"
//!     [parameters]
//!     delay = 5
//!     [hosts.client]
//!     [hosts.server]
//!     [links.line]
//!     between = ["client", "server"]
//!     rate = "10 Mbit/s"
//!     delay = "= 2 * delay ms"
//!     [workloads.file.bulk]
//!     from = "server"
//!     to = "client"
//!     size = "1 MB"
//! "#;
//! let overrides = shortflow_scenario::Overrides::default();
//! let loaded = shortflow_scenario::from_texts(&[("line.toml", text)], &overrides)?;
//! let scenario = &loaded.points()[0].scenario;
//! assert_eq!(scenario.links[0].forward.delay.to_string(), "10 ms");
//! # Ok::<(), shortflow_text::Diagnostics>(())
//! ```
//!
//! # What this crate does not know
//!
//! How a scenario runs: no engine, no events, no TCP. What elements do: the policy crate checks policies;
//! here they are only bound to ports. Results, except the list of what is measured.

mod addresses;
mod bind;
mod bound_parameters;
mod check;
mod design;
mod explain;
mod file;
mod file_kind;
mod files;
mod frequency;
mod idle;
mod load;
mod loads;
mod loss;
mod max_min;
mod memory;
mod model;
mod offered;
mod policy_parameters;
mod rate_over_time;
mod summary;
mod sweep;
mod unreachable;
mod which_tcp;
mod workloads;

pub use addresses::{Addresses, IpVersion};
pub use check::MAX_REPLICAS;
pub use explain::Topic;
pub use file_kind::FileKind;
pub use load::{
    DataFile, Loaded, Overrides, SweepPoint, format_keys, from_texts, load, load_from, schema,
};
pub use loads::{LinkLoad, PointLoads};
pub use memory::Memory;
pub use model::{
    Binding, Direction, Inputs, Line, Link, MAX_STREAMS, MeasurePlan, Node, NodeId, NodeKind, Part,
    ResultRow, Scenario, SizeClass, Workload,
};
pub use offered::{LineLoad, OfferedLoad};
pub use workloads::{Arrivals, Datagrams, Offer, PairEnd, ResultSizes, Traffic, WorkloadKind};
