//! Workloads, one file each: name, keys, check, and everything that other crates need to know about it. How
//! its traffic starts is part of each engine.

mod bulk;
mod cbr;
mod ftp;
mod poisson;
mod sessions;
mod telnet;
mod transfers;
mod web;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use shortflow_measure::Item;
use shortflow_packet::Dscp;
use shortflow_tcp::Config;
use shortflow_units::{Bytes, Instant, Rate};

use crate::check::Checker;
use crate::model::{NodeId, Part};

/// Lists the workloads: their keys and their plans.
macro_rules! workloads {
    ($($(#[doc = $doc:literal])+ $module:ident $Name:ident),+ $(,)?) => {
        /// A workload, by its kind.
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum WorkloadFile { $($(#[doc = $doc])+ $Name(Box<$module::Keys>)),+ }

        impl WorkloadFile {
            /// The label in the text.
            pub(crate) fn label(&self) -> Option<&String> {
                match self { $(WorkloadFile::$Name(keys) => keys.label()),+ }
            }

            /// The key that determines the load.
            pub(crate) fn load_key(&self) -> &'static str {
                match self { $(WorkloadFile::$Name(keys) => keys.load_key()),+ }
            }

            /// Whether the sizes that results are grouped by, if any, are all in segments.
            pub(crate) fn sizes_in_segments(&self) -> bool {
                match self { $(WorkloadFile::$Name(keys) => keys.sizes_in_segments()),+ }
            }

            /// Checks the keys at `path`. Returns the plan and the TCP of both ends, or `None` after a
            /// mistake.
            pub(crate) fn check(
                &self,
                checker: &mut Checker<'_>,
                path: &str,
            ) -> Option<(WorkloadKind, Config)> {
                match self {
                    $(WorkloadFile::$Name(keys) => {
                        let path = format!("{path}.{}", stringify!($module));
                        let (plan, tcp) = keys.check(checker, &path)?;
                        Some((WorkloadKind::$Name(plan), tcp))
                    })+
                }
            }
        }

        /// The traffic of a workload.
        #[derive(Debug, Clone, PartialEq)]
        pub enum WorkloadKind { $($(#[doc = $doc])+ $Name($module::Plan)),+ }

        impl WorkloadKind {
            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self { $(WorkloadKind::$Name(_) => stringify!($module)),+ }
            }

            /// Its common properties.
            pub fn traffic(&self) -> &dyn Traffic {
                match self { $(WorkloadKind::$Name(plan) => plan),+ }
            }
        }
    };
}

workloads! {
    /// Open-loop request/reply transfers over TCP.
    transfers Transfers,
    /// Bulk flows over TCP.
    bulk Bulk,
    /// Browsing sessions over TCP.
    web Web,
    /// Typing sessions over TCP.
    telnet Telnet,
    /// Sessions that send files over TCP.
    ftp Ftp,
    /// UDP datagrams at a constant bit rate.
    cbr Cbr,
    /// UDP datagrams as a Poisson process.
    poisson Poisson,
}

/// The keys of a workload.
pub(crate) trait WorkloadKeys: DeserializeOwned + JsonSchema {
    /// The checked workload, which an engine runs.
    type Plan: Traffic;

    /// The label in the text.
    fn label(&self) -> Option<&String>;

    /// The key that determines the load.
    fn load_key(&self) -> &'static str {
        "load"
    }

    /// Whether the sizes that results are grouped by, if any, are all in segments.
    fn sizes_in_segments(&self) -> bool {
        true
    }

    /// Checks the keys at `path`. Returns the plan and the TCP of both ends, or `None` after a mistake.
    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Self::Plan, Config)>;
}

/// The common properties of all workloads.
pub trait Traffic {
    /// The pairs of nodes between which traffic flows.
    fn pairs(&self) -> &[(NodeId, NodeId)];

    /// What is timed in this part.
    fn item(&self, part: Part) -> Item;

    /// The end of each pair that sends the data.
    fn sender(&self) -> PairEnd;

    /// The parts with results of their own, besides the whole.
    fn parts(&self) -> &[Part] {
        &[]
    }

    /// Its datagrams; `None` over TCP.
    fn datagrams(&self) -> Option<Datagrams> {
        None
    }

    /// The sizes that results are grouped by; `None` if they are not grouped.
    fn sizes(&self) -> Option<ResultSizes> {
        None
    }

    /// Its arrivals; `None` if they depend on the network.
    fn arrivals(&self) -> Option<Arrivals> {
        None
    }

    /// What it sends between its nodes with this TCP; `None` if that depends on the network.
    fn offers(&self, _tcp: &Config) -> Option<Vec<Offer>> {
        None
    }

    /// Application bytes of replies requested per second while transfers arrive, on average over all that may
    /// arrive. `None` if that depends on the network.
    fn asked_bytes_per_second(&self) -> Option<f64> {
        None
    }

    /// The number of its endless flows.
    fn endless_flows(&self) -> u32 {
        0
    }

    /// The approximate number of its connections or streams that are open at the same time, if the load of
    /// the busiest link on its path is `overload` times the rate, at least 1.
    fn open(&self, overload: f64) -> f64;
}

/// Arrivals that do not depend on the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    /// Their name: `transfers`, `datagrams`.
    pub what: &'static str,
    /// The average number per second.
    pub per_second: f64,
    /// The earliest arrival.
    pub start: Instant,
    /// The latest arrival.
    pub stop: Instant,
}

/// The average traffic of a workload from one node to another, per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// The node that sends.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// Bytes with headers, without link layer overhead.
    pub bytes: f64,
    /// Packets.
    pub packets: f64,
}

impl Offer {
    /// An offer of this many bytes and packets per second.
    fn new(from: NodeId, to: NodeId, (bytes, packets): (f64, f64)) -> Offer {
        Offer { from, to, bytes, packets }
    }
}

/// An end of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairEnd {
    /// The first.
    First,
    /// The second.
    Second,
}

/// Datagrams of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagrams {
    /// The code point that the sender writes.
    pub dscp: Dscp,
    /// The number of streams.
    pub streams: usize,
    /// The pair and the rate of each stream, if each has its own results.
    pub reported: Vec<((NodeId, NodeId), Rate)>,
}

/// Sizes that results are grouped by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultSizes {
    /// Exactly these.
    Listed(Vec<Bytes>),
    /// Many different ones.
    Any,
}

impl ResultSizes {
    fn from_distinct(distinct: Option<Vec<Bytes>>) -> Option<ResultSizes> {
        Some(distinct.map_or(ResultSizes::Any, ResultSizes::Listed))
    }
}

impl WorkloadKind {
    /// The pairs of nodes between which traffic flows.
    pub fn pairs(&self) -> &[(NodeId, NodeId)] {
        self.traffic().pairs()
    }

    /// Whether it runs over TCP.
    pub fn uses_tcp(&self) -> bool {
        self.traffic().datagrams().is_none()
    }
}

/// The names and numbers of all code points.
const CODE_POINT: &str = "^(BE|DF|LE|EF|CS[0-7]|AF[1-4][1-3]|[0-9]{1,2})$";
