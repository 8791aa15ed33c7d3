//! Weighted fair queueing, beside a fluid server that is computed in another way.

use std::collections::VecDeque;

use proptest::prelude::*;
use shortflow_elements::classifier::{Classifier, MultiField, PortRange};
use shortflow_elements::queue::{Share, Weight, Wfq, WfqClass, WfqParams, WhenFull};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_units::{Bytes, Instant, Length, Rate, Remainder, Transmission};

use crate::bench::{Bench, P, mbit, ms, number_of, p, rng, us};

fn rate(kilobits: u64) -> Rate {
    Rate::from_bits_per_sec(1000 * kilobits)
}

/// A class of this weight that has no limit of its own.
fn class(weight: f64, share: Share) -> WfqClass {
    WfqClass::new(Weight::of_number(weight).unwrap(), share, None).unwrap()
}

/// Packets of flow `i` are of class `i`; those of further flows are of the last one.
fn by_flow(classes: Vec<WfqClass>, limit: Option<Length>) -> WfqParams {
    let of = |flow| {
        let src_ports = Some(PortRange::new(flow, flow).unwrap().into());
        MultiField { src_ports, ..MultiField::default() }
    };
    let rules = (0..classes.len()).map(|class| (of(class as u16), class)).collect();
    let last = classes.len() - 1;
    WfqParams::new(classes, Classifier::new(rules), last, limit).unwrap()
}

/// Classes of these weights before a line of 8 Mbit/s, on which 1000 bytes last 1 ms.
fn queue(weights: &[f64]) -> Wfq {
    let classes = weights.iter().map(|&weight| class(weight, Share::Class)).collect();
    Wfq::new(by_flow(classes, Some(Length::Packets(1000))), mbit(8), rng())
}

fn packet(flow: u16, number: u32) -> P {
    p(number).of_flow(flow)
}

/// A packet that arrives before the line.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Instant,
    flow: u16,
    size: u32,
}

/// Sends `arrivals`, which are in order, over a line of `rate`: when each was sent whole, and in
/// which order. At one instant arrivals come before the line asks.
fn sent(queue: &mut Wfq, rate: Rate, arrivals: &[Arrival]) -> (Vec<Instant>, Vec<usize>) {
    let mut drops = Drops::default();
    let mut line = Transmission::at(rate);
    let (mut finished, mut order) = (vec![Instant::NEVER; arrivals.len()], Vec::new());
    let (mut free_at, mut next) = (Instant::START, 0);
    while order.len() < arrivals.len() {
        if queue.backlog().packets == 0 && arrivals[next].at > free_at {
            free_at = arrivals[next].at;
            line.set_remainder(Remainder::NONE);
        }
        while let Some(arrival) = arrivals.get(next).filter(|arrival| arrival.at <= free_at) {
            let packet = packet(arrival.flow, next as u32).sized(arrival.size);
            queue.enqueue(arrival.at, packet.packet(), &mut drops);
            next += 1;
        }
        let given = queue.dequeue(free_at, &mut drops).expect("a packet waits");
        let number = number_of(&given.packet) as usize;
        free_at += line.time(given.packet.size);
        finished[number] = free_at;
        order.push(number);
    }
    assert!(drops.is_empty());
    (finished, order)
}

