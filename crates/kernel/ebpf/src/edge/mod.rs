//! Conditioning at a device: the program that classifies, marks and polices what it sends or receives.

mod aggregate;
#[cfg(feature = "ebpf")]
mod bucket;
#[cfg(feature = "ebpf")]
mod device;
#[cfg(feature = "ebpf")]
mod flows;
mod layout;
#[cfg(not(feature = "ebpf"))]
#[path = "program_unavailable.rs"]
mod program;
#[cfg(feature = "ebpf")]
mod program;
mod rules;
#[cfg(feature = "ebpf")]
mod speed;
#[cfg(not(feature = "ebpf"))]
#[path = "speed_unavailable.rs"]
mod speed;
mod times;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};

use shortflow_elements::classifier::MultiField;
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::marker::{
    AdmissionParams, AggregateMarkerParams, DstfParams, SimaParams, TcpStateParams,
};
use shortflow_elements::meter::{
    FairMarkerParams, SrTcmParams, TokenBucketParams, TrTcmParams, Tsw3CmParams, TswParams,
    TwoBucketsParams,
};
use shortflow_elements::{Aggregate, Color, Per};
use shortflow_packet::{Dscp, FlowKey, Label, Protocol};
use shortflow_units::{Duration, Rate};

#[cfg(feature = "ebpf")]
pub use device::EdgeAtDevice;
pub use program::EdgeProgram;
#[cfg(feature = "ebpf")]
pub(crate) use program::NAME as EDGE;
pub(crate) use rules::Rules;
pub use speed::Effort;
pub use times::EdgeTimes;

/// Which packets of a device a program sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Those that the device receives.
    Ingress,
    /// Those that it sends, before they are queued.
    Egress,
}

/// The priorities of sockets that rules know, with 0, which is that of a socket without one.
pub const PRIORITIES: u8 = 16;

/// The most rules of one device.
pub const MAX_RULES: usize = 64;

/// The most classes of one device.
pub const MAX_CLASSES: usize = 32;

/// How a class's packets get a colour. Each has the decisions of the element of the same name; of those upon a
/// time sliding window it is the form in whole numbers, such as [`IntegerTsw`](shortflow_elements::meter::IntegerTsw).
#[derive(Debug, Clone)]
pub enum EdgeMeter {
    /// All have the same.
    Fixed(Color),
    /// By token buckets.
    Buckets {
        /// Which.
        buckets: Buckets,
        /// Who has buckets of their own, as with [`PerAggregate`](shortflow_elements::PerAggregate); without it all packets
        /// share them.
        per: Option<Per>,
    },
    /// [`Tsw2Cm`](shortflow_elements::meter::Tsw2Cm).
    Tsw2Cm(TswParams),
    /// [`Tsw3Cm`](shortflow_elements::meter::Tsw3Cm).
    Tsw3Cm(Tsw3CmParams),
    /// [`FairMarker`](shortflow_elements::meter::FairMarker), as
    /// [`IntegerFairMarker`](shortflow_elements::meter::IntegerFairMarker).
    FairMarker(FairMarkerParams),
    /// [`DstfMarker`](shortflow_elements::marker::DstfMarker), which gives code points of its own.
    Dstf(DstfParams),
    /// [`TcpStateMarker`](shortflow_elements::marker::TcpStateMarker) at the device of the host that sends; what others
    /// send is red.
    TcpState {
        /// Its thresholds.
        params: TcpStateParams,
        /// The window of a connection without a socket yet, in segments.
        initial_window: u32,
    },
    /// [`SimaMarker`](shortflow_elements::marker::SimaMarker), which gives code points of its own.
    Sima(SimaParams),
    /// [`AggregateMarker`](shortflow_elements::marker::AggregateMarker). Round-trip times are those of the connections of
    /// the device's host.
    Aggregate(AggregateMarkerParams),
    /// [`AdmissionControl`](shortflow_elements::marker::AdmissionControl).
    Admission(AdmissionParams),
}

/// Token buckets.
#[derive(Debug, Clone)]
pub enum Buckets {
    /// [`TokenBucket`](shortflow_elements::meter::TokenBucket).
    TokenBucket(TokenBucketParams),
    /// [`TwoBuckets`](shortflow_elements::meter::TwoBuckets).
    TwoBuckets(TwoBucketsParams),
    /// [`SrTcm`](shortflow_elements::meter::SrTcm).
    SrTcm(SrTcmParams),
    /// [`TrTcm`](shortflow_elements::meter::TrTcm).
    TrTcm(TrTcmParams),
}

