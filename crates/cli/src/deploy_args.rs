//! The command line of commands on a device of this machine.

use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;

use clap::{ArgGroup, Args, ValueEnum, ValueHint};
use shortflow_deploy::{TcpGrowthRule, parse_network};
use shortflow_text::InputFiles;
use shortflow_units::{Bytes, Duration, LinkLayer, ParseQuantityError, Rate, SignedBytes};

use crate::args::key_and_value;
use crate::failure::Failure;

pub(crate) const DEPLOY: &str = "\
Examples:
  shortflow deploy policies/strict-priority.toml --dev eth0 --rate '95 Mbit/s' --dry-run
  sudo shortflow deploy policies/strict-priority.toml --dev eth0 --rate '95 Mbit/s'
  sudo shortflow deploy policies/fq-codel.toml --dev eth0 --rate '38 Mbit/s' --link-layer pppoe-ptm
  sudo shortflow deploy policies/fq-codel.toml --dev eth0 --up '9.5 Mbit/s' --down '47 Mbit/s'
  sudo shortflow deploy policies/dstf.toml --role edge,core --dev eth0 --rate '95 Mbit/s'
  sudo shortflow deploy policies/aggregate.toml --tcp --local-port 443
  sudo shortflow deploy plans.toml --down eth1 --up eth0

See what it does with `shortflow status`, change it with `reload`, and remove it with `undeploy`.";

pub(crate) const RELOAD: &str = "\
Examples:
  sudo shortflow reload policies/strict-priority.toml --dev eth0
  sudo shortflow reload policies/strict-priority.toml --dev eth0 --rate '50 Mbit/s'
  sudo shortflow reload policies/aggregate.toml --tcp --set parameters.rate='20 Mbit/s'
  sudo shortflow reload plans.toml";

pub(crate) const STATUS: &str = "\
Examples:
  shortflow status
  sudo shortflow status --dev eth0        # as root also what the marker did
  shortflow status --watch
  shortflow status --json";

pub(crate) const UNDEPLOY: &str = "\
Examples:
  sudo shortflow undeploy --dev eth0
  sudo shortflow undeploy --dev eth0 --ingress
  sudo shortflow undeploy --tcp";

/// A policy is at a device or in TCP.
fn place() -> ArgGroup {
    ArgGroup::new("place").args(["dev", "tcp"]).required(true)
}

/// The same; plans have their devices with `--up` and `--down`.
fn place_of_deploy() -> ArgGroup {
    ArgGroup::new("place").args(["dev", "tcp"])
}

/// `deploy`.
#[derive(Debug, Clone, Args)]
#[command(group = place_of_deploy())]
pub(crate) struct Deploy {
    /// The policy: a file, or the name of a shipped policy such as `fq-codel`; or a file of plans.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) policy: PathBuf,
    /// The device that sends the packets, such as `eth0`; with --ingress the one that receives them, with --up and --down
    /// both.
    #[arg(long, short, value_name = "DEVICE", default_value = "", hide_default_value = true)]
    pub(crate) dev: String,
    #[command(flatten)]
    pub(crate) tcp: TcpArgs,
    /// The role that the device plays, or two separated by a comma: one that marks and one that queues. Not needed
    /// if only one role does anything.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// The rate at which packets leave: a little below the bottleneck's rate, so that they queue here. Default: the
    /// rate of the policy's shaper, or of the device.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    /// Shape what the device receives, instead of what it sends.
    #[arg(long)]
    pub(crate) ingress: bool,
    /// The rate of what the device sends, where --down is the rate of what it receives: both directions of a line in
    /// one command.
    /// With plans: the device that sends packets from customers.
    #[arg(long, value_name = "RATE|DEVICE", conflicts_with_all = ["rate", "ingress"])]
    pub(crate) up: Option<RateOrDevice>,
    /// The rate of what the device receives. With plans: the device that sends packets to customers.
    #[arg(long, value_name = "RATE|DEVICE", conflicts_with_all = ["rate", "ingress"])]
    pub(crate) down: Option<RateOrDevice>,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
    /// Override a key of the policy; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// The same, for what the device sends only; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value, requires = "up", conflicts_with_all = ["rate", "ingress"])]
    pub(crate) set_up: Vec<(String, String)>,
    /// The same, for what the device receives only; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value, requires = "down", conflicts_with_all = ["rate", "ingress"])]
    pub(crate) set_down: Vec<(String, String)>,
    /// The connections of this host that have a label of the policy: sockets with a mark (SO_MARK), as in
    /// `telnet=mark:7`, or with a priority (SO_PRIORITY), as in `pages=priority:5`, or a group of processes, as in
    /// `backup=cgroup:system.slice/backup.service`. Repeatable, once per label.
    #[arg(long, value_name = "LABEL=OWNER", value_parser = label_and_owner)]
    pub(crate) label: Vec<(String, String)>,
    /// Use the nearest equivalent for features that this kernel lacks, and report it.
    #[arg(long)]
    pub(crate) nearest: bool,
    /// Print the commands without running them; with --tcp, check the policy and print what would be deployed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object instead: actions, notes and warnings; not with --dry-run.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) json: bool,
    /// The whole command, where this is one direction of it.
    #[arg(skip)]
    pub(crate) whole: Option<Box<Deploy>>,
    /// What was read, since a pipe can be read only once.
    #[arg(skip = Rc::new(shortflow_shipped::inputs()))]
    pub(crate) inputs: Rc<InputFiles>,
}

