//! `poisson`: datagrams as a Poisson process.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::{Duration, Rate};
use shortflow_workloads::{LARGEST_PACKET, Poisson, Sizes};

use super::{Arrivals, CODE_POINT, Datagrams, Offer, PairEnd, Traffic, WorkloadKeys};
use crate::check::{Checker, MAX_PER_SECOND, sizes};
use crate::file::{OneOrList, SizesFile};
use crate::frequency::Frequency;
use crate::model::{NodeId, Part};

/// UDP datagrams at independent exponential intervals. Each pair of nodes has a stream of this rate. Set
/// either `rate` or `load`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PoissonFile")]
pub(crate) struct Keys {
    /// Senders: a node, a group, a slice such as "user[2::5]", or a list of these.
    from: OneOrList<String>,
    /// Receivers, in the same form.
    to: OneOrList<String>,
    /// Packets per second of each stream.
    rate: Option<Frequency>,
    /// Rate of each stream in bits on the wire.
    load: Option<Rate>,
    /// Sizes of packets on the wire, with headers.
    size: SizesFile,
    /// Code point that the sender writes. Default: BE.
    #[schemars(extend("pattern" = CODE_POINT))]
    dscp: Option<String>,
    /// Port of the receiver. Default: 7.
    port: Option<u16>,
    /// Start of the streams. Default: 0 s.
    #[serde(default)]
    start: Duration,
    /// End of the streams. Default: the end of the run.
    stop: Option<Duration>,
    /// Label of its packets in policies at hosts. Default: the workload's name.
    label: Option<String>,
}

/// The checked workload; each pair is (sender, receiver).
pub(super) type Plan = Poisson<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn load_key(&self) -> &'static str {
        if self.rate.is_some() { "rate" } else { "load" }
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let pairs = checker.pairs(path, ("from", &self.from), ("to", &self.to));
        let size = sizes::check(checker.document, &format!("{path}.size"), &self.size, 0);
        let dscp = checker.dscp(path, self.dscp.as_ref());
        let span = checker.span(path, self.start, self.stop);
        let (pairs, size) = (pairs?, size?);
        fits(checker, &format!("{path}.size"), &size)?;
        let rate = match (self.rate, self.load) {
            (Some(rate), None) => rate.0,
            (None, Some(load)) if !load.is_zero() => load.bytes_per_sec() / size.mean(),
            (None, Some(_)) => {
                checker.document.mistake(
                    &format!("{path}.load"),
                    "load must be above zero; found 0 bit/s",
                    "",
                );
                return None;
            }
            _ => {
                let help = "for example `rate = \"1000 /s\"` or `load = \"5 Mbit/s\"`";
                let message = "a Poisson stream requires exactly one of `rate` and `load`";
                checker.document.mistake(path, message, help);
                return None;
            }
        };
        if rate > MAX_PER_SECOND {
            checker.too_often(&format!("{path}.{}", self.load_key()), rate);
            return None;
        }
        let (start, stop) = span?;
        let port = self.port.unwrap_or(7);
        let poisson = Poisson { pairs, rate, size, port, dscp: dscp?, start, stop };
        Some((poisson, checker.base.clone()))
    }
}

/// Whether all sizes are those of datagrams. Warns where a distribution without a limit has larger ones, which are cut.
fn fits(checker: &mut Checker<'_>, path: &str, size: &Sizes) -> Option<()> {
    /// Rarer sizes are not worth a warning.
    const RARE: f64 = 1e-4;
    let largest = LARGEST_PACKET as f64;
    let cut = match size {
        Sizes::Exponential { mean } => (-largest / mean.0 as f64).exp(),
        Sizes::Pareto { scale, shape, max: None } => (scale / largest).min(1.0).powf(*shape),
        Sizes::Constant(_)
        | Sizes::Choice { .. }
        | Sizes::Pareto { .. }
        | Sizes::Uniform { .. } => 0.0,
    };
    let (least, most) = size.bounds();
    let too_large = most.or(least).filter(|size| size.0 > LARGEST_PACKET);
    if let Some(found) = too_large {
        let message = format!("a datagram has at most {LARGEST_PACKET} B; found {found}");
        checker.document.mistake(path, message, "");
        return None;
    }
    if cut > RARE {
        let share = 100.0 * cut;
        let message = format!(
            "{share:.2} % of the sizes exceed {LARGEST_PACKET} B, the largest datagram, and are cut to it"
        );
        checker.document.warning(path, message, "use a smaller mean, or a distribution with `max`");
    }
    Some(())
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
        Some(Datagrams { dscp: self.dscp, streams: self.pairs.len(), reported: Vec::new() })
    }

    fn arrivals(&self) -> Option<Arrivals> {
        let per_second = self.rate * self.pairs.len() as f64;
        let (start, stop) = (self.start, self.stop);
        Some(Arrivals { what: "datagrams", per_second, start, stop })
    }

    fn offers(&self, _: &Config) -> Option<Vec<Offer>> {
        let flow = (self.rate * self.size.mean(), self.rate);
        Some(self.pairs.iter().map(|&(from, to)| Offer::new(from, to, flow)).collect())
    }

    fn open(&self, _: f64) -> f64 {
        self.pairs.len() as f64
    }
}
