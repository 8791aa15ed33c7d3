//! Bulk flows.

use shortflow_measure::Item;
use shortflow_workloads::Bulk;

use super::{PairEnd, Traffic};
use crate::model::{NodeId, Part};

impl Traffic for Bulk<NodeId> {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Transfer
    }

    fn sender(&self) -> PairEnd {
        PairEnd::First
    }
}
