//! The Short-Range Flow Table: the number of packets of each recent flow.

use shortflow_packet::FlowKey;
use shortflow_units::{Duration, Instant};

use super::FlowTableSize;
use crate::flow_hash::FlowHash;
use crate::table::{LruTable, TableBounds, TableStats};

/// Packets of each recent flow.
#[derive(Debug)]
pub(super) struct FlowTable {
    /// `None` has no room for flows: every packet is the first of a flow.
    table: Option<LruTable<FlowKey, u64>>,
    refused: u64,
}

impl FlowTable {
    pub(super) fn new(size: FlowTableSize, hash: FlowHash) -> Self {
        let bounds = match size {
            FlowTableSize::AtMost(0) => return FlowTable { table: None, refused: 0 },
            FlowTableSize::AtMost(flows) => {
                TableBounds { entries: flows, idle_timeout: Duration::MAX }
            }
            FlowTableSize::Unlimited { idle_timeout } => {
                TableBounds { entries: usize::MAX, idle_timeout }
            }
        };
        FlowTable { table: Some(LruTable::new(bounds, hash)), refused: 0 }
    }

    pub(super) fn reserve(&mut self, flows: usize) {
        if let Some(table) = &mut self.table {
            table.reserve(flows);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.as_ref().map_or(0, LruTable::len)
    }

    pub(super) fn stats(&self) -> TableStats {
        match &self.table {
            Some(table) => table.stats(),
            None => TableStats { misses: self.refused, ..TableStats::default() },
        }
    }

    /// Counts a packet of the flow `key`. Returns the number of earlier ones.
    #[inline]
    pub(super) fn count(&mut self, now: Instant, key: FlowKey) -> u64 {
        let Some(table) = &mut self.table else {
            self.refused += 1;
            return 0;
        };
        let packets = table.see(now, key, |_| 0).value;
        let before = *packets;
        *packets += 1;
        before
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Rng;

    use super::*;

    #[test]
    fn a_table_without_room_takes_every_packet_for_a_first_and_counts_it_as_a_miss() {
        let hash = FlowHash::seeded(&mut Rng::stream(1, "flow table"));
        let mut table = FlowTable::new(FlowTableSize::AtMost(0), hash);
        for seen in 1..=3 {
            assert_eq!(table.count(Instant::START, FlowKey::default()), 0);
            assert_eq!((table.len(), table.stats().misses), (0, seen));
        }
    }
}
