//! Scenario text (topology, workloads, bindings, measures), checked.
//!
//! [`load`] reads a scenario file and the policy that it names, applies overrides, expands the
//! sweep, and gives one [`Scenario`] per point: plain structs that an engine can run as they are.

mod check;
mod file;
mod frequency;
mod load;
mod model;
mod sweep;

pub use load::{Loaded, Overrides, SweepPoint, from_texts, load, schema};
pub use model::{
    Binding, Direction, Inputs, Kind, Line, Link, MeasurePlan, Node, NodeId, NodeKind, Scenario,
    Workload,
};
