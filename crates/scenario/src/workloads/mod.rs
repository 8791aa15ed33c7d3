//! What a workload generates, and all that others must know of it: one file for each.

mod bulk;
mod cbr;
mod ftp;
mod poisson;
mod telnet;
mod transfers;
mod web;

use shortflow_elements::Dscp;
use shortflow_measure::Item;
use shortflow_units::{Bytes, Rate};

use crate::model::{NodeId, Part, WorkloadKind};

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
    fn of(distinct: Option<Vec<Bytes>>) -> Option<ResultSizes> {
        Some(distinct.map_or(ResultSizes::Any, ResultSizes::Listed))
    }
}

impl WorkloadKind {
    /// What it is, whatever it is.
    pub fn traffic(&self) -> &dyn Traffic {
        match self {
            WorkloadKind::Transfers(transfers) => transfers,
            WorkloadKind::Bulk(bulk) => bulk,
            WorkloadKind::Web(web) => web,
            WorkloadKind::Telnet(telnet) => telnet,
            WorkloadKind::Ftp(ftp) => ftp,
            WorkloadKind::Cbr(cbr) => cbr,
            WorkloadKind::Poisson(poisson) => poisson,
        }
    }

    /// The pairs of nodes between which traffic flows.
    pub fn pairs(&self) -> &[(NodeId, NodeId)] {
        self.traffic().pairs()
    }

    /// Whether it runs over TCP.
    pub fn uses_tcp(&self) -> bool {
        self.traffic().datagrams().is_none()
    }
}