impl Deploy {
    /// Refuses a policy without a place, and devices in place of rates.
    pub(crate) fn check_place(&self) -> Result<(), Failure> {
        for (name, given) in [("up", &self.up), ("down", &self.down)] {
            if let Some(RateOrDevice::Device(device)) = given {
                return Err(Failure::Input(format!(
                    "invalid rate `{device}` for --{name}: write a rate such as `10 Mbit/s`\n\
                     only plans have devices there, and {} is a policy",
                    self.policy.display()
                )));
            }
        }
        if !self.dev.is_empty() || self.tcp.tcp {
            return Ok(());
        }
        let what = "missing --dev: the device on which to deploy\n\
                    name one, as in `--dev eth0` (`ip link` lists them), or write `--tcp` for the connections of this host\n\
                    `shortflow deploy --help` shows examples";
        Err(Failure::Input(what.to_owned()))
    }

    /// The rates of what the device sends and of what it receives, where they are given.
    pub(crate) fn rates(&self) -> [Option<Rate>; 2] {
        [&self.up, &self.down].map(|given| given.as_ref()?.rate())
    }

    /// What the device sends and what it receives, each as a command of its own, where both are asked for.
    pub(crate) fn directions(&self) -> Option<[Deploy; 2]> {
        let [up, down] = self.rates();
        Some(self.with_rates(Some(up?), Some(down?)))
    }

    /// The same with these rates; without one, the rate comes from the policy, the device or the earlier deployment.
    pub(crate) fn with_rates(&self, up: Option<Rate>, down: Option<Rate>) -> [Deploy; 2] {
        let one = |rate, ingress, set: &[(String, String)]| Deploy {
            rate,
            ingress,
            up: None,
            down: None,
            // A key that is given for one direction replaces the one for both.
            set: self
                .set
                .iter()
                .filter(|(key, _)| set.iter().all(|(own, _)| own != key))
                .chain(set)
                .cloned()
                .collect(),
            set_up: Vec::new(),
            set_down: Vec::new(),
            whole: Some(Box::new(self.clone())),
            ..self.clone()
        };
        [one(up, false, &self.set_up), one(down, true, &self.set_down)]
    }
}

/// What `--up` and `--down` have: a rate for a policy, a device for plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RateOrDevice {
    Rate(Rate),
    Device(String),
}

impl RateOrDevice {
    pub(crate) fn rate(&self) -> Option<Rate> {
        match self {
            RateOrDevice::Rate(rate) => Some(*rate),
            RateOrDevice::Device(_) => None,
        }
    }
}

impl FromStr for RateOrDevice {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<RateOrDevice, ParseQuantityError> {
        let is_number =
            text.starts_with(|first: char| first.is_ascii_digit() || ".+-".contains(first));
        match text.parse() {
            Ok(rate) => Ok(RateOrDevice::Rate(rate)),
            // No rate begins with a letter, and devices do.
            Err(_) if !is_number && !text.is_empty() => Ok(RateOrDevice::Device(text.to_owned())),
            Err(error) => Err(error),
        }
    }
}

