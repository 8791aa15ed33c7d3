//! Checks workloads.

use std::sync::Arc;

use shortflow_packet::Dscp;
use shortflow_tcp::{Config, Era};
use shortflow_text::{Document, NAME_RULE, is_name};
use shortflow_units::{Duration, Instant};

use super::tcp;
use super::topology::{PAIRING, Topology, pair_up};
use crate::addresses::{Addresses, IpVersion};
use crate::file::{OneOrList, ScenarioFile};
use crate::files::Files;
use crate::model::{NodeId, Workload};
use crate::workloads::{WorkloadFile, WorkloadKind};

/// Resolves all workloads.
pub(super) fn check(
    document: &mut Document,
    file: &ScenarioFile,
    topology: &Topology,
    addresses: &Addresses,
    files: &Files<'_>,
) -> Vec<Workload> {
    let base = tcp::check(document, "tcp", &file.tcp, &Era::LinuxToday.config());
    let mut checker = Checker {
        document,
        topology,
        addresses,
        files,
        base,
        duration: file.duration,
        warm_up: file.warm_up,
        replicas: file.replicas,
    };
    file.workloads.iter().filter_map(|(name, workload)| checker.workload(name, workload)).collect()
}

pub(crate) struct Checker<'c> {
    pub(crate) document: &'c mut Document,
    topology: &'c Topology,
    addresses: &'c Addresses,
    pub(crate) files: &'c Files<'c>,
    pub(crate) base: Config,
    duration: Duration,
    warm_up: Duration,
    /// The number of replicas.
    pub(crate) replicas: i64,
}