impl EdgeMeter {
    /// Whether it remembers flows or hosts.
    fn has_table(&self) -> bool {
        match self {
            EdgeMeter::FairMarker(_) | EdgeMeter::Dstf(_) | EdgeMeter::Admission(_) => true,
            EdgeMeter::Buckets { per, .. } => per.is_some(),
            EdgeMeter::Sima(params) => params.per().is_some(),
            EdgeMeter::Fixed(_)
            | EdgeMeter::Tsw2Cm(_)
            | EdgeMeter::Tsw3Cm(_)
            | EdgeMeter::TcpState { .. }
            | EdgeMeter::Aggregate(_) => false,
        }
    }

    /// Whether it shares a profile out to connections.
    fn has_aggregate(&self) -> bool {
        matches!(self, EdgeMeter::Aggregate(_))
    }
}

/// What is done to the packets of a class.
#[derive(Debug, Clone)]
pub struct EdgeClass {
    /// Which colour they have.
    pub meter: EdgeMeter,
    /// The code points of green, yellow and red packets; without them packets keep theirs.
    pub code_points: Option<[Dscp; 3]>,
    /// The action on green, yellow and red packets; without it all pass.
    pub police: Option<[PolicerAction; 3]>,
}

/// What the program does: the rules by which packets belong to classes, the first that matches counting, and the
/// classes. Packets that match no rule are left alone.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nobody loads it"))]
pub struct EdgePlan {
    rules: rules::Rules,
    classes: Vec<layout::Class>,
    /// How many classes have a table.
    tables: usize,
    /// How many classes are of aggregates.
    aggregates: usize,
    /// Whether acknowledgements have the code points of what they acknowledge.
    echoes: bool,
    /// Whether applications say where objects begin, and how many of their bytes have each level.
    has_objects: bool,
    /// The rules and the classes, as if no seeds had been drawn.
    shape: String,
}

impl EdgePlan {
    /// `rules` name classes by their place in `classes`, and ask for no labels.
    ///
    /// # Errors
    /// When the program has no room for it, or cannot know or count what is asked for.
    pub fn new(
        rules: &[(MultiField, usize)],
        classes: &[EdgeClass],
    ) -> Result<EdgePlan, Unsupported> {
        EdgePlan::with_owners(rules, classes, &[])
    }

    /// The same, at the device of the host that sends, where connections have labels by who `owners` says owns them.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub fn with_owners(
        rules: &[(MultiField, usize)],
        classes: &[EdgeClass],
        owners: &[(Label, Owner)],
    ) -> Result<EdgePlan, Unsupported> {
        let limit = |what, found: usize, max| match found <= max {
            true => Ok(()),
            false => Err(Unsupported::TooMany { what, found, max }),
        };
        limit("classes", classes.len(), MAX_CLASSES)?;
        let (mut tables, mut aggregates) = (0, 0);
        let mut class = |class: &EdgeClass| {
            let own = if class.meter.has_aggregate() { aggregates } else { tables };
            tables += usize::from(class.meter.has_table());
            aggregates += usize::from(class.meter.has_aggregate());
            // Outsiders choose addresses and ports, but not the seed.
            layout::class(class, own, RandomState::new().build_hasher().finish())
        };
        let unseeded = classes.iter().map(|class| layout::class(class, 0, 0));
        let unseeded = unseeded.collect::<Result<Vec<_>, _>>()?;
        let classes = classes.iter().map(&mut class).collect::<Result<_, _>>()?;
        let rules = rules::Rules::new(rules, owners)?;
        let shape = format!("{} {unseeded:?}", rules.shape);
        let (echoes, has_objects) = (false, false);
        Ok(EdgePlan { rules, classes, tables, aggregates, echoes, has_objects, shape })
    }

    /// The same plan, in which acknowledgements without data have the code point of the last packet with data, SYN or
    /// FIN that arrived on their connection, as with
    /// [`Acknowledgements::Echoed`](shortflow_elements::Acknowledgements::Echoed).
    #[must_use]
    pub fn echoing(self) -> EdgePlan {
        EdgePlan { echoes: true, shape: format!("echoing {}", self.shape), ..self }
    }

    /// Whether they have.
    pub fn echoes(&self) -> bool {
        self.echoes
    }

    /// The same plan, in which applications may set the thresholds of their connections by
    /// [`SocketOption`](crate::option::SocketOption): of `Dstf`, and of rules by bytes sent.
    #[must_use]
    pub fn with_objects(self) -> EdgePlan {
        EdgePlan { has_objects: true, shape: format!("objects {}", self.shape), ..self }
    }

    /// Whether they may.
    pub fn has_objects(&self) -> bool {
        self.has_objects
    }

    /// Identifies plans with the same behaviour: everything except the random seeds of its tables.
    pub fn shape(&self) -> &str {
        &self.shape
    }
}

