//! A scenario as it is written.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use schemars::JsonSchema;
use shortflow_policy::text::Named;
use shortflow_units::{Bytes, Duration, Length, Probability, Rate, Size};

use crate::frequency::Frequency;

/// A scenario: topology, workloads, and which role of the policy is played at which port.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioFile {
    /// The name in results; by default that of the file.
    pub(crate) name: Option<String>,
    /// What the scenario shows.
    #[serde(default)]
    pub(crate) description: String,
    /// The policy file behind all roles, relative to this file.
    pub(crate) policy: Option<String>,
    /// The seed of the first replica; 1 by default.
    #[serde(default = "one")]
    pub(crate) seed: u64,
    /// How many independent runs; 8 by default.
    #[serde(default = "eight")]
    pub(crate) replicas: u32,
    /// How long traffic is generated.
    pub(crate) duration: Duration,
    /// What starts before this is left out of the results; 0 s by default.
    #[serde(default)]
    pub(crate) warm_up: Duration,
    /// Extra time after `duration` in which open transfers may finish; 0 s by default.
    #[serde(default)]
    pub(crate) drain: Duration,
    /// Values that may stand for others as "$name", or in an expression "= 1 - name".
    #[serde(default)]
    pub(crate) parameters: Named<Scalar>,
    /// The TCP of all hosts.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
    /// Hosts, alone or in groups.
    #[serde(default)]
    pub(crate) hosts: Named<Group>,
    /// Routers, alone or in groups.
    #[serde(default)]
    pub(crate) routers: Named<Group>,
    /// Duplex links, alone or in groups.
    #[serde(default)]
    pub(crate) links: Named<LinkFile>,
    /// Which role is played where.
    #[serde(default)]
    pub(crate) bind: Vec<BindFile>,
    /// What loads the network.
    #[serde(default)]
    pub(crate) workloads: Named<WorkloadFile>,
    /// What to measure.
    #[serde(default)]
    pub(crate) measure: MeasureFile,
    /// A key and the values that it takes in turn; `[[sweep]]` several times for all combinations.
    #[serde(default)]
    #[schemars(schema_with = "one_or_more::<AxisFile>")]
    pub(crate) sweep: Vec<AxisFile>,
}

fn one() -> u64 {
    1
}

fn eight() -> u32 {
    8
}

fn one_or_more<T: JsonSchema>(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let one = generator.subschema_for::<T>();
    schemars::json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// A number, a text, or a truth value.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Scalar {
    Bool(bool),
    Number(f64),
    Text(String),
}

/// A node, or several alike.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// How many; 1 by default.
    #[serde(default = "one_node")]
    pub(crate) count: u32,
}

fn one_node() -> u32 {
    1
}

/// Duplex links between two nodes or groups: one to one when the groups are equal in size, in
/// blocks when one is a multiple of the other.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkFile {
    /// The names of the two ends; forward is from the first to the second.
    pub(crate) between: [String; 2],
    /// The rate; a list goes round over the links.
    pub(crate) rate: PerLink<Rate>,
    /// The propagation delay; a list goes round over the links.
    pub(crate) delay: PerLink<Duration>,
    /// What the DropTail queue of a port holds where no role puts another queue; 1000 pkt by
    /// default.
    pub(crate) queue: Option<PerLink<Length>>,
    /// Bytes that the link adds to every packet; 0 B by default.
    pub(crate) overhead: Option<Bytes>,
    /// The probability that the link loses a packet: one number, or by code point
    /// `{ AF11 = 0.001, rest = 0 }`, or by direction `{ forward = …, back = … }`.
    pub(crate) loss: Option<LossFile>,
}

