//! Results on disk: a folder whose files are written atomically.
//!
//! | file | what |
//! |---|---|
//! | `manifest.toml` | what was run: inputs as text, seed, version, durations, sweep |
//! | `summary.json` | each point's measures with their intervals |
//! | `replicas.json` | each point's replicas one by one, for paired comparisons |
//! | `histograms.json` | distributions of completion times, all replicas together |
//! | `warnings.csv` | what a reader must know before trusting them, if anything; also in the two above |
//! | `series.csv` | time series of ports, when asked for |
//! | `transfers-*.csv` | every transfer, complete or not, when asked for |
//! | `tcp-info-*.csv` | how senders of connections stood, when asked for |
//! | `input-*.csv` | the tables of data that the scenario names, such as logs of accesses |
//! | `accesses-*.csv` | what clients asked for, when asked for |
//! | `tables/*` | the results as tables for other programs, when asked for |
//! | `comparison.json` | of a comparison: the folders of its runs, and how they compare |

mod atomic_file;
mod comparison;
mod error;
mod folder;
mod kept;
mod manifest;
mod rows;
mod run;
mod sanitize;
mod series;
mod sink;
mod tcp_row;
mod transfer_row;

pub use atomic_file::{ResultFile, write_atomically};
pub use comparison::Comparison;
pub use error::Error;
pub use folder::{Folder, Point};
pub use kept::{Kept, Store};
pub use manifest::{Input, Manifest, Setting, Sweep, Timing};
pub use run::Run;
pub use series::{SeriesRow, series_rows};
pub use sink::{Record, RowNames, Sink, TcpSink, TransferSink};
pub use tcp_row::TcpRow;
pub use transfer_row::{Ended, TransferRow};

/// The file whose presence says that a folder of results is complete.
pub const MANIFEST: &str = "manifest.toml";

/// The file that names the folders of a comparison, the reference first.
pub const COMPARISON: &str = "comparison.json";

/// The warnings about a run, a row for each.
pub const WARNINGS: &str = "warnings.csv";

/// The page about a folder of results.
pub const REPORT: &str = "report.html";

/// The folder of the page's figures.
pub const FIGURES: &str = "figures";

/// The folder of tables for other programs.
pub const TABLES: &str = "tables";
