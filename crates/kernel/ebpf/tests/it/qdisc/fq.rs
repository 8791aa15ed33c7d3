//! Flows in turn beside the elements: FQ-CoDel, and hosts in turn before their flows.

use shortflow_ebpf::qdisc::{QdiscPlan, QdiscQueue, QdiscSchedule, Unplannable};
use shortflow_elements::DropReason;
use shortflow_elements::classifier::{Classifier, DscpTable};
use shortflow_elements::queue::{
    CoDelParams, EcnMode, Fairness, Fifo, FifoParams, FlowQueueSettings, FqCodel, FqCodelParams,
    HostFair, HostFairParams, ShaperParams,
};
use shortflow_units::{Bytes, Duration, Length, Rate, Rng};

use super::flows::{Child, compare_long, flow, in_classes, of_flow};
use super::twin::Twin;
use super::{Scheme, Tally, all_that_leave, at, compare_all, dropped, limit, pick, shaper};

fn settings(rng: &mut Rng, rate: Rate, queues: usize) -> FlowQueueSettings {
    let packet_time = rate.time_for(Bytes(800)).nanos();
    let (longest, rest) = (pick(rng, &[1, 2, 8]), pick(rng, &[2, 8, 64]));
    let target = 1 + rng.below(longest * packet_time);
    let interval = target + 1 + rng.below(rest * packet_time);
    let [target, interval] = [target, interval].map(Duration::from_nanos);
    let mtu = Bytes(pick(rng, &[0, 500, 1_514]));
    FlowQueueSettings {
        limit: limit(rng),
        queues,
        quantum: Bytes(pick(rng, &[1, 60, 60, 300, 300, 1_514, 1_514, 1_514, 100_000])),
        codel: CoDelParams::new(target, interval, mtu).unwrap(),
        ecn: EcnMode::Drop,
    }
}

/// A queue, and the seed of its hash. With few queues many flows share one.
fn fq_codel(rng: &mut Rng, rate: Rate, number: usize) -> (Child, u64) {
    let queues = pick(rng, &[1, 2, 3, 16, 1_000]);
    let params = FqCodelParams::new(settings(rng, rate, queues)).unwrap();
    let hash = rng.beside(&format!("hash {number}"));
    let seed = hash.clone().below(u64::MAX);
    let plan = QdiscQueue::FqCodel(params.clone());
    ((plan, Box::new(FqCodel::new(params, hash))), seed)
}

/// A queue, the seed of its hash, and what it draws from then on.
fn host_fair(rng: &mut Rng, rate: Rate) -> (Child, u64, Rng) {
    let queues = pick(rng, &[8, 16, 64, 1_024]);
    let fairness = pick(rng, &[Fairness::Source, Fairness::Destination, Fairness::Both]);
    let params = HostFairParams::new(settings(rng, rate, queues), fairness).unwrap();
    let params = params.with_ipv6_prefix(pick(rng, &[1, 56, 64, 65, 127, 128])).unwrap();
    let mut draws = rng.beside("draws");
    let plan = QdiscQueue::HostFair(params.clone());
    let element = Box::new(HostFair::new(params, draws.clone()));
    let seed = draws.below(u64::MAX);
    ((plan, element), seed, draws)
}

fn alone(rng: &Rng, shaper: ShaperParams, (plan, inner): Child, seed: u64) -> Scheme {
    let schedule = QdiscSchedule::Strict(vec![plan]);
    let scheme = Scheme::new(rng, shaper, schedule, DscpTable::filled(0), inner);
    Scheme { seeds: vec![seed], ..scheme }
}

fn fq_codel_alone(rng: &mut Rng) -> Scheme {
    let shaper = shaper(rng);
    let (child, seed) = fq_codel(rng, shaper.rate(), 0);
    alone(rng, shaper, child, seed)
}

fn host_fair_alone(rng: &mut Rng) -> Scheme {
    let shaper = shaper(rng);
    let (child, seed, draws) = host_fair(rng, shaper.rate());
    Scheme { draws, ..alone(rng, shaper, child, seed) }
}

