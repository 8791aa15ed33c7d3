//! The tables, and how each is read.

use shortflow_measure::Run;

use crate::batch::Fixed;
use crate::case::Cases;
use crate::error::Error;
use crate::reader::Reader;
use crate::transfers::{self, Transfers};
use crate::{bulk, datagrams, failures, measures, series};

/// A table about runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// A row for each transfer, page, object, echo and file.
    Transfers,
    /// A row for each long flow of each replica.
    Bulk,
    /// A row for each workload with datagrams, and each stream that is reported separately, of each replica.
    Datagrams,
    /// A row for each port, and each TCP flow, at each instant of a time series.
    Series,
    /// A row for each measure of each workload, port and counter, with its interval over replicas.
    Summary,
    /// The same of each replica.
    Replicas,
    /// A row for each point without results, with the reason.
    Failures,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 7] = [
        Table::Transfers,
        Table::Bulk,
        Table::Datagrams,
        Table::Series,
        Table::Summary,
        Table::Replicas,
        Table::Failures,
    ];

    /// Its name, also that of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Transfers => "transfers",
            Table::Bulk => "bulk",
            Table::Datagrams => "datagrams",
            Table::Series => "series",
            Table::Summary => "summary",
            Table::Replicas => "replicas",
            Table::Failures => "failures",
        }
    }

    /// Its columns after those that identify the case.
    pub(crate) const fn columns(self) -> &'static [Fixed] {
        match self {
            Table::Transfers => &transfers::COLUMNS,
            Table::Bulk => &bulk::COLUMNS,
            Table::Datagrams => &datagrams::COLUMNS,
            Table::Series => &series::COLUMNS,
            Table::Summary => &measures::OF_ALL,
            Table::Replicas => &measures::OF_ONE,
            Table::Failures => &failures::COLUMNS,
        }
    }

    /// Whether its rows are about single replicas.
    pub(crate) const fn has_replicas(self) -> bool {
        !matches!(self, Table::Summary | Table::Failures)
    }
}

/// Reads a table about `runs`. Large tables are read while batches are taken, so they need not fit into memory.
///
/// # Errors
/// When a file of results is missing or invalid; such an error may also come with a batch.
pub fn read(table: Table, runs: &[Run], transfers: Transfers) -> Result<Reader, Error> {
    let cases = Cases::new(runs);
    let schema = cases.schema(table);
    match table {
        Table::Transfers => return Ok(transfers::read(cases, schema, runs, transfers)),
        Table::Series => return Ok(series::read(cases, schema, runs, transfers)),
        _ => {}
    }
    Ok(Reader::from_rows(schema, |rows| match table {
        Table::Transfers | Table::Series => unreachable!("they are read above"),
        Table::Bulk => bulk::fill(rows, &cases, runs),
        Table::Datagrams => datagrams::fill(rows, &cases, runs),
        Table::Summary => measures::fill_all(rows, &cases, runs),
        Table::Replicas => measures::fill_one(rows, &cases, runs),
        Table::Failures => failures::fill(rows, &cases, runs),
    }))
}
