//! Plans and counters as the program has them: the structures of programs/qdisc/plan.h in bytes.

use shortflow_elements::meter::POWERS;
use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, EcnMode, PrecedenceMap, RedParams, RedSettings, ShaperParams,
    ShaperSettings, Share, SimaBuffer, SimaQueueParams, Spacing, StfParams, StfSettings, WfqClass,
    WfqClassSettings, WfqParams, WfqSettings, WhenFull,
};
use shortflow_packet::Dscp;
use shortflow_units::{Framing, Length, LinkLayer};

use super::{
    BESIDE, MAX_BYTES, MAX_FLOWS, MAX_LEVELS, MAX_PLACES, MAX_QUEUES, MAX_RANKED, MAX_REDS,
    MAX_SIMA_BYTES, MAX_SIMAS, MAX_STFS, QdiscCount, QdiscCounts, QdiscQueue, QdiscSchedule,
    SMALLEST, Sizes, Unplannable,
};
use crate::packed::Packed;

/// Bytes of `struct plan`, `struct red_plan`, `struct stf_plan`, `struct sima_plan` and `struct machine`.
pub(super) const PLAN: usize = SHARED_ROOM + ROOM + MAX_QUEUES * SHARE;
const RED_PLAN: usize = 648;
const STF_PLAN: usize = 16;
const SIMA_PLAN: usize = 120;
/// Virtual time of weighted fair queueing: nanobits in parts of 2⁻³².
const VIRTUAL_BYTE: u128 = (PER_BYTE as u128) << 32;
/// Where the queues, and those of each kind, stand in `struct plan`; the size of such, and how the program knows those with flows.
const QUEUE_PLANS: usize = 592;
const RED_PLANS: usize = QUEUE_PLANS + MAX_QUEUES * QUEUE_PLAN;
const STF_PLANS: usize = RED_PLANS + MAX_REDS * RED_PLAN;
const SIMA_PLANS: usize = STF_PLANS + MAX_STFS * STF_PLAN;
const SHARED_ROOM: usize = SIMA_PLANS + MAX_SIMAS * SIMA_PLAN;
const QUEUE_PLAN: usize = 32;
const ROOM: usize = 16;
const SHARE: usize = 80;
const GATE_STF: usize = 2;
const GATES: usize = 4;
#[cfg(feature = "ebpf")]
pub(super) const MACHINE: usize = STFS + MAX_STFS * STF + WFQ;
/// Where lists of queues, lists beside them, and their counters stand in `struct machine`, and the sizes of such.
const LISTS: usize = 144 + MAX_QUEUES * 8;
const LISTS_BESIDE: usize = LISTS + MAX_QUEUES * LIST;
const COUNTS: usize = LISTS_BESIDE + 3 * LIST + MAX_REDS * MAX_LEVELS * 40 + MAX_SIMAS * SIMA;
const SIMA: usize = 32;
const LIST: usize = 24;
const COUNT: usize = 48;
/// Where its queues that know flows stand, the size of such, and where the number of those with packets stands in it.
const STFS: usize = COUNTS + (MAX_QUEUES + 3) * COUNT;
const STF: usize = 72;
const FLOWS_OF_STF: usize = 44;
#[cfg(feature = "ebpf")]
const WFQ: usize = 104 + (MAX_QUEUES + 1) * 32;
/// Where the numbers of all places, flows and entries of rankings stand in `struct machine`.
#[cfg(feature = "ebpf")]
pub(super) const PLACES: usize = 24;
#[cfg(feature = "ebpf")]
pub(super) const FLOWS: usize = 40;
#[cfg(feature = "ebpf")]
pub(super) const RANKED: usize = 56;
/// The rankings of a queue that knows flows.
const RANKINGS_OF_STF: usize = 2;

/// The sizes of both structures, and where the fields stand that are read and written here.
#[cfg(feature = "ebpf")]
pub(super) const LAYOUT: [usize; 8] = [PLAN, MACHINE, PLACES, FLOWS, RANKED, LISTS, COUNTS, STFS];

/// A probability of one.
const ONE: f64 = (1_u64 << 56) as f64;

