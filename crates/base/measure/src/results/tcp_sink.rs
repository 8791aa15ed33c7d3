//! Keeps the states of connections' senders during the run: on disk, or in memory.

use super::rows::{self, Rows};
use super::tcp_row;
use super::{Error, Folder, Kept, RowNames, Store, TcpRow};
use crate::tcp_state::TcpSample;

/// Keeps each sample of one replica: as a row of a CSV file, which appears under its name when it is finished, or in memory.
#[derive(Debug)]
pub struct TcpSink {
    point: usize,
    replica: u32,
    names: RowNames,
    place: Place,
}

/// Where samples are kept.
#[derive(Debug)]
enum Place {
    File(Box<Rows>),
    Memory(Vec<TcpSample>, TcpStore),
}

/// The samples of several replicas, in memory.
pub type TcpStore = Store<TcpSample>;

/// The samples of one replica, in memory.
pub type KeptSamples = Kept<TcpSample>;

impl KeptSamples {
    /// The row with this number, from 0, as it is in files.
    pub fn row(&self, at: usize) -> Option<TcpRow<'_>> {
        let sample = self.records.get(at)?;
        Some(sample.row(&self.names, self.point, self.replica))
    }
}

impl TcpSink {
    /// A sink into `folder` for one replica of one point of a sweep (point 0 without a sweep).
    pub fn create(
        folder: &Folder,
        point: usize,
        replica: u32,
        names: RowNames,
    ) -> Result<Self, Error> {
        let rows = Rows::create(folder, &TcpSink::name(point, replica), &tcp_row::COLUMNS)?;
        Ok(TcpSink { point, replica, names, place: Place::File(Box::new(rows)) })
    }

    /// The same into memory.
    pub fn in_memory(store: &TcpStore, point: usize, replica: u32, names: RowNames) -> Self {
        let place = Place::Memory(Vec::new(), store.clone());
        TcpSink { point, replica, names, place }
    }

    /// The name of the file of a replica's samples.
    pub fn name(point: usize, replica: u32) -> String {
        format!("tcp-info-{point:03}-{replica:03}.csv")
    }

    /// Writes a row. A failure is kept, and returned by [`finish`](Self::finish).
    pub fn write(&mut self, sample: &TcpSample) {
        match &mut self.place {
            Place::File(rows) => rows.put(sample.row(&self.names, self.point, self.replica)),
            Place::Memory(samples, _) => samples.push(*sample),
        }
    }

    /// Removes from `folder` the samples of a replica that is in no result, where there are any.
    pub fn remove(folder: &Folder, point: usize, replica: u32) -> Result<(), Error> {
        rows::remove(folder, &TcpSink::name(point, replica))
    }

    /// Ends the file and gives it its name, or adds the samples to those of other replicas in memory.
    pub fn finish(self) -> Result<(), Error> {
        let TcpSink { point, replica, names, place } = self;
        match place {
            Place::File(rows) => rows.finish(),
            Place::Memory(records, store) => {
                store.add(Kept { point, replica, names, records });
                Ok(())
            }
        }
    }
}
