//! Files, one after another.

use shortflow_measure::Item;
use shortflow_workloads::Ftp;

use super::{PairEnd, ResultSizes, Traffic};
use crate::model::{NodeId, Part};

impl Traffic for Ftp<NodeId> {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.sessions.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::File
    }

    fn sender(&self) -> PairEnd {
        PairEnd::First
    }

    fn sizes(&self) -> Option<ResultSizes> {
        ResultSizes::of(self.size.distinct())
    }
}
