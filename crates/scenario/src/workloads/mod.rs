//! Workloads, one file for each: what it is called, its keys, what they come to, and all that others
//! must know of it. An engine has its own part: how it lets the traffic begin.

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
use shortflow_elements::Dscp;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::{Bytes, Instant, Rate};

use crate::check::Checker;
use crate::model::{NodeId, Part};

/// Lists the workloads: what is written, and what it comes to.
macro_rules! workloads {
    ($($(#[doc = $doc:literal])+ $module:ident $Name:ident),+ $(,)?) => {
        /// A workload, by its kind.
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum WorkloadFile { $($(#[doc = $doc])+ $Name(Box<$module::Keys>)),+ }

        impl WorkloadFile {
            /// The label that the workload states.
            pub(crate) fn label(&self) -> Option<&String> {
                match self { $(WorkloadFile::$Name(keys) => keys.label()),+ }
            }

            /// The key that says how much comes.
            pub(crate) fn load_key(&self) -> &'static str {
                match self { $(WorkloadFile::$Name(keys) => keys.load_key()),+ }
            }

            /// Whether the sizes by which its results are told apart, if any, are all written in
            /// segments.
            pub(crate) fn sizes_in_segments(&self) -> bool {
                match self { $(WorkloadFile::$Name(keys) => keys.sizes_in_segments()),+ }
            }

            /// What is written at `path` comes to, with the TCP of both ends; none when there is a
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

        /// What a workload generates.
        #[derive(Debug, Clone, PartialEq)]
        pub enum WorkloadKind { $($(#[doc = $doc])+ $Name($module::Plan)),+ }

        impl WorkloadKind {
            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self { $(WorkloadKind::$Name(_) => stringify!($module)),+ }
            }

            /// What it is, whatever it is.
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
    /// What they come to: what an engine runs.
    type Plan: Traffic;

    /// The label that the workload states.
    fn label(&self) -> Option<&String>;

    /// The key that says how much comes.
    fn load_key(&self) -> &'static str {
        "load"
    }

    /// Whether the sizes by which its results are told apart, if any, are all written in segments.
    fn sizes_in_segments(&self) -> bool {
        true
    }

    /// What the keys, which stand at `path`, come to, with the TCP of both ends; none when there is
    /// a mistake.
    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Self::Plan, Config)>;
}

/// What everybody but its own source asks of a workload.
pub trait Traffic {
    /// The pairs of nodes between which traffic flows.
    fn pairs(&self) -> &[(NodeId, NodeId)];

    /// What is timed of this part of it.
    fn item(&self, part: Part) -> Item;

    /// The end of each pair that sends the data.
    fn sender(&self) -> PairEnd;

    /// The parts that have results of their own besides the whole.
    fn parts(&self) -> &[Part] {
        &[]
    }

    /// Its datagrams; `None` over TCP.
    fn datagrams(&self) -> Option<Datagrams> {
        None
    }

    /// The sizes by which its results are told apart; `None` where they are not.
    fn sizes(&self) -> Option<ResultSizes> {
        None
    }

    /// How much comes, whatever the network does; `None` where that depends on what it gets.
    fn arrivals(&self) -> Option<Arrivals> {
        None
    }

    /// What it sends between its nodes with this TCP; `None` where that depends on what it gets.
    fn offers(&self, _tcp: &Config) -> Option<Vec<Offer>> {
        None
    }

    /// How many application bytes of replies it asks for in a second while transfers arrive, on average over all
    /// that may come; `None` where that depends on what it gets.
    fn asked_bytes_per_second(&self) -> Option<f64> {
        None
    }

    /// How many of its flows never end.
    fn endless_flows(&self) -> u32 {
        0
    }

    /// About how many of its connections or streams are open at a time, where the busiest link on
    /// its way is offered `overload` times what it carries, at least 1.
    fn open(&self, overload: f64) -> f64;
}

/// What comes of a workload, whatever the network does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    /// What it is, in words: `transfers`, `datagrams`.
    pub what: &'static str,
    /// How many come in a second, on average.
    pub per_second: f64,
    /// When the first may come.
    pub start: Instant,
    /// When the last may come.
    pub stop: Instant,
}

/// What a workload sends from one node to another in one second, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// The node that sends.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// Bytes, headers included, without what links add.
    pub bytes: f64,
    /// Packets.
    pub packets: f64,
}

impl Offer {
    /// So many bytes and packets a second.
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
    /// How many streams there are.
    pub streams: usize,
    /// The pair and the rate of each stream, where each has its own results.
    pub reported: Vec<((NodeId, NodeId), Rate)>,
}

/// Sizes by which results are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultSizes {
    /// These and no others occur.
    Listed(Vec<Bytes>),
    /// Many occur.
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

/// The code points that have names, and the numbers of all.
const CODE_POINT: &str = "^(BE|DF|LE|EF|CS[0-7]|AF[1-4][1-3]|[0-9]{1,2})$";