impl Checker<'_> {
    fn workload(&mut self, name: &str, file: &WorkloadFile) -> Option<Workload> {
        let path = format!("workloads.{name}");
        if !is_name(name) {
            self.document.mistake_in_key(&path, format!("`{name}` is not a valid name"), NAME_RULE);
        }
        let (kind, config) = file.check(self, &path)?;
        let label = file.label().map_or(name, String::as_str).to_owned();
        let ip = self.version(&path, &kind)?;
        let as_over_v4 = Workload {
            name: name.to_owned(),
            kind,
            ip: IpVersion::V4,
            tcp: Arc::new(config),
            label,
        };
        if as_over_v4.kind.uses_tcp() && u32::from(as_over_v4.tcp.mss) <= ip.more() {
            let message = format!(
                "`{name}` uses IPv6, whose header is {} bytes longer: `mss` leaves no room for data",
                ip.more()
            );
            self.document.mistake(&path, message, "increase its `tcp.mss`");
            return None;
        }
        Some(Workload { tcp: as_over_v4.tcp_over(ip), ip, ..as_over_v4 })
    }

    /// The IP version that all pairs of a workload have in common.
    fn version(&mut self, path: &str, kind: &WorkloadKind) -> Option<IpVersion> {
        let mut first: Option<(IpVersion, NodeId, NodeId)> = None;
        for &(a, b) in kind.pairs() {
            let Some(ip) = self.addresses.version(a, b) else {
                let [a, b] = [a, b].map(|node| {
                    let ip = if self.addresses.get(node, IpVersion::V4).is_some() {
                        "IPv4"
                    } else {
                        "IPv6"
                    };
                    format!("`{}` has an {ip} address only", self.topology.node(node).name)
                });
                let message = format!("{a} and {b}: they cannot reach each other");
                let help =
                    "list an address of each version: address = [\"100.64.0.1\", \"2001:db8::1\"]";
                self.document.mistake(path, message, help);
                return None;
            };
            let (of_first, first_a, first_b) = *first.get_or_insert((ip, a, b));
            if of_first != ip {
                let pair = |a, b| {
                    format!("`{}` and `{}`", self.topology.node(a).name, self.topology.node(b).name)
                };
                let message = format!(
                    "{} use {}, but {} use {}",
                    pair(first_a, first_b),
                    of_first.name(),
                    pair(a, b),
                    ip.name()
                );
                let help = "a workload uses one version of IP: make two workloads, or give all its hosts \
                            addresses of the same versions";
                self.document.mistake(path, message, help);
                return None;
            }
        }
        Some(first.map_or(IpVersion::V4, |(ip, ..)| ip))
    }

    /// Arrivals must not be more frequent than one per nanosecond.
    pub(crate) fn too_often(&mut self, path: &str, rate: f64) {
        let message =
            format!("this makes {rate:.1e} arrivals per second; the maximum is {MAX_PER_SECOND:e}");
        self.document.mistake(path, message, "lower the load: the clock counts nanoseconds");
    }

    /// The pairs of nodes between two groups. A path joins each pair.
    pub(crate) fn pairs(
        &mut self,
        path: &str,
        (a_key, a_names): (&str, &OneOrList<String>),
        (b_key, b_names): (&str, &OneOrList<String>),
    ) -> Option<Vec<(NodeId, NodeId)>> {
        let b_path = format!("{path}.{b_key}");
        let a = self.topology.find_all(self.document, &format!("{path}.{a_key}"), a_names);
        let b = self.topology.find_all(self.document, &b_path, b_names);
        let (a, b) = (a?, b?);
        let Some(pairs) = pair_up(&a, &b) else {
            let message = format!(
                "cannot pair {} nodes `{}` with {} nodes `{}`",
                a.len(),
                a_names.values.join(", "),
                b.len(),
                b_names.values.join(", ")
            );
            self.document.mistake(&b_path, message, PAIRING);
            return None;
        };
        for &(from, to) in &pairs {
            let topology = self.topology;
            let name = |node| &topology.node(node).name;
            if from == to {
                let message = format!("`{}` sends to itself", name(from));
                let help = "choose another node for one end";
                self.document.mistake(&b_path, message, help);
                return None;
            }
            if !topology.connects(from, to) {
                let message = format!("no path leads from `{}` to `{}`", name(from), name(to));
                let help = "add a link; only routers forward packets, hosts do not";
                self.document.mistake(&b_path, message, help);
                return None;
            }
        }
        Some(pairs)
    }

    pub(crate) fn span(
        &mut self,
        path: &str,
        start: Duration,
        stop: Option<Duration>,
    ) -> Option<(Instant, Instant)> {
        let duration = self.duration;
        let stop_at = stop.unwrap_or(duration);
        if stop_at > duration {
            let message =
                format!("stop {stop_at} must not be after the end of the run, duration {duration}");
            let help = "remove `stop` to continue until the end";
            self.document.mistake(&format!("{path}.stop"), message, help);
            return None;
        }
        if start >= stop_at {
            let end = if stop.is_some() { "stop" } else { "duration" };
            let message =
                format!("start {start} must be before {end} {stop_at}; otherwise nothing is sent");
            self.document.mistake(&format!("{path}.start"), message, "");
            return None;
        }
        if stop_at <= self.warm_up {
            let message = format!(
                "stop {stop_at} is not after the warm-up {}; nothing of this workload is measured",
                self.warm_up
            );
            let help = "stop it later, or shorten `warm_up`";
            self.document.warning(&format!("{path}.stop"), message, help);
        }
        Some((Instant::START + start, Instant::START + stop_at))
    }

    pub(crate) fn dscp(&mut self, path: &str, text: Option<&String>) -> Option<Dscp> {
        let Some(text) = text else { return Some(Dscp::BEST_EFFORT) };
        let parsed: Result<Dscp, _> = text.parse();
        parsed
            .map_err(|error| {
                self.document.mistake(&format!("{path}.dscp"), error.message(), error.help());
            })
            .ok()
    }
}

pub(crate) const MAX_PER_SECOND: f64 = 1e9;
pub(crate) const MAX_FLOWS: u32 = 1_000_000;