/// Several such queues among others. Only one draws: both sides have one generator.
fn among_others(rng: &mut Rng) -> Scheme {
    let (shaper, queues) = (shaper(rng), 1 + rng.below(5) as usize);
    let of_hosts = rng.below(2 * queues as u64) as usize;
    let (mut children, mut seeds, mut draws) = (Vec::<Child>::new(), Vec::new(), None);
    for number in 0..queues {
        if number == of_hosts {
            let (child, seed, drawn) = host_fair(rng, shaper.rate());
            children.push(child);
            seeds.push(seed);
            draws = Some(drawn);
        } else if rng.below(4) == 0 {
            let params = FifoParams::new(limit(rng)).unwrap();
            children.push((QdiscQueue::Fifo(params.clone()), Box::new(Fifo::new(params))));
        } else {
            let (child, seed) = fq_codel(rng, shaper.rate(), number);
            children.push(child);
            seeds.push(seed);
        }
    }
    let scheme = in_classes(rng, shaper, children);
    Scheme { draws: draws.unwrap_or(scheme.draws), seeds, ..scheme }
}

/// Sequences reach what they are to compare.
fn reaches_all(tally: &Tally) {
    assert!(tally.left > 100_000, "{}", tally.left);
    let (early, overlimit) =
        (dropped(tally, DropReason::Early), dropped(tally, DropReason::Overlimit));
    assert!(early > 10_000 && overlimit > 10_000, "{early} {overlimit}");
}

#[test]
fn fq_codel_serves_and_drops_what_the_element_does() {
    reaches_all(&compare_all(fq_codel_alone));
}

#[test]
fn hosts_in_turn_are_served_and_lose_what_the_element_serves_and_drops() {
    let tally = compare_all(host_fair_alone);
    reaches_all(&tally);
    // Of BLUE alone: CoDel leaves the last packet.
    assert!(tally.emptied > 1_000, "{}", tally.emptied);
}

#[test]
fn flows_in_turn_stand_among_other_classes_as_the_elements_do() {
    reaches_all(&compare_all(among_others));
}

/// The defaults of RFC 8290, with so many queues.
fn defaults(queues: usize, limit: Length) -> FlowQueueSettings {
    let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
    FlowQueueSettings {
        limit,
        queues,
        quantum: Bytes(1_514),
        codel: CoDelParams::new(target, interval, Bytes(1_514)).unwrap(),
        ecn: EcnMode::Drop,
    }
}

/// Such queues in strict priority, at 8 Mbit/s: a packet takes 1 ms.
fn planned(queues: Vec<QdiscQueue>) -> Result<QdiscPlan, Unplannable> {
    let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
    let schedule = QdiscSchedule::Strict(queues);
    QdiscPlan::new(&shaper, 0, &schedule, &Classifier::default(), 0)
}

fn of_flows(settings: FlowQueueSettings) -> QdiscQueue {
    QdiscQueue::FqCodel(FqCodelParams::new(settings).unwrap())
}

fn of_hosts(settings: FlowQueueSettings) -> HostFairParams {
    HostFairParams::new(settings, Fairness::Both).unwrap()
}

#[test]
fn a_hundred_thousand_flows_share_the_queues_there_are() {
    for limit in [Length::Packets(10_240), Length::Bytes(Bytes(1_000_000))] {
        let settings = defaults(1_024, limit);
        let draws = Rng::stream(1, "draws");
        let seed = draws.clone().below(u64::MAX);
        let plan = planned(vec![of_flows(settings)]).unwrap();
        let twin = Twin::with_seeds(&plan, draws.clone(), &[seed]);
        let element = FqCodel::new(FqCodelParams::new(settings).unwrap(), draws);
        compare_long(twin, Box::new(element), 100_000, 100_000);
    }
}

#[test]
fn hosts_are_forgotten_while_a_hundred_thousand_flows_come_and_go() {
    let settings = defaults(1_024, Length::Packets(10_240));
    let mut draws = Rng::stream(1, "draws");
    let element = HostFair::new(of_hosts(settings), draws.clone());
    let seed = draws.below(u64::MAX);
    let plan = planned(vec![QdiscQueue::HostFair(of_hosts(settings))]).unwrap();
    let twin = Twin::with_seeds(&plan, draws, &[seed]);
    compare_long(twin, Box::new(element), 100_000, 100_000);
}

