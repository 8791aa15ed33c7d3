//! Request and reply transfers.

use shortflow_measure::Item;
use shortflow_workloads::Transfers;

use super::{PairEnd, ResultSizes, Traffic};
use crate::model::{NodeId, Part};

impl Traffic for Transfers<NodeId> {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Transfer
    }

    fn sender(&self) -> PairEnd {
        PairEnd::Second
    }

    fn sizes(&self) -> Option<ResultSizes> {
        ResultSizes::of(self.reply.distinct())
    }
}
