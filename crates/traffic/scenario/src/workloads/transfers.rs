//! `transfers`: requests and replies, one connection each, as a Poisson process.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_measure::Item;
use shortflow_tcp::Config;
use shortflow_units::{Duration, Rate};
use shortflow_workloads::{Sizes, Transfers};

use super::{Arrivals, Offer, PairEnd, ResultSizes, Traffic, WorkloadKeys};
use crate::check::{Checker, MAX_PER_SECOND, sizes, tcp};
use crate::file::{OneOrList, SizesFile, TcpFile};
use crate::frequency::Frequency;
use crate::model::{NodeId, Part};

/// Transfers that arrive as a Poisson process: the client opens a connection and sends a request, the server
/// replies, both close. Set one of `load`, `rate` and `interval`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TransfersFile")]
pub(crate) struct Keys {
    /// Clients: a node, a group, a slice such as "user[2::5]", or a list of these.
    client: OneOrList<String>,
    /// Servers, in the same form.
    server: OneOrList<String>,
    /// Load of the replies, with the headers of their segments.
    load: Option<Rate>,
    /// Transfers per second.
    rate: Option<Frequency>,
    /// Mean interval between transfers.
    interval: Option<Duration>,
    /// This workload's share of the load, rate or interval, from 0 to 1. Default: 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    share: Option<f64>,
    /// Sizes of requests.
    request: SizesFile,
    /// Sizes of replies.
    reply: SizesFile,
    /// Port of the server. Default: 80.
    port: Option<u16>,
    /// Start of arrivals. Default: 0 s.
    #[serde(default)]
    start: Duration,
    /// End of arrivals. Default: the end of the run.
    stop: Option<Duration>,
    /// Differences from the scenario's TCP.
    #[serde(default)]
    tcp: TcpFile,
    /// Label of its packets in policies at hosts. Default: the workload's name.
    label: Option<String>,
}

/// The checked workload; each pair is (client, server).
pub(super) type Plan = Transfers<NodeId>;

impl WorkloadKeys for Keys {
    type Plan = Plan;

    fn label(&self) -> Option<&String> {
        self.label.as_ref()
    }

    fn load_key(&self) -> &'static str {
        match (self.rate, self.interval) {
            (Some(_), _) => "rate",
            (None, Some(_)) => "interval",
            (None, None) => "load",
        }
    }

    fn sizes_in_segments(&self) -> bool {
        self.reply.is_in_segments()
    }

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<(Plan, Config)> {
        let config = tcp::check(checker.document, &format!("{path}.tcp"), &self.tcp, &checker.base);
        let pairs = checker.pairs(path, ("client", &self.client), ("server", &self.server));
        let mss = u64::from(config.mss);
        let request =
            sizes::check(checker.document, &format!("{path}.request"), &self.request, mss);
        let reply = sizes::check(checker.document, &format!("{path}.reply"), &self.reply, mss);
        let span = checker.span(path, self.start, self.stop);
        let (pairs, request, reply) = (pairs?, request?, reply?);
        let rate = self.arrival_rate(checker, path, &reply, &config)?;
        let (start, stop) = span?;
        let transfers = Transfers {
            pairs,
            rate,
            request,
            reply,
            port: self.port.unwrap_or(80),
            start,
            // A share of zero has no arrivals.
            stop: if rate > 0.0 { stop } else { start },
        };
        Some((transfers, config))
    }
}

impl Keys {
    /// Transfers per second.
    fn arrival_rate(
        &self,
        checker: &mut Checker<'_>,
        path: &str,
        reply: &Sizes,
        config: &Config,
    ) -> Option<f64> {
        let whole = match (self.load, self.rate, self.interval) {
            (Some(load), None, None) if !load.is_zero() => {
                let segments = reply.mean_segments(u64::from(config.mss));
                let reply = reply.mean() + segments * f64::from(config.header);
                load.bytes_per_sec() / reply
            }
            (None, Some(rate), None) => rate.0,
            (None, None, Some(interval)) if !interval.is_zero() => 1.0 / interval.as_secs_f64(),
            (Some(_), None, None) => {
                checker.document.mistake(
                    &format!("{path}.load"),
                    "load must be above zero; found 0 bit/s",
                    "",
                );
                return None;
            }
            (None, None, Some(_)) => {
                let message = "interval must be above zero; found 0 s";
                checker.document.mistake(&format!("{path}.interval"), message, "");
                return None;
            }
            _ => {
                let message = "transfers require exactly one of `load`, `rate` and `interval`";
                let help = "for example `load = \"8 Mbit/s\"`, `rate = \"67.7 /s\"` or \
                            `interval = \"15 ms\"`";
                checker.document.mistake(path, message, help);
                return None;
            }
        };
        let share = self.share.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&share) {
            let message = format!("share must be 0 to 1; found {share}");
            checker.document.mistake(&format!("{path}.share"), message, "");
            return None;
        }
        if share == 0.0 {
            let message = "share = 0: this workload has no transfers and no row in any table";
            checker.document.warning(&format!("{path}.share"), message, "");
        }
        let rate = whole * share;
        if rate > MAX_PER_SECOND {
            checker.too_often(&format!("{path}.load"), rate);
            return None;
        }
        Some(rate)
    }
}

impl Traffic for Plan {
    fn pairs(&self) -> &[(NodeId, NodeId)] {
        &self.pairs
    }

    fn item(&self, _: Part) -> Item {
        Item::Transfer
    }

    fn sender(&self) -> PairEnd {
        PairEnd::Second
    }

    fn sizes(&self) -> Option<ResultSizes> {
        ResultSizes::from_distinct(self.reply.distinct())
    }

    fn arrivals(&self) -> Option<Arrivals> {
        let (start, stop) = (self.start, self.stop);
        Some(Arrivals { what: "transfers", per_second: self.rate, start, stop })
    }

    fn asked_bytes_per_second(&self) -> Option<f64> {
        Some(self.rate * self.reply.mean())
    }

    fn offers(&self, tcp: &Config) -> Option<Vec<Offer>> {
        let (mss, header) = (u64::from(tcp.mss), f64::from(tcp.header));
        let rate = self.rate / self.pairs.len() as f64;
        let [request, reply] = [&self.request, &self.reply].map(|sizes| {
            let segments = sizes.mean_segments(mss);
            let bytes = sizes.mean() + segments * header;
            (rate * bytes, rate * segments)
        });
        let both = self.pairs.iter().flat_map(|&(client, server)| {
            [Offer::new(client, server, request), Offer::new(server, client, reply)]
        });
        Some(both.collect())
    }

    /// Transfers that exceed a link's rate accumulate until the end.
    fn open(&self, overload: f64) -> f64 {
        let seconds = self.stop.as_secs_f64() - self.start.as_secs_f64();
        self.rate * (seconds * (1.0 - 1.0 / overload)).max(seconds.min(1.0))
    }
}