/// Tokens of a byte.
const PER_BYTE: u64 = 8_000_000_000;

impl Packed {
    /// `struct factor` for a number from zero on.
    fn factor(self, value: f64) -> Packed {
        let (mantissa, power) = libm::frexp(value);
        let parts = libm::round(libm::ldexp(mantissa, 32)) as u64;
        self.long(parts).four((32 - power).unsigned_abs()).four(0)
    }

    /// `struct real` for a number above zero.
    fn real(self, value: f64) -> Packed {
        let (mantissa, power) = libm::frexp(value);
        let parts = libm::ldexp(mantissa, f64::MANTISSA_DIGITS as i32) as u64;
        let power = power - f64::MANTISSA_DIGITS as i32;
        self.long(parts).bytes(&power.to_ne_bytes()).four(0)
    }

    /// `struct wide`.
    fn wide(self, value: u128) -> Packed {
        self.long((value >> 64) as u64).long(value as u64)
    }

    fn padded(mut self, length: usize) -> Packed {
        debug_assert!(self.0.len() <= length, "it has room");
        self.0.resize(length, 0);
        self
    }
}

/// A plan before its rules.
pub(super) struct Layout<'p> {
    shaper: ShaperSettings,
    header: u64,
    schedule: &'p QdiscSchedule,
    classes: Vec<Class<'p>>,
    /// What it needs room for.
    pub(super) sizes: Sizes,
    /// What differs in more than numbers.
    pub(super) shape: String,
}

