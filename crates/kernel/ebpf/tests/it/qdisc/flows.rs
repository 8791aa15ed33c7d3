//! Queues that know flows, beside the elements.

use shortflow_ebpf::qdisc::{QdiscPlan, QdiscQueue, QdiscSchedule};
use shortflow_elements::classifier::{Classifier, DscpTable};
use shortflow_elements::queue::{Fifo, FifoParams, Shaper, ShaperParams, Stf, StfParams};
use shortflow_elements::scheduler::{DeficitRoundRobin, StrictPriority, WeightedRoundRobin};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::{Address, FlowKey, FrameId, Packet, Protocol};
use shortflow_units::{Bytes, Duration, Length, Rate, Rng};

use super::twin::{Twin, number};
use super::{
    Scheme, all_that_leave, at, compare_all, dropped, limit, pick, queue_of, rules, shaper,
};

/// The flows of a sequence, from few to many.
pub(super) struct Flows {
    rng: Rng,
    flows: u64,
}

impl Flows {
    pub(super) fn new(seed: u64) -> Flows {
        let mut rng = Rng::stream(seed, "flows");
        let flows = pick(&mut rng, &[1, 2, 5, 20, 200]);
        Flows { rng, flows }
    }

    pub(super) fn pick(&mut self) -> FlowKey {
        flow(self.rng.below(self.flows) as u32)
    }
}

/// Flows of both versions of IP, of which many differ in one field only.
pub(super) fn flow(number: u32) -> FlowKey {
    let mut flow = FlowKey {
        src: Address::v4(0x0a00_0001),
        dst: Address::v4(0x0a00_0002),
        src_port: 1000,
        dst_port: 80,
        protocol: Protocol::TCP,
    };
    let (field, value) = (number % 9, number / 9);
    match field {
        0 => flow.src = Address::v4(0x0a00_0001 + value),
        1 => flow.dst = Address::v4(0x0a00_0002 + value),
        2 => flow.src_port = flow.src_port.wrapping_add(value as u16),
        3 => flow.dst_port = flow.dst_port.wrapping_add(value as u16),
        4 => flow.protocol = Protocol(value as u8),
        // The low and the high half of an address.
        5 => flow.src = Address::v6(1 + u128::from(value)),
        6 => flow.src = Address::v6(u128::from(value) << 64 | 1),
        7 => flow.dst = Address::v6(1 + u128::from(value)),
        _ => flow.dst = Address::v6(u128::from(value) << 64 | 1),
    }
    flow
}

fn stf_params(rng: &mut Rng, rate: Rate) -> StfParams {
    let packet_time = rate.time_for(Bytes(800)).nanos();
    let max_flows = pick(rng, &[1, 2, 3, 8, 64, 65_536]);
    let timeout = pick(rng, &[1, packet_time, 10 * packet_time, 300 * packet_time, u64::MAX]);
    let timeout = Duration::from_nanos(timeout.max(1));
    StfParams::new(limit(rng), max_flows, timeout).unwrap()
}

fn stf(rng: &mut Rng) -> Scheme {
    let shaper = shaper(rng);
    let params = stf_params(rng, shaper.rate());
    let schedule = QdiscSchedule::Strict(vec![QdiscQueue::Stf(params.clone())]);
    let inner = Box::new(Stf::new(params, rng.beside("hash")));
    Scheme::new(rng, shaper, schedule, DscpTable::filled(0), inner)
}

/// Several such queues among others.
fn stf_among_others(rng: &mut Rng) -> Scheme {
    let (shaper, queues) = (shaper(rng), 1 + rng.below(4));
    let child = |rng: &mut Rng| -> Child {
        if rng.below(3) == 0 {
            let params = FifoParams::new(limit(rng)).unwrap();
            return (QdiscQueue::Fifo(params.clone()), Box::new(Fifo::new(params)));
        }
        let params = stf_params(rng, shaper.rate());
        let hash = rng.beside("hash");
        (QdiscQueue::Stf(params.clone()), Box::new(Stf::new(params, hash)))
    };
    let children = (0..queues).map(|_| child(rng)).collect();
    in_classes(rng, shaper, children)
}

