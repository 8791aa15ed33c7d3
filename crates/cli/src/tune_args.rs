//! The command line of `tune`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::RunOptions;

pub(crate) const TUNE: &str = "\
Examples:
  shortflow tune scenarios/office.toml --for p99:pages --keep 'calls.delay.p99 <= 30 ms'
  shortflow tune scenarios/office.toml --for p95:pages --for goodput:downloads
  shortflow tune scenarios/office.toml --for p95:pages --policies red,fq-codel,my-policy.toml
  shortflow tune scenarios/contract.toml --policies fair-marker --for p99:shop \\
      --vary policy.parameters.threshold=4..20 --set parameters.alpha=0.8";

/// `tune`.
#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// The scenario.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// What is to be as good as possible: `p99:web` is the 99th percentile of the completion times of the workload
    /// `web`, or of the delay of its datagrams; there are `mean`, `median`, `p95`, `p99`, `goodput` and `loss`. With
    /// two of them the first decides, and a figure shows what it costs of the second.
    #[arg(long = "for", value_name = "WHAT:WORKLOAD", required = true)]
    pub(crate) goals: Vec<String>,
    /// What must be kept, as in `voice.delay.p99 <= 30 ms` or `backup.goodput >= 2 Mbit/s`; may be repeated. Of
    /// `completion`, `delay` and `jitter` say `.mean`, `.median`, `.p95` or `.p99`; there are `goodput`,
    /// `datagram-loss`, `packet-loss` and `fairness` besides.
    #[arg(long, value_name = "LIMIT")]
    pub(crate) keep: Vec<String>,
    /// Vary a key of the policy, as in `policy.parameters.limit=20..400 pkt`, from which five values are taken, or
    /// `policy.parameters.ecn=true,false`; may be repeated: every value meets every other. `equal-load:8` is
    /// the thresholds that give eight priorities of DSTF the same load.
    #[arg(long, value_name = "KEY=VALUES")]
    pub(crate) vary: Vec<String>,
    /// The policies to choose from: files, or names of shipped ones, separated by commas. By default the shipped
    /// ones that fit the scenario and its own; with --vary its own only.
    #[arg(long, value_name = "POLICY,POLICY…", value_delimiter = ',')]
    pub(crate) policies: Vec<String>,
    /// How to run it; `--replicas` is by how many fresh ones the winner is confirmed, 4 at least.
    #[command(flatten)]
    pub(crate) options: RunOptions,
}
