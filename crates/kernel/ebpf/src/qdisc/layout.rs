//! Plans and counters as the program has them: the structures of programs/qdisc/plan.h in bytes.

use shortflow_elements::meter::POWERS;
use shortflow_elements::queue::{
    EcnMode, FlowQueueSettings, RedParams, ShaperParams, ShaperSettings, Share, SimaQueueParams,
    StfParams, StfSettings, WfqClass, WfqClassSettings, WfqParams, WfqSettings, WhenFull,
};
use shortflow_units::{Framing, Length, LinkLayer};

use super::gates::{Hosts, RED_PLAN, buffers, fq_plan, numbers, red_plan, sima_plan};
use super::{
    BESIDE, MAX_BYTES, MAX_FLOW_QUEUES, MAX_FLOWS, MAX_FQS, MAX_INTERVAL, MAX_LEVELS, MAX_PLACES,
    MAX_QUEUES, MAX_RANKED, MAX_REDS, MAX_SIMA_BYTES, MAX_SIMAS, MAX_STFS, QdiscCount, QdiscCounts,
    QdiscQueue, QdiscSchedule, SMALLEST, Sizes, Unplannable,
};
use crate::packed::Packed;

/// Bytes of `struct plan`, `struct stf_plan` and `struct sima_plan`.
pub(super) const PLAN: usize = FQ_PLANS + MAX_FQS * FQ_PLAN;
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
const FQ_PLANS: usize = SHARED_ROOM + ROOM + MAX_QUEUES * SHARE;
const QUEUE_PLAN: usize = 32;
const ROOM: usize = 16;
const SHARE: usize = 80;
const FQ_PLAN: usize = 64;
const GATE_STF: usize = 2;
const GATE_FQ: usize = 4;
const GATES: usize = 5;
/// Bytes of `struct machine`.
#[cfg(feature = "ebpf")]
pub(super) const MACHINE: usize = FQS + MAX_FQS * FQ;
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
/// Bytes of `struct wfq`.
const WFQ: usize = 104 + (MAX_QUEUES + 1) * 32;
/// The same for its queues that serve flows in turn.
const FQS: usize = STFS + MAX_STFS * STF + WFQ;
const FQ: usize = 64;
const FLOWS_OF_FQ: usize = 56;
/// Where the numbers of all places, flows, entries of rankings and queues of flows stand in `struct machine`.
#[cfg(feature = "ebpf")]
pub(super) const PLACES: usize = 24;
#[cfg(feature = "ebpf")]
pub(super) const FLOWS: usize = 40;
#[cfg(feature = "ebpf")]
pub(super) const RANKED: usize = 56;
#[cfg(feature = "ebpf")]
pub(super) const FLOW_QUEUES: usize = 652;
/// The rankings of a queue that knows flows.
const RANKINGS_OF_STF: usize = 2;

/// The sizes of both structures, and where the fields stand that are read and written here.
#[cfg(feature = "ebpf")]
pub(super) const LAYOUT: [usize; 9] =
    [PLAN, MACHINE, PLACES, FLOWS, RANKED, LISTS, COUNTS, STFS, FLOW_QUEUES];

/// Queues of flows stand in groups of so many, as many as a hash allows.
const WAYS: usize = 8;

