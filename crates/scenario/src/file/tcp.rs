//! Settings of TCP as they are written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use shortflow_tcp::Algorithm;
use shortflow_units::{Bytes, Duration, Rate};

/// Settings of TCP: an era's defaults and what differs from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpFile {
    /// The preset: "linux-today" (the default), "ns2-2005" or "ns2-2002".
    pub(crate) era: Option<EraFile>,
    /// Maximum segment size: payload of a full segment.
    pub(crate) mss: Option<Bytes>,
    /// TCP and IP headers on every segment.
    pub(crate) header: Option<Bytes>,
    /// Initial congestion window in segments (RFC 6928).
    pub(crate) initial_window: Option<u32>,
    /// By how many segments one acknowledgement may open the window in slow start (RFC 3465): a number,
    /// or "unlimited".
    pub(crate) slow_start_limit: Option<Retries>,
    /// The receive window offered.
    pub(crate) receive_window: Option<Bytes>,
    /// How losses are repaired: reno, newreno, sack or rack.
    pub(crate) recovery: Option<RecoveryFile>,
    /// Whether the tail of a flight is probed before the retransmission timer expires, where recovery is rack
    /// (RFC 8985 §7).
    pub(crate) tail_loss_probe: Option<bool>,
    /// CUBIC by the RFC or as Linux has it: rfc9438 or linux.
    pub(crate) cubic: Option<CubicFile>,
    /// Whether CUBIC's slow start ends before losses do it, when acknowledgements come in a long train or, where
    /// recovery is rack, later than they did (HyStart).
    pub(crate) hystart: Option<bool>,
    /// How the congestion window grows and shrinks, for example reno or cubic.
    pub(crate) congestion: Option<AlgorithmFile>,
    /// The round-trip time at which constant-rate grows as reno, and above which increase-by-k grows by more.
    pub(crate) reference_rtt: Option<Duration>,
    /// By how many segments in a round trip increase-by-k grows.
    pub(crate) increase: Option<u32>,
    /// The rate of payload to which the window holds a connection; unlimited by default.
    pub(crate) window_rate: Option<Rate>,
    /// Duplicate acknowledgements that start a fast retransmit.
    pub(crate) duplicate_ack_threshold: Option<u32>,
    /// Whether the first two duplicate acknowledgements send new data (RFC 3042).
    pub(crate) limited_transmit: Option<bool>,
    /// Whether Reno's congestion avoidance counts the bytes that are acknowledged (RFC 3465 §2.1), or the
    /// acknowledgements: then delayed acknowledgements slow its growth.
    pub(crate) byte_counting: Option<bool>,
    /// Whether what a reduction leaves of the window is rounded down to whole segments.
    pub(crate) whole_segments: Option<bool>,
    /// Whether a receiver reports what it got twice (RFC 2883), so that a sender whose losses are told by time (recovery is
    /// rack) takes a reduction without cause back, and lets segments overtake each other by more.
    pub(crate) duplicate_sack: Option<bool>,
    /// Whether a FIN is a segment of its own where the window lets all data leave before it, as of a program that writes
    /// to its socket and then closes it.
    pub(crate) lone_fin: Option<bool>,
    /// Whether new data are paced: at twice the window in a round trip in slow start, at 1.2 times beyond.
    pub(crate) pacing: Option<bool>,
    /// Delayed acknowledgements: `false`, or their timeout and segments.
    pub(crate) delayed_ack: Option<DelayedAckFile>,
    /// Whether the time for which they are held back adapts to how data come: doubled where nothing more came in
    /// time, up to a round trip.
    pub(crate) adaptive_ack: Option<bool>,
    /// So many segments with data are acknowledged at once at the start of a connection, before
    /// acknowledgements are held back.
    pub(crate) quick_acks: Option<u32>,
    /// Whether the receive window grows with what comes in a round trip, where each segment that lets it grow is
    /// acknowledged at once.
    pub(crate) right_sizing: Option<bool>,
    /// Whether a short segment waits while data is outstanding.
    pub(crate) nagle: Option<bool>,
    /// Retransmission timeout before the first sample (RFC 6298).
    pub(crate) rto_initial: Option<Duration>,
    /// Smallest retransmission timeout.
    pub(crate) rto_min: Option<Duration>,
    /// What rto_min bounds: timeout or variation.
    pub(crate) rto_floor: Option<RtoFloorFile>,
    /// Greatest retransmission timeout.
    pub(crate) rto_max: Option<Duration>,
    /// Clock granularity of RTT samples.
    pub(crate) clock_granularity: Option<Duration>,
    /// The tick of the wheel on which timers lie, as "4 ms" for a Linux of 250 Hz: 10 us to 500 ms, or 0 s where they
    /// expire when they are due.
    pub(crate) timer_tick: Option<Duration>,
    /// Whether ECN is negotiated and used (RFC 3168).
    pub(crate) ecn: Option<bool>,
    /// Which segments may be marked where ECN is used: new-data, data or all.
    pub(crate) ecn_capable: Option<EcnCapableFile>,
    /// Whether an idle sender restarts from its initial window (RFC 5681 §4.1).
    pub(crate) restart_after_idle: Option<bool>,
    /// So many lost SYNs or SYN-ACKs are forgiven; after one more the initial window is one segment. With
    /// none forgiven the retransmission timeout is 3 s as well.
    pub(crate) lost_syns_forgiven: Option<u32>,
    /// So many timeouts of a SYN do not double it, nor count as retries.
    pub(crate) linear_syn_timeouts: Option<u32>,
    /// How often a SYN is sent again: a number, or "unlimited".
    pub(crate) syn_retries: Option<Retries>,
    /// How often data is sent again: a number, or "unlimited".
    pub(crate) data_retries: Option<Retries>,
    /// How long a closed connection lingers.
    pub(crate) time_wait: Option<Duration>,
}

