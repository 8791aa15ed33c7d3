//! Classes and states as the program reads them: the structures of programs/classes.h in bytes.

use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::marker::{
    AdmissionParams, AggregateMarkerParams, Counted, Crossing, DstfParams, RecoverySegments,
    SimaParams, SimaSettings,
};
use shortflow_elements::meter::{
    ColorMode, Decay, FairMarkerParams, FlowTableSize, IntegerTswParams, MomentaryRate, Pace,
};
use shortflow_elements::{Aggregate, Color, ParamsError, Per};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Rate};

use super::aggregate;
use super::{EdgeClass, EdgeMeter, MAX_DEPTH, MAX_ENTRIES, MAX_LOAD, Unsupported};
use crate::edge;
use crate::packed::Packed;

/// Bytes of `struct class`.
#[cfg(feature = "ebpf")]
pub(super) const CLASS: usize = 256;
/// Bytes of `struct state`.
#[cfg(feature = "ebpf")]
pub(super) const STATE: usize = 40;
/// The most levels of bytes sent.
const LEVELS: usize = 64;
/// No packet is longer (RFC 791 §3.1).
const LARGEST_PACKET: u64 = 65_535;
/// Tokens of a byte.
pub(super) const PER_BYTE: u64 = 8_000_000_000;

impl Packed {
    fn longs(self, values: [u64; 2]) -> Packed {
        self.long(values[0]).long(values[1])
    }

    /// Something for each colour, where there is room for four.
    fn colors(self, each: [u8; 3]) -> Packed {
        self.bytes(&each).bytes(&[0])
    }

    fn decay(self, decay: Decay) -> Packed {
        self.long(decay.parts).bytes(&decay.shift.to_ne_bytes()).four(0)
    }

    fn pace(self, pace: Pace) -> Packed {
        self.long(pace.parts).four(pace.shift).four(0)
    }
}

/// A class as the program has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class {
    /// `struct class`.
    pub(super) bytes: Vec<u8>,
    /// The state with which it begins.
    pub(super) state: State,
    /// `struct levels`, of a class that has some.
    pub(super) levels: Option<Vec<u8>>,
    /// The connections with which it begins, of an aggregate.
    pub(super) aggregate: Option<aggregate::Aggregate>,
    /// Under which its table hashes.
    pub(super) seed: u64,
}

/// What a class keeps from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    /// The tokens of its buckets, or what is in its window.
    pub(super) held: [u64; 2],
}

/// A pair of buckets, as `struct class` has it.
#[derive(Default)]
struct Buckets {
    rate: [u64; 2],
    depth: [u64; 2],
    max: [u64; 2],
}

impl Buckets {
    /// Each with a rate of its own.
    fn apart(buckets: [(Rate, Bytes); 2]) -> Result<Buckets, Unsupported> {
        let [first, second] = buckets.map(|(_, bytes)| tokens(bytes.0));
        let depth = [first?, second?];
        Ok(Buckets { rate: buckets.map(|(rate, _)| rate.bits_per_sec()), depth, max: depth })
    }

    /// The second filled by what the first cannot hold.
    fn in_turn(rate: Rate, first: Bytes, second: Bytes) -> Result<Buckets, Unsupported> {
        let max = tokens(first.0.saturating_add(second.0))?;
        let depth = [tokens(first.0)?, tokens(second.0)?];
        Ok(Buckets { rate: [rate.bits_per_sec(), 0], depth, max: [max, 0] })
    }

    fn packed(&self) -> Packed {
        let filling = [0, 1].map(|at| match self.rate[at] {
            // Never.
            0 => u64::MAX,
            rate => self.max[at].div_ceil(rate),
        });
        Packed::default().longs(self.rate).longs(self.depth).longs(self.max).longs(filling)
    }
}

fn tokens(bytes: u64) -> Result<u64, Unsupported> {
    if bytes <= MAX_DEPTH {
        Ok(bytes * PER_BYTE)
    } else {
        Err(Unsupported::Deep { bytes, max: MAX_DEPTH })
    }
}

