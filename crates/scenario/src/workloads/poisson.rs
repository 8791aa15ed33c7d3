//! Datagrams as a Poisson process.

use shortflow_measure::Item;
use shortflow_workloads::Poisson;

use super::{Datagrams, PairEnd, Traffic};
use crate::model::{NodeId, Part};

impl Traffic for Poisson<NodeId> {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Transfer
    }

    fn sender(&self) -> PairEnd {
        PairEnd::First
    }

    fn datagrams(&self) -> Option<Datagrams> {
        Some(Datagrams { dscp: self.dscp, streams: self.pairs.len(), reported: Vec::new() })
    }
}
