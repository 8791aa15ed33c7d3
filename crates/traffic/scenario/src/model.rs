//! A checked scenario: plain structs with dense indices, which an engine can run without further checks.

use std::sync::Arc;

use shortflow_elements::dropper::LossParams;
use shortflow_policy::{Policy, WithoutEffect};
use shortflow_tcp::Config;
use shortflow_text::{WrittenKey, WrittenKeys};
use shortflow_units::{Bytes, Duration, Instant, Length, LinkLayer, Rate, RateSchedule};

use crate::addresses::{Addresses, IpVersion};
use crate::workloads::WorkloadKind;

/// The limit on datagram streams of a scenario. Each has its own UDP source port, from 16,384 on.
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

/// A scenario with resolved names and valid quantities. A path joins the ends of every workload, and every
/// bound role exists.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name in results.
    pub name: String,
    /// Description.
    pub description: String,
    /// The seed of the first replica.
    pub seed: u64,
    /// Number of independent runs.
    pub replicas: u32,
    /// For how long traffic is generated.
    pub duration: Duration,
    /// Transfers and datagrams that start before this are not in the results.
    pub warm_up: Duration,
    /// For how long after `duration` open transfers may still finish.
    pub drain: Duration,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// Their addresses.
    pub addresses: Arc<Addresses>,
    /// Duplex links.
    pub links: Vec<Link>,
    /// Bindings of roles to ports.
    pub bindings: Vec<Binding>,
    /// The policy with the roles; `None` if no role is bound.
    pub policy: Option<Arc<Policy>>,
    /// Workloads.
    pub workloads: Vec<Workload>,
    /// What is measured.
    pub measure: MeasurePlan,
    /// The inputs, which are stored with the results.
    pub inputs: Inputs,
    /// The keys that its text sets to another value than their default.
    pub written: WrittenKeys,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// Runs TCP and applications. Never forwards packets.
    Host,
    /// Forwards packets.
    Router,
}

/// A host or a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name: that of its group if the group has one member (`server0`), else with an index (`user[17]`).
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
    /// The name of its group.
    pub group: String,
}

/// A duplex link; no two links join the same two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name: that of its group (`bottleneck`), with an index if the group has several links
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

/// One direction of a link, with its default queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Rate, above zero.
    pub rate: Rate,
    /// The rate over time, where it changes.
    pub rate_over_time: Option<Arc<RateSchedule>>,
    /// Propagation delay.
    pub delay: Duration,
    /// The limit of the port's drop-tail queue, if no role has a queue there.
    pub limit: Length,
    /// The link layer, which determines the size of packets.
    pub link_layer: LinkLayer,
    /// Packet loss; `None` for a link without loss.
    pub loss: Option<LossParams>,
}

impl Line {
    /// The highest rate that it ever has.
    pub fn max_rate(&self) -> Rate {
        self.rate_over_time.as_ref().map_or(self.rate, |schedule| schedule.max())
    }

    /// The mean rate of a run of this duration.
    pub fn mean_rate(&self, duration: Duration) -> Rate {
        let mean = |schedule: &Arc<RateSchedule>| schedule.mean(Instant::START, duration);
        self.rate_over_time.as_ref().map_or(self.rate, mean)
    }
}

/// A role that is bound to a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The role's name in the policy.
    pub role: String,
    /// The node with the port.
    pub at: NodeId,
    /// The port, by its neighbour and direction.
    pub direction: Direction,
    /// The index of its `[[bind]]` table; those of the command line come last.
    pub table: usize,
}

/// Which packets of a port a role handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Packets from this neighbour: the role conditions them.
    From(NodeId),
    /// Packets to this neighbour: the role conditions them and queues them.
    To(NodeId),
}

/// A workload.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Its name in results and of its random stream.
    pub name: String,
    /// The traffic that it generates.
    pub kind: WorkloadKind,
    /// The IP version of its hosts.
    pub ip: IpVersion,
    /// The TCP of both its ends. Segment and header sizes are those of `ip`.
    pub tcp: Arc<Config>,
    /// The label of its connections in policies at hosts.
    pub label: String,
}

impl Workload {
    /// The TCP of both its ends over this IP version. Packets have the same size, and IPv6 headers take 20
    /// bytes more of each.
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
    /// One sentence for each key of the scenario, or of a bound role, that differs from its default and that
    /// `engine` declares to have no effect.
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

    /// Everything with results of its own, by index: first the workloads in order, then the parts of each
    /// workload with results of their own, such as the objects of pages.
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

/// An entry of the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRow {
    /// Its name.
    pub name: String,
    /// The index of its workload.
    pub workload: usize,
    /// The part of the workload.
    pub part: Part,
}

/// A part of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole workload; for a web workload, its pages.
    Whole,
    /// Single objects of pages.
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

/// What is measured, besides every transfer and every datagram stream.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurePlan {
    /// The interval of queue and utilisation series; `None` if there are none.
    pub series_interval: Option<Duration>,
    /// The interval of throughput samples of long flows; `None` if there are none.
    pub flow_samples: Option<Duration>,
    /// The ports with series, as (node, neighbour).
    pub ports: Vec<(NodeId, NodeId)>,
    /// The size classes of replies, in rising order, the same for all workloads.
    pub size_classes: Arc<[SizeClass]>,
    /// Completion times for which the share of slower transfers is reported.
    pub limits: Vec<Duration>,
    /// Whether page requests are logged.
    pub accesses: bool,
}

/// A class of transfers by the size of the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeClass {
    /// The name in results: `11 seg`, `up to 10 KB`.
    pub label: String,
    /// The largest reply of the class. Replies above all classes belong to the last.
    pub up_to: Bytes,
}

/// The files and overrides of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// The scenario file's path and text.
    pub scenario: (String, String),
    /// The policy file's path and text, if there is one.
    pub policy: Option<(String, String)>,
    /// The path and the digest of each other file.
    pub files: Vec<(String, String)>,
    /// The overrides as `key=value`, in the order given.
    pub overrides: Vec<String>,
}
