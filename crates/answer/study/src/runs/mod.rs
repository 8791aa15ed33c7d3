//! The runs of a study: its scenarios at the points of their sweeps, their replicas, and what these measured.

mod bench;
mod cache;
pub(crate) mod data;
mod distribution;
mod measure;
mod missing;
pub(crate) mod paired_transfers;
mod points;
mod replay;
mod replicas;
mod stored_replica;
mod wanted;

pub(crate) use bench::Bench;
pub use data::Data;
pub(crate) use distribution::Distribution;
pub use missing::Missing;
pub(crate) use points::Maker;
pub(crate) use replicas::Runs;
pub(crate) use stored_replica::StoredReplica;
pub(crate) use wanted::Wanted;