/// Whose packets are accounted for together, and how many such accounts are kept: `struct accounts`.
#[derive(Default)]
struct Accounts {
    ipv6_mask: [u64; 2],
    idle_timeout: u64,
    entries: u32,
    by: u8,
}

impl Accounts {
    /// Of those who have one each; nobody's, where all share one.
    fn from_per(per: Option<Per>) -> Result<Accounts, Unsupported> {
        let Some(per) = per else { return Ok(Accounts::default()) };
        let (prefix, size) = (per.ipv6_prefix(), per.table_size());
        Accounts::new(per.aggregate(), prefix, size, per.idle_timeout())
    }

    fn new(
        by: Aggregate,
        ipv6_prefix: u8,
        table_size: usize,
        idle_timeout: Duration,
    ) -> Result<Accounts, Unsupported> {
        if table_size > MAX_ENTRIES {
            let what = "entries of a table";
            return Err(Unsupported::TooMany { what, found: table_size, max: MAX_ENTRIES });
        }
        let mask = u128::MAX.checked_shl(128 - u32::from(ipv6_prefix)).unwrap_or(0);
        let by = match by {
            Aggregate::Flow => 1,
            Aggregate::HostPair => 2,
            Aggregate::Source => 3,
            Aggregate::Destination => 4,
        };
        Ok(Accounts {
            ipv6_mask: [(mask >> 64) as u64, mask as u64],
            idle_timeout: idle_timeout.nanos(),
            entries: table_size as u32,
            by,
        })
    }
}

/// How a meter works, by the numbers of programs/classes.h.
#[derive(Default)]
struct Working {
    kind: u8,
    color: Option<Color>,
    buckets: Buckets,
    window: Option<IntegerTswParams>,
    mode: Option<ColorMode>,
    accounts: Accounts,
    /// How many packets of a flow are green first.
    threshold: u64,
    levels: Option<Vec<u8>>,
    windows: Windows,
    /// Of SIMA, in the place of buckets.
    decays: Option<[Decay; 3]>,
    /// How an aggregate is shared.
    sharing: Option<[u8; 2]>,
    /// Of admission control, in the place of a window.
    load: Option<Load>,
}

/// The load up to which streams are admitted, and what each declares, in tokens per sample.
#[derive(Clone, Copy)]
struct Load {
    sample: u64,
    target: u64,
    declared: u64,
}

impl Working {
    /// The fields that follow: those of a window, or of a load.
    fn spans(&self, packed: Packed) -> Packed {
        if let Some(Load { sample, target, declared }) = self.load {
            return packed.long(sample).longs([target, declared]).longs([0; 2]);
        }
        let none = Pace { parts: 0, shift: 0 };
        packed
            .long(self.window.map_or(0, |window| window.window))
            .pace(self.window.map_or(none, |window| window.committed))
            .pace(self.window.and_then(|window| window.peak).unwrap_or(none))
    }

    /// The first fields of `struct class`: those of buckets, or of loads.
    fn rates(&self) -> Packed {
        match self.decays {
            Some(decays) => decays.into_iter().fold(Packed::default(), Packed::decay).longs([0; 2]),
            None => self.buckets.packed(),
        }
    }
}

/// The windows of a connection up to which its packets are green and yellow, and with which it begins, in segments.
#[derive(Default)]
struct Windows {
    high: u32,
    medium: u32,
    initial: u32,
    is_random: bool,
    only_again: bool,
}

fn sliding(found: Result<IntegerTswParams, ParamsError>) -> Result<Working, Unsupported> {
    let window = found.map_err(|error| Unsupported::Window(error.to_string()))?;
    Ok(Working { kind: 5, window: Some(window), ..Working::default() })
}

