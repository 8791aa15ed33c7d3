//! Browsing sessions.

use shortflow_measure::Item;
use shortflow_units::Bytes;
use shortflow_workloads::{Visits, Web};

use super::{PairEnd, ResultSizes, Traffic};
use crate::model::{NodeId, Part};

impl Traffic for Web<NodeId> {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.sessions.pairs
    }

    fn item(&self, part: Part) -> Item {
        match part {
            Part::Whole => Item::Page,
            Part::Objects => Item::Object,
        }
    }

    fn sender(&self) -> PairEnd {
        PairEnd::Second
    }

    fn parts(&self) -> &[Part] {
        &[Part::Objects]
    }

    fn sizes(&self) -> Option<ResultSizes> {
        ResultSizes::of(page_sizes(&self.visits))
    }
}

/// The sizes of pages and of what is in them, where all pages are alike.
fn page_sizes(visits: &Visits) -> Option<Vec<Bytes>> {
    let Visits::Browse { pages, .. } = visits else { return None };
    let (index, object, objects) =
        (pages.index.constant()?, pages.object.constant()?, pages.objects.constant_number()?);
    let whole = Bytes(index.0 + object.0 * u64::from(objects));
    Some(if objects > 0 { vec![index, object, whole] } else { vec![index] })
}