/// When a fluid server finishes each of `arrivals`, in seconds: from instant to instant, the bits
/// that each flow has had, without virtual time.
fn fluid(weights: &[f64], rate: Rate, arrivals: &[Arrival]) -> Vec<f64> {
    let rate = rate.bits_per_sec() as f64;
    let flow_count = weights.len();
    let (mut offered, mut served) = (vec![0.0; flow_count], vec![0.0; flow_count]);
    let mut finished = vec![f64::NAN; arrivals.len()];
    // The packets of each flow, by the bits of the flow that have been served when they are done.
    let mut pending = vec![VecDeque::<(f64, usize)>::new(); flow_count];
    let (mut now, mut next) = (0.0, 0);
    loop {
        let busy: Vec<usize> = (0..flow_count).filter(|&flow| !pending[flow].is_empty()).collect();
        let weight_of_busy: f64 = busy.iter().map(|&flow| weights[flow]).sum();
        let speed = |flow: usize| rate * weights[flow] / weight_of_busy;
        let first_done = busy
            .iter()
            .map(|&flow| (now + (pending[flow][0].0 - served[flow]) / speed(flow), flow))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let arrives = arrivals.get(next).map(|arrival| arrival.at.nanos() as f64 / 1e9);
        let (until, done) = match (first_done, arrives) {
            (None, None) => return finished,
            (Some((at, flow)), arrives) if arrives.is_none_or(|arrives| at <= arrives) => {
                (at, Some(flow))
            }
            (_, arrives) => (arrives.unwrap(), None),
        };
        for &flow in &busy {
            served[flow] += (until - now) * speed(flow);
        }
        now = until;
        if let Some(flow) = done {
            let (bits, number) = pending[flow].pop_front().unwrap();
            (served[flow], finished[number]) = (bits, now);
        } else {
            let Arrival { flow, size, .. } = arrivals[next];
            let flow = usize::from(flow);
            offered[flow] += 8.0 * f64::from(size);
            pending[flow].push_back((offered[flow], next));
            next += 1;
        }
    }
}

/// Packets in instants of whole milliseconds: time, flow, size in thousands of bytes.
fn arrivals(table: &[(u64, u16, u32)]) -> Vec<Arrival> {
    let arrival = |&(at, flow, size)| Arrival { at: ms(at), flow, size: 1000 * size };
    table.iter().map(arrival).collect()
}

#[test]
fn the_example_of_parekh_and_gallager_comes_out() {
    // Parekh & Gallager 1993, Figure 3: sessions 1 and 2, here in the order of arrival.
    let packets =
        arrivals(&[(0, 1, 3), (1, 0, 1), (2, 0, 1), (3, 0, 2), (5, 1, 2), (9, 1, 2), (11, 0, 2)]);
    let finished = |weights: &[f64]| sent(&mut queue(weights), mbit(8), &packets).0;
    assert_eq!(finished(&[1.0, 1.0]), [3, 4, 5, 7, 9, 11, 13].map(ms));
    assert_eq!(finished(&[1.0, 2.0]), [3, 4, 5, 9, 7, 11, 13].map(ms));

    // The fluid server against which the law is checked gives the figure's other rows.
    let millis = |weights: &[f64]| -> Vec<f64> {
        fluid(weights, mbit(8), &packets).iter().map(|at| (at * 1e6).round() / 1e3).collect()
    };
    assert_eq!(millis(&[1.0, 1.0]), [5.0, 3.0, 5.0, 9.0, 9.0, 11.0, 13.0]);
    assert_eq!(millis(&[1.0, 2.0]), [4.0, 4.0, 5.0, 9.0, 8.0, 11.0, 13.0]);
}

const WEIGHTS: [f64; 5] = [1.0, 4.0, 0.5, 20.0, 0.01];

/// What the line's whole nanoseconds may make: it and the clock of arrivals are each up to 1 ns
/// beside the fluid server, and seconds in a double are exact to less than that.
const ROUNDING: f64 = 3e-9;

fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let packet = (0..5u16, 40..1500u32, prop_oneof![3 => 0..2_000u64, 1 => 0..20_000u64]);
    prop::collection::vec(packet, 1..120).prop_map(|packets| {
        let mut at = 0;
        let arrival = |(flow, size, gap)| {
            at += gap;
            Arrival { at: us(at), flow, size }
        };
        packets.into_iter().map(arrival).collect()
    })
}