fn fair_marker(params: &FairMarkerParams) -> Result<Working, Unsupported> {
    let (flows, idle_timeout) = match params.table() {
        FlowTableSize::AtMost(flows) => (flows, Duration::MAX),
        FlowTableSize::Unlimited { idle_timeout } => (MAX_ENTRIES, idle_timeout),
    };
    Ok(Working {
        kind: 6,
        accounts: Accounts::new(Aggregate::Flow, 128, flows, idle_timeout)?,
        threshold: params.threshold(),
        ..sliding(IntegerTswParams::two_colors(params.tsw()))?
    })
}

fn dstf(params: &DstfParams) -> Result<Working, Unsupported> {
    if params.counted() != Counted::Packet {
        return Err(Unsupported::Payload);
    }
    let thresholds = params.levels().thresholds();
    let last = thresholds.last().map_or(0, |last| last.0);
    tokens(last)?;
    let thresholds: Vec<u64> = thresholds.iter().map(|bytes| bytes.0 * PER_BYTE).collect();
    let per = params.per();
    // A count is never more than the last threshold and a packet, and `decay` forgets it.
    let max = (last + LARGEST_PACKET) * PER_BYTE;
    Ok(Working {
        kind: 7,
        buckets: Buckets { rate: [params.decay().bits_per_sec(), 0], depth: [0; 2], max: [max, 0] },
        threshold: params.crowded().nanos(),
        accounts: Accounts::from_per(Some(per))?,
        levels: Some(levels(&thresholds, params.levels().code_points())),
        ..Working::default()
    })
}

/// `struct levels`.
fn levels(thresholds: &[u64], code_points: &[Dscp]) -> Vec<u8> {
    let mut packed = Packed::default();
    for at in 0..LEVELS {
        packed = packed.long(thresholds.get(at).copied().unwrap_or(0));
    }
    let mut values: Vec<u8> = code_points.iter().map(|dscp| dscp.value()).collect();
    values.resize(LEVELS, 0);
    packed.bytes(&values).long(code_points.len() as u64 - 1).0
}

fn sima(params: &SimaParams) -> Result<Working, Unsupported> {
    // The nominal rate is in the thresholds, of which the first is enough.
    let SimaSettings { nominal_rate: _, meter, per, code_points } = params.settings();
    Ok(Working {
        kind: 9,
        accounts: Accounts::from_per(per)?,
        decays: Some([meter.silence(), meter.sending(), params.first_threshold()]),
        levels: Some(levels(&[], code_points)),
        ..Working::default()
    })
}

fn admission(params: &AdmissionParams) -> Result<Working, Unsupported> {
    let sample = params.window().sample();
    let per_sample = |rate: Rate| u128::from(rate.bits_per_sec()) * u128::from(sample.nanos());
    let target = per_sample(params.target());
    if target > u128::from(MAX_LOAD * PER_BYTE) {
        let bytes = u64::try_from(target / u128::from(PER_BYTE)).unwrap_or(u64::MAX);
        return Err(Unsupported::Load { bytes });
    }
    // A peak is at most the target.
    let [target, declared] = [target, per_sample(params.peak())].map(|tokens| tokens as u64);
    let none = (Rate::from_bits_per_sec(0), Bytes::ZERO);
    let buckets = match params.depth() {
        Some(depth) => Buckets::apart([(params.peak(), depth), none])?,
        None => Buckets::default(),
    };
    Ok(Working {
        kind: 11,
        buckets,
        threshold: params.window().samples().into(),
        accounts: Accounts::from_per(Some(params.streams()))?,
        load: Some(Load { sample: sample.nanos(), target, declared }),
        ..Working::default()
    })
}

fn of_connections(params: &AggregateMarkerParams) -> Result<Working, Unsupported> {
    aggregate::check(params)?;
    let (profile, limits) = (&params.profile, params.connections);
    let depth = tokens(profile.depth().0)?;
    let peak = profile.peak().map_or(0, Rate::bits_per_sec);
    Ok(Working {
        kind: 10,
        // Three times the depth pay what is owed and fill all.
        buckets: Buckets {
            rate: [profile.rate().bits_per_sec(), peak],
            depth: [depth, 0],
            max: [3 * depth, 0],
        },
        threshold: profile.max_packet().0,
        accounts: Accounts {
            idle_timeout: limits.idle_timeout().nanos(),
            entries: limits.connections() as u32,
            ..Accounts::default()
        },
        sharing: Some(aggregate::sharing(params.sharing)),
        ..Working::default()
    })
}