/// A value for both directions, one for each, or a list that goes round over the links of a group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PerLink<T> {
    Both(T),
    List(Vec<T>),
    Directed { forward: T, back: T },
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerLink<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Directed<T> {
            forward: T,
            back: T,
        }
        struct Forms<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Forms<T> {
            type Value = PerLink<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity, a list of them, or { forward = …, back = … }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerLink<T>, E> {
                T::deserialize(text.to_owned().into_deserializer()).map(PerLink::Both)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<PerLink<T>, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(PerLink::List)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PerLink<T>, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                let Directed { forward, back } = Directed::deserialize(map)?;
                Ok(PerLink::Directed { forward, back })
            }
        }
        deserializer.deserialize_any(Forms(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for PerLink<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("PerLink_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        schemars::json_schema!({
            "anyOf": [
                one,
                { "type": "array", "items": one },
                {
                    "type": "object",
                    "properties": { "forward": one, "back": one },
                    "required": ["forward", "back"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}

/// Loss on a link: a probability, or a table by code point or by direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LossFile {
    Always(Probability),
    Table(Named<LossFile>),
}

impl<'de> Deserialize<'de> for LossFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = LossFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability from 0 to 1, or a table of them")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<LossFile, E> {
                Probability::deserialize(value.into_deserializer()).map(LossFile::Always)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LossFile, E> {
                self.visit_f64(value as f64)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LossFile, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                Named::deserialize(map).map(LossFile::Table)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for LossFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Loss".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<Probability>();
        let by_code_point = schemars::json_schema!({ "type": "object", "additionalProperties": one });
        schemars::json_schema!({
            "anyOf": [
                one,
                by_code_point,
                {
                    "type": "object",
                    "properties": {
                        "forward": { "anyOf": [one, by_code_point] },
                        "back": { "anyOf": [one, by_code_point] },
                    },
                    "additionalProperties": false,
                },
            ],
        })
    }
}

/// A role of the policy, played at a port.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BindFile {
    /// The role, as the policy names it.
    pub(crate) role: String,
    /// The node or group that plays it.
    pub(crate) at: String,
    /// Packets that come in from this neighbour are conditioned.
    pub(crate) from: Option<String>,
    /// Packets that go out to this neighbour are conditioned and queued.
    pub(crate) to: Option<String>,
}

/// A workload, by its kind.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkloadFile {
    /// Open-loop request/reply transfers over TCP.
    Transfers(Box<TransfersFile>),
    /// Bulk flows over TCP.
    Bulk(Box<BulkFile>),
    /// UDP datagrams at a constant bit rate.
    Cbr(CbrFile),
    /// UDP datagrams as a Poisson process.
    Poisson(PoissonFile),
}

/// Transfers that arrive as a Poisson process: the client opens a connection and sends a request,
/// the server replies, both close. Say one of `load`, `rate` and `interval`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransfersFile {
    /// The node or group of clients.
    pub(crate) client: String,
    /// The node or group of servers.
    pub(crate) server: String,
    /// The load that the replies offer, headers of their segments included.
    pub(crate) load: Option<Rate>,
    /// Transfers per second.
    pub(crate) rate: Option<Frequency>,
    /// The mean interval between transfers.
    pub(crate) interval: Option<Duration>,
    /// The share of the load, rate or interval that is this workload's; 1 by default.
    pub(crate) share: Option<Probability>,
    /// Sizes of requests.
    pub(crate) request: SizesFile,
    /// Sizes of replies.
    pub(crate) reply: SizesFile,
    /// The server's port; 80 by default.
    pub(crate) port: Option<u16>,
    /// When arrivals begin; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// When arrivals end; by default with the run.
    pub(crate) stop: Option<Duration>,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
}

/// Flows over TCP that send as much as they may.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BulkFile {
    /// The sending node or group.
    pub(crate) from: String,
    /// The receiving node or group.
    pub(crate) to: String,
    /// How many flows; 1 by default. Over groups, flow i runs between the i-th pair, round and
    /// round.
    pub(crate) flows: Option<u32>,
    /// What each flow sends; endless by default.
    pub(crate) size: Option<Size>,
    /// The receiver's port; 20 by default.
    pub(crate) port: Option<u16>,
    /// The earliest start; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// Flows start uniformly within this time after `start`; 0 s by default.
    #[serde(default)]
    pub(crate) start_window: Duration,
    /// What differs from the scenario's TCP.
    #[serde(default)]
    pub(crate) tcp: TcpFile,
}

/// UDP datagrams at a constant bit rate. Over groups, each pair has a stream of this rate.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CbrFile {
    /// The sending node or group.
    pub(crate) from: String,
    /// The receiving node or group.
    pub(crate) to: String,
    /// The rate of each stream in bits on the wire.
    pub(crate) rate: Rate,
    /// The size of a packet on the wire, headers included.
    pub(crate) packet: Bytes,
    /// The code point that the sender writes; BE by default.
    pub(crate) dscp: Option<String>,
    /// The receiver's port; 5004 by default.
    pub(crate) port: Option<u16>,
    /// The first packet leaves at random within one interval from here; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// When the streams end; by default with the run.
    pub(crate) stop: Option<Duration>,
}

/// UDP datagrams at independent exponential intervals. Over groups, each pair has a stream of this
/// rate. Say one of `rate` and `load`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoissonFile {
    /// The sending node or group.
    pub(crate) from: String,
    /// The receiving node or group.
    pub(crate) to: String,
    /// Packets per second of each stream.
    pub(crate) rate: Option<Frequency>,
    /// The rate of each stream in bits on the wire.
    pub(crate) load: Option<Rate>,
    /// The sizes of packets on the wire, headers included.
    pub(crate) size: SizesFile,
    /// The code point that the sender writes; BE by default.
    pub(crate) dscp: Option<String>,
    /// The receiver's port; 7 by default.
    pub(crate) port: Option<u16>,
    /// When the streams begin; 0 s by default.
    #[serde(default)]
    pub(crate) start: Duration,
    /// When the streams end; by default with the run.
    pub(crate) stop: Option<Duration>,
}

