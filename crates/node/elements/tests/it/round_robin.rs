//! Weighted and deficit round robin, also over a child that is held back.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::{Classifier, DscpSet, MultiField};
use shortflow_elements::queue::{Fifo, FifoParams};
use shortflow_elements::scheduler::{DeficitRoundRobin, WeightedRoundRobin};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Length};

use crate::bench::{Bench, P, ms, p};
use crate::strict_priority::Paced;

const CLASSES: [Dscp; 3] = [Dscp::EF, Dscp::AF11, Dscp::BEST_EFFORT];

/// EF, AF11 and the rest, by class.
pub(crate) fn by_code_point() -> Classifier {
    let is = |dscp| MultiField { dscps: Some(DscpSet::EMPTY.with(dscp)), ..MultiField::default() };
    Classifier::new(vec![(is(Dscp::EF), 0), (is(Dscp::AF11), 1)])
}

pub(crate) fn fifo() -> Fifo {
    Fifo::new(FifoParams::new(Length::Packets(2000)).unwrap())
}

pub(crate) fn paced() -> Paced {
    Paced::new(fifo(), Duration::from_millis(10))
}

fn wrr(weights: [u32; 3], first: impl QueueDiscipline + 'static) -> Bench<WeightedRoundRobin> {
    let [a, b, c] = weights;
    let children: Vec<(u32, Box<dyn QueueDiscipline>)> =
        vec![(a, Box::new(first)), (b, Box::new(fifo())), (c, Box::new(fifo()))];
    Bench::new(WeightedRoundRobin::new(by_code_point(), children, 2).unwrap())
}

fn drr(quanta: [u64; 3], first: impl QueueDiscipline + 'static) -> Bench<DeficitRoundRobin> {
    let [a, b, c] = quanta.map(Bytes);
    let children: Vec<(Bytes, Box<dyn QueueDiscipline>)> =
        vec![(a, Box::new(first)), (b, Box::new(fifo())), (c, Box::new(fifo()))];
    Bench::new(DeficitRoundRobin::new(by_code_point(), children, 2).unwrap())
}

pub(crate) fn of_class(class: usize, number: u32) -> P {
    p(number).marked(CLASSES[class])
}

/// The classes of the next `packets` packets.
pub(crate) fn served<Q: QueueDiscipline>(bench: &mut Bench<Q>, packets: usize) -> Vec<usize> {
    let mut at = bench.at(ms(1));
    let next = |_| {
        let packet = at.next().expect("a packet is there");
        CLASSES.iter().position(|&dscp| dscp == packet.dscp).unwrap()
    };
    (0..packets).map(next).collect()
}

#[test]
fn wrr_gives_each_class_its_weight_in_packets_in_turn() {
    let mut queue = wrr([1, 2, 3], fifo());
    for number in 0..12 {
        (0..3).for_each(|class| {
            let _ = queue.at(ms(0)).takes(of_class(class, 3 * number));
        });
    }
    assert_eq!(served(&mut queue, 12), [0, 1, 1, 2, 2, 2, 0, 1, 1, 2, 2, 2]);
}

#[test]
fn wrr_passes_over_a_class_that_has_nothing_to_give() {
    let mut queue = wrr([1, 2, 3], fifo());
    queue.at(ms(0)).takes(of_class(0, 1)).takes(of_class(2, 2)).takes(of_class(0, 3));
    queue.at(ms(0)).takes(of_class(2, 4)).takes(of_class(2, 5)).takes(of_class(2, 6));
    assert_eq!(served(&mut queue, 6), [0, 2, 2, 2, 0, 2]);
    queue.at(ms(2)).gives_nothing().takes(of_class(1, 7)).gives(of_class(1, 7));
}

#[test]
fn wrr_skips_a_class_that_is_held_back_until_it_is_ready() {
    let mut queue = wrr([2, 1, 1], paced());
    queue.at(ms(0)).takes(of_class(0, 1)).takes(of_class(0, 2)).takes(of_class(2, 3));
    queue.at(ms(0)).gives(of_class(0, 1)).gives(of_class(2, 3)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(10)));
    queue.at(ms(10)).takes(of_class(2, 4)).gives(of_class(0, 2)).gives(of_class(2, 4));
    assert_eq!(queue.queue.ready_at(), None);
}

#[test]
fn drr_sends_until_the_deficit_is_used_up_and_settles_the_debt_next_turn() {
    let mut queue = drr([1500, 500, 1000], fifo());
    for number in 0..8 {
        (0..3).for_each(|class| {
            let _ = queue.at(ms(0)).takes(of_class(class, 3 * number));
        });
    }
    // Counters after each turn, with packets of 1000 bytes. Class 0: -500, 0, -500, 0; so it gives
    // 2, 1, 2, 1 packets. Class 1: -500, 0, -500: one packet every other turn. Class 2: 0, 0, 0.
    assert_eq!(served(&mut queue, 12), [0, 0, 1, 2, 0, 2, 0, 0, 1, 2, 0, 2]);
}

