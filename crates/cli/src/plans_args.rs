//! The command line of `plans`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use shortflow_units::{Probability, Rate};

pub(crate) const PLANS: &str = "\
Examples:
  shortflow plans import --devices ShapedDevices.csv --network network.json --into plans
  shortflow check plans/plans.toml
  shortflow plans predict plans/plans.toml --busy 10% --busy 50%
  shortflow plans scenario plans/plans.toml --busy 30% --into evening
  sudo shortflow deploy plans/plans.toml --down eth1 --up eth0";

/// `plans`.
#[derive(Debug, Args)]
pub(crate) struct Plans {
    #[command(subcommand)]
    pub(crate) command: PlansCommand,
}

/// The commands of `plans`.
#[derive(Debug, Subcommand)]
pub(crate) enum PlansCommand {
    /// Write plans.toml and customers.csv from the tables of another tool.
    ///
    /// Reads LibreQoS's ShapedDevices.csv and network.json, or a plain table with a row for each customer. What is not taken
    /// over is a warning.
    Import(Import),
    /// Compute what part of their plans busy customers get, behind the line and each site.
    ///
    /// Busy customers could send more than they get, and are drawn at random. They share as the deployed tree does: guarantees
    /// first, the rest in proportion to plans.
    Predict(Predict),
    /// Write a scenario in which a part of all customers is busy, and policies with and without their plans.
    ///
    /// Busy customers are drawn at random. Each has two downloads and an upload without end, reads pages and has a call. The files
    /// are for `simulate`, `compare` and all other commands that take scenarios.
    Scenario(Scenario),
}

/// `plans predict`.
#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// The plans.
    #[arg(value_name = "PLANS", value_hint = ValueHint::FilePath)]
    pub(crate) plans: PathBuf,
    /// The part of all customers that is busy at a time, such as `10%`; repeatable. Default: 10 %, 30 % and 100 %.
    #[arg(long, value_name = "PART", value_parser = busy)]
    pub(crate) busy: Vec<Probability>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `plans scenario`.
#[derive(Debug, Args)]
pub(crate) struct Scenario {
    /// The plans.
    #[arg(value_name = "PLANS", value_hint = ValueHint::FilePath)]
    pub(crate) plans: PathBuf,
    /// The part of all customers that is busy, such as `30%`; at most 1,000 customers.
    #[arg(long, value_name = "PART", value_parser = busy)]
    pub(crate) busy: Probability,
    /// The folder for scenario.toml, policy.toml and without-plans.toml; created if it does not exist.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) into: PathBuf,
    /// The seed with which busy customers are drawn, and of the scenario.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Overwrite these files.
    #[arg(long)]
    pub(crate) force: bool,
}

fn busy(text: &str) -> Result<Probability, String> {
    let part = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse(),
    };
    let part = part.ok().filter(|part| *part > 0.0).and_then(Probability::new);
    part.ok_or_else(|| "write a part above 0 % and up to 100 %, such as `10%` or `0.1`".to_owned())
}

/// `plans import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The table of devices or customers (CSV), such as ShapedDevices.csv.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) devices: PathBuf,
    /// The tree of sites (JSON), such as network.json; default: all customers are directly behind the line.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) network: Option<PathBuf>,
    /// The folder for both files; created if it does not exist.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) into: PathBuf,
    /// The rate of the line to customers; default: the sum of the sites directly behind it.
    #[arg(long, value_name = "RATE", requires = "line_up")]
    pub(crate) line_down: Option<Rate>,
    /// The rate of the line from customers.
    #[arg(long, value_name = "RATE", requires = "line_down")]
    pub(crate) line_up: Option<Rate>,
    /// Overwrite plans.toml and customers.csv.
    #[arg(long)]
    pub(crate) force: bool,
}