/// By what a host's device knows whose connection a packet is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The mark of the socket (`SO_MARK`).
    Mark(u32),
    /// The priority of the socket (`SO_PRIORITY`), from 1 to 15.
    Priority(u8),
    /// The group of processes (cgroup v2) that has opened the socket, or one below it.
    Group {
        /// Its number, which is that of its folder.
        id: u64,
        /// How many groups it is below the root.
        level: u8,
    },
}

/// Why the program cannot do what a plan asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsupported {
    /// There is no room.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many were asked for.
        found: usize,
        /// How many there may be.
        max: usize,
    },
    /// A rule matches a label without an owner.
    Label(Label),
    /// A rule matches replies to byte-range requests.
    ByteRange,
    /// A policer ends connections.
    End,
    /// A bucket is deeper than 64 bits count.
    Deep {
        /// Its bytes, of both buckets together where one rate fills both.
        bytes: u64,
        /// How deep it may be.
        max: u64,
    },
    /// What is admitted sends more in a sample than 64 bits count.
    Load {
        /// A number of bytes.
        bytes: u64,
    },
    /// A rate at which 64 bits run over.
    Fast {
        /// The rate.
        rate: Rate,
    },
    /// What counts is the payload of packets alone.
    Payload,
    /// A window that whole numbers cannot compute, in words.
    Window(String),
}

/// What the program takes for a packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// What it does.
    pub what: &'static str,
    /// How many flows its table holds; none of a program without one.
    pub flows: Option<usize>,
    /// Nanoseconds for repeated runs with the same packet: the minimum of several rounds.
    pub again: Option<f64>,
    /// Nanoseconds, where each is of another flow, as the kernel measures a single run, with what its clock takes: half of
    /// the packets take less, and 99 of 100.
    pub others: [f64; 2],
    /// Bytes of the kernel that its maps hold.
    pub memory: u64,
}

/// The most flows or hosts that a class remembers. A table without limit has as many.
pub const MAX_ENTRIES: usize = 1 << 16;

/// The maximum number of connections whose last received packet is remembered.
#[cfg(feature = "ebpf")]
const MAX_ECHOED: usize = 1 << 16;

/// The most connections of an aggregate.
pub const MAX_CONNECTIONS: usize = 256;

/// The deepest bucket, in bytes, and that of an aggregate.
const MAX_DEPTH: u64 = 1 << 31;
const MAX_AGGREGATE_DEPTH: u64 = 1 << 28;

/// The most that admitted streams send in a sample, in bytes.
const MAX_LOAD: u64 = 1 << 30;

