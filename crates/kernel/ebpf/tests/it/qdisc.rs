//! The decisions of the queueing discipline (programs/qdisc, built for this processor) beside the queues of the elements: which
//! packets are dropped and which leave in which order, for random sequences of arrivals under a clock and random bits of the
//! test. Needs no right.

mod flows;
mod fq;
mod twin;
mod wfq;

use std::sync::OnceLock;

use shortflow_ebpf::qdisc::{QdiscPlan, QdiscQueue, QdiscSchedule};
use shortflow_elements::classifier::{Classifier, DscpSet, DscpTable, MultiField, SimaClass};
use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, EcnMode, Fifo, FifoParams, PrecedenceMap, Red, RedParams,
    RedSettings, Shaper, ShaperParams, SharedPriority, SharedPriorityParams, Sima, SimaBuffer,
    SimaQueueParams, Spacing,
};
use shortflow_elements::scheduler::{DeficitRoundRobin, StrictPriority, WeightedRoundRobin};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::{Dscp, FrameId, Packet};
use shortflow_units::{Bytes, Duration, Instant, Length, LinkLayer, Probability, Rate, Rng};

use self::twin::{Twin, number};

/// Random sequences for each scheme.
const SEQUENCES: u64 = 10_000;
/// Arrivals and departures in each.
const EVENTS: usize = 250;

/// A scheme, as both have it.
struct Scheme {
    shaper: ShaperParams,
    schedule: QdiscSchedule,
    queue_of: DscpTable<u8>,
    element: Box<dyn QueueDiscipline>,
    /// The draws of the only queue that draws, and the seeds of all hashes.
    draws: Rng,
    seeds: Vec<u64>,
}

impl Scheme {
    /// A queue behind a shaper, with the draws of a test.
    fn new(
        rng: &Rng,
        shaper: ShaperParams,
        schedule: QdiscSchedule,
        queue_of: DscpTable<u8>,
        inner: Box<dyn QueueDiscipline>,
    ) -> Scheme {
        let element = Box::new(Shaper::new(shaper.clone(), inner));
        let (draws, seeds) = (rng.beside("draws"), Vec::new());
        Scheme { shaper, schedule, queue_of, element, draws, seeds }
    }

    /// Rules do not matter: the test says to which queue a packet belongs.
    fn plan(&self) -> QdiscPlan {
        static BASE: OnceLock<QdiscPlan> = OnceLock::new();
        let one = QdiscSchedule::Shared { limit: Length::Packets(1), queues: 1 };
        let base = || QdiscPlan::new(&self.shaper, 0, &one, &Classifier::default(), 0).unwrap();
        BASE.get_or_init(base).with_schedule(&self.shaper, &self.schedule).unwrap()
    }
}

/// A rule for each queue but the last.
fn rules(queue_of: &DscpTable<u8>, queues: usize) -> (Classifier, usize) {
    let all = || (0..64).filter_map(Dscp::new);
    let of = |queue: usize| -> DscpSet {
        all().filter(|dscp| usize::from(queue_of.get(*dscp)) == queue).collect()
    };
    let rule = |queue| (MultiField { dscps: Some(of(queue)), ..MultiField::default() }, queue);
    (Classifier::new((0..queues - 1).map(rule).collect()), queues - 1)
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize].clone()
}

fn queue_of(rng: &mut Rng, queues: usize) -> DscpTable<u8> {
    let all = (0..64).filter_map(Dscp::new);
    all.fold(DscpTable::filled(0), |table, dscp| table.with(dscp, rng.below(queues as u64) as u8))
}

fn shaper(rng: &mut Rng) -> ShaperParams {
    let rate = pick(rng, &[64_000, 1_000_000, 10_000_000, 999_999_937, 40_000_000_000]);
    let burst = pick(rng, &[0, 1_600, 20_000, 1 << 30]);
    let layer = pick(rng, &["raw", "overhead 22 mpu 64", "pppoa-vcmux", "overhead 26 ptm"]);
    let layer: LinkLayer = if layer == "raw" { LinkLayer::RAW } else { layer.parse().unwrap() };
    ShaperParams::new(Rate::from_bits_per_sec(rate), Bytes(burst)).unwrap().with_link_layer(layer)
}

