//! Records of replicas in memory.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Record, RowNames};

/// The records of one replica, in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept<T> {
    /// The point of the sweep, from 0.
    pub point: usize,
    /// The number of the replica.
    pub replica: u32,
    pub(crate) names: RowNames,
    pub(crate) records: Vec<T>,
}

impl<R: Record> Kept<R> {
    /// The row with this number, from 0, as it is in files.
    pub fn row(&self, at: usize) -> Option<R::Row<'_>> {
        let record = self.records.get(at)?;
        Some(record.row(&self.names, self.point, self.replica))
    }
}

/// The records of several replicas, in memory. Clones share them.
#[derive(Debug)]
pub struct Store<T>(Arc<Mutex<Vec<Kept<T>>>>);

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Store(self.0.clone())
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store(Arc::default())
    }
}

impl<T> Store<T> {
    /// All records so far, by point and replica; none are left.
    pub fn take(&self) -> Vec<Kept<T>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = std::mem::take(&mut *kept);
        taken.sort_by_key(|one| (one.point, one.replica));
        taken
    }

    pub(crate) fn add(&self, kept: Kept<T>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }
}
