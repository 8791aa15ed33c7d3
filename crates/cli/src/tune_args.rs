//! The command line of `tune`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::{RunOptions, policy_file};

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
    /// What to optimise: `p99:web` is the 99th percentile of the completion times of the workload `web`, or of the
    /// delay of its datagrams. Statistics: `mean`, `median`, `p95`, `p99`, `goodput`, `loss` and `mos`. With two goals
    /// the first decides, and a figure shows its cost in the second.
    #[arg(long = "for", value_name = "WHAT:WORKLOAD", required = true)]
    pub(crate) goals: Vec<String>,
    /// A limit to keep, such as `voice.delay.p99 <= 30 ms` or `backup.goodput >= 2 Mbit/s`; repeatable.
    /// `completion`, `delay` and `jitter` take `.mean`, `.median`, `.p95` or `.p99`; `goodput`, `datagram-loss`,
    /// `packet-loss`, `fairness`, `r-factor` and `mos` stand alone.
    #[arg(long, value_name = "LIMIT")]
    pub(crate) keep: Vec<String>,
    /// Vary a key of the policy: five values of a range, as in `policy.parameters.limit=20..400 pkt`, or a list, as
    /// in `policy.parameters.ecn=true,false`. Repeatable: all combinations are tried. `equal-load:8` gives the
    /// thresholds that put the same load on eight priorities of DSTF.
    #[arg(long, value_name = "KEY=VALUES")]
    pub(crate) vary: Vec<String>,
    /// The candidate policies: files, or names of shipped policies, separated by commas. Default: the scenario's
    /// own and the shipped ones that fit; with --vary only its own.
    #[arg(long, value_name = "POLICY,POLICY…", value_delimiter = ',')]
    #[arg(value_hint = ValueHint::FilePath, value_parser = policy_file(), allow_hyphen_values = true)]
    pub(crate) policies: Vec<PathBuf>,
    /// How to run it; `--replicas` is the number of new replicas that confirm the winner, at least 4.
    #[command(flatten)]
    pub(crate) options: RunOptions,
}