fn limit(rng: &mut Rng) -> Length {
    match rng.below(2) {
        0 => Length::Packets(1 + rng.below(30)),
        _ => Length::Bytes(Bytes(100 + rng.below(30_000))),
    }
}

fn shared(rng: &mut Rng) -> Scheme {
    let queues = 1 + rng.below(64) as usize;
    let (shaper, limit, queue_of) = (shaper(rng), limit(rng), queue_of(rng, queues));
    let params = SharedPriorityParams::by_code_point(limit, queue_of.clone()).unwrap();
    let queues = params.bands();
    let schedule = QdiscSchedule::Shared { limit, queues };
    let inner = Box::new(SharedPriority::new(params));
    Scheme::new(rng, shaper, schedule, queue_of, inner)
}

/// A queue, as both have it.
fn child(rng: &mut Rng, rate: Rate, may_be_red: bool) -> (QdiscQueue, Box<dyn QueueDiscipline>) {
    if may_be_red && rng.below(2) == 0 {
        let params = red_params(rng, rate);
        let draws = rng.beside("draws");
        return (QdiscQueue::Red(params.clone()), Box::new(Red::new(params, draws)));
    }
    if rng.below(4) == 0 {
        let params = sima_params(rng);
        return (QdiscQueue::Sima(Box::new(params.clone())), Box::new(Sima::new(params)));
    }
    let params = FifoParams::new(limit(rng)).unwrap();
    (QdiscQueue::Fifo(params.clone()), Box::new(Fifo::new(params)))
}

fn strict(rng: &mut Rng) -> Scheme {
    let queues = 1 + rng.below(16) as usize;
    let (shaper, queue_of) = (shaper(rng), queue_of(rng, queues));
    // Only one of them draws: both sides have one generator.
    let red = rng.below(2 * queues as u64) as usize;
    let each = (0..queues).map(|queue| child(rng, shaper.rate(), queue == red));
    let (queues_of_plan, children): (Vec<_>, Vec<_>) = each.unzip();
    let (classifier, otherwise) = rules(&queue_of, queues);
    let inner = Box::new(StrictPriority::new(classifier, children, otherwise).unwrap());
    let schedule = QdiscSchedule::Strict(queues_of_plan);
    Scheme::new(rng, shaper, schedule, queue_of, inner)
}

fn weighted(rng: &mut Rng) -> Scheme {
    let queues = 1 + rng.below(16) as usize;
    let (shaper, queue_of) = (shaper(rng), queue_of(rng, queues));
    let each = (0..queues).map(|_| (1 + rng.below(5) as u32, child(rng, shaper.rate(), false)));
    let (mut of_plan, mut children) = (Vec::new(), Vec::new());
    for (weight, (queue, child)) in each {
        of_plan.push((weight, queue));
        children.push((weight, child));
    }
    let (classifier, otherwise) = rules(&queue_of, queues);
    let inner = Box::new(WeightedRoundRobin::new(classifier, children, otherwise).unwrap());
    let schedule = QdiscSchedule::Weighted(of_plan);
    Scheme::new(rng, shaper, schedule, queue_of, inner)
}

fn deficit(rng: &mut Rng) -> Scheme {
    let queues = 1 + rng.below(16) as usize;
    let (shaper, queue_of) = (shaper(rng), queue_of(rng, queues));
    // Only one of them draws: both sides have one generator.
    let red = rng.below(2 * queues as u64) as usize;
    // A class of the least quantum is in debt for many rounds.
    let least = pick(rng, &[1, 50, 1_500]);
    let (mut of_plan, mut children) = (Vec::new(), Vec::new());
    for class in 0..queues {
        let quantum = Bytes(least + rng.below(least + 1_000));
        let (queue, child) = child(rng, shaper.rate(), class == red);
        of_plan.push((quantum, queue));
        children.push((quantum, child));
    }
    let (classifier, otherwise) = rules(&queue_of, queues);
    let inner = Box::new(DeficitRoundRobin::new(classifier, children, otherwise).unwrap());
    let schedule = QdiscSchedule::Deficit(of_plan);
    Scheme::new(rng, shaper, schedule, queue_of, inner)
}

