//! The command line of what is done at a device of this machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use shortflow_units::Rate;

use crate::args::key_and_value;

pub(crate) const DEPLOY: &str = "\
Examples:
  shortflow deploy policies/strict-priority.toml --dev eth0 --rate '95 Mbit/s' --dry-run
  sudo shortflow deploy policies/strict-priority.toml --dev eth0 --rate '95 Mbit/s'
  sudo shortflow deploy policies/dstf.toml --role edge,core --dev eth0 --rate '95 Mbit/s'
  shortflow status --watch
  sudo shortflow reload policies/strict-priority.toml --dev eth0 --rate '50 Mbit/s'
  sudo shortflow undeploy --dev eth0";

/// `deploy` and `reload`.
#[derive(Debug, Args)]
pub(crate) struct Deploy {
    /// The policy.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) policy: PathBuf,
    /// The device that sends the packets, as `eth0`.
    #[arg(long, short, value_name = "DEVICE")]
    pub(crate) dev: String,
    /// The role of the policy that the device plays, or two separated by a comma, one that marks and one that queues;
    /// not needed where only one does anything.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// The rate at which packets leave: a little below that of the bottleneck, so that they wait here. By
    /// default that of the policy's shaper, or of the device.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// Change a key of the policy first; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Take the nearest that this kernel has for what it cannot do, and say what that is.
    #[arg(long)]
    pub(crate) nearest: bool,
    /// Print the commands that would be run, and run none.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// This device alone; by default all on which something is deployed.
    #[arg(long, short, value_name = "DEVICE")]
    pub(crate) dev: Option<String>,
    /// Show it anew every second, until Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON instead; with --watch an object in each line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `undeploy`.
#[derive(Debug, Args)]
pub(crate) struct Undeploy {
    /// The device.
    #[arg(long, short, value_name = "DEVICE")]
    pub(crate) dev: String,
    /// Print the command that would be run, and do not run it.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Say what this policy needs, too.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// Look at these roles of it alone.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', requires = "policy")]
    pub(crate) role: Vec<String>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}
