//! What holds for every queue, whatever it is offered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use shortflow_elements::classifier::{Classifier, DscpSet, DscpTable, MultiField, SimaClass};
use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, EcnMode, Fifo, FifoParams, Red, RedParams, RedSettings, Share,
    SharedPriority, SharedPriorityParams, Spacing, Stf, StfParams, Weight, Wfq, WfqClass,
    WfqParams,
};
use shortflow_elements::queue::{AggregateShaper, AggregateShaperParams};
use shortflow_elements::queue::{CoDelParams, Fairness, FlowQueueSettings, FqCodel};
use shortflow_elements::queue::{FqCodelParams, HostFair, HostFairParams, Shaper, ShaperParams};
use shortflow_elements::queue::{Pie, PieParams, PieSettings};
use shortflow_elements::queue::{PrecedenceMap, Sima, SimaBuffer, SimaQueueParams};
use shortflow_elements::scheduler::{
    Customer, CustomerSide, CustomerSite, CustomerTree, CustomerTreeParams, CustomerTreeSettings,
};
use shortflow_elements::scheduler::{
    DeficitRoundRobin, FairShares, RateRange, SourceLimits, StrictPriority,
};
use shortflow_elements::scheduler::{SourceScheduler, WeightedRoundRobin};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits, Depths, Sharing};
use shortflow_elements::{Backlog, DropReason, Drops, QueueDiscipline, Queued, Verdict};
use shortflow_packet::{Address, Dscp, Ecn, Packet, Prefix};
use shortflow_units::{Bytes, Duration, Instant, Length, Probability, Rng};

use crate::bench::{mbit, number_of, p, rng};
use crate::source_scheduler::scheduler;
use crate::strict_priority::Paced;

#[derive(Debug, Clone, Copy)]
enum Operation {
    Enqueue {
        flow: u16,
        size: u32,
        ecn: Ecn,
    },
    Dequeue,
    /// A packet comes to an idle line.
    Pass {
        flow: u16,
        size: u32,
        ecn: Ecn,
    },
    Wait(Duration),
    WaitUntilReady,
    /// What was given has left the line.
    Depart,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::*;
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let packet = (0..6u16, 40..1500u32, ecn);
    let operation = prop_oneof![
        6 => packet.clone().prop_map(|(flow, size, ecn)| Enqueue { flow, size, ecn }),
        4 => Just(Dequeue),
        2 => packet.prop_map(|(flow, size, ecn)| Pass { flow, size, ecn }),
        1 => (0..3_000_000u64).prop_map(|nanos| Wait(Duration::from_nanos(nanos))),
        1 => Just(WaitUntilReady),
        1 => Just(Depart),
    ];
    prop::collection::vec(operation, 0..300)
}

/// What a queue did, in order.
#[derive(Debug, PartialEq)]
enum Event {
    Gave(Packet),
    Dropped(Packet, DropReason),
    Average(Option<f64>),
}

/// How a packet that comes to an idle line gets there.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// By `pass`.
    Short,
    /// By `enqueue`, then `dequeue`.
    Long,
}

/// A queue beside plain books of what it should hold.
struct Audit {
    queue: Box<dyn QueueDiscipline>,
    way: Way,
    limit: Option<Length>,
    now: Instant,
    drops: Drops,
    /// Packets that arrived and have not come out, with what must not change in them.
    held: BTreeMap<u32, (u16, u32)>,
    out: BTreeSet<u32>,
    last_given: BTreeMap<u16, u32>,
    trace: Vec<Event>,
}

impl Audit {
    fn perform(&mut self, number: u32, operation: Operation) {
        match operation {
            Operation::Enqueue { flow, size, ecn } => {
                let packet = self.packet(number, flow, size, ecn);
                self.queue.enqueue(self.now, packet, &mut self.drops);
            }
            Operation::Pass { flow, size, ecn } => {
                let mut packet = self.packet(number, flow, size, ecn);
                let way = (self.way == Way::Short).then(|| self.queue.pass(self.now, &packet));
                match way.flatten() {
                    Some(Verdict::Drop(reason)) => self.drops.push(packet, reason),
                    Some(verdict) => {
                        if verdict == Verdict::Mark {
                            packet.ecn = Ecn::Ce;
                        }
                        self.given(Some(Queued { packet, since: self.now }));
                    }
                    None => {
                        self.queue.enqueue(self.now, packet, &mut self.drops);
                        self.dequeue();
                    }
                }
            }
            Operation::Dequeue => self.dequeue(),
            Operation::Wait(time) => self.now += time,
            Operation::Depart => self.queue.departed(self.now),
            Operation::WaitUntilReady => {
                if let Some(ready_at) = self.queue.ready_at() {
                    self.now = self.now.max(ready_at);
                    let before = self.queue.backlog();
                    self.dequeue();
                    assert_ne!(self.queue.backlog(), before, "at ready_at nothing left");
                }
            }
        }
        self.balance();
    }