fn red_params(rng: &mut Rng, rate: Rate) -> RedParams {
    let is_bytes = rng.below(2) == 0;
    let unit = if is_bytes { 800 } else { 1 };
    let length = |amount: u64| match is_bytes {
        true => Length::Bytes(Bytes(amount * unit)),
        false => Length::Packets(amount),
    };
    let levels = 1 + rng.below(8) as usize;
    let curve = |rng: &mut Rng| {
        // From a threshold of zero on, an average near zero leads to a probability that only floating point tells from zero.
        let min = 1 + rng.below(20);
        let max = min + 1 + rng.below(20);
        let probability = Probability::new(pick(rng, &[0.0, 0.02, 0.1, 0.25, 1.0])).unwrap();
        let above = pick(rng, &[AboveMax::Forced, AboveMax::Gentle]);
        DropCurve::new(length(min), length(max), probability, above).unwrap()
    };
    let curves: Vec<DropCurve> = (0..levels).map(|_| curve(rng)).collect();
    let settings = RedSettings {
        limit: length(40 + rng.below(30)),
        weight: pick(rng, &[1.0, 0.5, 0.25, 0.1, 0.02, 0.002]),
        idle_packet: Bytes(pick(rng, &[500, 1000, 1500])),
        rate,
        mean_packet: pick(rng, &[None, None, Some(Bytes(500)), Some(Bytes(1500))]),
        spacing: pick(
            rng,
            &[Spacing::Uniform, Spacing::Wait, Spacing::Unclamped, Spacing::Geometric],
        ),
        ecn: EcnMode::Drop,
        spare_below: pick(rng, &[0, 2]),
    };
    let level_of = queue_of(rng, levels);
    let averages = pick(rng, &[Averages::Shared, Averages::PerLevel, Averages::Coupled]);
    RedParams::with_levels(settings, curves, level_of, averages).unwrap()
}

fn red(rng: &mut Rng) -> Scheme {
    let shaper = shaper(rng);
    let params = red_params(rng, shaper.rate());
    let schedule = QdiscSchedule::Strict(vec![QdiscQueue::Red(params.clone())]);
    let inner = Box::new(Red::new(params, rng.beside("draws")));
    Scheme::new(rng, shaper, schedule, DscpTable::filled(0), inner)
}

fn sima_params(rng: &mut Rng) -> SimaQueueParams {
    let mut code_points: Vec<Dscp> = (0..64).filter_map(Dscp::new).collect();
    let mut buffer = |rng: &mut Rng| {
        let mut draw = || code_points.swap_remove(rng.below(code_points.len() as u64) as usize);
        let code_points: [Dscp; SimaClass::PRECEDENCES] = std::array::from_fn(|_| draw());
        let weight = pick(rng, &[1.0, 0.5, 0.3, 0.1, 0.02]);
        SimaBuffer::new(Bytes(100 + rng.below(30_000)), weight, code_points).unwrap()
    };
    let buffers = [buffer(rng), buffer(rng)];
    let map = pick(
        rng,
        &[
            PrecedenceMap::CeilingOfGreater,
            PrecedenceMap::FloorOfGreater,
            PrecedenceMap::CeilingOfMean,
            PrecedenceMap::FloorOfMean,
        ],
    );
    let [real_time, non_real_time] = buffers;
    SimaQueueParams::new(real_time, non_real_time, map).unwrap()
}

fn sima(rng: &mut Rng) -> Scheme {
    let shaper = shaper(rng);
    let params = sima_params(rng);
    let schedule = QdiscSchedule::Strict(vec![QdiscQueue::Sima(Box::new(params.clone()))]);
    let inner = Box::new(Sima::new(params));
    Scheme::new(rng, shaper, schedule, DscpTable::filled(0), inner)
}

/// What happened in a sequence.
#[derive(Default)]
struct Tally {
    arrived: u64,
    left: u64,
    /// How often all that waited was dropped.
    emptied: u64,
    dropped: [u64; 6],
}

impl Tally {
    /// Packets that do not wait any more.
    fn gone(&self) -> u64 {
        self.left + self.dropped.iter().sum::<u64>()
    }

    fn count(&mut self, drops: &mut Drops) -> Vec<u32> {
        let mut numbers = Vec::new();
        for dropped in drops.drain() {
            numbers.push(number(&dropped.packet));
            self.dropped[dropped.reason as usize] += 1;
        }
        numbers
    }
}