/// Buckets, and whether the colour that a packet comes with counts.
fn buckets(found: &edge::Buckets) -> Result<Working, Unsupported> {
    let (kind, buckets, mode) = match found {
        edge::Buckets::TokenBucket(params) => {
            let none = (Rate::from_bits_per_sec(0), Bytes::ZERO);
            let one = Buckets::apart([(params.rate(), params.burst()), none])?;
            (1, one, &ColorMode::Blind)
        }
        edge::Buckets::TwoBuckets(params) => {
            let each = [&params.green, &params.yellow].map(|one| (one.rate(), one.burst()));
            (2, Buckets::apart(each)?, &params.mode)
        }
        edge::Buckets::SrTcm(params) => {
            let (first, second) = (params.committed_burst(), params.excess_burst());
            (3, Buckets::in_turn(params.committed_rate(), first, second)?, params.mode())
        }
        edge::Buckets::TrTcm(params) => {
            let committed = (params.committed_rate(), params.committed_burst());
            let peak = (params.peak_rate(), params.peak_burst());
            (4, Buckets::apart([committed, peak])?, params.mode())
        }
    };
    Ok(Working { kind, buckets, mode: Some(mode.clone()), ..Working::default() })
}

fn working(meter: &EdgeMeter) -> Result<Working, Unsupported> {
    match meter {
        EdgeMeter::Fixed(color) => Ok(Working { color: Some(*color), ..Working::default() }),
        EdgeMeter::Buckets { buckets: found, per } => {
            Ok(Working { accounts: Accounts::from_per(*per)?, ..buckets(found)? })
        }
        EdgeMeter::Tsw2Cm(params) => sliding(IntegerTswParams::two_colors(params)),
        EdgeMeter::Tsw3Cm(params) => sliding(IntegerTswParams::three_colors(params)),
        EdgeMeter::FairMarker(params) => fair_marker(params),
        EdgeMeter::Dstf(params) => dstf(params),
        EdgeMeter::TcpState { params, initial_window } => {
            let windows = Windows {
                high: params.high(),
                medium: params.medium(),
                initial: *initial_window,
                is_random: params.crossing() == Crossing::Randomized,
                only_again: params.recovery() == RecoverySegments::Retransmissions,
            };
            Ok(Working { kind: 8, windows, ..Working::default() })
        }
        EdgeMeter::Sima(params) => sima(params),
        EdgeMeter::Admission(params) => admission(params),
        EdgeMeter::Aggregate(params) => of_connections(params),
    }
}