proptest! {
    /// Parekh & Gallager 1993, Theorem 1.
    #[test]
    fn no_packet_is_sent_later_than_the_fluid_finishes_it_plus_the_largest_packet(
        arrivals in traffic(),
        kilobits in 500..20_000u64,
    ) {
        let rate = rate(kilobits);
        let classes = WEIGHTS.map(|weight| class(weight, Share::Class)).to_vec();
        let mut queue = Wfq::new(by_flow(classes, Some(Length::Packets(1000))), rate, rng());
        let (finished, _) = sent(&mut queue, rate, &arrivals);
        let fluid = fluid(&WEIGHTS, rate, &arrivals);
        let largest = arrivals.iter().map(|arrival| arrival.size).max().unwrap();
        let slack = 8.0 * f64::from(largest) / rate.bits_per_sec() as f64;
        for (finished, fluid) in finished.iter().zip(fluid) {
            let finished = finished.nanos() as f64 / 1e9;
            prop_assert!(finished <= fluid + slack + ROUNDING, "{finished} {fluid} {slack}");
        }
    }

    /// What the fluid server finishes first is sent first, of what has come when the line is free:
    /// so every virtual finish time is right, not only those that make a packet late.
    #[test]
    fn the_order_is_that_in_which_the_fluid_server_finishes(
        arrivals in traffic(),
        kilobits in 500..20_000u64,
    ) {
        let rate = rate(kilobits);
        let classes = WEIGHTS.map(|weight| class(weight, Share::Class)).to_vec();
        let mut queue = Wfq::new(by_flow(classes, Some(Length::Packets(1000))), rate, rng());
        let (finished, order) = sent(&mut queue, rate, &arrivals);
        let fluid = fluid(&WEIGHTS, rate, &arrivals);
        for (place, &number) in order.iter().enumerate() {
            let started = place.checked_sub(1).map_or(Instant::START, |before| {
                finished[order[before]]
            });
            for &later in &order[place + 1..] {
                let waited = arrivals[later].at <= started.max(arrivals[number].at);
                prop_assert!(!waited || fluid[number] <= fluid[later] + ROUNDING);
            }
        }
    }

    /// A weight per flow is the same as a class for each flow.
    #[test]
    fn flows_of_a_class_each_have_its_weight(arrivals in traffic()) {
        let (rate, limit) = (mbit(2), Some(Length::Packets(1000)));
        let classes = vec![class(3.0, Share::Class); 5];
        let mut apart = Wfq::new(by_flow(classes, limit), rate, rng());
        let per_flow = vec![class(3.0, Share::Flow { limit: None })];
        let mut together = Wfq::new(by_flow(per_flow, limit), rate, rng());
        prop_assert_eq!(
            sent(&mut apart, rate, &arrivals),
            sent(&mut together, rate, &arrivals)
        );
    }
}

/// Keeps each flow backlogged while `packets` leave at intervals of `line`'s time, and says how
/// many bytes of each flow left.
fn saturated(queue: &mut Wfq, sizes: &[u32], line: Rate, packets: u32) -> Vec<u64> {
    let (mut drops, mut sent) = (Drops::default(), vec![0; sizes.len()]);
    let offer = |queue: &mut Wfq, now, flow: u16| {
        let packet = packet(flow, 0).sized(sizes[usize::from(flow)]).packet();
        queue.enqueue(now, packet, &mut Drops::default());
    };
    let mut now = Instant::START;
    for flow in 0..sizes.len() as u16 {
        (0..3).for_each(|_| offer(queue, now, flow));
    }
    for _ in 0..packets {
        let given = queue.dequeue(now, &mut drops).unwrap().packet;
        sent[usize::from(given.key.src_port)] += u64::from(given.size);
        now += line.time_for(Bytes(u64::from(given.size)));
        offer(queue, now, given.key.src_port);
    }
    sent
}

/// Whether `sent` is in proportion to `weights`. Of each flow no more than one packet less is sent
/// than the fluid server serves, so no more than all others' packets more.
fn in_proportion(sent: &[u64], weights: &[f64], sizes: &[u32]) -> bool {
    let total = sent.iter().sum::<u64>() as f64 / weights.iter().sum::<f64>();
    let packets: u32 = sizes.iter().sum();
    let mut flows = sent.iter().zip(weights);
    flows.all(|(&sent, weight)| (sent as f64 - total * weight).abs() <= f64::from(packets))
}