/// Shows one random sequence to both.
fn compare(scheme: fn(&mut Rng) -> Scheme, seed: u64, tally: &mut Tally) {
    let mut rng = Rng::stream(seed, "sequence");
    let mut scheme = scheme(&mut rng);
    let mut twin = Twin::with_seeds(&scheme.plan(), scheme.draws.clone(), &scheme.seeds);
    let mut flows = flows::Flows::new(seed);
    let (mut now, mut drops) = (Instant::START, Drops::default());
    let (arrived_before, gone_before) = (tally.arrived, tally.gone());
    let packet_time = scheme.shaper.rate().time_for(Bytes(800)).nanos();
    for event in 0..EVENTS {
        now += Duration::from_nanos(match rng.below(8) {
            0..4 => 0,
            4..6 => rng.below(packet_time + 1),
            6 => rng.below(4 * packet_time),
            _ => rng.below(300 * packet_time) >> rng.below(12),
        });
        // Bursts, and pauses in which the queue empties.
        if event / 25 % 2 == 0 && rng.below(3) > 0 || rng.below(4) == 0 {
            let packet = Packet {
                size: 20 + rng.below(1_481) as u32,
                dscp: Dscp::new(rng.below(64) as u8).unwrap(),
                bytes: FrameId::new(event as u32),
                key: flows.pick(),
                ..Packet::default()
            };
            let class = usize::from(scheme.queue_of.get(packet.dscp));
            let queue = scheme.schedule.first_queue(class);
            let found = twin.arrive(now, &packet, queue);
            scheme.element.enqueue(now, packet, &mut drops);
            let expected = tally.count(&mut drops);
            assert_eq!(found, expected, "seed {seed}, event {event}: what is dropped");
            tally.arrived += 1;
        } else {
            let (found, dropped) = twin.serve_or_drop(now);
            let expected = match scheme.element.ready_at() {
                None => Err(0),
                Some(ready) if ready > now => Err(ready.nanos()),
                // It may drop all that wait.
                Some(_) => {
                    let queued = scheme.element.dequeue(now, &mut drops);
                    queued.map(|queued| number(&queued.packet)).ok_or(0)
                }
            };
            let expected_drops = tally.count(&mut drops);
            assert_eq!(dropped, expected_drops, "seed {seed}, event {event}: what is dropped");
            assert_eq!(found, expected, "seed {seed}, event {event}: what leaves");
            tally.left += u64::from(found.is_ok());
            tally.emptied += u64::from(found.is_err() && !dropped.is_empty());
        }
        assert_eq!(twin.waiting.len() as u64, scheme.element.backlog().packets);
        compare_averages(&scheme, &twin, seed);
    }
    assert!(twin.is_bounded(), "no more places and flows than there are");
    let gone = tally.gone() - gone_before;
    assert_eq!(tally.arrived - arrived_before, gone + twin.waiting.len() as u64);
}

/// Holds the average of the last level against the bound that programs/qdisc/red.h states.
fn compare_averages(scheme: &Scheme, twin: &Twin, seed: u64) {
    let QdiscSchedule::Strict(queues) = &scheme.schedule else { return };
    let [QdiscQueue::Red(params)] = &queues[..] else { return };
    let (settings, levels) = (params.settings(), params.curves().len());
    let number = if params.averages() == Averages::Shared { 0 } else { levels - 1 };
    let (Some(found), Some(expected)) = (twin.average(number), scheme.element.average()) else {
        return;
    };
    let longest = match settings.limit {
        Length::Packets(packets) => packets,
        Length::Bytes(bytes) => bytes.0,
    };
    let bound = 2_f64.powi(-32) / settings.weight + longest as f64 * 2_f64.powi(-30);
    let off = (found - expected).abs();
    assert!(off <= bound, "seed {seed}: {found} instead of {expected}: {off} is above {bound}");
}

fn compare_all(scheme: fn(&mut Rng) -> Scheme) -> Tally {
    let mut tally = Tally::default();
    (0..SEQUENCES).for_each(|seed| compare(scheme, seed, &mut tally));
    tally
}

fn dropped(tally: &Tally, reason: DropReason) -> u64 {
    tally.dropped[reason as usize]
}

#[test]
fn a_shared_buffer_pushes_out_and_serves_what_the_element_does() {
    let tally = compare_all(shared);
    // The sequences reach what they are to compare.
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::PushedOut) > 10_000);
    assert!(dropped(&tally, DropReason::Overlimit) > 10_000);
}

