//! A replica as a study stores it.

use std::ops::Deref;

use shortflow_measure::Replica;

use super::distribution::Distribution;
use super::paired_transfers::Item;

/// What a replica found, and the items that are held against those of another run one by one.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredReplica {
    pub(crate) replica: Replica,
    pub(crate) items: Vec<(Distribution, Vec<Item>)>,
}

impl StoredReplica {
    /// The items of a class, if they were wanted.
    pub(crate) fn items(&self, class: &Distribution) -> Option<&[Item]> {
        self.items.iter().find(|(of, _)| of == class).map(|(_, items)| items.as_slice())
    }
}

impl From<Replica> for StoredReplica {
    fn from(replica: Replica) -> Self {
        StoredReplica { replica, items: Vec::new() }
    }
}

impl Deref for StoredReplica {
    type Target = Replica;

    fn deref(&self) -> &Replica {
        &self.replica
    }
}