impl<'p> Layout<'p> {
    pub(super) fn new(
        shaper: &ShaperParams,
        header: u64,
        schedule: &'p QdiscSchedule,
    ) -> Result<Layout<'p>, Unplannable> {
        let (settings, classes) = (shaper.settings(), classes(schedule));
        at_most("queues", schedule.queues() as u64, MAX_QUEUES as u64)?;
        at_most("bytes in a burst", settings.burst.0, MAX_BYTES)?;
        at_most("queues with flows", stfs(&classes).count() as u64, MAX_STFS as u64)?;
        at_most("queues with RED", reds(&classes).count() as u64, MAX_REDS as u64)?;
        for red in reds(&classes) {
            at_most("levels of RED", red.curves().len() as u64, MAX_LEVELS as u64)?;
            if red.settings().ecn != EcnMode::Drop {
                return Err(Unplannable::Ecn);
            }
        }
        at_most("queues with SIMA", simas(&classes).count() as u64, MAX_SIMAS as u64)?;
        for buffer in simas(&classes).flat_map(buffers) {
            at_most("bytes in a buffer of SIMA", buffer.limit().0, MAX_SIMA_BYTES)?;
        }
        let limits = match schedule {
            QdiscSchedule::Shared { limit, .. } => vec![*limit],
            QdiscSchedule::Fair(params) => {
                let own = params.classes().iter().filter_map(WfqClass::limit);
                own.chain(params.shared_limit()).collect()
            }
            _ => classes.iter().flat_map(|class| class.queue.limits()).collect(),
        };
        let mut places = BESIDE;
        for limit in limits {
            places += match limit {
                Length::Packets(packets) => packets,
                Length::Bytes(bytes) => {
                    at_most("bytes in a queue", bytes.0, MAX_BYTES)?;
                    bytes.0 / SMALLEST
                }
            };
        }
        // Twice, since those of the plan before may all still wait.
        at_most("waiting packets", 2 * places, MAX_PLACES)?;
        let shape = match schedule {
            QdiscSchedule::Strict(_) => "strict".to_owned(),
            QdiscSchedule::Shared { .. } => "shared".to_owned(),
            QdiscSchedule::Weighted(_) => "weighted".to_owned(),
            QdiscSchedule::Deficit(_) => "deficit".to_owned(),
            QdiscSchedule::Fair(params) => fair_shape(params),
        };
        let each = classes.iter().map(|class| class.queue.shape()).collect::<Vec<_>>();
        let shape = format!("{shape} {} {}", schedule.queues(), each.join(" "));
        let (flows, ranked) = match schedule {
            QdiscSchedule::Fair(params) => fair_flows(params, 2 * places),
            _ => {
                let flows = stfs(&classes).map(|params| params.max_flows() as u64).sum();
                // A flow with a packet has a place in a ranking.
                (flows, 2 * places * rankings(&classes))
            }
        };
        at_most("flows", flows, MAX_FLOWS)?;
        at_most("ranked flows", ranked, MAX_RANKED)?;
        let sizes = Sizes {
            places: (2 * places) as u32,
            flows: (flows as u32).max(1),
            ranked: (ranked as u32).max(1),
        };
        Ok(Layout { shaper: settings, header, schedule, classes, sizes, shape })
    }

    /// `struct plan`.
    pub(super) fn bytes(&self, asks: u32, otherwise: usize, shape: u64) -> Vec<u8> {
        let ShaperSettings { rate, burst, link_layer } = self.shaper;
        let (overhead, mpu, framing) = match link_layer {
            LinkLayer::RAW => (0, 0, Framing::Plain),
            layer => {
                (i64::from(layer.overhead()) - self.header as i64, layer.mpu().0, layer.framing())
            }
        };
        let framing = match framing {
            Framing::Plain => 0,
            Framing::Atm => 1,
            Framing::Ptm => 2,
        };
        let (scheduler, shared) = match self.schedule {
            QdiscSchedule::Strict(_) => (0, None),
            QdiscSchedule::Shared { limit, .. } => (1, Some(*limit)),
            QdiscSchedule::Weighted(_) => (2, None),
            QdiscSchedule::Deficit(_) => (3, None),
            QdiscSchedule::Fair(_) => (4, None),
        };
        let (limit, in_bytes) = shared.map_or((0, 0), numbers);
        let mut packed = Packed::default()
            .long(rate.bits_per_sec())
            .long(burst.0 * PER_BYTE)
            .bytes(&(overhead as i32).to_ne_bytes())
            .four(mpu as u32)
            .four(framing)
            .four(self.header as u32)
            .four(scheduler)
            .four(self.schedule.queues() as u32)
            .long(limit)
            .four(in_bytes)
            .four(self.schedule.first_queue(otherwise) as u32)
            .four(asks)
            .four(u32::from(self.header > 0))
            .long(shape)
            .four(match self.schedule {
                QdiscSchedule::Fair(params) => fair_rankings(params),
                _ => rankings(&self.classes),
            } as u32)
            .four(0);
        packed = POWERS.into_iter().fold(packed, Packed::long);
        // How many there are so far of each kind.
        let (mut of_gate, mut first) = ([0; GATES], 0);
        for Class { weight, queue } in &self.classes {
            let gate = queue.gate();
            for (buffer, limit) in queue.limits().into_iter().enumerate() {
                let (limit, in_bytes) = numbers(limit);
                let turn = if buffer == 0 { *weight } else { 0 };
                packed = packed.long(limit).four(in_bytes).four(gate as u32).four(of_gate[gate]);
                packed = packed.four(turn).four(first).four(0);
            }
            of_gate[gate] += 1;
            first += queue.queues() as u32;
        }
        packed = packed.padded(RED_PLANS);
        packed = reds(&self.classes).fold(packed, |packed, red| packed.bytes(&red_plan(red)));
        packed = packed.padded(STF_PLANS);
        for stf in stfs(&self.classes) {
            let StfSettings { limit: _, max_flows, idle_timeout } = stf.settings();
            packed = packed.long(idle_timeout.nanos()).four(max_flows as u32).four(0);
        }
        packed = packed.padded(SIMA_PLANS);
        packed = simas(&self.classes).fold(packed, sima_plan).padded(SHARED_ROOM);
        match self.schedule {
            QdiscSchedule::Fair(params) => fair(packed, params).padded(PLAN).0,
            _ => packed.padded(PLAN).0,
        }
    }
}

/// A class: what it may send in its turn, and its queue.
struct Class<'p> {
    weight: u32,
    queue: &'p QdiscQueue,
}

