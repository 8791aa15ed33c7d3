//! Datagrams at a constant bit rate.

use shortflow_measure::Item;
use shortflow_workloads::Cbr;

use super::{Datagrams, PairEnd, Traffic};
use crate::model::{NodeId, Part};

impl Traffic for Cbr<NodeId> {
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
        let reported = if self.by_stream { self.streams() } else { 0 };
        let stream = |number| {
            let (pair, rate) = self.stream(number);
            (*pair, rate)
        };
        let reported = (0..reported).map(stream).collect();
        Some(Datagrams { dscp: self.dscp, streams: self.streams(), reported })
    }
}