/// A policy's `aggregate-shaper` in this host's TCP.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TcpArgs {
    /// Put the policy's `aggregate-shaper` into this host's TCP, instead of onto a device: connections of this network
    /// namespace keep together to its profile, live ones and new ones.
    #[arg(long, conflicts_with_all = ["rate", "ingress", "up", "down", "link_layer", "overhead", "mpu", "label", "nearest"])]
    pub(crate) tcp: bool,
    /// With --tcp: only connections from this address of this host, or from this network.
    #[arg(long, value_name = "ADDRESS[/BITS]", requires = "tcp", conflicts_with = "dev", value_parser = network)]
    pub(crate) local: Option<(IpAddr, u8)>,
    /// With --tcp: only connections to this address, or to this network.
    #[arg(long, value_name = "ADDRESS[/BITS]", requires = "tcp", conflicts_with = "dev", value_parser = network)]
    pub(crate) peer: Option<(IpAddr, u8)>,
    /// With --tcp: only connections with this port here, such as 443 at a web server.
    #[arg(long, value_name = "PORT", requires = "tcp", conflicts_with = "dev", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) local_port: Option<u16>,
    /// With --tcp: only connections with this port at the other host.
    #[arg(long, value_name = "PORT", requires = "tcp", conflicts_with = "dev", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) peer_port: Option<u16>,
    /// With --tcp: select new connections of the processes in this cgroup only, a folder of a cgroup of version 2. With
    /// --dev and a role with `thresholds = "application"`: let only these processes set thresholds. Default: all processes.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cgroup: Option<PathBuf>,
    /// With --tcp: how windows grow in congestion avoidance.
    #[arg(long, value_name = "RULE", requires = "tcp", conflicts_with = "dev", value_enum)]
    pub(crate) growth: Option<GrowthRule>,
    /// With --growth constant-rate and increase-by-k: the reference round-trip time.
    #[arg(long, value_name = "TIME", requires = "growth")]
    pub(crate) reference_rtt: Option<Duration>,
    /// With --growth increase-by-k: segments per round trip above the reference.
    #[arg(long, value_name = "SEGMENTS", requires = "growth", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) increase: Option<u32>,
    /// With --tcp: limit each window to this rate times the round-trip time.
    #[arg(long, value_name = "RATE", requires = "tcp", conflicts_with = "dev")]
    pub(crate) window_rate: Option<Rate>,
}

/// How windows grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrowthRule {
    /// One segment per round trip (the default).
    Reno,
    /// By rtt²/rtt_av², where rtt_av is the mean of the profile's connections.
    AggregateFair,
    /// By rtt²/reference².
    ConstantRate,
    /// By `increase` segments where the round-trip time is above the reference.
    IncreaseByK,
}

impl GrowthRule {
    pub(crate) fn rule(self) -> TcpGrowthRule {
        match self {
            GrowthRule::Reno => TcpGrowthRule::Reno,
            GrowthRule::AggregateFair => TcpGrowthRule::AggregateFair,
            GrowthRule::ConstantRate => TcpGrowthRule::ConstantRate,
            GrowthRule::IncreaseByK => TcpGrowthRule::IncreaseByK,
        }
    }
}

fn network(text: &str) -> Result<(IpAddr, u8), &'static str> {
    parse_network(text).ok_or("write an address or a network, as in 192.0.2.7 or 192.0.2.0/24")
}

/// `reload`.
#[derive(Debug, Args)]
pub(crate) struct Reload {
    #[command(flatten)]
    pub(crate) deploy: Deploy,
    /// Keep no option of the earlier deployment; only those given now apply.
    #[arg(long)]
    pub(crate) reset: bool,
}

/// What a packet takes on the link of the bottleneck.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LinkArgs {
    /// Framing of the bottleneck's link: a name as in tc-cake(8), such as `docsis`, `pppoe-ptm` or `pppoe-llcsnap`,
    /// or parts as in 'overhead 40 mpu 64 atm'. Default: that of the policy's shaper.
    #[arg(long, value_name = "LAYER")]
    pub(crate) link_layer: Option<LinkLayer>,
    /// Bytes that the link adds to each IP packet, instead of the link layer's value.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = overhead)]
    pub(crate) overhead: Option<i32>,
    /// Minimum bytes of a packet on the link, instead of the link layer's value.
    #[arg(long, value_name = "SIZE", value_parser = mpu)]
    pub(crate) mpu: Option<u32>,
}

impl LinkArgs {
    /// What is given of a link layer; `None` where nothing is.
    pub(crate) fn layer(&self) -> Option<LinkLayer> {
        let LinkArgs { link_layer, overhead, mpu } = self;
        let is_given = link_layer.is_some() || overhead.is_some() || mpu.is_some();
        let layer = link_layer.unwrap_or_default();
        let layer =
            overhead.map_or(layer, |one| LinkLayer::new(one, mpu_of(layer), layer.framing()));
        let layer = mpu.map_or(layer, |mpu| LinkLayer::new(layer.overhead(), mpu, layer.framing()));
        is_given.then_some(layer)
    }
}

fn mpu_of(layer: LinkLayer) -> u32 {
    layer.mpu().0 as u32
}

/// Bytes that a link may add to a packet.
fn overhead(text: &str) -> Result<i32, String> {
    let SignedBytes(bytes) = text.parse().map_err(|error: ParseQuantityError| error.to_string())?;
    LinkLayer::RAW
        .with_overhead(bytes)
        .map(LinkLayer::overhead)
        .ok_or_else(|| format!("write {} B to {} B", LinkLayer::MIN_OVERHEAD, LinkLayer::MAX_BYTES))
}

