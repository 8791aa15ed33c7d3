//! The command line of `sweep`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::{key_and_value, replicas};

pub(crate) const SWEEP: &str = "\
Examples:
  shortflow sweep scenario.toml --design design.csv --out r.sweep
  shortflow sweep scenario.toml --design design.csv --policies red,fq-codel --out r.sweep \\
      --on dask://10.0.0.1:8786 --resume";

/// `sweep`.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// The scenario.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// A CSV file whose first line has keys, as in `--set`, and whose other lines are rows of values. The key `policy` takes
    /// a file or the name of a shipped policy.
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath)]
    pub(crate) design: Option<PathBuf>,
    /// Run each row under each of these policies: files or names of shipped ones, separated by commas.
    #[arg(long, value_name = "POLICY,POLICY…")]
    pub(crate) policies: Option<String>,
    /// Override a key in all rows; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Replicas of each row.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = replicas)]
    pub(crate) replicas: u32,
    /// The seed from which the seeds of rows are derived. Rows that differ only in the policy have the same.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: u64,
    /// The tables to keep: transfers, bulk, datagrams, series, replicas.
    #[arg(long, value_name = "TABLE,TABLE…", default_value = "replicas")]
    pub(crate) collect: String,
    /// Where runs are computed: threads, processes, joblib, dask://local, or the scheduler of Dask at dask://HOST:PORT.
    #[arg(long, value_name = "WHERE", default_value = "threads")]
    pub(crate) on: String,
    /// Runs in parallel on this machine; default: one per core.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// The folder of the sweep.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Continue the sweep in that folder: what is complete does not run again.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Record a row that cannot run in the table `failures`, instead of ending there; the exit code is then 1.
    #[arg(long)]
    pub(crate) record_errors: bool,
}