#[test]
fn backlogged_flows_share_the_line_in_proportion_to_their_weights() {
    let (weights, sizes) = ([1.0, 2.0, 5.0, 0.25], [1500, 100, 576, 40]);
    let sent = saturated(&mut queue(&weights), &sizes, mbit(8), 50_000);
    assert!(in_proportion(&sent, &weights, &sizes), "{sent:?}");
}

#[test]
fn a_line_that_is_slower_than_said_is_shared_in_the_same_way() {
    let (weights, sizes) = ([1.0, 2.0, 5.0, 0.25], [1500, 100, 576, 40]);
    let sent = saturated(&mut queue(&weights), &sizes, mbit(5), 50_000);
    assert!(in_proportion(&sent, &weights, &sizes), "{sent:?}");
}

#[test]
fn a_flow_that_comes_back_has_no_claim_to_what_it_left_unused() {
    let mut queue = Bench::new(queue(&[1.0, 1.0]));
    for number in 0..20 {
        queue.at(ms(0)).takes(packet(0, number));
    }
    for at in 0..10 {
        queue.at(ms(at.into())).gives(packet(0, at));
    }
    queue.at(ms(10)).takes(packet(1, 30)).takes(packet(1, 31)).takes(packet(1, 32));
    // From here on they take turns: flow 1 does not make up for ten packets.
    for (at, packet) in [packet(0, 10), packet(1, 30), packet(0, 11), packet(1, 31), packet(0, 12)]
        .iter()
        .enumerate()
    {
        queue.at(ms(10 + at as u64)).gives(*packet);
    }
}

#[test]
fn a_flow_that_keeps_to_its_reserved_rate_waits_no_longer_than_its_bound() {
    // 40 kbit/s in packets of 250 bytes, one each 50 ms, beside 9.96 Mbit/s that are always used.
    let reserved = |kilobits| {
        let weight = Weight::of_rate(rate(kilobits)).unwrap();
        WfqClass::new(weight, Share::Class, Some(Length::Packets(50))).unwrap()
    };
    let mut queue = Wfq::new(by_flow(vec![reserved(40), reserved(9_960)], None), mbit(10), rng());
    let mut drops = Drops::default();
    let mut longest = 0;
    // A packet of 1500 bytes lasts 1.2 ms, one of 250 bytes 0.2 ms.
    let (mut now, mut next) = (0, 0);
    while now < 60_000_000 {
        while next <= now {
            queue.enqueue(us(next), packet(0, 0).sized(250).packet(), &mut drops);
            next += 50_000;
        }
        while queue.backlog().packets < 40 {
            queue.enqueue(us(now), packet(1, 0).sized(1500).packet(), &mut drops);
        }
        let given = queue.dequeue(us(now), &mut drops).unwrap();
        now += if given.packet.size == 250 { 200 } else { 1200 };
        if given.packet.size == 250 {
            longest = longest.max(us(now).since(given.since).nanos());
        }
    }
    // Parekh & Gallager 1993, Theorem 1 with a bucket of one packet: σ/ρ + L_max/r = 51.2 ms. The
    // scheduler has nothing to gain from sending a packet much earlier.
    assert!((40_000_000..=51_200_000).contains(&longest), "{longest}");
    assert!(drops.is_empty());
}

#[test]
fn a_full_class_does_not_touch_the_others_and_classes_may_share_a_limit() {
    let weight = Weight::of_number(1.0).unwrap();
    let own = WfqClass::new(weight, Share::Class, Some(Length::Packets(2))).unwrap();
    let classes = vec![own, class(1.0, Share::Class), class(1.0, Share::Class)];
    let params = by_flow(classes, Some(Length::Bytes(Bytes(3000))));
    let mut queue = Bench::new(Wfq::new(params, mbit(8), rng()));
    queue.at(ms(0)).takes(packet(1, 1)).takes(packet(1, 2)).takes(packet(2, 3));
    queue
        .at(ms(0))
        .drops(packet(2, 4), DropReason::Overlimit)
        .drops(packet(1, 5), DropReason::Overlimit);
    queue
        .at(ms(0))
        .takes(packet(0, 6))
        .takes(packet(0, 7))
        .drops(packet(0, 8), DropReason::Overlimit);
    queue.holds(5, 5000);
}