/// Tokens of a byte.
const PER_BYTE: u64 = 8_000_000_000;

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
        let flow_queues = check_queues(&classes)?;
        let limits = match schedule {
            QdiscSchedule::Shared { limit, .. } => vec![*limit],
            QdiscSchedule::Fair(params) => {
                let own = params.classes().iter().filter_map(WfqClass::limit);
                own.chain(params.shared_limit()).collect()
            }
            _ => classes.iter().flat_map(|class| class.queue.limits()).collect(),
        };
        // Flows in turn exceed the limit by a packet, until one is lost.
        let mut places = BESIDE + fqs(&classes).count() as u64;
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
                let of_stfs = stfs(&classes).map(|params| params.max_flows());
                // A queue of flows has two hosts.
                let of_fqs = fqs(&classes).filter(|(_, hosts)| hosts.is_some());
                let of_fqs = of_fqs.map(|(settings, _)| 2 * settings.queues);
                let flows = of_stfs.chain(of_fqs).sum::<usize>() as u64;
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
            flow_queues: (flow_queues as u32).max(1),
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
            .four(self.schedule.classes() as u32);
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
        self.kinds(packed.padded(RED_PLANS))
    }

    /// Its rest: the settings of queues of each kind.
    fn kinds(&self, mut packed: Packed) -> Vec<u8> {
        packed = reds(&self.classes).fold(packed, |packed, red| packed.bytes(&red_plan(red)));
        packed = packed.padded(STF_PLANS);
        for stf in stfs(&self.classes) {
            let StfSettings { limit: _, max_flows, idle_timeout } = stf.settings();
            packed = packed.long(idle_timeout.nanos()).four(max_flows as u32).four(0);
        }
        packed = packed.padded(SIMA_PLANS);
        packed = simas(&self.classes).fold(packed, sima_plan).padded(SHARED_ROOM);
        if let QdiscSchedule::Fair(params) = self.schedule {
            packed = fair(packed, params);
        }
        packed = packed.padded(FQ_PLANS);
        let mut first = 0;
        for (settings, hosts) in fqs(&self.classes) {
            packed = fq_plan(packed, settings, hosts, first);
            first += in_groups(settings.queues);
        }
        packed.padded(PLAN).0
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
            QdiscQueue::FqCodel(params) => vec![params.settings().limit],
            QdiscQueue::HostFair(params) => vec![params.settings().limit],
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
            QdiscQueue::FqCodel(_) | QdiscQueue::HostFair(_) => GATE_FQ,
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
            QdiscQueue::FqCodel(params) => format!("fq-codel {}", params.settings().queues),
            QdiscQueue::HostFair(params) => {
                let hosts = format!("{:?} {}", params.fairness(), params.ipv6_prefix());
                format!("host-fair {} {hosts}", params.settings().queues)
            }
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

/// Flows in turn, and which hosts share the link fairly.
fn fqs<'a, 'p>(
    classes: &'a [Class<'p>],
) -> impl Iterator<Item = (&'p FlowQueueSettings, Option<Hosts>)> + use<'a, 'p> {
    classes.iter().filter_map(|class| match class.queue {
        QdiscQueue::FqCodel(params) => Some((params.settings(), None)),
        QdiscQueue::HostFair(params) => {
            Some((params.settings(), Some((params.fairness(), params.ipv6_prefix()))))
        }
        _ => None,
    })
}

fn in_groups(queues: usize) -> usize {
    queues.next_multiple_of(WAYS)
}

/// Checks the queues of all classes; the number of queues of flows.
fn check_queues(classes: &[Class<'_>]) -> Result<usize, Unplannable> {
    at_most("queues with flows", stfs(classes).count() as u64, MAX_STFS as u64)?;
    at_most("queues with RED", reds(classes).count() as u64, MAX_REDS as u64)?;
    for red in reds(classes) {
        at_most("levels of RED", red.curves().len() as u64, MAX_LEVELS as u64)?;
        if red.settings().ecn != EcnMode::Drop {
            return Err(Unplannable::Ecn);
        }
    }
    at_most("queues with SIMA", simas(classes).count() as u64, MAX_SIMAS as u64)?;
    for buffer in simas(classes).flat_map(buffers) {
        at_most("bytes in a buffer of SIMA", buffer.limit().0, MAX_SIMA_BYTES)?;
    }
    at_most("queues with flows in turn", fqs(classes).count() as u64, MAX_FQS as u64)?;
    for (settings, _) in fqs(classes) {
        if settings.ecn.marks() {
            return Err(Unplannable::Ecn);
        }
        let interval = settings.codel.interval().nanos();
        at_most("nanoseconds in CoDel's interval", interval, MAX_INTERVAL)?;
    }
    let flow_queues: usize = fqs(classes).map(|(settings, _)| in_groups(settings.queues)).sum();
    at_most("queues of flows", flow_queues as u64, MAX_FLOW_QUEUES as u64)?;
    Ok(flow_queues)
}

/// All rankings of flows.
fn rankings(classes: &[Class<'_>]) -> u64 {
    (RANKINGS_OF_STF * stfs(classes).count()) as u64
}

fn at_most(what: &'static str, found: u64, max: u64) -> Result<(), Unplannable> {
    if found > max { Err(Unplannable::TooMany { what, found, max }) } else { Ok(()) }
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
        match gate as usize {
            GATE_STF => Some(low(long(STFS + STF * of_gate as usize + FLOWS_OF_STF))),
            GATE_FQ => Some(low(long(FQS + FQ * of_gate as usize + FLOWS_OF_FQ))),
            _ => None,
        }
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