/// A distribution of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SizesFile {
    /// Always the same.
    Constant(Size),
    /// One of a list.
    Choice(ChoiceFile),
    /// Exponential.
    Exponential(ExponentialFile),
    /// Pareto.
    Pareto(ParetoFile),
    /// All sizes of a range equally likely.
    Uniform(UniformFile),
}

/// One of a list of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceFile {
    /// The sizes.
    pub(crate) sizes: Vec<Size>,
    /// How often each is drawn, in any unit; all alike by default.
    pub(crate) weights: Option<Vec<f64>>,
}

/// An exponential distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExponentialFile {
    /// The mean.
    pub(crate) mean: Size,
}

/// A Pareto distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParetoFile {
    /// The mean, before sizes above `max` are cut.
    pub(crate) mean: Size,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Greater sizes are cut to this one.
    pub(crate) max: Option<Size>,
}

/// A uniform distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformFile {
    /// The smallest size.
    pub(crate) min: Size,
    /// The greatest size.
    pub(crate) max: Size,
}

/// What to measure besides every transfer and every datagram stream.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureFile {
    /// The interval of queue and utilisation series; none are kept without it.
    pub(crate) series_interval: Option<Duration>,
    /// The ports whose series are kept, as "node->neighbour"; by default those with a bound queue.
    pub(crate) ports: Option<Vec<String>>,
    /// The greatest reply of each class of transfers; by default one class per size where sizes
    /// are listed, else one per power of ten.
    pub(crate) size_classes: Option<Vec<Size>>,
}

/// A key, or several that change together, and the values that it takes in turn.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AxisFile {
    /// The name in results; by default the last part of the key.
    pub(crate) name: Option<String>,
    /// The key: one of this file, or of the policy after "policy.".
    pub(crate) key: Option<String>,
    /// Several keys that all take the same value.
    pub(crate) keys: Option<Vec<String>>,
    /// The values.
    pub(crate) values: Vec<Scalar>,
}

/// Settings of TCP: an era's defaults and what differs from them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpFile {
    /// The preset: "ns2-2002" (the default) or "linux-today".
    pub(crate) era: Option<EraFile>,
    /// Maximum segment size: payload of a full segment.
    pub(crate) mss: Option<Bytes>,
    /// TCP and IP headers on every segment.
    pub(crate) header: Option<Bytes>,
    /// Initial congestion window in segments (RFC 6928).
    pub(crate) initial_window: Option<u32>,
    /// The receive window offered.
    pub(crate) receive_window: Option<Bytes>,
    /// How losses are repaired: reno, newreno or sack.
    pub(crate) recovery: Option<RecoveryFile>,
    /// Duplicate acknowledgements that start a fast retransmit.
    pub(crate) duplicate_ack_threshold: Option<u32>,
    /// Whether the first two duplicate acknowledgements send new data (RFC 3042).
    pub(crate) limited_transmit: Option<bool>,
    /// Delayed acknowledgements: `false`, or their timeout and segments.
    pub(crate) delayed_ack: Option<DelayedAckFile>,
    /// Whether a short segment waits while data is outstanding.
    pub(crate) nagle: Option<bool>,
    /// Retransmission timeout before the first sample (RFC 6298).
    pub(crate) rto_initial: Option<Duration>,
    /// Smallest retransmission timeout.
    pub(crate) rto_min: Option<Duration>,
    /// Greatest retransmission timeout.
    pub(crate) rto_max: Option<Duration>,
    /// Clock granularity of RTT samples.
    pub(crate) clock_granularity: Option<Duration>,
    /// Whether ECN is negotiated and used (RFC 3168).
    pub(crate) ecn: Option<bool>,
    /// Whether an idle sender restarts from its initial window (RFC 5681 §4.1).
    pub(crate) restart_after_idle: Option<bool>,
    /// How often a SYN is sent again: a number, or "unlimited".
    pub(crate) syn_retries: Option<Retries>,
    /// How often data is sent again: a number, or "unlimited".
    pub(crate) data_retries: Option<Retries>,
    /// How long a closed connection lingers.
    pub(crate) time_wait: Option<Duration>,
}

/// A preset of TCP settings.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(crate) enum EraFile {
    /// What studies made with ns-2 around 2002 used.
    #[serde(rename = "ns2-2002")]
    Ns2In2002,
    /// A Linux host of today.
    #[serde(rename = "linux-today")]
    LinuxToday,
}

/// How losses are repaired.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecoveryFile {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
}

/// Delayed acknowledgements: `false`, or their settings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DelayedAckFile {
    Off,
    On(DelayedAckSettings),
}

/// When an acknowledgement may be held back (RFC 1122 §4.2.3.2).
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
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

/// A number of attempts, or no limit to them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retries(pub(crate) Option<u32>);

impl<'de> Deserialize<'de> for Retries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = Retries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of attempts or \"unlimited\"")
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