/// A queue, as both have it.
pub(super) type Child = (QdiscQueue, Box<dyn QueueDiscipline>);

/// Queues in strict priority, or in turn by packets or bytes.
pub(super) fn in_classes(rng: &mut Rng, shaper: ShaperParams, children: Vec<Child>) -> Scheme {
    let queues = children.len();
    let queue_of = queue_of(rng, queues);
    let weights: Vec<u32> = (0..queues).map(|_| 1 + rng.below(5) as u32).collect();
    let quanta = || weights.iter().map(|weight| Bytes(u64::from(*weight) * 700));
    let weights = || weights.iter().copied();
    let (classifier, otherwise) = rules(&queue_of, queues);
    let (plans, children): (Vec<_>, Vec<_>) = children.into_iter().unzip();
    let (schedule, inner): (_, Box<dyn QueueDiscipline>) = match rng.below(3) {
        0 => {
            let inner = StrictPriority::new(classifier, children, otherwise).unwrap();
            (QdiscSchedule::Strict(plans), Box::new(inner))
        }
        1 => {
            let children = weights().zip(children).collect();
            let inner = WeightedRoundRobin::new(classifier, children, otherwise).unwrap();
            (QdiscSchedule::Weighted(weights().zip(plans).collect()), Box::new(inner))
        }
        _ => {
            let children = quanta().zip(children).collect();
            let inner = DeficitRoundRobin::new(classifier, children, otherwise).unwrap();
            (QdiscSchedule::Deficit(quanta().zip(plans).collect()), Box::new(inner))
        }
    };
    Scheme::new(rng, shaper, schedule, queue_of, inner)
}

#[test]
fn least_attained_service_serves_and_pushes_out_what_the_element_does() {
    let tally = compare_all(stf);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::PushedOut) > 10_000);
    assert!(dropped(&tally, DropReason::Overlimit) > 10_000);
}

#[test]
fn queues_that_know_flows_stand_among_others_as_the_elements_do() {
    let tally = compare_all(stf_among_others);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::PushedOut) > 10_000);
    assert!(dropped(&tally, DropReason::Overlimit) > 10_000);
}

/// One such queue, at 8 Mbit/s: a packet takes 1 ms.
fn one_queue(limit: u64, max_flows: usize) -> (QdiscPlan, StfParams) {
    let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
    let hour = Duration::from_secs(3_600);
    let params = StfParams::new(Length::Packets(limit), max_flows, hour).unwrap();
    let schedule = QdiscSchedule::Strict(vec![QdiscQueue::Stf(params.clone())]);
    (QdiscPlan::new(&shaper, 0, &schedule, &Classifier::default(), 0).unwrap(), params)
}

pub(super) fn of_flow(number: u32, key: FlowKey) -> Packet {
    Packet { size: 1_000, key, bytes: FrameId::new(number), ..Packet::default() }
}

#[test]
fn flows_whose_keys_differ_in_one_field_are_different_flows() {
    let first = flow(0);
    let with = |change: fn(&mut FlowKey)| {
        let mut other = first;
        change(&mut other);
        other
    };
    let others = [
        with(|key| key.src = Address::v4(0x0a00_0002)),
        with(|key| key.dst = Address::v4(0x0a00_0001)),
        with(|key| key.src = Address::v6(1)),
        with(|key| key.dst = Address::v6(1 << 127 | 0xffff_0a00_0002)),
        with(|key| key.src_port += 1),
        with(|key| key.dst_port += 256),
        with(|key| key.protocol = Protocol::UDP),
        first.reversed(),
    ];
    for other in others {
        let mut twin = Twin::new(&one_queue(10, 10).0, Rng::stream(1, "none"));
        assert!(twin.arrive(at(0), &of_flow(1, first), 0).is_empty());
        assert_eq!(all_that_leave(&mut twin, 0), [1]);
        assert!(twin.arrive(at(5), &of_flow(2, first), 0).is_empty());
        assert!(twin.arrive(at(5), &of_flow(3, other), 0).is_empty());
        // The other flow has sent nothing yet.
        assert_eq!(all_that_leave(&mut twin, 5), [3, 2], "{other:?}");
    }
}

