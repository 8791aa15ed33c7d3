//! Keeps single transfers during the run: on disk, or in memory.

use shortflow_units::Duration;

use super::rows::{self, Rows};
use super::transfer_row;
use super::{Ended, Error, Folder, Kept, Store, TransferRow};
use crate::transfer::{Transfer, TransferState};

/// What the indices in records stand for, and what is the same in each row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNames {
    /// The policy, or what else the run is called.
    pub policy: String,
    /// The workloads by index.
    pub workloads: Vec<String>,
    /// The labels of their connections, by the same index.
    pub labels: Vec<String>,
    /// The nodes by index.
    pub nodes: Vec<String>,
}

/// Keeps each transfer of one replica: as a row of a CSV file, which appears under its name when it is finished, or in memory.
#[derive(Debug)]
pub struct TransferSink {
    point: usize,
    replica: u32,
    names: RowNames,
    place: Place,
}

/// Where transfers are kept.
#[derive(Debug)]
enum Place {
    File(Box<Rows>),
    Memory(Vec<Ended>, TransferStore),
}

/// The transfers of several replicas, in memory.
pub type TransferStore = Store<Ended>;

/// The transfers of one replica, in memory.
pub type KeptTransfers = Kept<Ended>;

impl KeptTransfers {
    /// The row with this number, from 0, as it is in files.
    pub fn row(&self, at: usize) -> Option<TransferRow<'_>> {
        let ended = self.records.get(at)?;
        Some(ended.row(&self.names, self.point, self.replica))
    }
}

impl TransferSink {
    /// A sink into `folder` for one replica of one point of a sweep (point 0 without a sweep).
    pub fn create(
        folder: &Folder,
        point: usize,
        replica: u32,
        names: RowNames,
    ) -> Result<Self, Error> {
        let name = TransferSink::name(point, replica);
        let rows = Rows::create(folder, &name, &transfer_row::COLUMNS)?;
        Ok(TransferSink { point, replica, names, place: Place::File(Box::new(rows)) })
    }

    /// The same into memory.
    pub fn in_memory(store: &TransferStore, point: usize, replica: u32, names: RowNames) -> Self {
        let place = Place::Memory(Vec::new(), store.clone());
        TransferSink { point, replica, names, place }
    }

    /// The name of the file of a replica's transfers.
    pub fn name(point: usize, replica: u32) -> String {
        format!("transfers-{point:03}-{replica:03}.csv")
    }

    /// Writes a row; `age` is how old the transfer was when it was complete, or at the end. A failure is kept, and
    /// returned by [`finish`](Self::finish).
    pub fn write(
        &mut self,
        transfer: &Transfer,
        state: TransferState,
        is_counted: bool,
        age: Duration,
    ) {
        let ended = Ended { transfer: transfer.clone(), state, is_counted, age };
        match &mut self.place {
            Place::File(rows) => rows.put(ended.row(&self.names, self.point, self.replica)),
            Place::Memory(transfers, _) => transfers.push(ended),
        }
    }

    /// Removes from `folder` the transfers of a replica that is in no result, where there are any.
    pub fn remove(folder: &Folder, point: usize, replica: u32) -> Result<(), Error> {
        rows::remove(folder, &TransferSink::name(point, replica))
    }

    /// Ends the file and gives it its name, or adds the transfers to those of other replicas in memory.
    pub fn finish(self) -> Result<(), Error> {
        let TransferSink { point, replica, names, place } = self;
        match place {
            Place::File(rows) => rows.finish(),
            Place::Memory(records, store) => {
                store.add(Kept { point, replica, names, records });
                Ok(())
            }
        }
    }
}
