//! The command line of `advise`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use shortflow_units::Rate;

pub(crate) const ADVISE: &str = "\
Examples:
  shortflow advise
  shortflow advise --up '10 Mbit/s' --down '50 Mbit/s' --users 4 --uses web,voice,backup --link pppoe
  shortflow advise --up '100 Mbit/s' --down '100 Mbit/s' --users 80 --uses web,voice,downloads --from flows.csv";

/// `advise`.
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// The line's rate towards the provider.
    #[arg(long, value_name = "RATE")]
    pub(crate) up: Option<Rate>,
    /// The line's rate from the provider.
    #[arg(long, value_name = "RATE")]
    pub(crate) down: Option<Rate>,
    /// Number of people who use the line, 1 to 1000; default: 10.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) users: Option<u32>,
    /// Their uses, separated by commas: web, voice, meetings, streaming, games, shell, backup, downloads. Default:
    /// web, voice and backup; with `--from`, voice.
    #[arg(long, value_name = "USE,USE…", value_delimiter = ',')]
    pub(crate) uses: Vec<String>,
    /// The kind of line: ethernet, fibre, cable, dsl, adsl, vdsl, pppoe, lte or satellite; default: ethernet. It
    /// sets the overhead of each packet; `dsl` up to 24 Mbit/s counts as adsl.
    #[arg(long, value_name = "KIND")]
    pub(crate) link: Option<String>,
    /// Your own flows, for their sizes and arrivals: CSV with the columns start_s, bytes and direction (up or
    /// down), or a packet capture (pcap, pcapng).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from: Option<PathBuf>,
    /// Sizes of pages and films as a multiple of the assumed ones, 0.1 to 10: 2 is twice as large.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub(crate) sizes: f64,
    /// Choose among all shipped policies, including those that Linux cannot deploy.
    #[arg(long)]
    pub(crate) any: bool,
    /// The seed of all random numbers.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Replicas to simulate in parallel; default: one per core.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// The folder for the scenario and the policy; default: `results/advice`.
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Use the folder even if it contains files that no run wrote; those files are kept.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A factor of sizes.
fn factor(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|found| (0.1..=10.0).contains(found));
    found.ok_or_else(|| "write a number from 0.1 to 10".to_owned())
}