#[test]
fn the_class_that_holds_the_most_for_its_weight_is_pushed_out_of_a_full_buffer() {
    let classes = [3.0, 1.0, 1.0].map(|weight| class(weight, Share::Class)).to_vec();
    let params = by_flow(classes, Some(Length::Packets(10)));
    let mut queue = Bench::new(Wfq::new(params.clone(), mbit(8), rng()));
    for number in 0..8 {
        queue.at(ms(0)).takes(packet(1, number));
    }
    queue.at(ms(0)).takes(packet(2, 20)).takes(packet(2, 21));
    // Class 1 holds 7 behind its first, and would hold 8; class 2 has room for a third.
    queue.at(ms(0)).drops(packet(1, 8), DropReason::Overlimit);
    queue
        .at(ms(0))
        .pushes_out(packet(2, 22), &[packet(1, 7)])
        .pushes_out(packet(0, 30), &[packet(1, 6)]);
    // Behind its first, class 0 holds a third of what it does for its weight.
    for (number, pushed_out) in [(31, 5), (32, 4)] {
        queue.at(ms(0)).pushes_out(packet(0, number), &[packet(1, pushed_out)]);
    }
    // 4 of class 1, 3 of class 2, 3 of class 0.
    queue.at(ms(0)).drops(packet(2, 23), DropReason::Overlimit);
    queue.holds(10, 10_000);
    let queue = Wfq::new(params.with_when_full(WhenFull::TailDrop).unwrap(), mbit(8), rng());
    let mut queue = Bench::new(queue);
    for number in 0..10 {
        queue.at(ms(0)).takes(packet(1, number));
    }
    queue.at(ms(0)).drops(packet(0, 30), DropReason::Overlimit);
}

#[test]
fn under_a_limit_in_bytes_as_many_are_pushed_out_as_the_arrival_needs() {
    let classes = vec![class(1.0, Share::Class); 2];
    let params = by_flow(classes, Some(Length::Bytes(Bytes(3000))));
    let mut queue = Bench::new(Wfq::new(params, mbit(8), rng()));
    for number in 0..6 {
        queue.at(ms(0)).takes(packet(0, number).sized(500));
    }
    let large = packet(1, 10).sized(1200);
    queue.at(ms(0)).pushes_out(large, &[5, 4, 3].map(|number| packet(0, number).sized(500)));
    queue.at(ms(0)).drops(packet(1, 11).sized(3001), DropReason::Overlimit);
    queue.holds(4, 2700);
}

/// What is offered to a full buffer is more than its part for each, so that packets are pushed out all the
/// time; the fluid server forgets them, and the rest is shared as the weights say.
#[test]
fn a_full_shared_buffer_leaves_the_shares_as_the_weights() {
    let (weights, sizes) = ([1.0, 2.0, 5.0, 0.25], [1500, 100, 576, 40]);
    for limit in [Length::Packets(40), Length::Bytes(Bytes(40_000)), Length::Packets(6)] {
        let classes = weights.iter().map(|&weight| class(weight, Share::Class)).collect();
        let mut queue = Wfq::new(by_flow(classes, Some(limit)), mbit(8), rng());
        let (mut drops, mut sent, mut pushed_out) = (Drops::default(), [0_u64; 4], 0);
        let mut now = Instant::START;
        for _ in 0..20_000 {
            for flow in [3, 0, 2, 1, 2, 0, 1, 3, 2] {
                let packet = packet(flow, 0).sized(sizes[usize::from(flow)]).packet();
                queue.enqueue(now, packet, &mut drops);
            }
            let reasons = drops.drain().map(|dropped| dropped.reason);
            pushed_out += reasons.filter(|reason| *reason == DropReason::PushedOut).count();
            let given = queue.dequeue(now, &mut drops).unwrap().packet;
            sent[usize::from(given.key.src_port)] += u64::from(given.size);
            now += mbit(8).time_for(Bytes(u64::from(given.size)));
        }
        assert!(pushed_out > 1000, "{limit}: {pushed_out}");
        assert!(in_proportion(&sent, &weights, &sizes), "{limit}: {sent:?}");
    }
}