/// A class whose table or aggregate, of those that have one, is number `table`, and hashes under `seed`.
pub(super) fn class(class: &EdgeClass, table: usize, seed: u64) -> Result<Class, Unsupported> {
    if class.police.iter().flatten().any(|action| *action == PolicerAction::End) {
        return Err(Unsupported::End);
    }
    let working = working(&class.meter)?;
    let rates_and_spans = working.spans(working.rates());
    let Working {
        kind,
        color,
        buckets,
        window,
        mode,
        accounts,
        threshold,
        levels,
        windows,
        decays,
        sharing,
        load: _,
    } = working;
    let depth = buckets.depth[0];
    let aggregate = sharing.map(|_| aggregate::Aggregate { number: table, depth });
    // Of a Fair Marker, the window of the packets that a flow begins with is the one that is not empty at first.
    let is_late = kind == 6 && threshold == 0;
    let held = match window {
        Some(window) if is_late => [0, window.held],
        Some(window) => [window.held, 0],
        None if decays.is_some() => MomentaryRate::FRESH,
        None => buckets.depth,
    };
    let peak = window.and_then(|window| window.peak);
    let mut packed = rates_and_spans
        .longs(accounts.ipv6_mask)
        .long(accounts.idle_timeout)
        .long(seed)
        .four(accounts.entries)
        .bytes(&[accounts.by, 0, 0, 0])
        .long(threshold)
        .four(windows.high)
        .four(windows.medium)
        .four(windows.initial)
        .bytes(&[windows.is_random.into(), windows.only_again.into()])
        .bytes(&sharing.unwrap_or_default());
    for dscp in (0..64).filter_map(Dscp::new) {
        let incoming = match &mode {
            Some(ColorMode::Aware(colors)) => colors.get(dscp),
            _ => Color::Green,
        };
        packed = packed.bytes(&[incoming as u8]);
    }
    let code_points = class.code_points.unwrap_or_default().map(Dscp::value);
    let actions = class.police.unwrap_or([PolicerAction::Forward; 3]).map(|action| match action {
        PolicerAction::Forward => (0, 0),
        PolicerAction::Drop | PolicerAction::End => (1, 0),
        PolicerAction::Remark(dscp) => (2, dscp.value()),
    });
    let packed = packed
        .colors(code_points)
        .colors(actions.map(|(action, _)| action))
        .colors(actions.map(|(_, remark)| remark))
        .bytes(&[kind, color.map_or(0, |color| color as u8)])
        .bytes(&[class.code_points.is_some().into(), peak.is_some().into(), table as u8])
        .bytes(&[0; 7]);
    Ok(Class { bytes: packed.0, state: State { held }, levels, aggregate, seed })
}

#[cfg(feature = "ebpf")]
impl State {
    /// `struct state` at a time.
    pub(super) fn packed(self, now: u64) -> Vec<u8> {
        Packed::default().long(0).longs([now, now]).longs(self.held).0
    }
}

/// Where fields stand in `struct class`.
#[cfg(feature = "ebpf")]
mod place {
    use std::ops::Range;

    pub(super) const DEPTH: Range<usize> = 16..24;
    pub(super) const IPV6_MASK: Range<usize> = 104..120;
    pub(super) const IDLE_TIMEOUT: Range<usize> = 120..128;
    pub(super) const SEED: Range<usize> = 128..136;
    pub(super) const ENTRIES: Range<usize> = 136..140;
    pub(super) const BY: usize = 140;
    pub(super) const SHARING: Range<usize> = 166..168;
    pub(super) const METER: usize = 244;
    pub(super) const TABLE: usize = 248;
}

/// The meters of classes, a bit each.
#[cfg(feature = "ebpf")]
pub(super) fn meters(classes: &[Class]) -> u32 {
    classes.iter().fold(0, |meters, class| meters | 1 << class.bytes[place::METER])
}

/// Whether a class can go on from where another one is: with the same meter, over accounts of the same kind of which it
/// has room for as many.
#[cfg(feature = "ebpf")]
pub(super) fn does_the_same(other: &[u8], own: &[u8]) -> bool {
    let entries =
        |class: &[u8]| class[place::ENTRIES].first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    other.len() == CLASS
        && other[place::METER] == own[place::METER]
        && other[place::BY] == own[place::BY]
        && other[place::IPV6_MASK] == own[place::IPV6_MASK]
        && entries(other) <= entries(own)
        && (own[place::METER] != OF_CONNECTIONS || shares_alike(other, own))
}

/// The number of an aggregate's meter.
#[cfg(feature = "ebpf")]
const OF_CONNECTIONS: u8 = 10;

/// Whether the connections of two aggregates have the same shares.
#[cfg(feature = "ebpf")]
fn shares_alike(other: &[u8], own: &[u8]) -> bool {
    [place::DEPTH, place::SHARING].into_iter().all(|at| other[at.clone()] == own[at])
}

