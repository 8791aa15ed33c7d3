//! Shares in proportion to rates, whatever the children are.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::Classifier;
use shortflow_elements::scheduler::{FairShares, RateRange};
use shortflow_packet::Dscp;
use shortflow_units::{Duration, Rate};

use crate::bench::{Bench, mbit, ms};
use crate::round_robin::{by_code_point, fifo, of_class, paced, served};

fn shares(rates: [u64; 3], first: impl QueueDiscipline + 'static) -> Bench<FairShares> {
    shares_with(rates.map(|rate| RateRange::new(mbit(rate), None).unwrap()), first)
}

fn shares_with(
    [a, b, c]: [RateRange; 3],
    first: impl QueueDiscipline + 'static,
) -> Bench<FairShares> {
    let children: Vec<(RateRange, Box<dyn QueueDiscipline>)> =
        vec![(a, Box::new(first)), (b, Box::new(fifo())), (c, Box::new(fifo()))];
    Bench::new(FairShares::new(by_code_point(), children, 2).unwrap())
}

#[test]
fn packets_leave_in_the_order_of_their_start_tags() {
    let mut queue = shares([3, 1, 1], fifo());
    for number in 0..10 {
        (0..3).for_each(|class| {
            let _ = queue.at(ms(0)).takes(of_class(class, number));
        });
    }
    // Tags for packets of 1000 bytes. Class 0: 0, 1/3, 2/3, 1, … Classes 1 and 2: 0, 1, …
    assert_eq!(served(&mut queue, 10), [0, 1, 2, 0, 0, 0, 1, 2, 0, 0]);
}

#[test]
fn bytes_are_shared_as_the_rates_whatever_the_sizes_of_packets() {
    let (rates, sizes) = ([1, 2, 3], [1500, 300, 700]);
    let mut queue = shares(rates, fifo());
    for number in 0..2000 {
        for (class, &size) in sizes.iter().enumerate() {
            let _ = queue.at(ms(0)).takes(of_class(class, number).sized(size));
        }
    }
    let mut bytes = [0u64; 3];
    served(&mut queue, 2000).into_iter().for_each(|class| bytes[class] += u64::from(sizes[class]));
    // Goyal, Vin & Cheng 1996, Theorem 1: |W_a/r_a − W_b/r_b| ≤ l_a/r_a + l_b/r_b.
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let per_rate = |class: usize| bytes[class] as f64 / rates[class] as f64;
        let largest = |class: usize| f64::from(sizes[class]) / rates[class] as f64;
        assert!((per_rate(a) - per_rate(b)).abs() <= largest(a) + largest(b), "{bytes:?}");
    }
    assert!(bytes[0] > 100_000);
}

#[test]
fn what_one_leaves_the_others_share_in_proportion() {
    let mut queue = shares([6, 3, 1], fifo());
    for number in 0..100 {
        (1..3).for_each(|class| {
            let _ = queue.at(ms(0)).takes(of_class(class, number));
        });
    }
    let served = served(&mut queue, 80);
    assert_eq!(served.iter().filter(|class| **class == 1).count(), 60);
}

#[test]
fn nobody_saves_up_what_it_did_not_use() {
    let mut queue = shares([1, 1, 1], fifo());
    (0..10).for_each(|number| {
        let _ = queue.at(ms(0)).takes(of_class(2, number));
    });
    assert_eq!(served(&mut queue, 5), [2; 5]);
    (10..15).for_each(|number| {
        let _ = queue.at(ms(1)).takes(of_class(0, number));
    });
    // The fifth packet had the start tag 4, which the first of class 0 gets; from then on both have 5, 6, …
    assert_eq!(served(&mut queue, 6), [0, 0, 2, 0, 2, 0]);
}

#[test]
fn a_class_that_sent_alone_owes_nothing_once_nobody_waits() {
    let mut queue = shares([1, 1, 1], fifo());
    for number in 0..5 {
        queue.at(ms(0)).takes(of_class(0, number)).gives(of_class(0, number));
    }
    for number in 5..8 {
        let _ = queue.at(ms(1)).takes(of_class(0, number)).takes(of_class(1, number));
    }
    assert_eq!(served(&mut queue, 6), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_class_that_is_held_back_is_skipped_until_it_is_ready() {
    let mut queue = shares([9, 1, 1], paced());
    queue.at(ms(0)).takes(of_class(0, 1)).takes(of_class(0, 2)).takes(of_class(2, 3));
    queue.at(ms(0)).gives(of_class(0, 1)).gives(of_class(2, 3)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(10)));
    queue.at(ms(10)).takes(of_class(2, 4)).gives(of_class(0, 2)).gives(of_class(2, 4));
}

#[test]
fn a_child_gets_at_most_its_limit_and_the_rest_goes_to_others() {
    let first = RateRange::new(mbit(8), Some(mbit(8))).unwrap();
    let other = RateRange::new(mbit(1), None).unwrap();
    let mut queue = shares_with([first, other, other], fifo());
    for number in 0..100 {
        (0..2).for_each(|class| {
            let _ = queue.at(ms(0)).takes(of_class(class, number));
        });
    }
    // A packet of 1000 bytes takes 1 ms at 8 Mbit/s, of which 1600 bytes may be saved: packet n leaves when n - 1 packets are
    // paid, at n - 2.6 ms. A line of 80 Mbit/s sends 100 packets in 10 ms.
    let mut counts = [0; 3];
    for tenth in 0..100 {
        let now = ms(0) + Duration::from_micros(100 * tenth);
        if let Some(packet) = queue.at(now).next() {
            counts[usize::from(packet.dscp != Dscp::EF)] += 1;
        }
    }
    assert_eq!(counts, [12, 88, 0]);
}

#[test]
fn a_child_with_a_limit_gets_all_of_it_though_it_waits_for_its_turns() {
    let limited = RateRange::new(mbit(2), Some(mbit(3))).unwrap();
    let other = RateRange::new(mbit(1), None).unwrap();
    let mut queue = shares_with([limited, other, other], fifo());
    for number in 0..1000 {
        (0..2).for_each(|class| {
            let _ = queue.at(ms(0)).takes(of_class(class, number));
        });
    }
    // A line of 5 Mbit/s sends a packet every 1.6 ms. Without the limit it would get 3.3 Mbit/s.
    let mut next = |slot: u64| queue.at(ms(0) + Duration::from_micros(1600 * slot)).next();
    let sent = (0..1000).filter(|slot| next(*slot).unwrap().dscp == Dscp::EF).count();
    assert!((600..=602).contains(&sent), "{sent}");
}

#[test]
fn no_rate_a_limit_below_it_and_no_queue_are_refused() {
    let refused = |least, most| RateRange::new(least, most).unwrap_err();
    let none = refused(Rate::from_bits_per_sec(0), None);
    assert_eq!(none.to_string(), "at_least must be above zero; found 0 bit/s");
    let below = refused(mbit(2), Some(mbit(1)));
    let says = "at_most must not be below at_least, which is 2 Mbit/s; found 1 Mbit/s";
    assert_eq!((below.parameter(), &*below.to_string()), ("at_most", says));
    let one: Vec<(RateRange, Box<dyn QueueDiscipline>)> =
        vec![(RateRange::new(mbit(1), None).unwrap(), Box::new(fifo()))];
    let refused = FairShares::new(Classifier::default(), one, 1).err().unwrap();
    assert_eq!(refused.to_string(), "class 1 has no queue; there are 1 queues");
}
