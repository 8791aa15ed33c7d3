//! `cbr`: datagrams at a constant bit rate.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::{Bytes, Duration, Rate};
use shortflow_workloads::{Cbr, LARGEST_PACKET};

use super::{Arrivals, CODE_POINT, Datagrams, Offer, PairEnd, Traffic, WorkloadKeys};
use crate::check::Checker;
use crate::file::OneOrList;
use crate::model::{NodeId, Part};

/// UDP datagrams at a constant bit rate. Each pair of nodes has a stream.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CbrFile")]
pub(crate) struct Keys {
    /// Senders: a node, a group, a slice such as "user[2::5]", or a list of these.
    from: OneOrList<String>,
    /// Receivers, in the same form.
    to: OneOrList<String>,
    /// Rate of each stream in bits on the wire. A list repeats over the pairs; if it is longer, the pairs
    /// repeat. With a list, each stream has its own results.
    rate: OneOrList<Rate>,
    /// Size of a packet on the wire, with headers.
    packet: Bytes,
    /// Code point that the sender writes. Default: BE.
    #[schemars(extend("pattern" = CODE_POINT))]
    dscp: Option<String>,
    /// Port of the receiver. Default: 5004.
    port: Option<u16>,
    /// The first packet leaves at a random time within one interval after this. Default: 0 s.
    #[serde(default)]
    start: Duration,
    /// End of the streams. Default: the end of the run.
    stop: Option<Duration>,
    /// Label of its packets in policies at hosts. Default: the workload's name.
    label: Option<String>,
}

/// The checked workload; each pair is (sender, receiver).
pub(super) type Plan = Cbr<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn load_key(&self) -> &'static str {
        "rate"
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let pairs = checker.pairs(path, ("from", &self.from), ("to", &self.to));
        let dscp = checker.dscp(path, self.dscp.as_ref());
        let span = checker.span(path, self.start, self.stop);
        let rates = rates(checker, &format!("{path}.rate"), &self.rate)?;
        if self.packet == Bytes::ZERO || self.packet.0 > LARGEST_PACKET {
            let message =
                format!("packet must be 1 B to {LARGEST_PACKET} B; found {}", self.packet);
            checker.document.mistake(&format!("{path}.packet"), message, "");
            return None;
        }
        let (start, stop) = span?;
        let cbr = Cbr {
            pairs: pairs?,
            rates,
            by_stream: self.rate.is_list,
            packet: self.packet.0 as u32,
            port: self.port.unwrap_or(5004),
            dscp: dscp?,
            start,
            stop,
        };
        Some((cbr, checker.base.clone()))
    }
}

fn rates(checker: &mut Checker<'_>, path: &str, file: &OneOrList<Rate>) -> Option<Vec<Rate>> {
    if file.values.is_empty() {
        checker.document.mistake(
            path,
            "the list of rates is empty",
            "list one rate for each stream",
        );
        return None;
    }
    if let Some(at) = file.values.iter().position(|rate| rate.is_zero()) {
        let path = if file.is_list { format!("{path}.{at}") } else { path.to_owned() };
        checker.document.mistake(&path, "rate must be above zero; found 0 bit/s", "");
        return None;
    }
    Some(file.values.clone())
}

impl Traffic for Plan {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Transfer
    }

    fn sender(&self) -> PairEnd {
        PairEnd::First
    }

    fn datagrams(&self) -> Option<Datagrams> {
        let reported = if self.by_stream { self.streams() } else { 0 };
        let stream = |number| {
            let (pair, rate) = self.stream(number);
            (*pair, rate)
        };
        let reported = (0..reported).map(stream).collect();
        Some(Datagrams { dscp: self.dscp, streams: self.streams(), reported })
    }

    fn arrivals(&self) -> Option<Arrivals> {
        let bytes: f64 = (0..self.streams()).map(|n| self.stream(n).1.bytes_per_sec()).sum();
        let per_second = bytes / f64::from(self.packet);
        let (start, stop) = (self.start, self.stop);
        Some(Arrivals { what: "datagrams", per_second, start, stop })
    }

    fn offers(&self, _: &Config) -> Option<Vec<Offer>> {
        let streams = (0..self.streams()).map(|number| {
            let (&(from, to), rate) = self.stream(number);
            let bytes = rate.bytes_per_sec();
            Offer::new(from, to, (bytes, bytes / f64::from(self.packet)))
        });
        Some(streams.collect())
    }

    fn open(&self, _: f64) -> f64 {
        self.streams() as f64
    }
}
