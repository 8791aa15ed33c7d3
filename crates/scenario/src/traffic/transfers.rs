//! Request and reply transfers.

use std::sync::Arc;

use shortflow_measure::Item;
use shortflow_workloads::{SizeClass, Transfers};

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

    fn set_size_classes(&mut self, classes: &Arc<[SizeClass]>) {
        self.size_classes = classes.clone();
    }
}
