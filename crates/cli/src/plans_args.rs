//! The command line of `plans`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use shortflow_units::Rate;

pub(crate) const PLANS: &str = "\
Examples:
  shortflow plans import --devices ShapedDevices.csv --network network.json --into plans
  shortflow check plans/plans.toml
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