/// The greatest mean rate of an aggregate.
const MAX_RATE: Rate = Rate::from_bits_per_sec(1_000_000_000_000_000);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::TooMany { what, found, max } => {
                write!(f, "the program supports at most {max} {what}; found {found}: combine some")
            }
            Unsupported::Label(_) => {
                write!(f, "a rule matches a label that has no owner")
            }
            Unsupported::ByteRange => {
                write!(
                    f,
                    "`byte_range` is not supported: the kernel does not know what a connection was asked for"
                )
            }
            Unsupported::End => {
                write!(
                    f,
                    "`police` with \"end\" is not supported: the program cannot reset connections"
                )
            }
            Unsupported::Deep { bytes, max } => {
                write!(f, "a bucket must hold at most {max} bytes; found {bytes}")
            }
            Unsupported::Load { bytes } => write!(
                f,
                "an admission marker must admit at most {MAX_LOAD} bytes per sample; found \
                    {bytes}: set shorter samples"
            ),
            Unsupported::Fast { rate } => {
                write!(f, "the rate of an aggregate must be at most {MAX_RATE}; found {rate}")
            }
            Unsupported::Payload => {
                write!(
                    f,
                    "the program counts whole packets; counting payload only is not supported"
                )
            }
            Unsupported::Window(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Unsupported {}

/// What a class has seen since the program was loaded. A packet that a device cuts into segments counts as those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeCounter {
    /// Packets.
    pub packets: u64,
    /// Their bytes, from the IP header on.
    pub bytes: u64,
    /// Packets that a policer has dropped.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

/// What a class's table of flows or hosts has seen since the program was loaded. A packet that a device cuts into segments
/// counts as those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeTable {
    /// Packets whose flow or hosts it knew.
    pub hits: u64,
    /// Packets whose flow or hosts were new.
    pub misses: u64,
    /// Flows or hosts that gave way to a new one.
    pub evictions: u64,
    /// Places that were ever used.
    pub used: u64,
}

/// A bucket of a class, which all its packets share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeBucket {
    /// The bytes for which there are tokens.
    pub bytes: u64,
    /// For how many there can be.
    pub depth: u64,
}

/// A flow, a host or a pair of hosts in the table of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeFlow {
    /// Which of them it is.
    pub by: Aggregate,
    /// How many bits of its address a host of IPv6 is known by.
    pub ipv6_prefix: u8,
    /// Its addresses, and of a flow its ports and protocol. What it is not known by is empty.
    pub key: FlowKey,
    /// The bytes that it has sent since it is known, or since another connection of its name has begun, from the IP header on.
    pub bytes: u64,
    /// For how long it was silent.
    pub silent: Duration,
}

impl fmt::Display for EdgeFlow {
    /// As in `tcp 10.0.0.1:1234 > 10.0.0.2:80`, `10.0.0.1 > 10.0.0.2` or `from 2001:db8::/64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlowKey { src, dst, src_port, dst_port, protocol } = self.key;
        let [src, dst] = [src, dst].map(IpAddr::from);
        let host = |address: IpAddr| match self.ipv6_prefix {
            length @ 0..128 if address.is_ipv6() => format!("{address}/{length}"),
            _ => address.to_string(),
        };
        match self.by {
            Aggregate::Flow if src_port == 0 && dst_port == 0 => {
                write!(f, "{} {src} > {dst}", name_of(protocol))
            }
            Aggregate::Flow => {
                let [src, dst] = [SocketAddr::new(src, src_port), SocketAddr::new(dst, dst_port)];
                write!(f, "{} {src} > {dst}", name_of(protocol))
            }
            Aggregate::HostPair => write!(f, "{} > {}", host(src), host(dst)),
            Aggregate::Source => write!(f, "from {}", host(src)),
            Aggregate::Destination => write!(f, "to {}", host(dst)),
        }
    }
}

/// A protocol's name, or its number.
fn name_of(protocol: Protocol) -> String {
    match protocol {
        Protocol::TCP => "tcp".to_owned(),
        Protocol::UDP => "udp".to_owned(),
        Protocol(number) => format!("protocol {number}"),
    }
}

/// A packet for a trial of the program, with the time and the random bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trial<'p> {
    /// The packet, from the header of Ethernet on.
    pub packet: &'p [u8],
    /// When it comes, in nanoseconds since the start.
    pub now: u64,
    /// 32 random bits.
    pub draw: u32,
    /// The mark of the socket that sends it.
    pub mark: u32,
    /// The priority of the socket that sends it.
    pub priority: u32,
    /// Into how many segments a device would cut it; up to 1 it is a packet as it is.
    pub segments: u32,
    /// The bytes of payload of each of these but the last.
    pub segment: u32,
    /// The smoothed round-trip time of its connection in microseconds, of which 0 says nothing.
    pub rtt: u32,
    /// The bytes that its connection has sent before it; `None` if unknown. The maximum value stands for `None`.
    pub sent: Option<u32>,
    /// The bytes of its application that remain to be sent; `None` if unknown.
    pub remaining: Option<u32>,
}
