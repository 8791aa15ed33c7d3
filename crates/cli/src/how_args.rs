//! The arguments of how a scenario runs, and where its results go.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use shortflow_run::TcpInfoTimes;
use shortflow_units::{Bytes, Duration};

use crate::tables::TableFormat;

/// How a scenario runs, and where its results go.
#[derive(Debug, Args)]
pub(crate) struct HowToRun {
    /// Replicas to simulate in parallel; default: one per core. Results do not depend on it. Rehearsals run one at
    /// a time.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Refuse a run that needs more memory than this, such as `4 GB` or `500 MB`; default: the machine's memory.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// The folder for results and report; default: `results/NAME`, with the suffix `-compared` or `-rehearsed` for
    /// those commands.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Use the folder even if it contains files that no run wrote; those files are kept.
    #[arg(long)]
    pub(crate) force: bool,
    /// Write each transfer to a file, one file per replica (default).
    #[arg(long, overrides_with = "no_transfers")]
    pub(crate) transfers: bool,
    /// Do not write each transfer to a file; in long runs these files are large.
    #[arg(long, overrides_with = "transfers")]
    pub(crate) no_transfers: bool,
    /// Also write the results as tables for other programs, into the folder `tables`: transfers, bulk, datagrams, series, summary,
    /// replicas and failures.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<TableFormat>,
    /// Stop each replica that takes longer than this of real time, such as `10 min`. Its point counts as failed, the others run, and
    /// the exit code is 1.
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Duration>,
    /// Save complete replicas at this interval, so that --resume continues after a kill or a power cut. Saving takes at most 3 % of the
    /// time.
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    pub(crate) save_every: Duration,
    /// What an error of one replica does, such as of the machine: end the run, or mark the point as failed in all results.
    #[arg(long, value_name = "ACTION", default_value = "stop")]
    pub(crate) on_error: OnError,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no tables; for a comparison print only the ranking, one line per policy. The report has the tables.
    #[arg(long, conflicts_with = "json")]
    pub(crate) brief: bool,
}

/// What an error of one replica does to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// End the run. The complete replicas are kept.
    Stop,
    /// Run the others; the exit code is 1.
    Record,
}

/// What is recorded of TCP.
#[derive(Debug, Args)]
pub(crate) struct TcpOptions {
    /// Write the state of TCP senders (windows, data in flight, round trips, retransmissions) to `tcp-info-*.csv`, next to the
    /// transfers. WHEN is an interval, such as `10 ms`, in addition to the end of each transfer; or `end` for the end only.
    #[arg(long, value_name = "WHEN", value_parser = tcp_info_times)]
    pub(crate) tcp_info: Option<TcpInfoTimes>,
}

/// When one looks how senders stand.
pub(crate) fn tcp_info_times(text: &str) -> Result<TcpInfoTimes, String> {
    if text == "end" {
        return Ok(TcpInfoTimes::Ends);
    }
    let allowed = "write `end`, or a time of 1 ms or more, as in `10 ms`";
    let interval = text.parse::<Duration>().map_err(|error| format!("{error}; {allowed}"))?;
    match interval >= Duration::from_millis(1) {
        true => Ok(TcpInfoTimes::Every(interval)),
        false => Err(allowed.to_owned()),
    }
}