/// Numbers of packets, and of their flows: four packets of one, then one of another.
const TWO_FLOWS: [(u32, u32); 5] = [(1, 0), (2, 0), (3, 0), (4, 0), (5, 9)];

#[test]
fn a_plan_of_the_same_shape_keeps_flows_in_turn_and_another_lets_packets_leave_first() {
    let queue = |queues, packets| of_flows(defaults(queues, Length::Packets(packets)));
    for (next, order) in [(queue(64, 9), [1, 2, 5, 6, 3, 4]), (queue(32, 10), [1, 2, 3, 4, 5, 6])] {
        let plan = planned(vec![queue(64, 10)]).unwrap();
        let mut twin = Twin::with_seeds(&plan, Rng::stream(1, "none"), &[1]);
        for (number, of) in TWO_FLOWS {
            assert!(twin.arrive(at(0), &of_flow(number, flow(of)), 0).is_empty());
        }
        twin.reload(&planned(vec![next]).unwrap());
        assert!(twin.arrive(at(0), &of_flow(6, flow(9)), 0).is_empty());
        assert_eq!(all_that_leave(&mut twin, 0), order);
    }
}

#[test]
fn after_the_kernel_has_emptied_it_queues_and_hosts_are_new() {
    let settings = defaults(8, Length::Packets(100));
    let plan = planned(vec![QdiscQueue::HostFair(of_hosts(settings))]).unwrap();
    let mut twin = Twin::new(&plan, Rng::stream(1, "none"));
    for round in 0..1_000 {
        for (number, of) in TWO_FLOWS {
            let packet = of_flow(number, flow(of + 9 * (round as u32 % 7)));
            assert!(twin.arrive(at(round), &packet, 0).is_empty(), "{round}");
        }
        twin.reset();
    }
    assert!(twin.is_bounded());
    assert_eq!(twin.serve(at(2_000)), Err(0));
}

#[test]
fn marks_and_more_queues_of_flows_than_there_is_room_for_are_refused_by_name() {
    let refused = |settings| planned(vec![of_flows(settings)]).unwrap_err().to_string();
    let settings = defaults(1_024, Length::Packets(100));
    assert_eq!(
        refused(FlowQueueSettings { ecn: EcnMode::Mark, ..settings }),
        "a BPF queueing discipline cannot write ECN marks into packets"
    );
    assert_eq!(
        refused(FlowQueueSettings { queues: 16_385, ..settings }),
        "the BPF queueing discipline has at most 16384 queues of flows; found 16392"
    );
    let codel = CoDelParams::new(Duration::from_millis(5), Duration::from_secs(4_399), Bytes(0));
    assert_eq!(
        refused(FlowQueueSettings { codel: codel.unwrap(), ..settings }),
        "the BPF queueing discipline has at most 4398046511103 nanoseconds in CoDel's interval; \
         found 4399000000000"
    );
    assert!(planned(vec![of_flows(settings); 16]).is_ok());
    assert_eq!(
        planned(vec![of_flows(settings); 17]).unwrap_err().to_string(),
        "the BPF queueing discipline has at most 16 queues with flows in turn; found 17"
    );
}

#[test]
fn what_cannot_be_read_leaves_at_once_where_a_class_drops_all_that_it_has() {
    let (target, interval) = (Duration::from_millis(1), Duration::from_millis(100));
    let codel = CoDelParams::new(target, interval, Bytes(1_514)).unwrap();
    let settings = FlowQueueSettings { codel, ..defaults(8, Length::Packets(1)) };
    let plan = planned(vec![QdiscQueue::HostFair(of_hosts(settings))]).unwrap();
    let mut twin = Twin::new(&plan, Rng::stream(1, "none"));
    // The probability of BLUE rises by 1/256 each time that the limit is exceeded, until it drops all.
    for number in 0..257 {
        let dropped = twin.arrive(at(2 * u64::from(number)), &of_flow(number, flow(0)), 0);
        assert_eq!(dropped.len(), usize::from(number > 0), "{number}");
    }
    let now = at(514);
    assert!(twin.arrive_unreadable(now, &of_flow(257, flow(0))).is_empty());
    assert_eq!(twin.serve_or_drop(now), (Err(now.nanos()), vec![256]));
    assert_eq!(twin.serve(now), Ok(257));
}
