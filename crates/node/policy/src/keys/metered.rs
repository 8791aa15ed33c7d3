//! Token bucket meters: one for all packets, or one for each flow, host and so on.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::meter::{ColorMode, TokenBucketParams};
use shortflow_elements::{Color, Meter, ParamsError, Per, PerAggregate, Settling};
use shortflow_units::{Bytes, Duration, Length, Rate, Rng};

use super::PerKey;
use crate::check::Checker;
use crate::model::QueueLimit;

/// A meter's parameters, and whether all packets share one meter.
#[derive(Debug, Clone)]
pub struct Metered<P> {
    params: P,
    per: Option<Per>,
}

impl<P> Metered<P> {
    /// The meter's parameters.
    pub fn params(&self) -> &P {
        &self.params
    }

    /// Which packets share a meter; `None` if all share one.
    pub fn per(&self) -> Option<Per> {
        self.per
    }
}

impl<P: Clone> Metered<P> {
    /// The parameters and the `per` key at `path`, for meters that `new` makes. `None` after a mistake.
    pub(crate) fn check<M: Settling>(
        checker: &mut Checker<'_>,
        path: &str,
        params: Result<P, ParamsError>,
        new: impl Fn(P) -> M,
        per: Option<&PerKey>,
    ) -> Option<Metered<P>> {
        let params = checker.accept(path, params);
        let settled =
            params.as_ref().map_or(Duration::ZERO, |params| new(params.clone()).settled_after());
        let per = checker.per(path, per, settled);
        Some(Metered { params: params?, per: per? })
    }

    /// One meter for all packets, or one for each aggregate.
    pub(crate) fn build<M: Settling>(&self, new: impl Fn(P) -> M, rng: Rng) -> Box<dyn Meter>
    where
        Box<dyn Meter>: From<M> + From<PerAggregate<M>>,
    {
        let meter = new(self.params.clone());
        match self.per {
            Some(per) => {
                let users = PerAggregate::new(per, meter, rng);
                users.expect("a checked policy has a timeout in which buckets fill").into()
            }
            None => meter.into(),
        }
    }
}

/// A token bucket.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Bucket")]
pub(crate) struct BucketKeys {
    /// Rate at which tokens arrive.
    #[schemars(extend("x-range" = "above zero"))]
    pub(crate) rate: Rate,
    /// Largest burst. Larger packets never find enough tokens.
    #[schemars(extend("x-range" = "at least 40 B"))]
    pub(crate) depth: Bytes,
}

impl BucketKeys {
    /// The bucket, or `None` after a mistake.
    pub(crate) fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<TokenBucketParams> {
        checker.depth(&format!("{path}.depth"), "depth", self.depth);
        checker.filling(&format!("{path}.depth"), "depth", self.depth, self.rate);
        checker.accept(path, TokenBucketParams::new(self.rate, self.depth))
    }
}