/// The numbers of the aggregates of two classes, where they have some.
#[cfg(feature = "ebpf")]
pub(super) fn aggregates_of(other: &[u8], own: &[u8]) -> Option<(usize, usize)> {
    let is_one = own[place::METER] == OF_CONNECTIONS;
    is_one.then(|| (other[place::TABLE].into(), own[place::TABLE].into()))
}

/// The tables of two classes, where they have some.
#[cfg(feature = "ebpf")]
pub(super) fn tables_of(other: &[u8], own: &[u8]) -> Option<(usize, usize)> {
    (own[place::BY] != 0).then(|| (other[place::TABLE].into(), own[place::TABLE].into()))
}

/// What a class's table is of.
#[cfg(feature = "ebpf")]
pub(super) struct Remembered {
    /// Nothing, of a class without a table.
    pub(super) by: Option<Aggregate>,
    pub(super) ipv6_prefix: u8,
    pub(super) idle_timeout: u64,
    /// Which of the tables, or of the aggregates, it is.
    pub(super) table: usize,
    /// Whether it is of the connections of an aggregate.
    pub(super) is_aggregate: bool,
}

#[cfg(feature = "ebpf")]
impl Remembered {
    /// From `struct class`.
    pub(super) fn parse(class: &[u8]) -> Remembered {
        let idle_timeout = class[place::IDLE_TIMEOUT].first_chunk();
        let by = match class[place::BY] {
            1 => Some(Aggregate::Flow),
            2 => Some(Aggregate::HostPair),
            3 => Some(Aggregate::Source),
            4 => Some(Aggregate::Destination),
            _ => None,
        };
        Remembered {
            by,
            ipv6_prefix: class[place::IPV6_MASK].iter().map(|byte| byte.count_ones() as u8).sum(),
            idle_timeout: idle_timeout.map_or(0, |bytes| u64::from_ne_bytes(*bytes)),
            table: class[place::TABLE].into(),
            is_aggregate: class[place::METER] == OF_CONNECTIONS,
        }
    }
}

/// Lets a class hash as another one does, whose table it takes over.
#[cfg(feature = "ebpf")]
pub(super) fn hash_as(other: &[u8], own: &mut [u8]) {
    own[place::SEED].copy_from_slice(&other[place::SEED]);
}

#[cfg(test)]
mod tests {
    use shortflow_elements::meter::{SrTcmParams, TokenBucketParams};

    use super::*;

    fn bucket(bytes: u64) -> EdgeClass {
        let params = TokenBucketParams::new(Rate::from_bits_per_sec(8_000), Bytes(bytes)).unwrap();
        let meter = EdgeMeter::Buckets { buckets: edge::Buckets::TokenBucket(params), per: None };
        EdgeClass { meter, code_points: None, police: None }
    }

    #[test]
    fn a_bucket_is_as_deep_as_64_bits_count_and_no_deeper() {
        let found = class(&bucket(MAX_DEPTH), 0, 0).unwrap();
        assert_eq!(found.bytes.len(), 256);
        assert_eq!(found.state.held, [MAX_DEPTH * 8_000_000_000, 0]);
        let deep = class(&bucket(MAX_DEPTH + 1), 0, 0).unwrap_err();
        assert_eq!(
            deep.to_string(),
            "a bucket must hold at most 2147483648 bytes; found 2147483649"
        );
        // One rate fills both buckets of RFC 2697, so both count.
        let half = Bytes(MAX_DEPTH / 2 + 1);
        let rate = Rate::from_bits_per_sec(1);
        let params = SrTcmParams::new(rate, half, half, ColorMode::Blind).unwrap();
        let meter = EdgeMeter::Buckets { buckets: edge::Buckets::SrTcm(params), per: None };
        let both = EdgeClass { meter, code_points: None, police: None };
        assert_eq!(
            class(&both, 0, 0).unwrap_err(),
            Unsupported::Deep { bytes: MAX_DEPTH + 2, max: MAX_DEPTH }
        );
    }
}
