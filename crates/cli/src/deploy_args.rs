//! The command line of what is done at a device of this machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use shortflow_units::{Bytes, Rate};

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
    /// Which connections of this host have a label that the policy matches: those of sockets with a mark (SO_MARK), as in
    /// `telnet=mark:7`, or of a group of processes, as in `backup=cgroup:system.slice/backup.service`. Once for each label.
    #[arg(long, value_name = "LABEL=OWNER", value_parser = label_and_owner)]
    pub(crate) label: Vec<(String, String)>,
    /// Take the nearest that this kernel has for what it cannot do, and say what that is.
    #[arg(long)]
    pub(crate) nearest: bool,
    /// Print the commands that would be run, and run none.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn label_and_owner(text: &str) -> Result<(String, String), String> {
    // A label may hold an equals sign, which what owns it begins behind.
    let owners = ["=mark:", "=cgroup:"].into_iter().filter_map(|owner| text.find(owner));
    if let Some((label, owner)) = owners.min().and_then(|at| text.split_at_checked(at))
        && !label.trim().is_empty()
    {
        return Ok((label.trim().to_owned(), owner[1..].trim().to_owned()));
    }
    key_and_value(text).map_err(|_| {
        "write LABEL=OWNER, as in `telnet=mark:7` or `backup=cgroup:system.slice/backup.service`".to_owned()
    })
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

pub(crate) const VERIFY: &str = "\
Examples:
  shortflow verify --listen                                                    # on the other machine
  sudo shortflow verify policies/strict-priority.toml --dev eth0 --peer 192.0.2.7
  sudo shortflow verify policies/dstf.toml --role edge,core --dev eth0 --peer 192.0.2.7 --on-off";

/// `verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The policy that is deployed.
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "listen", requires_all = ["dev", "peer"])]
    pub(crate) policy: Option<PathBuf>,
    /// The device on which it is deployed, as `eth0`.
    #[arg(long, short, value_name = "DEVICE")]
    pub(crate) dev: Option<String>,
    /// The machine at the other end, where `shortflow verify --listen` runs: a name or an address.
    #[arg(long, value_name = "HOST")]
    pub(crate) peer: Option<String>,
    /// Be the machine at the other end: send probes back and take transfers, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["policy", "dev", "peer", "on_off", "role", "rate", "set", "label"])]
    pub(crate) listen: bool,
    /// With --listen, the address of this machine at which one waits; by default all of them.
    #[arg(long, value_name = "ADDRESS", requires = "listen")]
    pub(crate) at: Option<std::net::IpAddr>,
    /// The port of UDP and TCP at which the other machine waits.
    #[arg(long, value_name = "PORT", default_value_t = 7807, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The roles that the device plays; by default those that are deployed.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// The rate, as given to `deploy`; by default the one that is deployed.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// A key of the policy, as given to `deploy`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Which connections have a label, as given to `deploy`; may be repeated.
    #[arg(long, value_name = "LABEL=OWNER", value_parser = label_and_owner)]
    pub(crate) label: Vec<(String, String)>,
    /// The nearest was taken for what the kernel cannot do, as with `deploy`.
    #[arg(long)]
    pub(crate) nearest: bool,
    /// How many seconds each measurement takes.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=600))]
    pub(crate) seconds: u32,
    /// How many long flows there are, beside which classes and short transfers are measured.
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) flows: u16,
    /// The size of a short transfer.
    #[arg(long, value_name = "SIZE", default_value = "20 KB")]
    pub(crate) size: Bytes,
    /// Put one queue of the same rate in the policy's place, in turns, so many times, and say what short transfers gain.
    #[arg(long, value_name = "TURNS", num_args = 0..=1, default_missing_value = "4", value_parser = clap::value_parser!(u16).range(3..=100))]
    pub(crate) on_off: Option<u16>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}