impl Checker<'_> {
    /// Notes the limit of a queue, at `path`.
    pub(crate) fn note_limit(&mut self, path: &str, limit: Length) {
        let key = format!("{path}.limit");
        self.limits.push(QueueLimit { key, limit, is_tail_drop: true });
    }

    /// As [`limit`](Self::limit), of a queue that drops or marks packets before its limit, or sends them by a profile.
    pub(crate) fn managed_limit(&mut self, path: &str, limit: Length) {
        self.limit(path, limit);
        self.note_managed();
    }

    /// Notes that the queue of the last limit drops or marks packets before that limit, or sends them by a profile.
    pub(crate) fn note_managed(&mut self) {
        self.limits.last_mut().expect("it was just noted").is_tail_drop = false;
    }

    /// Notes the limit of a queue, and checks that a queue of `limit` bytes can hold a packet.
    pub(crate) fn limit(&mut self, path: &str, limit: Length) {
        self.note_limit(path, limit);
        let Length::Bytes(bytes) = limit else { return };
        let what = match bytes {
            Bytes::ZERO => return, // Which the parameters refuse.
            _ if bytes < MIN_PACKET => "the smallest packet, 40 B: every packet would be dropped",
            _ if bytes < FULL_PACKET => "a full packet of 1500 B, which would always be dropped",
            _ => return,
        };
        let message = format!("limit {limit} is below {what}");
        let help = "a limit of many packets is usual, such as \"100 pkt\" or \"150 KB\"";
        self.document.warning(&format!("{path}.limit"), message, help);
    }

    /// Warns of a limit that is too small for BLUE: its probability rises whenever the queue is full, and falls more slowly
    /// while it is empty, so that a flood which reacts to no drops finds the line idle.
    pub(crate) fn limit_for_blue(&mut self, path: &str, limit: Length) {
        let is_small = match limit {
            Length::Packets(packets) => packets < MIN_FOR_BLUE,
            Length::Bytes(bytes) => bytes < Bytes(MIN_FOR_BLUE * FULL_PACKET.0),
        };
        if is_small {
            let message = format!(
                "limit {limit} is small: under traffic that does not react to drops, BLUE drops too much and the line \
                 may be idle"
            );
            let help = format!("use at least {MIN_FOR_BLUE} pkt, or `fq-codel`");
            self.document.warning(&format!("{path}.limit"), message, help);
        }
    }

    /// Checks that a bucket can hold enough tokens for a packet.
    pub(crate) fn depth(&mut self, path: &str, key: &str, depth: Bytes) {
        let message = |what: &str| format!("{key} {depth} is below {what}");
        if depth == Bytes::ZERO {
            return; // Which the parameters refuse.
        }
        if depth < MIN_PACKET {
            let message =
                message("the smallest packet, 40 B: no packet would ever find enough tokens");
            self.document.mistake(
                path,
                message,
                "a depth of a few packets is usual, such as \"10 KB\"",
            );
        } else if depth < FULL_PACKET {
            let message = message("a full packet of 1500 B, which would never find enough tokens");
            self.document.warning(
                path,
                message,
                "a depth of a few packets is usual, such as \"10 KB\"",
            );
        }
    }
}

impl Checker<'_> {
    /// Warns of a bucket of `depth` bytes that takes long to fill at its `rate`. Such a bucket meters nothing
    /// until a long burst has emptied it.
    pub(crate) fn filling(&mut self, path: &str, key: &str, depth: Bytes, rate: Rate) {
        let Some(seconds) = depth.0.saturating_mul(8).checked_div(rate.bits_per_sec()) else {
            return; // Which the parameters refuse.
        };
        if seconds < SLOW_TO_FILL {
            return;
        }
        let message = format!(
            "{key} {depth} takes {seconds} s to fill at {rate}; bursts of that length count as in profile"
        );
        let usual = Bytes((rate.bits_per_sec() / 80).max(10_000));
        let help = format!("a depth of 0.1 s at that rate is usual: \"{usual}\"");
        self.document.warning(path, message, help);
    }
}

/// A bucket should fill within so many seconds. Calls and transfers that a burst delays last only some
/// seconds.
const SLOW_TO_FILL: u64 = 5;
/// The headers of IPv4 and TCP, without options.
const MIN_PACKET: Bytes = Bytes(40);
/// The MTU of Ethernet.
const FULL_PACKET: Bytes = Bytes(1500);

/// With as many packets of 60 B, floods of three times its rate still use 98 % of a line.
const MIN_FOR_BLUE: u64 = 200;

/// Whether the meter respects the colour of arriving packets.
pub(crate) fn color_mode(checker: &Checker<'_>, color_aware: bool) -> ColorMode {
    if !color_aware {
        return ColorMode::Blind;
    }
    // Packets with a code point of no colour are not protected.
    let unknown = DscpTable::filled(Color::Red);
    let colors = Color::ALL.into_iter().zip(checker.code_points);
    ColorMode::Aware(colors.fold(unknown, |table, (color, dscp)| table.with(dscp, color)))
}