#[test]
fn a_flow_may_have_a_limit_within_that_of_its_class() {
    let share = Share::Flow { limit: Some(Length::Packets(2)) };
    let mut queue = Bench::new(Wfq::new(
        by_flow(vec![class(1.0, share)], Some(Length::Packets(3))),
        mbit(8),
        rng(),
    ));
    queue
        .at(ms(0))
        .takes(packet(7, 1))
        .takes(packet(7, 2))
        .drops(packet(7, 3), DropReason::Overlimit);
    queue.at(ms(0)).takes(packet(8, 4)).drops(packet(8, 5), DropReason::Overlimit);
    queue.at(ms(1)).gives(packet(7, 1)).gives(packet(8, 4)).takes(packet(8, 6)).takes(packet(7, 7));
}

#[test]
fn a_flow_is_forgotten_when_the_fluid_is_through_with_it() {
    let share = Share::Flow { limit: None };
    let params = by_flow(vec![class(1.0, share)], Some(Length::Packets(9)));
    let mut queue = Bench::new(Wfq::new(params, mbit(8), rng()));
    queue.at(ms(0)).takes(packet(1, 1)).takes(packet(2, 2)).takes(packet(2, 3)).gives(packet(1, 1));
    queue.at(ms(1)).gives(packet(2, 2));
    assert_eq!(queue.queue.flows(), 2);
    // At 2 ms the fluid server is through with flow 1 and with half of flow 2.
    queue.at(ms(2)).takes(packet(3, 4));
    assert_eq!(queue.queue.flows(), 2);
    queue.at(ms(2)).gives(packet(2, 3));
    // Nothing of flow 2 waits, but the fluid server has half of this packet and of flow 3's.
    queue.at(ms(3)).gives(packet(3, 4));
    assert_eq!(queue.queue.flows(), 2);
    queue.at(ms(4)).gives_nothing();
    assert_eq!(queue.queue.flows(), 0);
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    let refused = |classes, limit| {
        WfqParams::new(classes, Classifier::default(), 0, limit).unwrap_err().to_string()
    };
    let nine = Some(Length::Packets(9));
    assert_eq!(refused(vec![], nine), "class 0 is used but there are only 0 classes");
    let of_class = |share, limit| WfqClass::new(Weight::of_number(1.0).unwrap(), share, limit);
    assert_eq!(
        refused(vec![of_class(Share::Class, None).unwrap()], None),
        "a class has no `limit`, and the queue has no `limit` for such classes"
    );
    assert_eq!(
        refused(vec![of_class(Share::Class, nine).unwrap()], nine),
        "limit 9 pkt has no effect: every class has its own limit"
    );
    let own = vec![of_class(Share::Class, nine).unwrap(); 2];
    let params = WfqParams::new(own, Classifier::default(), 0, None).unwrap();
    assert_eq!(
        params.with_when_full(WhenFull::TailDrop).unwrap_err().to_string(),
        "full has no effect: no limit is shared by classes or flows"
    );
    let nothing = Some(Length::Packets(0));
    let refused = of_class(Share::Class, nothing).unwrap_err().to_string();
    assert_eq!(refused, "limit must be above zero; found 0 pkt");
    let refused = of_class(Share::Flow { limit: nothing }, nine).unwrap_err().to_string();
    assert_eq!(refused, "flow_limit must be above zero; found 0 pkt");
    let weight = |number| Weight::of_number(number).unwrap_err().to_string();
    assert_eq!(weight(0.0), "weight must be 0.001 to 1000000; found 0");
    assert_eq!(weight(f64::NAN), "weight must be 0.001 to 1000000; found NaN");
    assert_eq!(
        Weight::of_rate(Rate::ZERO).unwrap_err().to_string(),
        "weight must be 1 bit/s to 1 Tbit/s; found 0 bit/s"
    );
}