impl QdiscQueue {
    fn limits(&self) -> Vec<Length> {
        match self {
            QdiscQueue::Fifo(params) => vec![params.limit()],
            QdiscQueue::Red(params) => vec![params.settings().limit],
            QdiscQueue::Stf(params) => vec![params.limit()],
            QdiscQueue::Sima(params) => {
                buffers(params).map(|buffer| Length::Bytes(buffer.limit())).into()
            }
        }
    }

    /// How the program knows its kind.
    fn gate(&self) -> usize {
        match self {
            QdiscQueue::Fifo(_) => 0,
            QdiscQueue::Red(_) => 1,
            QdiscQueue::Stf(_) => GATE_STF,
            QdiscQueue::Sima(_) => 3,
        }
    }

    fn shape(&self) -> String {
        match self {
            QdiscQueue::Fifo(_) => "fifo".to_owned(),
            QdiscQueue::Red(params) => {
                let unit = numbers(params.curves()[0].max_threshold()).1;
                format!("red {} {:?} {unit}", params.curves().len(), params.averages())
            }
            QdiscQueue::Stf(_) => "stf".to_owned(),
            QdiscQueue::Sima(_) => "sima".to_owned(),
        }
    }
}

/// The classes whose queues have limits of their own.
fn classes(schedule: &QdiscSchedule) -> Vec<Class<'_>> {
    match schedule {
        QdiscSchedule::Strict(queues) => {
            queues.iter().map(|queue| Class { weight: 0, queue }).collect()
        }
        QdiscSchedule::Shared { .. } | QdiscSchedule::Fair(_) => Vec::new(),
        QdiscSchedule::Weighted(queues) => {
            queues.iter().map(|(weight, queue)| Class { weight: *weight, queue }).collect()
        }
        // A quantum is at most 1 GB.
        QdiscSchedule::Deficit(queues) => queues
            .iter()
            .map(|(quantum, queue)| Class { weight: quantum.0 as u32, queue })
            .collect(),
    }
}

fn reds<'a, 'p>(classes: &'a [Class<'p>]) -> impl Iterator<Item = &'p RedParams> + use<'a, 'p> {
    classes.iter().filter_map(|class| match class.queue {
        QdiscQueue::Red(params) => Some(params),
        _ => None,
    })
}

fn stfs<'a, 'p>(classes: &'a [Class<'p>]) -> impl Iterator<Item = &'p StfParams> + use<'a, 'p> {
    classes.iter().filter_map(|class| match class.queue {
        QdiscQueue::Stf(params) => Some(params),
        _ => None,
    })
}

fn simas<'a, 'p>(
    classes: &'a [Class<'p>],
) -> impl Iterator<Item = &'p SimaQueueParams> + use<'a, 'p> {
    classes.iter().filter_map(|class| match class.queue {
        QdiscQueue::Sima(params) => Some(&**params),
        _ => None,
    })
}

/// The buffers of SIMA, in the order in which they are served.
fn buffers(params: &SimaQueueParams) -> [&SimaBuffer; 2] {
    [params.real_time(), params.non_real_time()]
}

