//! A checked scenario: plain structs with dense numbers, which an engine can run as they are.

use std::sync::Arc;

use shortflow_elements::dropper::LossParams;
use shortflow_policy::{Policy, WithoutEffect};
use shortflow_tcp::Config;
use shortflow_text::{WrittenKey, WrittenKeys};
use shortflow_units::{Bytes, Duration, Length, LinkLayer, Rate};

use crate::addresses::{Addresses, IpVersion};
use crate::workloads::WorkloadKind;

/// The most streams of datagrams of a scenario, each of which has a UDP source port of its own: those
/// from 16,384 up.
pub const MAX_STREAMS: u32 = (1 << 16) - 16_384;

/// A node: an index into [`Scenario::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The index into [`Scenario::nodes`].
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A scenario in which every name is resolved, every quantity is in range, every workload has a
/// path between its ends, and every bound role exists.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name in results.
    pub name: String,
    /// What it shows.
    pub description: String,
    /// The seed of the first replica.
    pub seed: u64,
    /// How many independent runs.
    pub replicas: u32,
    /// How long traffic is generated.
    pub duration: Duration,
    /// Transfers and datagrams that start before this are left out of the results.
    pub warm_up: Duration,
    /// How long after `duration` open transfers may still finish.
    pub drain: Duration,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// Their addresses.
    pub addresses: Arc<Addresses>,
    /// Duplex links.
    pub links: Vec<Link>,
    /// Which role is played where.
    pub bindings: Vec<Binding>,
    /// The policy behind all roles; `None` when nothing is bound.
    pub policy: Option<Arc<Policy>>,
    /// What loads the network.
    pub workloads: Vec<Workload>,
    /// What to measure.
    pub measure: MeasurePlan,
    /// Everything that was read, to be kept with the results.
    pub inputs: Inputs,
    /// The keys that its text writes with another value than their default.
    pub written: WrittenKeys,
}

/// What kind of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// Runs TCP and applications; never forwards for others.
    Host,
    /// Forwards.
    Router,
}

/// A host or a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name: that of its group when that has one member (`server0`), else with an index
    /// (`user[17]`).
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
    /// The name of its group.
    pub group: String,
}

/// A duplex link; no two links join the same two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name: that of its group (`bottleneck`), with an index when that has several
    /// (`access[3]`).
    pub name: String,
    /// One end: the first name of `between`.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// From `a` to `b`.
    pub forward: Line,
    /// From `b` to `a`.
    pub back: Line,
}

/// One direction of a link, with the plain queue in front of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Bits per second, above zero.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// What the DropTail queue of the port holds, where no role puts another queue.
    pub limit: Length,
    /// What a packet takes on the link.
    pub link_layer: LinkLayer,
    /// Which packets the link loses; `None` for a clean link.
    pub loss: Option<LossParams>,
}

/// Where a role is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The role, which the policy has.
    pub role: String,
    /// The node that plays it.
    pub at: NodeId,
    /// The port, by the neighbour behind it.
    pub direction: Direction,
}

/// Which packets of a port a role sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Those that come in from this neighbour: the role conditions them.
    From(NodeId),
    /// Those that go out to this neighbour: the role conditions them and queues them.
    To(NodeId),
}

/// Something that loads the network.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Its name in results, and of its random stream.
    pub name: String,
    /// What it generates.
    pub kind: WorkloadKind,
    /// The version of IP that its hosts speak.
    pub ip: IpVersion,
    /// The TCP of both its ends. Its segments and headers are those of `ip`.
    pub tcp: Arc<Config>,
    /// What a policy at a host knows its connections by.
    pub label: String,
}

impl Workload {
    /// The TCP of both its ends where they speak this version of IP: packets are as large, and headers of IPv6 take
    /// 20 bytes more of each.
    pub fn tcp_over(&self, ip: IpVersion) -> Arc<Config> {
        if ip == self.ip {
            return Arc::clone(&self.tcp);
        }
        let (own, other) = (self.ip.more() as u16, ip.more() as u16);
        Arc::new(Config {
            mss: (self.tcp.mss + own).saturating_sub(other),
            header: self.tcp.header - own + other,
            ip_header: ip.header() as u16,
            ..(*self.tcp).clone()
        })
    }
}

impl Scenario {
    /// One sentence for each key that the scenario, or a role of its policy that is bound, writes with another value than
    /// its default, and that `engine` declares to have no effect.
    pub fn without_effect(&self, declared: &[WithoutEffect], engine: &str) -> Vec<String> {
        let is_bound = |key: &WrittenKey| {
            let role = key.path.strip_prefix("roles.").and_then(|path| path.split('.').next());
            role.is_none_or(|role| self.bindings.iter().any(|binding| binding.role == role))
        };
        let policy = self.policy.iter().map(|policy| &policy.written);
        WithoutEffect::notes(
            declared,
            engine,
            std::iter::once(&self.written).chain(policy),
            is_bound,
        )
    }

    /// What has results under a name of its own, by index: first the workloads in their order, then
    /// the parts of each that have results of their own, such as the objects of pages.
    pub fn result_rows(&self) -> Vec<ResultRow> {
        let row = |workload, name: String, part| ResultRow { name, workload, part };
        let all = self.workloads.iter().enumerate();
        let wholes =
            all.clone().map(|(index, workload)| row(index, workload.name.clone(), Part::Whole));
        let parts = all.flat_map(|(index, workload)| {
            let parts = workload.kind.traffic().parts().iter();
            parts.map(move |part| row(index, format!("{}/{}", workload.name, part.name()), *part))
        });
        wholes.chain(parts).collect()
    }
}

/// Something with results of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRow {
    /// Its name.
    pub name: String,
    /// The index of its workload.
    pub workload: usize,
    /// Which part of it.
    pub part: Part,
}

/// The part of a workload that results are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it; of a web workload, its pages.
    Whole,
    /// The objects of pages, one by one.
    Objects,
}

impl Part {
    /// Its name in results.
    fn name(self) -> &'static str {
        match self {
            Part::Whole => "whole",
            Part::Objects => "objects",
        }
    }
}

/// What to measure besides every transfer and every datagram stream.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurePlan {
    /// The interval of queue and utilisation series; `None` for no series.
    pub series_interval: Option<Duration>,
    /// The interval of samples of long flows' throughput; `None` for no samples.
    pub flow_samples: Option<Duration>,
    /// The ports whose series are kept, as (node, neighbour).
    pub ports: Vec<(NodeId, NodeId)>,
    /// The classes of transfers by reply, in rising order, the same for all workloads.
    pub size_classes: Arc<[SizeClass]>,
    /// Completion times for which the share that took longer is told.
    pub limits: Vec<Duration>,
    /// Whether the pages that clients ask for are logged.
    pub accesses: bool,
}

/// A class of transfers by the size of their reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeClass {
    /// The name in results: `11 seg`, `up to 10 KB`.
    pub label: String,
    /// The greatest reply that belongs to it; what is greater than that of every class belongs to
    /// the last.
    pub up_to: Bytes,
}

/// The texts behind a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// The scenario file's path and text.
    pub scenario: (String, String),
    /// The policy file's path and text, if any.
    pub policy: Option<(String, String)>,
    /// The path and the digest of each other file that was read.
    pub files: Vec<(String, String)>,
    /// The overrides as `key=value`, in the order given.
    pub overrides: Vec<String>,
}
