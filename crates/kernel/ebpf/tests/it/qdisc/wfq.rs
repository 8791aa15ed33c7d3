//! Weighted fair queueing beside the element, and the numbers that it needs.

use shortflow_ebpf::qdisc::{QdiscPlan, QdiscSchedule};
use shortflow_elements::DropReason;
use shortflow_elements::classifier::Classifier;
use shortflow_elements::queue::{ShaperParams, Share, Weight, Wfq, WfqClass, WfqParams, WhenFull};
use shortflow_units::{Bytes, Length, Rate, Rng};

use super::twin::{Twin, wide_results};
use super::{
    Scheme, all_that_leave, at, compare_all, dropped, limit, packet, pick, queue_of, rules, shaper,
};

/// The weight of a class: rates, or numbers.
fn weight(rng: &mut Rng, is_rate: bool) -> Weight {
    if is_rate {
        let rate = pick(rng, &[1, 64_000, 999_999_937, 1_000_000_000_000]);
        return Weight::of_rate(Rate::from_bits_per_sec(rate)).unwrap();
    }
    Weight::of_number(pick(rng, &[0.001, 0.3, 1.0, 2.0, 7.7, 1e6])).unwrap()
}

fn share(rng: &mut Rng, may_have_flows: bool) -> Share {
    if !may_have_flows || rng.below(2) == 0 {
        return Share::Class;
    }
    Share::Flow { limit: (rng.below(3) == 0).then(|| limit(rng)) }
}

/// Classes with and without flows and limits of their own, with all that a full buffer may lose.
fn fair_among(rng: &mut Rng, has_flows: bool, are_alike: bool) -> Scheme {
    let queues = 1 + rng.below(8) as usize;
    let (shaper, queue_of) = (shaper(rng), queue_of(rng, queues));
    let (classifier, otherwise) = rules(&queue_of, queues);
    let is_rate = rng.below(2) == 0;
    let shares_only = rng.below(2) == 0;
    let mut class = || {
        let weight = if are_alike { Weight::of_number(1.0).unwrap() } else { weight(rng, is_rate) };
        let own = !shares_only && rng.below(3) == 0;
        let (share, limit) = (share(rng, has_flows), own.then(|| limit(rng)));
        WfqClass::new(weight, share, limit).unwrap()
    };
    let classes: Vec<WfqClass> = (0..queues).map(|_| class()).collect();
    let shares = classes.iter().any(|class| class.limit().is_none());
    let shared = shares.then(|| limit(rng));
    let params = WfqParams::new(classes, classifier, otherwise, shared).unwrap();
    let params = match rng.below(4) {
        0 => params.clone().with_when_full(WhenFull::TailDrop).unwrap_or(params),
        _ => params,
    };
    let inner = Box::new(Wfq::new(params.clone(), shaper.rate(), rng.beside("hash")));
    Scheme::new(rng, shaper, QdiscSchedule::Fair(params), queue_of, inner)
}

fn fair_classes(rng: &mut Rng) -> Scheme {
    fair_among(rng, false, false)
}

fn fair_flows(rng: &mut Rng) -> Scheme {
    fair_among(rng, true, false)
}

/// With one weight for all, many flows are equally long and end at one time.
fn alike_flows(rng: &mut Rng) -> Scheme {
    fair_among(rng, true, true)
}

#[test]
fn weighted_fair_queueing_of_classes_serves_and_pushes_out_what_the_element_does() {
    let tally = compare_all(fair_classes);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::PushedOut) > 10_000);
    assert!(dropped(&tally, DropReason::Overlimit) > 10_000);
}

#[test]
fn weighted_fair_queueing_of_flows_serves_and_pushes_out_what_the_element_does() {
    let tally = compare_all(fair_flows);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::PushedOut) > 10_000);
    assert!(dropped(&tally, DropReason::Overlimit) > 10_000);
}

#[test]
fn flows_of_one_weight_are_served_and_lose_packets_in_the_order_of_the_element() {
    let tally = compare_all(alike_flows);
    assert!(tally.left > 100_000 && dropped(&tally, DropReason::PushedOut) > 10_000);
}

/// Two classes with these weights and one buffer, at 8 Mbit/s: a packet takes 1 ms.
fn two_classes(weights: [f64; 2], limit: u64) -> QdiscPlan {
    let shaper = ShaperParams::new(Rate::from_bits_per_sec(8_000_000), Bytes::ZERO).unwrap();
    let class =
        |weight| WfqClass::new(Weight::of_number(weight).unwrap(), Share::Class, None).unwrap();
    let params = WfqParams::new(
        weights.map(class).to_vec(),
        Classifier::default(),
        1,
        Some(Length::Packets(limit)),
    );
    let schedule = QdiscSchedule::Fair(params.unwrap());
    QdiscPlan::new(&shaper, 0, &schedule, &Classifier::default(), 1).unwrap()
}

#[test]
fn a_reload_keeps_packets_in_their_classes_unless_weights_change() {
    let cases = [([1.0, 1.0], [1, 3, 2, 4]), ([1.0, 2.0], [1, 2, 3, 4])];
    for (weights, order) in cases {
        let mut twin = Twin::new(&two_classes([1.0, 1.0], 9), Rng::stream(1, "none"));
        for (number, class) in [(1, 0), (2, 0), (3, 1)] {
            assert!(twin.arrive(at(0), &packet(number, 0), class).is_empty());
        }
        twin.reload(&two_classes(weights, 8));
        assert!(twin.arrive(at(0), &packet(4, 0), 1).is_empty());
        assert_eq!(all_that_leave(&mut twin, 0), order, "{weights:?}");
    }
}

#[test]
fn after_the_kernel_has_emptied_it_fair_turns_start_again() {
    let mut twin = Twin::new(&two_classes([1.0, 3.0], 4), Rng::stream(1, "none"));
    for round in 0..1_000 {
        for number in 0..4 {
            assert!(twin.arrive(at(round), &packet(number, 0), number as usize % 2).is_empty());
        }
        let leaves = twin.serve(at(round));
        assert!(leaves == Ok(1) || leaves.is_err(), "{round}: {leaves:?}");
        twin.reset();
    }
    assert_eq!(twin.serve(at(2_000)), Err(0));
}

#[test]
fn sums_products_and_quotients_of_128_bits_are_exact() {
    let mut rng = Rng::stream(1, "numbers");
    // Numbers of all lengths, with long runs of zeros and of ones.
    let mut word = || {
        let ones = u64::MAX >> rng.below(64);
        match rng.below(4) {
            0 => ones << rng.below(64),
            1 => !(ones << rng.below(64)),
            2 => rng.below(u64::MAX) >> rng.below(64),
            _ => rng.below(u64::MAX),
        }
    };
    for _ in 0..1_000_000 {
        let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let (a, b) = (wide(word(), word()), wide(word(), word().max(1)));
        let low = u128::from(b as u64);
        let expected = [
            a.wrapping_add(b),
            a.wrapping_sub(b),
            u128::from(a as u64) * low,
            a.saturating_mul(low),
            a / low,
            u128::from(a < b),
        ];
        assert_eq!(wide_results(a, b), expected, "{a:x} and {b:x}");
    }
}