    /// A packet that arrives.
    fn packet(&mut self, number: u32, flow: u16, size: u32, ecn: Ecn) -> Packet {
        self.held.insert(number, (flow, size));
        // A code point per flow, so that all packets of a flow are in one class.
        let dscp = [Dscp::AF11, Dscp::AF12, Dscp::AF13][usize::from(flow % 3)];
        p(number).of_flow(flow).sized(size).marked(dscp).with(ecn).packet()
    }

    fn dequeue(&mut self) {
        let is_ready = self.queue.ready_at().is_some_and(|at| at <= self.now);
        let given = self.queue.dequeue(self.now, &mut self.drops);
        assert!(is_ready || given.is_none(), "a packet left before ready_at");
        self.given(given);
    }

    fn given(&mut self, given: Option<Queued>) {
        let Some(Queued { packet, since }) = given else { return };
        assert!(since <= self.now);
        let (number, flow) = (number_of(&packet), packet.key.src_port);
        let before = self.last_given.insert(flow, number);
        assert!(before.is_none_or(|before| before < number), "order within flow {flow}");
        self.leaves(&packet);
        self.trace.push(Event::Gave(packet));
    }

    fn leaves(&mut self, packet: &Packet) {
        let known = self.held.remove(&number_of(packet));
        assert_eq!(known, Some((packet.key.src_port, packet.size)), "an unknown packet came out");
        assert!(self.out.insert(number_of(packet)), "a packet came out twice");
    }

    fn balance(&mut self) {
        for dropped in self.drops.drain().collect::<Vec<_>>() {
            self.leaves(&dropped.packet);
            self.trace.push(Event::Dropped(dropped.packet, dropped.reason));
        }
        self.trace.push(Event::Average(self.queue.average()));

        let bytes = self.held.values().map(|&(_, size)| u64::from(size)).sum();
        let held = Backlog { packets: self.held.len() as u64, bytes: Bytes(bytes) };
        assert_eq!(self.queue.backlog(), held, "arrived = left + dropped + held");
        match self.limit {
            Some(Length::Packets(limit)) => assert!(held.packets <= limit),
            Some(Length::Bytes(limit)) => assert!(held.bytes <= limit),
            None => {}
        }
        assert_eq!(self.queue.ready_at().is_none(), self.held.is_empty());
    }
}

fn audit(
    queue: Box<dyn QueueDiscipline>,
    way: Way,
    limit: Option<Length>,
    operations: &[Operation],
) -> Vec<Event> {
    let mut audit = Audit {
        queue,
        way,
        limit,
        now: Instant::START,
        drops: Drops::default(),
        held: BTreeMap::new(),
        out: BTreeSet::new(),
        last_given: BTreeMap::new(),
        trace: Vec::new(),
    };
    for (number, &operation) in operations.iter().enumerate() {
        audit.perform(number as u32, operation);
    }
    audit.trace
}

/// Checks the laws for each queue: conservation of packets and bytes, nothing twice, order within
/// a flow, the limit, `ready_at`, and the same trace from the same seed, whichever way packets take that
/// come to an idle line.
macro_rules! queue_laws {
    ($($name:ident: $limit:expr => $queue:expr;)*) => {
        /// One of each, with its name.
        pub(crate) fn all() -> Vec<(&'static str, Box<dyn QueueDiscipline>)> {
            vec![$((stringify!($name), Box::new($queue))),*]
        }

        /// The types of the queues, without their modules.
        fn audited() -> BTreeSet<&'static str> {
            let types = [$(std::any::type_name_of_val(&$queue)),*];
            types.into_iter().map(|path| path.rsplit("::").next().unwrap()).collect()
        }

        proptest! {
            $(#[test]
            fn $name(operations in operations()) {
                let (limit, make): (_, fn() -> Box<dyn QueueDiscipline>) = ($limit, || Box::new($queue));
                let trace = audit(make(), Way::Long, limit, &operations);
                prop_assert_eq!(trace, audit(make(), Way::Short, limit, &operations));
            })*
        }
    };
}

const PACKETS: Option<Length> = Some(Length::Packets(12));
const BYTES: Option<Length> = Some(Length::Bytes(Bytes(9_000)));

