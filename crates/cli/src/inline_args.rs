//! The command line of `inline`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use shortflow_units::Rate;

use crate::args::key_and_value;
use crate::deploy_args::LinkArgs;

pub(crate) const INLINE: &str = "\
Examples:
  sudo shortflow inline policies/sima.toml --between eth1,eth2 --rate '20 Mbit/s'
  sudo shortflow inline policies/red.toml --between lan0,wan0 --rate '9 Mbit/s' --rate-back '45 Mbit/s' --link-layer pppoe-ptm
  sudo shortflow inline policies/shared-priority.toml --role core --between eth1,eth2 --rate '95 Mbit/s' --json
  sudo shortflow inline plans.toml --between wan0,lan0 --role down --role-back up";

/// `inline`.
#[derive(Debug, Args)]
pub(crate) struct Inline {
    /// The policy or plans: a file, or the name of a shipped policy such as `fq-codel`.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) policy: PathBuf,
    /// The two devices, such as `eth1,eth2`. They join a new bridge if they belong to none.
    #[arg(
        long,
        value_name = "DEVICE,DEVICE",
        value_delimiter = ',',
        num_args = 1,
        required = true
    )]
    pub(crate) between: Vec<String>,
    /// The roles of the router: one that marks, one that queues, or both. Default: all roles that have an effect.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// The roles from the second device to the first, such as `up` of plans. Default: those of --role.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', requires = "role")]
    pub(crate) role_back: Vec<String>,
    /// The rate from the first device to the second: a little below the bottleneck's rate, so that packets queue here.
    /// Default: the speed of the second device.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// The rate back, from the second device to the first. Default: that of --rate.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate_back: Option<Rate>,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
    /// Override a key of the policy; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Seed of random decisions. Default: another one each time.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Stop after this many seconds. Default: at Ctrl-C.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: Option<u32>,
    /// Print a JSON object each second, and one at the end.
    #[arg(long)]
    pub(crate) json: bool,
}