/// All rankings of flows.
fn rankings(classes: &[Class<'_>]) -> u64 {
    (RANKINGS_OF_STF * stfs(classes).count()) as u64
}

fn at_most(what: &'static str, found: u64, max: u64) -> Result<(), Unplannable> {
    if found > max { Err(Unplannable::TooMany { what, found, max }) } else { Ok(()) }
}

/// A length, and whether it is in bytes.
fn numbers(length: Length) -> (u64, u32) {
    match length {
        Length::Packets(packets) => (packets, 0),
        Length::Bytes(bytes) => (bytes.0, 1),
    }
}

/// `struct red_plan`.
fn red_plan(params: &RedParams) -> Vec<u8> {
    let RedSettings { weight, idle_packet, rate, mean_packet, spacing, spare_below, .. } =
        params.settings();
    let packet_time = rate.time_for(*idle_packet).nanos().max(1);
    let averages = match params.averages() {
        Averages::Shared => 0,
        Averages::PerLevel => 1,
        Averages::Coupled => 2,
    };
    let spacing = match spacing {
        Spacing::Uniform => 0,
        Spacing::Wait => 1,
        Spacing::Unclamped => 2,
        Spacing::Geometric => 3,
    };
    let (decay_parts, decay_shift) = decay(*weight, packet_time);
    let levels: Vec<u8> =
        (0..64).filter_map(Dscp::new).map(|dscp| params.level_of(dscp) as u8).collect();
    let mut packed = Packed::default()
        .factor(*weight)
        .long(decay_parts)
        .bytes(&decay_shift.to_ne_bytes())
        .four(params.curves().len() as u32)
        .long(packet_time)
        .long(*spare_below)
        .long(mean_packet.map_or(0, |mean| mean.0))
        .four(numbers(params.curves()[0].max_threshold()).1)
        .four(averages)
        .four(spacing)
        .four(0)
        .bytes(&levels);
    for each in params.curves() {
        packed = curve(packed, each);
    }
    packed.padded(RED_PLAN).0
}

/// `struct sima_plan`.
fn sima_plan(packed: Packed, params: &SimaQueueParams) -> Packed {
    let map = match params.map() {
        PrecedenceMap::CeilingOfGreater => 0,
        PrecedenceMap::FloorOfGreater => 1,
        PrecedenceMap::CeilingOfMean => 2,
        PrecedenceMap::FloorOfMean => 3,
    };
    let buffers = buffers(params);
    // Other code points are non-real-time traffic of precedence 0.
    let mut place_of = [8; 64];
    for (at, buffer) in (0..).zip(buffers) {
        for (precedence, dscp) in (0..).zip(buffer.code_points()) {
            place_of[usize::from(dscp.value())] = 8 * at + precedence;
        }
    }
    let packed = buffers.iter().fold(packed, |packed, buffer| packed.real(buffer.weight()));
    let packed = buffers.iter().fold(packed, |packed, buffer| packed.long(buffer.limit().0));
    packed.four(map).four(0).bytes(&place_of)
}

/// Whether the flow that holds most loses packets where this class's limit, or the shared one, is reached.
fn pushes_out(params: &WfqParams, class: Option<&WfqClass>) -> bool {
    let has_flows = |class: &WfqClass| class.share() != Share::Class;
    let has_several = match class {
        Some(class) => has_flows(class),
        None => {
            let sharing = || params.classes().iter().filter(|class| class.limit().is_none());
            sharing().count() > 1 || sharing().any(has_flows)
        }
    };
    has_several && params.when_full() == WhenFull::PushOut
}

/// The rankings of weighted fair queueing: two of all flows, and one for each limit up to the last one at which flows lose packets.
fn fair_rankings(params: &WfqParams) -> u64 {
    let of_class = |class: &WfqClass| class.limit().is_some() && pushes_out(params, Some(class));
    match params.classes().iter().rposition(of_class) {
        Some(last) => 4 + last as u64,
        None => 2 + u64::from(pushes_out(params, None)),
    }
}

/// How many flows may be known, and the entries of all rankings, where so many packets may wait. A flow is known a little longer
/// than its packets wait.
fn fair_flows(params: &WfqParams, places: u64) -> (u64, u64) {
    let classes = params.classes();
    let has_flows = classes.iter().any(|class| class.share() != Share::Class);
    let flows = classes.len() as u64 + if has_flows { places } else { 0 };
    (flows, flows * fair_rankings(params))
}

/// What must be alike for packets to stay: virtual times are in the units of weights.
fn fair_shape(params: &WfqParams) -> String {
    let class = |class: &WfqClass| {
        let WfqClassSettings { weight, share, limit } = class.settings();
        let limit = limit.map(|limit| numbers(limit).1);
        format!("{} {} {limit:?}", weight.value(), share != Share::Class)
    };
    let classes = params.classes().iter().map(class).collect::<Vec<_>>();
    let shared = params.shared_limit().map(|limit| numbers(limit).1);
    format!("fair {} {shared:?} {:?}", classes.join(", "), params.when_full())
}

/// `struct room` of the classes that share a limit, and a `struct share` for each class.
fn fair(packed: Packed, params: &WfqParams) -> Packed {
    // Of all settings, the packets of classes are in the rules.
    let WfqSettings { classes, classifier: _, otherwise: _, shared_limit, when_full: _ } =
        params.settings();
    let room = |packed: Packed, limit: Option<Length>, class| {
        let (most, in_bytes) = limit.map_or((0, 0), numbers);
        packed.long(most).four(in_bytes).four(pushes_out(params, class).into())
    };
    classes.iter().fold(room(packed, shared_limit, None), |packed, class| {
        let WfqClassSettings { weight, share, limit } = class.settings();
        let weight = weight.value();
        let (has_flows, flow_limit) = match share {
            Share::Class => (false, None),
            Share::Flow { limit } => (true, limit),
        };
        let (flow_limit, flow_in_bytes) = flow_limit.map_or((0, 0), numbers);
        let packed = packed
            .wide(VIRTUAL_BYTE / u128::from(weight))
            .wide((1 << 64) / u128::from(weight))
            .long(weight)
            .long(flow_limit)
            .four(flow_in_bytes)
            .four(has_flows.into())
            .four(limit.is_none().into())
            .four(0);
        room(packed, limit, Some(class))
    })
}

/// `struct curve`, whose slopes lead from parts of 2⁻³² to parts of 2⁻⁵⁶.
fn curve(packed: Packed, curve: &DropCurve) -> Packed {
    let [min, max] = [curve.min_threshold(), curve.max_threshold()].map(|length| numbers(length).0);
    let probability = curve.max_probability();
    let forced_from = match curve.above_max() {
        AboveMax::Forced => max,
        AboveMax::Gentle => 2 * max,
    };
    packed
        .long(min << 32)
        .long(max << 32)
        .long(forced_from << 32)
        .long((probability * ONE) as u64)
        .factor(probability / (max - min) as f64 * f64::from(1 << 24))
        .factor((1.0 - probability) / max as f64 * f64::from(1 << 24))
}

/// How an average falls in idle time: halvings of a nanosecond, as `parts`·2^−`shift` parts of 2⁻⁴⁴.
fn decay(weight: f64, packet_time: u64) -> (u64, i32) {
    let halvings = -libm::log1p(-weight) / core::f64::consts::LN_2 / packet_time as f64;
    if !halvings.is_finite() {
        // With the weight 1 nothing is left: all that a halving can count, each nanosecond.
        return (u32::MAX.into(), -31);
    }
    let (mantissa, power) = libm::frexp(halvings);
    (libm::round(libm::ldexp(mantissa, 32)) as u64, 32 - 44 - power)
}

/// The counters in `struct machine`, whose queues are those of a `struct plan`.
#[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nobody reads them"))]
pub(super) fn counts(machine: &[u8], plan: &[u8], queues: usize) -> QdiscCounts {
    let long_of = |bytes: &[u8], at: usize| {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    let long = |at: usize| long_of(machine, at);
    let low = |word: u64| word & u64::from(u32::MAX);
    let flows = |queue: usize| {
        // After the limit and its unit, the gate stands before the number among its like.
        let at = QUEUE_PLANS + QUEUE_PLAN * queue;
        let (gate, of_gate) = (long_of(plan, at + 8) >> 32, low(long_of(plan, at + 16)));
        (gate == GATE_STF as u64).then(|| low(long(STFS + STF * of_gate as usize + FLOWS_OF_STF)))
    };
    let count = |list: usize, count: usize| QdiscCount {
        packets: long(count),
        bytes: long(count + 8),
        overlimit: long(count + 16),
        early: long(count + 24),
        forced: long(count + 32),
        pushed_out: long(count + 40),
        // After the bytes, the head and the tail stand before the packets.
        waiting: low(long(list + 16)),
        waiting_bytes: long(list),
        flows: None,
    };
    let queue = |number: usize| QdiscCount {
        flows: flows(number),
        ..count(LISTS + LIST * number, COUNTS + COUNT * number)
    };
    let beside =
        |number: usize| count(LISTS_BESIDE + LIST * number, COUNTS + COUNT * (MAX_QUEUES + number));
    QdiscCounts {
        queues: (0..queues.min(MAX_QUEUES)).map(queue).collect(),
        beside: [0, 1, 2].map(beside),
    }
}