queue_laws! {
    fifo_in_packets: PACKETS => fifo(Length::Packets(12));
    fifo_in_bytes: BYTES => fifo(Length::Bytes(Bytes(9_000)));
    red_in_packets: PACKETS => red(PACKETS, packets, Averages::Shared);
    red_in_bytes: BYTES => red(BYTES, bytes, Averages::Shared);
    red_in_packets_with_a_limit_in_bytes: BYTES => red(BYTES, packets, Averages::Shared);
    red_with_an_average_per_level: PACKETS => red(PACKETS, packets, Averages::PerLevel);
    red_with_coupled_averages: BYTES => red(BYTES, bytes, Averages::Coupled);
    a_queue_that_paces: PACKETS => paced();
    strict_priority_over_three_kinds_of_queue: None => strict_priority();
    shared_priority_in_packets: PACKETS => shared_priority(PACKETS);
    shared_priority_in_bytes: BYTES => shared_priority(BYTES);
    stf_in_packets: PACKETS => stf(PACKETS, 64);
    stf_in_bytes: BYTES => stf(BYTES, 64);
    stf_that_remembers_few_flows: PACKETS => stf(PACKETS, 4);
    wfq_in_packets: PACKETS => wfq(PACKETS, Share::Class);
    wfq_in_bytes: BYTES => wfq(BYTES, Share::Class);
    wfq_with_a_weight_per_flow: PACKETS => wfq(PACKETS, Share::Flow { limit: None });
    wfq_with_a_limit_per_flow: BYTES => wfq(BYTES, Share::Flow { limit: PACKETS });
    weighted_round_robin_over_three_kinds_of_queue: None => weighted_round_robin();
    deficit_round_robin_over_three_kinds_of_queue: None => deficit_round_robin(500);
    deficit_round_robin_with_small_quanta: None => deficit_round_robin(1);
    fair_shares_of_three_kinds_of_queue: None => fair_shares();
    customers_behind_sites: PACKETS => customers();
    pie_in_packets: PACKETS => pie(PACKETS);
    pie_in_bytes: BYTES => pie(BYTES);
    fq_codel_in_packets: PACKETS => fq_codel(PACKETS, 4);
    fq_codel_in_bytes: BYTES => fq_codel(BYTES, 64);
    host_fair_in_packets: PACKETS => host_fair(PACKETS, Fairness::Both);
    host_fair_in_bytes: BYTES => host_fair(BYTES, Fairness::Source);
    a_shaper_over_a_fifo: PACKETS => shaper(Box::new(fifo(Length::Packets(12))), Bytes(3_000));
    a_shaper_over_red: PACKETS => shaper(Box::new(red(PACKETS, packets, Averages::Shared)), Bytes(0));
    a_shaper_over_fq_codel: BYTES => shaper(Box::new(fq_codel(BYTES, 64)), Bytes(0));
    source_scheduler_in_packets: PACKETS => source(PACKETS);
    source_scheduler_in_bytes: BYTES => source(BYTES);
    aggregate_shaper_in_parts: PACKETS => aggregate(PACKETS, Sharing::Partitioned(Depths::Equal));
    aggregate_shaper_of_a_common_bucket: BYTES => aggregate(BYTES, Sharing::Common);
    aggregate_shaper_in_logical_parts: PACKETS => aggregate(PACKETS, Sharing::Logical(Depths::ByRtt));
    sima_by_its_occupancy: BYTES => sima(1.0);
    sima_by_an_average: BYTES => sima(0.1);
}

/// Whatever queue a policy names is built from one of these types.
#[test]
fn every_queue_of_the_workspace_is_held_to_the_laws() {
    let mut queues = BTreeSet::new();
    for text in sources_of_the_workspace() {
        let types = text.lines().filter_map(|line| line.strip_prefix("impl QueueDiscipline for "));
        queues.extend(types.map(|rest| rest.trim_end_matches([' ', '{']).to_owned()));
    }
    assert!(queues.len() >= 11, "only {queues:?} were found");
    queues.retain(|queue| !audited().contains(queue.as_str()));
    assert!(queues.is_empty(), "{queues:?}: add a line to `queue_laws!`");
}

/// The sources of all crates, without their tests.
pub(crate) fn sources_of_the_workspace() -> Vec<String> {
    let folders = |folder: PathBuf| {
        std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path())
    };
    let layers = folders(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    // A crate is in a layer, or is one.
    let crates = layers.flat_map(|layer| folders(layer.clone()).chain([layer]));
    let found: Vec<String> = crates.flat_map(|one| sources(&one.join("src"))).collect();
    assert!(found.iter().any(|text| text.contains("struct Simulator")), "other layers are there");
    found
}

