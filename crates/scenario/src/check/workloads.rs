//! What loads the network.

use std::sync::Arc;

use shortflow_elements::Dscp;
use shortflow_tcp::{Config, Era};
use shortflow_text::{Document, NAME_RULE, is_name};
use shortflow_units::{Bytes, Duration, Instant, Rate};
use shortflow_workloads::{Bulk, Cbr, Poisson, Sizes, Transfers};

use super::topology::{PAIRING, Topology, pair_up};
use super::{sizes, tcp};
use crate::file::{
    BulkFile, CbrFile, OneOrList, PoissonFile, ScenarioFile, TransfersFile, WorkloadFile,
};
use crate::files::Files;
use crate::model::{Kind, NodeId, Workload};

/// Resolves all workloads.
pub(super) fn check(
    document: &mut Document,
    file: &ScenarioFile,
    topology: &Topology,
    files: &Files<'_>,
) -> Vec<Workload> {
    let base = tcp::check(document, "tcp", &file.tcp, &Era::LinuxToday.config());
    let mut checker = Checker { document, topology, files, base, duration: file.duration };
    file.workloads.iter().filter_map(|(name, workload)| checker.workload(name, workload)).collect()
}

pub(super) struct Checker<'c> {
    pub(super) document: &'c mut Document,
    topology: &'c Topology,
    pub(super) files: &'c Files<'c>,
    pub(super) base: Config,
    duration: Duration,
}

