//! The file format of a fleet.

use std::path::PathBuf;

use serde::Deserialize;
use shortflow_text::{Named, Scalar};
use shortflow_units::{Duration, LinkLayer, Rate};

/// A fleet: machines, and which of them get which policy.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetFile {
    /// The name in plans and logs; by default that of the file.
    pub(super) name: Option<String>,
    /// What there is to say about it.
    #[serde(default, rename = "description")]
    pub(super) _description: String,
    /// Values that may stand for others as "$name".
    #[serde(default, rename = "parameters")]
    pub(super) _parameters: Named<Scalar>,
    /// The machines, under their names.
    #[serde(default)]
    pub(super) machines: Named<MachineFile>,
    /// Which policy goes where.
    #[serde(default)]
    pub(super) assign: Vec<AssignFile>,
    /// Which machines take a new version first; without it all take it at once.
    pub(super) rollout: Option<RolloutFile>,
}

/// Which machines take a new version first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RolloutFile {
    /// Machines with one of these tags are first, `*` and `?` standing for parts of one.
    pub(super) first: Vec<String>,
    /// How long the others wait after they have seen it.
    pub(super) after: Duration,
    /// How long each machine measures before and after it takes a version, to go back where short flows fare worse.
    pub(super) watch: Option<Duration>,
    /// The others also wait until more than half of the first find it no worse, and for good where one finds it worse.
    #[serde(default)]
    pub(super) verdicts: bool,
}

/// A machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineFile {
    /// Where it belongs.
    #[serde(default)]
    pub(super) groups: Vec<String>,
    /// What else tells it from others.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    /// Whose connections have a label that policies match: `mark:NUMBER`, `priority:NUMBER` or `cgroup:PATH`.
    #[serde(default)]
    pub(super) labels: Named<String>,
    /// Its devices, each under the name of what it is for.
    #[serde(default)]
    pub(super) interfaces: Named<InterfaceFile>,
}

/// A device of a machine, two devices between which packets are routed inline, or the machine's own TCP.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InterfaceFile {
    /// The device that sends the packets, as `eth0`.
    pub(super) device: Option<String>,
    /// The two devices, as `["eth1", "eth2"]`.
    pub(super) between: Option<Vec<String>>,
    /// The machine's own TCP, as in `deploy --tcp`: its connections share the profile of the policy's `aggregate-shaper`.
    pub(super) tcp: Option<TcpFile>,
    /// The rate at which packets leave, of two devices from the first to the second: a little below that of the bottleneck.
    pub(super) rate: Option<Rate>,
    /// The rate from the second of two devices to the first; by default the same.
    pub(super) rate_back: Option<Rate>,
    /// What a packet takes on the link of the bottleneck, such as `docsis`; by default as the policy's shaper says.
    pub(super) link_layer: Option<LinkLayer>,
}

/// Which of the machine's connections share the profile of the policy's `aggregate-shaper`; all without a key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TcpFile {
    /// The address of this machine, or a network, as `192.0.2.0/24`.
    pub(super) local: Option<String>,
    /// The address of the other host, or a network.
    pub(super) peer: Option<String>,
    /// The port of this machine, such as 443 of a web server.
    pub(super) local_port: Option<u16>,
    /// The port of the other host.
    pub(super) peer_port: Option<u16>,
    /// The folder of a cgroup of version 2: only new connections of its processes. Default: of all processes.
    pub(super) cgroup: Option<PathBuf>,
    /// How windows grow in congestion avoidance. Default: reno.
    #[serde(default)]
    pub(super) growth: GrowthFile,
    /// The reference round-trip time of constant-rate and increase-by-k.
    pub(super) reference_rtt: Option<Duration>,
    /// Segments per round trip above the reference, of increase-by-k.
    pub(super) increase: Option<u32>,
    /// Limits each window to this rate times the round-trip time.
    pub(super) window_rate: Option<Rate>,
}

/// A rule for the growth of windows.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum GrowthFile {
    /// One segment per round trip.
    #[default]
    Reno,
    /// By rtt²/rtt_av², where rtt_av is the mean of the profile's connections.
    AggregateFair,
    /// By rtt²/reference².
    ConstantRate,
    /// By `increase` segments where the round-trip time is above the reference.
    IncreaseByK,
}

/// A policy, and which interfaces get it: those that all lists mention that are written, each with `*` and `?` for
/// parts of a name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AssignFile {
    /// The file of the policy, relative to the fleet's.
    pub(super) policy: String,
    /// The roles of the policy that the device plays; not needed where only one does anything.
    #[serde(default)]
    pub(super) roles: Vec<String>,
    /// The one with the greatest priority wins where several reach an interface; 0 by default.
    #[serde(default)]
    pub(super) priority: i64,
    /// Machines of these names.
    pub(super) machines: Option<Vec<String>>,
    /// Machines in one of these groups.
    pub(super) groups: Option<Vec<String>>,
    /// Machines with one of these tags.
    pub(super) tags: Option<Vec<String>>,
    /// Interfaces of these names.
    pub(super) interfaces: Option<Vec<String>>,
    /// Take the nearest for what the kernel cannot do.
    #[serde(default)]
    pub(super) nearest: bool,
    /// Keys of the policy that are changed.
    #[serde(default)]
    pub(super) set: Named<Scalar>,
}