/// The texts of all Rust files in `folder` and below.
fn sources(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.extension() {
            Some(extension) if extension == "rs" => vec![std::fs::read_to_string(path).unwrap()],
            _ => sources(&path),
        })
        .collect()
}

fn fifo(limit: Length) -> Fifo {
    Fifo::new(FifoParams::new(limit).unwrap())
}

pub(crate) fn packets(packets: u64) -> Length {
    Length::Packets(packets)
}

pub(crate) fn bytes(packets: u64) -> Length {
    Length::Bytes(Bytes(packets * 700))
}

fn red(limit: Option<Length>, length: fn(u64) -> Length, averages: Averages) -> Red {
    Red::new(red_params(limit, length, averages), Rng::stream(1, "red"))
}

pub(crate) fn red_params(
    limit: Option<Length>,
    length: fn(u64) -> Length,
    averages: Averages,
) -> RedParams {
    let settings = RedSettings {
        limit: limit.unwrap(),
        weight: 0.2,
        idle_packet: Bytes(700),
        rate: mbit(7),
        mean_packet: Some(Bytes(700)),
        spacing: Spacing::Uniform,
        ecn: EcnMode::Mark,
        spare_below: 1,
    };
    let curve = |min, max, max_probability, above_max| {
        let max_probability = Probability::new(max_probability).unwrap();
        DropCurve::new(length(min), length(max), max_probability, above_max).unwrap()
    };
    let curves = vec![
        curve(5, 11, 0.1, AboveMax::Gentle),
        curve(3, 9, 0.2, AboveMax::Forced),
        curve(1, 6, 0.5, AboveMax::Gentle),
    ];
    let levels = DscpTable::filled(2).with(Dscp::AF11, 0).with(Dscp::AF12, 1);
    RedParams::with_levels(settings, curves, levels, averages).unwrap()
}

fn paced() -> Paced {
    Paced::new(fifo(Length::Packets(12)), Duration::from_millis(1))
}

/// A class for each code point that the operations use, and its queue.
fn three_classes() -> (Classifier, [Box<dyn QueueDiscipline>; 3]) {
    let class =
        |dscp| MultiField { dscps: Some(DscpSet::EMPTY.with(dscp)), ..MultiField::default() };
    let classifier = Classifier::new(vec![(class(Dscp::AF11), 0), (class(Dscp::AF12), 1)]);
    let red = red(PACKETS, packets, Averages::Shared);
    (classifier, [Box::new(paced()), Box::new(red), Box::new(fifo(Length::Packets(5)))])
}

fn strict_priority() -> StrictPriority {
    let (classifier, children) = three_classes();
    StrictPriority::new(classifier, children.into(), 2).unwrap()
}

fn weighted_round_robin() -> WeightedRoundRobin {
    let (classifier, children) = three_classes();
    let children = [3, 1, 2].into_iter().zip(children).collect();
    WeightedRoundRobin::new(classifier, children, 2).unwrap()
}

fn deficit_round_robin(quantum: u64) -> DeficitRoundRobin {
    let (classifier, children) = three_classes();
    let quanta = [3, 1, 2].map(|share| Bytes(share * quantum));
    DeficitRoundRobin::new(classifier, quanta.into_iter().zip(children).collect(), 2).unwrap()
}

fn fair_shares() -> FairShares {
    let (classifier, children) = three_classes();
    let rates = [(3, None), (1, None), (2, Some(2))];
    let rates = rates.map(|(least, most)| RateRange::new(mbit(least), most.map(mbit)).unwrap());
    FairShares::new(classifier, rates.into_iter().zip(children).collect(), 2).unwrap()
}

/// All packets are of one customer, behind two sites of which the first is slower.
fn customers() -> CustomerTree {
    let site = |parent, rate| CustomerSite { parent, rate: mbit(rate) };
    let customer = Customer {
        prefixes: vec![Prefix::new(Address::v4(0x0a00_0000), 24).unwrap()],
        site: Some(1),
        rates: RateRange::new(mbit(1), Some(mbit(9))).unwrap(),
    };
    let settings = CustomerTreeSettings {
        side: CustomerSide::Source,
        rate: Some(mbit(20)),
        sites: vec![site(None, 6), site(Some(0), 8)],
        customers: vec![customer],
        unknown: None,
    };
    let params = CustomerTreeParams::new(settings).unwrap();
    CustomerTree::new(params, mbit(10), |_| Box::new(fq_codel(PACKETS, 4)))
}

