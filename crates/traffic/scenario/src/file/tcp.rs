//! The text form of TCP settings.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use shortflow_tcp::Algorithm;
use shortflow_units::{Bytes, Duration, Rate};

/// TCP settings: the defaults of an era, and what differs from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpFile {
    /// The preset: "linux-today" (default), "ns2-2005" or "ns2-2002".
    pub(crate) era: Option<EraFile>,
    /// Maximum segment size: payload of a full segment.
    pub(crate) mss: Option<Bytes>,
    /// Size of the TCP and IP headers of every segment.
    pub(crate) header: Option<Bytes>,
    /// Initial congestion window in segments (RFC 6928).
    pub(crate) initial_window: Option<u32>,
    /// Limit on the growth of the window per acknowledgement in slow start, in segments (RFC 3465): a number
    /// or "unlimited".
    pub(crate) slow_start_limit: Option<Retries>,
    /// Receive window that the receiver offers.
    pub(crate) receive_window: Option<Bytes>,
    /// Loss recovery: reno, newreno, sack or rack.
    pub(crate) recovery: Option<RecoveryFile>,
    /// Whether a tail loss probe is sent before the retransmission timer expires. Only with rack recovery
    /// (RFC 8985 §7).
    pub(crate) tail_loss_probe: Option<bool>,
    /// The variant of CUBIC: rfc9438 or linux.
    pub(crate) cubic: Option<CubicFile>,
    /// Whether CUBIC leaves slow start before a loss (HyStart): if acknowledgements arrive in a long train
    /// or, with rack recovery, later than before.
    pub(crate) hystart: Option<bool>,
    /// Congestion control, such as reno or cubic.
    pub(crate) congestion: Option<AlgorithmFile>,
    /// The reference round-trip time: constant-rate grows there as reno does, and increase-by-k grows faster
    /// above it.
    pub(crate) reference_rtt: Option<Duration>,
    /// Window growth of increase-by-k, in segments per round trip.
    pub(crate) increase: Option<u32>,
    /// Rate limit of payload, enforced by the window. Default: unlimited.
    pub(crate) window_rate: Option<Rate>,
    /// Number of duplicate acknowledgements that trigger a fast retransmit.
    pub(crate) duplicate_ack_threshold: Option<u32>,
    /// Whether the first two duplicate acknowledgements send new data (RFC 3042).
    pub(crate) limited_transmit: Option<bool>,
    /// Whether Reno's congestion avoidance counts acknowledged bytes (RFC 3465 §2.1). If false it counts
    /// acknowledgements, so delayed acknowledgements slow its growth.
    pub(crate) byte_counting: Option<bool>,
    /// Whether a reduced window is rounded down to whole segments.
    pub(crate) whole_segments: Option<bool>,
    /// Whether the receiver reports duplicate data (RFC 2883). With rack recovery the sender can then undo an
    /// unnecessary reduction, and tolerate more reordering.
    pub(crate) duplicate_sack: Option<bool>,
    /// Whether a FIN is a separate segment if the window allows all data to leave before it, as when a
    /// program writes to its socket and then closes it.
    pub(crate) lone_fin: Option<bool>,
    /// Whether new data are paced: at twice the window per round trip in slow start, at 1.2 times afterwards.
    pub(crate) pacing: Option<bool>,
    /// Delayed acknowledgements: `false`, or a timeout and a number of segments.
    pub(crate) delayed_ack: Option<DelayedAckFile>,
    /// Whether the delay of acknowledgements adapts to the data: it doubles if no more data arrived in time,
    /// up to a round-trip time.
    pub(crate) adaptive_ack: Option<bool>,
    /// Number of data segments at the start of a connection that are acknowledged at once. Later
    /// acknowledgements are delayed.
    pub(crate) quick_acks: Option<u32>,
    /// Whether the receive window grows with the data received per round trip. Each segment that lets it grow
    /// is acknowledged at once.
    pub(crate) right_sizing: Option<bool>,
    /// Whether a short segment waits while data is outstanding.
    pub(crate) nagle: Option<bool>,
    /// Retransmission timeout before the first sample (RFC 6298).
    pub(crate) rto_initial: Option<Duration>,
    /// Smallest retransmission timeout.
    pub(crate) rto_min: Option<Duration>,
    /// What rto_min limits: timeout or variation.
    pub(crate) rto_floor: Option<RtoFloorFile>,
    /// Largest retransmission timeout.
    pub(crate) rto_max: Option<Duration>,
    /// Clock granularity of RTT samples.
    pub(crate) clock_granularity: Option<Duration>,
    /// Tick of the timer wheel, such as "4 ms" for Linux at 250 Hz: 10 us to 500 ms, or 0 s for exact timers.
    pub(crate) timer_tick: Option<Duration>,
    /// Whether ECN is negotiated and used (RFC 3168).
    pub(crate) ecn: Option<bool>,
    /// Segments that may be marked if ECN is used: new-data, data or all.
    pub(crate) ecn_capable: Option<EcnCapableFile>,
    /// Whether an idle sender restarts from its initial window (RFC 5681 §4.1).
    pub(crate) restart_after_idle: Option<bool>,
    /// Number of lost SYNs or SYN-ACKs without effect; after one more the initial window is one segment. At 0
    /// the retransmission timeout becomes 3 s as well.
    pub(crate) lost_syns_forgiven: Option<u32>,
    /// Number of SYN timeouts that neither double the timeout nor count as retries.
    pub(crate) linear_syn_timeouts: Option<u32>,
    /// Limit on retransmissions of a SYN: a number or "unlimited".
    pub(crate) syn_retries: Option<Retries>,
    /// Limit on retransmissions of data: a number or "unlimited".
    pub(crate) data_retries: Option<Retries>,
    /// How long a closed connection stays in TIME-WAIT.
    pub(crate) time_wait: Option<Duration>,
}

/// A preset of TCP settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum EraFile {
    /// ns-2 of 2002 with its default settings.
    #[serde(rename = "ns2-2002")]
    Ns2In2002,
    /// ns-2 of 2005 with its default settings.
    #[serde(rename = "ns2-2005")]
    Ns2In2005,
    /// A current Linux host.
    #[serde(rename = "linux-today")]
    LinuxToday,
}

/// What rto_min limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RtoFloorFile {
    /// The whole timeout (RFC 6298).
    Timeout,
    /// The variation term, which is added to the smoothed round-trip time, as in Linux.
    Variation,
}

/// Segments that may be marked if ECN is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EcnCapableFile {
    /// Data segments that are sent for the first time (RFC 3168).
    NewData,
    /// All data segments, as in ns-2 since January 2005.
    Data,
    /// Also SYNs and pure acknowledgements, as in earlier ns-2.
    All,
}

/// Loss recovery.
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

/// How Linux's CUBIC differs from RFC 9438.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CubicFile {
    /// Where Reno would be faster, CUBIC grows by one segment per round trip above the window before the last
    /// reduction.
    Rfc9438,
    /// CUBIC is always at least as fast as Reno on average, and grows by 1/20 per round trip before the first
    /// loss.
    Linux,
}

/// Congestion control: one of the algorithms of `shortflow_tcp`.
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

/// When an acknowledgement may be delayed (RFC 1122 §4.2.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelayedAckSettings {
    /// The longest delay of an acknowledgement.
    pub(crate) timeout: Duration,
    /// Number of full segments after which an acknowledgement is sent at once. Default: 2.
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