/// Bytes that a packet may take at least.
fn mpu(text: &str) -> Result<u32, String> {
    let Bytes(bytes) = text.parse().map_err(|error: ParseQuantityError| error.to_string())?;
    let layer = LinkLayer::RAW.with_mpu(bytes as i64);
    layer.map(mpu_of).ok_or_else(|| format!("write 0 B to {} B", LinkLayer::MAX_BYTES))
}

fn label_and_owner(text: &str) -> Result<(String, String), String> {
    // A label may hold an equals sign, which what owns it begins behind.
    let owners =
        ["=mark:", "=priority:", "=cgroup:"].into_iter().filter_map(|owner| text.find(owner));
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
    /// Show this device only; default: all devices with a deployment.
    #[arg(long, short, value_name = "DEVICE")]
    pub(crate) dev: Option<String>,
    /// Show only what is in this host's TCP.
    #[arg(long, conflicts_with = "dev")]
    pub(crate) tcp: bool,
    /// Refresh every second, until Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON instead; with --watch one object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `undeploy`.
#[derive(Debug, Args)]
#[command(group = place())]
pub(crate) struct Undeploy {
    /// The device.
    #[arg(long, short, value_name = "DEVICE", default_value = "", hide_default_value = true)]
    pub(crate) dev: String,
    /// Remove what is deployed in this host's TCP; connections get back the congestion control that they had.
    #[arg(long, conflicts_with_all = ["ingress", "dry_run"])]
    pub(crate) tcp: bool,
    /// Remove the profile with this congestion control, whose network namespace is gone; `status` lists them.
    #[arg(long, value_name = "NAME", requires = "tcp")]
    pub(crate) control: Option<String>,
    /// Remove only what is deployed on the packets that the device receives; default: both directions.
    #[arg(long)]
    pub(crate) ingress: bool,
    /// Print the command without running it.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Also check what this policy needs.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// Check only these roles of the policy.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', requires = "policy")]
    pub(crate) role: Vec<String>,
    /// Also check what shaping received packets needs (`deploy --ingress`, `--down`).
    #[arg(long)]
    pub(crate) ingress: bool,
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
    /// The deployed policy.
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "listen", requires_all = ["dev", "peer"])]
    pub(crate) policy: Option<PathBuf>,
    /// The device with the deployment, such as `eth0`.
    #[arg(long, short, value_name = "DEVICE")]
    pub(crate) dev: Option<String>,
    /// The machine at the other end, which runs `shortflow verify --listen`: a name or an address.
    #[arg(long, value_name = "HOST")]
    pub(crate) peer: Option<String>,
    /// Act as the other end: return probes and accept transfers, until Ctrl-C.
    #[arg(long, conflicts_with_all = [
        "policy", "dev", "peer", "on_off", "role", "rate", "link_layer", "overhead", "mpu", "set", "label", "nearest", "seconds", "flows",
        "size", "json",
    ])]
    pub(crate) listen: bool,
    /// With --listen: the local address to listen on; default: all.
    #[arg(long, value_name = "ADDRESS", requires = "listen")]
    pub(crate) at: Option<std::net::IpAddr>,
    /// The UDP and TCP port on which the other machine listens.
    #[arg(long, value_name = "PORT", default_value_t = 7807, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The roles of the device; default: those that are deployed.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) role: Vec<String>,
    /// The rate, as given to `deploy`; default: the one that is deployed.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
    /// Override a key of the policy, as given to `deploy`; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// The connections that have a label, as given to `deploy`; repeatable.
    #[arg(long, value_name = "LABEL=OWNER", value_parser = label_and_owner)]
    pub(crate) label: Vec<(String, String)>,
    /// The deployment uses --nearest.
    #[arg(long)]
    pub(crate) nearest: bool,
    /// Duration of each measurement, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=600))]
    pub(crate) seconds: u32,
    /// Number of long flows during the measurements of classes and short transfers.
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) flows: u16,
    /// The size of a short transfer.
    #[arg(long, value_name = "SIZE", default_value = "20 KB")]
    pub(crate) size: Bytes,
    /// Alternate with a single queue of the same rate, this many times, and measure what short transfers gain.
    #[arg(long, value_name = "TURNS", num_args = 0..=1, default_missing_value = "4", value_parser = clap::value_parser!(u16).range(3..=100))]
    pub(crate) on_off: Option<u16>,
    /// Print one JSON object instead.
    #[arg(long)]
    pub(crate) json: bool,
}