/// Tokens for a packet or two, and remarking after some packets' time.
fn source(limit: Option<Length>) -> SourceScheduler {
    let limits = SourceLimits {
        limit: limit.unwrap(),
        limit_per_connection: Some(packets(4)),
        connections: 4,
    };
    scheduler(limits, 2_000_000, [1_800, 1_400], Duration::from_millis(2))
}

/// So short a target that CoDel drops within a few packets.
fn flow_queues(limit: Option<Length>, queues: usize) -> FlowQueueSettings {
    let (target, interval) = (Duration::from_micros(500), Duration::from_millis(4));
    let codel = CoDelParams::new(target, interval, Bytes(700)).unwrap();
    let quantum = Bytes(700);
    FlowQueueSettings { limit: limit.unwrap(), queues, quantum, codel, ecn: EcnMode::Mark }
}

fn fq_codel(limit: Option<Length>, queues: usize) -> FqCodel {
    let params = FqCodelParams::new(flow_queues(limit, queues)).unwrap();
    FqCodel::new(params, Rng::stream(1, "fq-codel"))
}

fn host_fair(limit: Option<Length>, fairness: Fairness) -> HostFair {
    let params = HostFairParams::new(flow_queues(limit, 8), fairness).unwrap();
    HostFair::new(params, Rng::stream(1, "host-fair"))
}

fn shaper(inner: Box<dyn QueueDiscipline>, burst: Bytes) -> Shaper {
    Shaper::new(ShaperParams::new(mbit(5), burst).unwrap(), inner)
}

/// Tokens for a packet or two, a timer of about a packet's time, and fewer connections than come.
fn aggregate(limit: Option<Length>, sharing: Sharing) -> AggregateShaper {
    let profile = AggregateProfile::new(mbit(5), Bytes(3_000), Bytes(1_500)).unwrap();
    let connections = ConnectionLimits::new(4, Duration::from_millis(20)).unwrap();
    let timer = Duration::from_millis(1);
    let params = AggregateShaperParams::new(profile, sharing, connections, limit.unwrap(), timer);
    AggregateShaper::new(params.unwrap(), rng())
}

/// With so small a target that it drops and marks within the few milliseconds of a run.
fn pie(limit: Option<Length>) -> Pie {
    let settings = PieSettings {
        limit: limit.unwrap(),
        target: Duration::from_micros(50),
        update: Duration::from_micros(100),
        max_burst: Duration::from_micros(300),
        alpha: 50.0,
        beta: 100.0,
        ecn: EcnMode::Mark,
    };
    Pie::new(PieParams::new(settings).unwrap(), Rng::stream(1, "pie"))
}

fn shared_priority(limit: Option<Length>) -> SharedPriority {
    let bands = DscpTable::filled(2).with(Dscp::AF11, 0).with(Dscp::AF12, 1);
    SharedPriority::new(SharedPriorityParams::by_code_point(limit.unwrap(), bands).unwrap())
}

/// AF11 is real-time traffic of precedence 7, AF12 such of 2, AF13 non-real-time of 5.
fn sima(weight: f64) -> Sima {
    let mut code_points = [SimaClass::RealTime, SimaClass::NonRealTime].map(SimaClass::code_points);
    code_points[0][7] = Dscp::AF11;
    code_points[0][2] = Dscp::AF12;
    code_points[1][5] = Dscp::AF13;
    let [real_time, other] = [(4_000, code_points[0]), (5_000, code_points[1])]
        .map(|(limit, points)| SimaBuffer::new(Bytes(limit), weight, points).unwrap());
    Sima::new(SimaQueueParams::new(real_time, other, PrecedenceMap::FloorOfGreater).unwrap())
}

fn stf(limit: Option<Length>, flows: usize) -> Stf {
    Stf::new(StfParams::new(limit.unwrap(), flows, Duration::from_millis(2)).unwrap(), rng())
}

fn wfq(limit: Option<Length>, share: Share) -> Wfq {
    let class = |weight| {
        let weight = Weight::of_number(weight).unwrap();
        WfqClass::new(weight, share, None).unwrap()
    };
    let of = |dscp| MultiField { dscps: Some(DscpSet::EMPTY.with(dscp)), ..MultiField::default() };
    let classifier = Classifier::new(vec![(of(Dscp::AF11), 0), (of(Dscp::AF12), 1)]);
    let classes = vec![class(2.0), class(0.5), class(7.0)];
    let params = WfqParams::new(classes, classifier, 2, limit).unwrap();
    Wfq::new(params, mbit(10), rng())
}