#[test]
fn strict_priority_over_queues_of_both_kinds_serves_what_the_element_does() {
    let tally = compare_all(strict);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::Overlimit) > 10_000);
}

#[test]
fn turns_by_packets_are_those_of_the_element() {
    let tally = compare_all(weighted);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::Overlimit) > 10_000);
}

#[test]
fn turns_by_bytes_are_those_of_the_element_however_small_their_quanta_are() {
    let tally = compare_all(deficit);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::Overlimit) > 10_000);
}

#[test]
fn red_of_all_averages_and_spacings_drops_what_the_element_does() {
    let tally = compare_all(red);
    let early = dropped(&tally, DropReason::Early);
    assert!(tally.left > 100_000 && early > 10_000 && dropped(&tally, DropReason::Forced) > 10_000);
}

#[test]
fn the_core_node_of_sima_allows_the_precedences_that_the_element_does() {
    let tally = compare_all(sima);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::Forced) > 10_000);
    assert!(dropped(&tally, DropReason::Overlimit) > 10_000);
}

fn packet(number: u32, code_point: u8) -> Packet {
    let (dscp, bytes) = (Dscp::new(code_point).unwrap(), FrameId::new(number));
    Packet { size: 1_000, dscp, bytes, ..Packet::default() }
}

/// Two queues of strict priority with these limits, at 8 Mbit/s: a packet takes 1 ms.
fn two_queues(limits: [u64; 2]) -> QdiscPlan {
    let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
    let fifo = |limit| QdiscQueue::Fifo(FifoParams::new(Length::Packets(limit)).unwrap());
    let schedule = QdiscSchedule::Strict(limits.map(fifo).to_vec());
    QdiscPlan::new(&shaper, 0, &schedule, &Classifier::default(), 1).unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

/// What leaves from a time on, a packet each millisecond.
fn all_that_leave(twin: &mut Twin, from: u64) -> Vec<u32> {
    (from..).map_while(|millis: u64| twin.serve(at(millis)).ok()).collect()
}

#[test]
fn a_plan_of_the_same_shape_leaves_packets_where_they_are_and_another_lets_them_leave_first() {
    for (next, order) in [(two_queues([5, 5]), [3, 4, 1, 2]), (one_buffer(), [3, 1, 2, 4])] {
        let mut twin = Twin::new(&two_queues([3, 3]), Rng::stream(1, "none"));
        assert!(twin.arrive(at(0), &packet(1, 0), 1).is_empty());
        assert!(twin.arrive(at(0), &packet(2, 0), 1).is_empty());
        assert!(twin.arrive(at(0), &packet(3, 0), 0).is_empty());
        twin.reload(&next);
        assert!(twin.arrive(at(0), &packet(4, 0), 0).is_empty());
        assert_eq!(all_that_leave(&mut twin, 0), order);
        assert_eq!(twin.waiting.len(), 0);
    }
}

fn one_buffer() -> QdiscPlan {
    let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
    let schedule = QdiscSchedule::Shared { limit: Length::Packets(1), queues: 2 };
    QdiscPlan::new(&shaper, 0, &schedule, &Classifier::default(), 1).unwrap()
}

#[test]
fn after_the_kernel_has_emptied_it_all_places_are_free_again() {
    let mut twin = Twin::new(&two_queues([2, 2]), Rng::stream(1, "none"));
    for round in 0..2_000 {
        for number in 0..3 {
            let dropped = twin.arrive(at(round), &packet(number, 0), 1);
            assert_eq!(dropped.len(), usize::from(number == 2), "{round}");
        }
        twin.reset();
    }
    assert_eq!(twin.serve(at(3_000)), Err(0));
}

#[test]
fn what_the_program_has_no_room_for_is_refused_by_name() {
    let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
    let refused = |limit| {
        let schedule = QdiscSchedule::Shared { limit, queues: 2 };
        let plan = QdiscPlan::new(&shaper, 0, &schedule, &Classifier::default(), 1);
        plan.unwrap_err().to_string()
    };
    assert_eq!(
        refused(Length::Packets(1_000_000)),
        "the BPF queueing discipline has at most 131072 waiting packets; found 2004000"
    );
    assert_eq!(
        refused(Length::Bytes(Bytes((1 << 30) + 1))),
        "the BPF queueing discipline has at most 1073741824 bytes in a queue; found 1073741825"
    );
}
