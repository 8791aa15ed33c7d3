//! Keeps the rows of one replica during the run: on disk, or in memory.

use serde::{Deserialize, Serialize};
use shortflow_units::Duration;

use super::rows::{self, Rows};
use super::{Ended, Error, Folder, Kept, Store};
use crate::tcp_state::TcpSample;
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

/// What becomes a row of a CSV file.
pub trait Record: Sized {
    /// The row.
    type Row<'r>: Serialize + Deserialize<'r>
    where
        Self: 'r;

    /// The columns of the file.
    const COLUMNS: &'static [&'static str];

    /// The name of the file of a replica.
    fn file(point: usize, replica: u32) -> String;

    /// Its row, with these names, of this point and replica.
    fn row<'r>(&'r self, names: &'r RowNames, point: usize, replica: u32) -> Self::Row<'r>;
}

/// Keeps each record of one replica: as a row of a CSV file, which appears under its name when it is finished, or in memory.
#[derive(Debug)]
pub struct Sink<R> {
    point: usize,
    replica: u32,
    names: RowNames,
    place: Place<R>,
}

/// Where records are kept.
#[derive(Debug)]
enum Place<R> {
    File(Box<Rows>),
    Memory(Vec<R>, Store<R>),
}

/// Keeps transfers that have ended, or are open at the end.
pub type TransferSink = Sink<Ended>;

/// Keeps the states of connections' senders.
pub type TcpSink = Sink<TcpSample>;

impl<R: Record> Sink<R> {
    /// A sink into `folder` for one replica of one point of a sweep (point 0 without a sweep).
    pub fn create(
        folder: &Folder,
        point: usize,
        replica: u32,
        names: RowNames,
    ) -> Result<Self, Error> {
        let rows = Rows::create(folder, &R::file(point, replica), R::COLUMNS)?;
        Ok(Sink { point, replica, names, place: Place::File(Box::new(rows)) })
    }

    /// The same into memory.
    pub fn in_memory(store: &Store<R>, point: usize, replica: u32, names: RowNames) -> Self {
        let place = Place::Memory(Vec::new(), store.clone());
        Sink { point, replica, names, place }
    }

    /// Writes a row. A failure is kept, and returned by [`finish`](Self::finish).
    pub fn put(&mut self, record: R) {
        match &mut self.place {
            Place::File(rows) => rows.put(record.row(&self.names, self.point, self.replica)),
            Place::Memory(records, _) => records.push(record),
        }
    }

    /// Removes from `folder` the rows of a replica that is in no result, where there are any.
    pub fn remove(folder: &Folder, point: usize, replica: u32) -> Result<(), Error> {
        rows::remove(folder, &R::file(point, replica))
    }

    /// Ends the file and gives it its name, or adds the records to those of other replicas in memory.
    pub fn finish(self) -> Result<(), Error> {
        let Sink { point, replica, names, place } = self;
        match place {
            Place::File(rows) => rows.finish(),
            Place::Memory(records, store) => {
                store.add(Kept { point, replica, names, records });
                Ok(())
            }
        }
    }
}

impl TransferSink {
    /// Writes a row; `age` is how old the transfer was when it was complete, or at the end. A failure is kept, and
    /// returned by [`finish`](Self::finish).
    pub fn write(
        &mut self,
        transfer: &Transfer,
        state: TransferState,
        is_counted: bool,
        age: Duration,
    ) {
        self.put(Ended { transfer: transfer.clone(), state, is_counted, age });
    }
}