#[test]
fn a_plan_of_the_same_shape_remembers_flows_and_another_forgets_them() {
    let of_other_shape = || {
        let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
        let stf = || QdiscQueue::Stf(one_queue(10, 10).1);
        let schedule = QdiscSchedule::Strict(vec![stf(), stf()]);
        QdiscPlan::new(&shaper, 0, &schedule, &Classifier::default(), 0).unwrap()
    };
    for (next, order) in [(one_queue(20, 5).0, [4, 2, 3]), (of_other_shape(), [2, 3, 4])] {
        // The plan with most room comes first, as for a device.
        let mut twin = Twin::new(&of_other_shape(), Rng::stream(1, "none"));
        twin.reload(&one_queue(10, 10).0);
        assert!(twin.arrive(at(0), &of_flow(1, flow(0)), 0).is_empty());
        assert!(twin.serve(at(0)).is_ok());
        assert!(twin.arrive(at(1), &of_flow(2, flow(0)), 0).is_empty());
        twin.reload(&next);
        assert!(twin.arrive(at(1), &of_flow(3, flow(0)), 0).is_empty());
        assert!(twin.arrive(at(1), &of_flow(4, flow(9)), 0).is_empty());
        assert_eq!(all_that_leave(&mut twin, 1), order);
    }
}

#[test]
fn after_the_kernel_has_emptied_it_flows_start_again() {
    let mut twin = Twin::new(&one_queue(10, 3).0, Rng::stream(1, "none"));
    for round in 0..1_000 {
        // More flows than it remembers, in an order in which numbers are used for other keys each time.
        for number in 0..4 {
            let key = flow(9 * ((round as u32 + number) % 7));
            let dropped = twin.arrive(at(round), &of_flow(number, key), 0);
            assert_eq!(dropped.len(), usize::from(number == 3), "{round}");
        }
        twin.reset();
    }
    assert!(twin.is_bounded());
    assert_eq!(twin.serve(at(2_000)), Err(0));
}

/// Shows both a sequence of arrivals and departures, of which a third leave.
fn compare_many(limit: u64, max_flows: usize, flows: u32, events: u32) {
    let (plan, params) = one_queue(limit, max_flows);
    let twin = Twin::new(&plan, Rng::stream(1, "none"));
    compare_long(twin, Box::new(Stf::new(params, Rng::stream(1, "hash"))), flows, events);
}

/// The same for any queue behind a shaper of 8 Mbit/s.
pub(super) fn compare_long(
    mut twin: Twin,
    inner: Box<dyn QueueDiscipline>,
    flows: u32,
    events: u32,
) {
    let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
    let mut element = Shaper::new(shaper, inner);
    let (mut rng, mut drops) = (Rng::stream(1, "flows"), Drops::default());
    for event in 0..events {
        let now = at(u64::from(event));
        let key = flow(rng.below(flows.into()) as u32);
        let found = twin.arrive(now, &of_flow(event, key), 0);
        element.enqueue(now, of_flow(event, key), &mut drops);
        let expected: Vec<u32> = drops.drain().map(|dropped| number(&dropped.packet)).collect();
        assert_eq!(found, expected, "event {event}: what is dropped");
        if rng.below(3) == 0 {
            let (found, dropped) = twin.serve_or_drop(now);
            let expected = element.dequeue(now, &mut drops).map(|queued| number(&queued.packet));
            assert_eq!(found.ok(), expected, "event {event}: what leaves");
            let expected = drops.drain().map(|dropped| number(&dropped.packet));
            assert!(dropped.into_iter().eq(expected), "event {event}: what is dropped");
        }
    }
    assert_eq!(twin.waiting.len() as u64, element.backlog().packets);
    assert!(twin.is_bounded());
}

#[test]
fn of_a_hundred_thousand_flows_it_remembers_as_many_as_it_may() {
    compare_many(60_000, 65_536, 100_000, 400_000);
    compare_many(1_000, 65_536, 100_000, 400_000);
}

#[test]
fn a_million_flows_have_room() {
    compare_many(1_000, 1 << 20, 2_000_000, 1_500_000);
}
