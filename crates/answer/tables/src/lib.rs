//! Finished runs as tidy long tables: in memory as Arrow, on disk as Parquet, CSV or Arrow.
//!
//! ```text
//! Runs (just ended, or read from folders) ─▶ Table ─▶ Reader of record batches ─▶ file, or another program's memory
//! ```
//!
//! Each table has a row for each thing that it is about, and begins with the columns that identify the case: policy, engine, the
//! point of the sweep, a typed column for each swept setting, and mostly replica and seed. Quantities are in SI units. The
//! names of columns end with them, and each field has its `unit` as metadata.
//!
//! ```
//! use shortflow_tables::{Table, Transfers, read};
//!
//! let reader = read(Table::Failures, &[], Transfers::InFolders)?;
//! assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
//! # Ok::<(), shortflow_tables::Error>(())
//! ```
//!
//! # What this crate does not know
//!
//! How a run is computed, and where results lie: it writes to what it is given.

mod batch;
mod bulk;
mod case;
mod datagrams;
mod error;
mod failures;
mod folder;
mod format;
mod measures;
mod reader;
mod series;
mod setting;
mod source;
mod table;
mod transfers;

pub use error::Error;
pub use folder::write_all;
pub use format::{Format, write};
pub use reader::Reader;
pub use series::read_series;
pub use table::{Table, read};
pub use transfers::Transfers;