impl Checker<'_> {
    fn workload(&mut self, name: &str, file: &WorkloadFile) -> Option<Workload> {
        let path = format!("workloads.{name}");
        if !is_name(name) {
            self.document.mistake_in_key(&path, format!("`{name}` is not a valid name"), NAME_RULE);
        }
        let (kind, config) = match file {
            WorkloadFile::Transfers(file) => self.transfers(&format!("{path}.transfers"), file)?,
            WorkloadFile::Bulk(file) => self.bulk(&format!("{path}.bulk"), file)?,
            WorkloadFile::Web(file) => self.web(&format!("{path}.web"), file)?,
            WorkloadFile::Telnet(file) => self.telnet(&format!("{path}.telnet"), file)?,
            WorkloadFile::Ftp(file) => self.ftp(&format!("{path}.ftp"), file)?,
            WorkloadFile::Cbr(file) => (self.cbr(&format!("{path}.cbr"), file)?, self.base.clone()),
            WorkloadFile::Poisson(file) => {
                (self.poisson(&format!("{path}.poisson"), file)?, self.base.clone())
            }
        };
        let label = file.label().map_or(name, String::as_str).to_owned();
        Some(Workload { name: name.to_owned(), kind, tcp: Arc::new(config), label })
    }

    fn transfers(&mut self, path: &str, file: &TransfersFile) -> Option<(Kind, Config)> {
        let config = tcp::check(self.document, &format!("{path}.tcp"), &file.tcp, &self.base);
        let pairs = self.pairs(path, ("client", &file.client), ("server", &file.server));
        let mss = u64::from(config.mss);
        let request = sizes::check(self.document, &format!("{path}.request"), &file.request, mss);
        let reply = sizes::check(self.document, &format!("{path}.reply"), &file.reply, mss);
        let span = self.span(path, file.start, file.stop);
        let (pairs, request, reply) = (pairs?, request?, reply?);
        let rate = self.arrival_rate(path, file, &reply, &config)?;
        let (start, stop) = span?;
        let transfers = Transfers {
            pairs,
            rate,
            request,
            reply,
            port: file.port.unwrap_or(80),
            start,
            // A share of nothing has no arrivals.
            stop: if rate > 0.0 { stop } else { start },
        };
        Some((Kind::Transfers(transfers), config))
    }

    /// Transfers per second.
    fn arrival_rate(
        &mut self,
        path: &str,
        file: &TransfersFile,
        reply: &Sizes,
        config: &Config,
    ) -> Option<f64> {
        let whole = match (file.load, file.rate, file.interval) {
            (Some(load), None, None) if !load.is_zero() => {
                let segments = reply.mean_segments(u64::from(config.mss));
                let reply = reply.mean() + segments * f64::from(config.header);
                load.bytes_per_sec() / reply
            }
            (None, Some(rate), None) => rate.0,
            (None, None, Some(interval)) if !interval.is_zero() => 1.0 / interval.as_secs_f64(),
            (Some(_), None, None) => {
                self.document.mistake(
                    &format!("{path}.load"),
                    "load must be above zero; found 0 bit/s",
                    "",
                );
                return None;
            }
            (None, None, Some(_)) => {
                let message = "interval must be above zero; found 0 s";
                self.document.mistake(&format!("{path}.interval"), message, "");
                return None;
            }
            _ => {
                let message = "transfers need exactly one of `load`, `rate` and `interval`";
                let help = "for example `load = \"8 Mbit/s\"`, `rate = \"67.7 /s\"` or \
                            `interval = \"15 ms\"`";
                self.document.mistake(path, message, help);
                return None;
            }
        };
        let share = file.share.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&share) {
            let message = format!("share must be 0 to 1; found {share}");
            self.document.mistake(&format!("{path}.share"), message, "");
            return None;
        }
        let rate = whole * share;
        if rate > MOST_PER_SECOND {
            self.too_often(&format!("{path}.load"), rate);
            return None;
        }
        Some(rate)
    }

    /// Time has no more than a nanosecond for each.
    fn too_often(&mut self, path: &str, rate: f64) {
        let message = format!(
            "this makes {rate:.1e} arrivals per second; at most {MOST_PER_SECOND:e} are allowed"
        );
        self.document.mistake(path, message, "time is counted in nanoseconds: lower the load");
    }

    fn bulk(&mut self, path: &str, file: &BulkFile) -> Option<(Kind, Config)> {
        let config = tcp::check(self.document, &format!("{path}.tcp"), &file.tcp, &self.base);
        let pairs = self.pairs(path, ("from", &file.from), ("to", &file.to));
        let flows = file.flows.unwrap_or(1);
        if flows == 0 || flows > MOST_FLOWS {
            let message = format!("flows must be 1 to {MOST_FLOWS}; found {flows}");
            self.document.mistake(&format!("{path}.flows"), message, "");
        }
        let size = match file.size {
            Some(size) => {
                let mss = u64::from(config.mss);
                Some(sizes::bytes(self.document, &format!("{path}.size"), size, mss)?)
            }
            None => None,
        };
        let (start, stop) = self.span(path, file.start, None)?;
        if start + file.start_window > stop {
            let message =
                format!("start_window {} reaches beyond the end of the run", file.start_window);
            let help = "shorten it: some flows might never start";
            self.document.mistake(&format!("{path}.start_window"), message, help);
        }
        let bulk = Bulk {
            pairs: pairs?,
            flows,
            size,
            port: file.port.unwrap_or(20),
            start,
            start_window: file.start_window,
        };
        Some((Kind::Bulk(bulk), config))
    }

    fn cbr(&mut self, path: &str, file: &CbrFile) -> Option<Kind> {
        let pairs = self.pairs(path, ("from", &file.from), ("to", &file.to));
        let dscp = self.dscp(path, file.dscp.as_ref());
        let span = self.span(path, file.start, file.stop);
        let rates = self.rates(&format!("{path}.rate"), &file.rate)?;
        if file.packet == Bytes::ZERO || file.packet > LARGEST_PACKET {
            let message = format!("packet must be 1 B to {LARGEST_PACKET}; found {}", file.packet);
            self.document.mistake(&format!("{path}.packet"), message, "");
            return None;
        }
        let (start, stop) = span?;
        Some(Kind::Cbr(Cbr {
            pairs: pairs?,
            rates,
            by_stream: file.rate.is_list,
            packet: file.packet.0 as u32,
            port: file.port.unwrap_or(5004),
            dscp: dscp?,
            start,
            stop,
        }))
    }

    fn rates(&mut self, path: &str, file: &OneOrList<Rate>) -> Option<Vec<Rate>> {
        if file.values.is_empty() {
            self.document.mistake(
                path,
                "the list of rates is empty",
                "list one rate for each stream",
            );
            return None;
        }
        if let Some(at) = file.values.iter().position(|rate| rate.is_zero()) {
            let path = if file.is_list { format!("{path}.{at}") } else { path.to_owned() };
            self.document.mistake(&path, "rate must be above zero; found 0 bit/s", "");
            return None;
        }
        Some(file.values.clone())
    }

    fn poisson(&mut self, path: &str, file: &PoissonFile) -> Option<Kind> {
        let pairs = self.pairs(path, ("from", &file.from), ("to", &file.to));
        let size = sizes::check(self.document, &format!("{path}.size"), &file.size, 0);
        let dscp = self.dscp(path, file.dscp.as_ref());
        let span = self.span(path, file.start, file.stop);
        let (pairs, size) = (pairs?, size?);
        let rate = match (file.rate, file.load) {
            (Some(rate), None) => rate.0,
            (None, Some(load)) if !load.is_zero() => load.bytes_per_sec() / size.mean(),
            (None, Some(_)) => {
                self.document.mistake(
                    &format!("{path}.load"),
                    "load must be above zero; found 0 bit/s",
                    "",
                );
                return None;
            }
            _ => {
                let help = "for example `rate = \"1000 /s\"` or `load = \"5 Mbit/s\"`";
                let message = "a Poisson stream needs exactly one of `rate` and `load`";
                self.document.mistake(path, message, help);
                return None;
            }
        };
        if rate > MOST_PER_SECOND {
            self.too_often(&format!("{path}.load"), rate);
            return None;
        }
        let (start, stop) = span?;
        let port = file.port.unwrap_or(7);
        Some(Kind::Poisson(Poisson { pairs, rate, size, port, dscp: dscp?, start, stop }))
    }

    /// The pairs of nodes between two groups, all with a path from one to the other.
    pub(super) fn pairs(
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
                let message = format!("`{}` would send to itself", name(from));
                let help = "choose another node for one of the two ends";
                self.document.mistake(&b_path, message, help);
                return None;
            }
            if !topology.connects(from, to) {
                let message = format!("no path leads from `{}` to `{}`", name(from), name(to));
                let help =
                    "add the missing link; hosts do not forward packets of others, routers do";
                self.document.mistake(&b_path, message, help);
                return None;
            }
        }
        Some(pairs)
    }

    pub(super) fn span(
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
            let help = "remove `stop` to go on to the end";
            self.document.mistake(&format!("{path}.stop"), message, help);
            return None;
        }
        if start >= stop_at {
            let end = if stop.is_some() { "stop" } else { "duration" };
            let message = format!(
                "start {start} must be before {end} {stop_at}; otherwise nothing would be sent"
            );
            self.document.mistake(&format!("{path}.start"), message, "");
            return None;
        }
        Some((Instant::START + start, Instant::START + stop_at))
    }

    fn dscp(&mut self, path: &str, text: Option<&String>) -> Option<Dscp> {
        let Some(text) = text else { return Some(Dscp::BEST_EFFORT) };
        let parsed: Result<Dscp, _> = text.parse();
        parsed
            .map_err(|error| {
                self.document.mistake(&format!("{path}.dscp"), error.message(), error.help());
            })
            .ok()
    }
}

const LARGEST_PACKET: Bytes = Bytes(65_535);
const MOST_PER_SECOND: f64 = 1e9;
pub(super) const MOST_FLOWS: u32 = 1_000_000;
