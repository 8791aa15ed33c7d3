//! The arguments of `rerun` and `merge`, and those that select replicas.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::HowToRun;

/// Which replicas run.
#[derive(Debug, Default, Args)]
pub(crate) struct ReplicaOptions {
    /// The number of the first replica, from 0: `--first-replica 8 --replicas 8` continues `--replicas 8`, and `merge` joins
    /// both.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1_000_000_000))]
    pub(crate) first_replica: u32,
    /// Run one of several parts of the replicas, such as `2/4`; `merge` joins the folders of all parts.
    #[arg(long, value_name = "PART/PARTS", value_parser = part_of)]
    pub(crate) shard: Option<(u32, u32)>,
    /// Keep the complete replicas in the folder for results, and run only the others; of the same scenario, policy and settings.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Run more replicas until half the 95 % interval of each mean (completion times, delays, goodputs of long flows) is at most this
    /// share of it, such as `5%`; at most 10000 replicas.
    #[arg(long, value_name = "SHARE", value_parser = percentage, conflicts_with_all = ["shard", "resume"])]
    pub(crate) precision: Option<f64>,
}

/// A share in percent, such as `5%`.
fn percentage(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let found = percent.filter(|percent| (0.1..=100.0).contains(percent));
    found
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "write a share of 0.1% to 100%, such as `5%`".to_owned())
}

/// A part of several, such as `2/4`.
fn part_of(text: &str) -> Result<(u32, u32), String> {
    let parts = text
        .split_once('/')
        .and_then(|(part, parts)| Some((part.parse::<u32>().ok()?, parts.parse::<u32>().ok()?)));
    let found = parts.filter(|(part, parts)| (1..=*parts).contains(part));
    found.ok_or_else(|| "write PART/PARTS, from `1/4` to `4/4`".to_owned())
}

/// `rerun`.
#[derive(Debug, Args)]
pub(crate) struct Rerun {
    /// A folder of results from `simulate`, `predict`, `rehearse` or `compare`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// How to run it.
    #[command(flatten)]
    pub(crate) how: HowToRun,
}

/// `merge`.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Folders of results with different replicas of one scenario.
    #[arg(required = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folders: Vec<PathBuf>,
    /// The folder for all replicas together.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Use the folder even if it contains files that no run wrote; those files are kept.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no tables; for a comparison print only the ranking, one line per policy. The report has the tables.
    #[arg(long, conflicts_with = "json")]
    pub(crate) brief: bool,
}

pub(crate) const RERUN: &str = "\
Examples:
  shortflow rerun results/contract --out results/contract-again";

pub(crate) const MERGE: &str = "\
Examples:
  shortflow simulate scenarios/contract.toml --replicas 8 --shard 1/2 --out part-1
  shortflow simulate scenarios/contract.toml --replicas 8 --shard 2/2 --out part-2
  shortflow merge part-1 part-2 --out results/contract";
