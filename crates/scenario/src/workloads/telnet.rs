//! Typing sessions.

use shortflow_measure::Item;
use shortflow_workloads::Telnet;

use super::{PairEnd, Traffic};
use crate::model::{NodeId, Part};

impl Traffic for Telnet<NodeId> {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.sessions.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Echo
    }

    fn sender(&self) -> PairEnd {
        PairEnd::Second
    }
}