#[test]
fn drr_shares_bytes_as_the_quanta_whatever_the_sizes_of_packets() {
    let quanta = [1500, 3000, 4500];
    let sizes = [1500, 300, 700];
    let mut queue = drr(quanta, fifo());
    for number in 0..2000 {
        for (class, &size) in sizes.iter().enumerate() {
            let _ = queue.at(ms(0)).takes(of_class(class, number).sized(size));
        }
    }
    let mut bytes = [0u64; 3];
    served(&mut queue, 2000).into_iter().for_each(|class| bytes[class] += u64::from(sizes[class]));
    // Shreedhar & Varghese 1995, Theorem 1: over whole rounds what is sent differs from the quanta
    // by at most a largest packet. The last round is cut off, which is a quantum more.
    let rounds = bytes[0] / quanta[0];
    for class in 0..3 {
        let due = rounds * quanta[class];
        assert!(bytes[class].abs_diff(due) <= 1500 + quanta[class], "{bytes:?} after {rounds}");
    }
    assert!(rounds > 100);
}

#[test]
fn drr_lets_no_class_save_up_what_it_did_not_use() {
    let mut queue = drr([1000, 1000, 1000], fifo());
    (0..10).for_each(|number| {
        let _ = queue.at(ms(0)).takes(of_class(2, number));
    });
    assert_eq!(served(&mut queue, 5), [2; 5]);
    (10..15).for_each(|number| {
        let _ = queue.at(ms(1)).takes(of_class(0, number));
    });
    assert_eq!(served(&mut queue, 6), [0, 2, 0, 2, 0, 2]);
}

#[test]
fn drr_forgets_debts_when_nobody_waits() {
    let mut queue = drr([1000, 1000, 1000], fifo());
    // Class 0 goes 500 bytes into debt, and then nothing waits.
    queue.at(ms(0)).takes(of_class(0, 1).sized(1500)).gives(of_class(0, 1).sized(1500));
    for number in 2..4 {
        let _ = queue.at(ms(1)).takes(of_class(0, number).sized(900));
    }
    for number in 4..7 {
        let _ = queue.at(ms(1)).takes(of_class(1, number).sized(900));
    }
    // In each turn of 1000 bytes both send two packets of 900. A debt of 500 bytes would have cut
    // the turn of class 0 after the first.
    assert_eq!(served(&mut queue, 5), [1, 1, 0, 0, 1]);
}

#[test]
fn drr_needs_several_rounds_for_a_packet_of_many_quanta() {
    let mut queue = drr([10, 20, 30], fifo());
    for number in 0..6 {
        (0..3).for_each(|class| {
            let _ = queue.at(ms(0)).takes(of_class(class, 3 * number));
        });
    }
    let mut counts = [0; 3];
    served(&mut queue, 12).into_iter().for_each(|class| counts[class] += 1);
    assert_eq!(counts, [2, 4, 6]);
}

#[test]
fn drr_skips_a_class_that_is_held_back_until_it_is_ready() {
    let mut queue = drr([9000, 1000, 1000], paced());
    queue.at(ms(0)).takes(of_class(0, 1)).takes(of_class(0, 2)).takes(of_class(2, 3));
    queue.at(ms(0)).gives(of_class(0, 1)).gives(of_class(2, 3)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(10)));
    queue.at(ms(10)).takes(of_class(2, 4)).gives(of_class(0, 2)).gives(of_class(2, 4));
}

#[test]
fn no_weight_no_quantum_and_no_queue_are_refused() {
    let one = |value| -> Vec<(u32, Box<dyn QueueDiscipline>)> { vec![(value, Box::new(fifo()))] };
    let refused = WeightedRoundRobin::new(Classifier::default(), one(0), 0).err().unwrap();
    assert_eq!(
        (refused.parameter(), &*refused.to_string()),
        ("weight", "weight must be above zero; found 0")
    );
    let refused = WeightedRoundRobin::new(Classifier::default(), one(1), 1).err().unwrap();
    assert_eq!(refused.to_string(), "class 1 has no queue; there are 1 queues");
    let one: Vec<(Bytes, Box<dyn QueueDiscipline>)> =
        vec![(Bytes(2_000_000_000), Box::new(fifo()))];
    let refused = DeficitRoundRobin::new(Classifier::default(), one, 0).err().unwrap();
    assert_eq!(refused.to_string(), "quantum must be at most 1 GB; found 2 GB");
}