/// A preset of TCP settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum EraFile {
    /// ns-2 as of 2002, all settings left alone.
    #[serde(rename = "ns2-2002")]
    Ns2In2002,
    /// ns-2 as of 2005, all settings left alone.
    #[serde(rename = "ns2-2005")]
    Ns2In2005,
    /// A Linux host of today.
    #[serde(rename = "linux-today")]
    LinuxToday,
}

/// What rto_min bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RtoFloorFile {
    /// The whole timeout (RFC 6298).
    Timeout,
    /// The term of the variation, to which the smoothed round-trip time is added; so does Linux.
    Variation,
}

/// Which segments may be marked where ECN is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EcnCapableFile {
    /// Data that are sent for the first time (RFC 3168).
    NewData,
    /// All data; ns-2 from January 2005 on.
    Data,
    /// SYNs and bare acknowledgements too; ns-2 before.
    All,
}

/// How losses are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecoveryFile {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
    /// RACK-TLP (RFC 8985), with a proportional rate reduction (RFC 9937).
    Rack,
}

/// Where Linux's CUBIC is another than that of RFC 9438.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CubicFile {
    /// Where Reno would be faster, a segment in a round trip above the window before the last reduction.
    Rfc9438,
    /// As fast as Reno on the average throughout, and a twentieth in a round trip before the first loss.
    Linux,
}

/// How the congestion window grows and shrinks: one of those that `shortflow_tcp` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlgorithmFile(pub(crate) Algorithm);

const ALGORITHMS: [&str; Algorithm::ALL.len()] = {
    let mut names = [""; Algorithm::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Algorithm::ALL[index].name();
        index += 1;
    }
    names
};

impl<'de> Deserialize<'de> for AlgorithmFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Algorithm::ALL.iter().find(|algorithm| algorithm.name() == name);
        let found = found.ok_or_else(|| de::Error::unknown_variant(&name, &ALGORITHMS));
        found.map(|algorithm| AlgorithmFile(*algorithm))
    }
}

impl JsonSchema for AlgorithmFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Algorithm".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let each = |algorithm: &Algorithm| {
            let (name, about) = (algorithm.name(), algorithm.about());
            schemars::json_schema!({ "const": name, "description": about })
        };
        let all: Vec<_> = Algorithm::ALL.iter().map(each).collect();
        schemars::json_schema!({ "oneOf": all })
    }
}

/// Delayed acknowledgements: `false`, or their settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DelayedAckFile {
    Off,
    On(DelayedAckSettings),
}

/// When an acknowledgement may be held back (RFC 1122 §4.2.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelayedAckSettings {
    /// The longest time that an acknowledgement is held back.
    pub(crate) timeout: Duration,
    /// An acknowledgement goes at once after this many full segments; 2 by default.
    #[serde(default = "two")]
    pub(crate) segments: u32,
}

fn two() -> u32 {
    2
}

impl<'de> Deserialize<'de> for DelayedAckFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = DelayedAckFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("false or { timeout = \"100 ms\", segments = 2 }")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<DelayedAckFile, E> {
                if on {
                    return Err(E::invalid_value(de::Unexpected::Bool(true), &self));
                }
                Ok(DelayedAckFile::Off)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DelayedAckFile, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                DelayedAckSettings::deserialize(map).map(DelayedAckFile::On)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for DelayedAckFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DelayedAck".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let settings = generator.subschema_for::<DelayedAckSettings>();
        schemars::json_schema!({ "anyOf": [{ "const": false }, settings] })
    }
}

/// A number, or no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retries(pub(crate) Option<u32>);

impl<'de> Deserialize<'de> for Retries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = Retries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or \"unlimited\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Retries, E> {
                let number = u32::try_from(number);
                number.map(|n| Retries(Some(n))).map_err(|_| E::custom("expected zero or more"))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Retries, E> {
                match text {
                    "unlimited" => Ok(Retries(None)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for Retries {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Retries".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "unlimited" }] })
    }
}
