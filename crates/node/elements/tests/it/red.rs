//! RED with one level.

use shortflow_elements::DropReason::{Early, Forced, Overlimit};
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{
    AboveMax, DropCurve, EcnMode, Red, RedParams, RedSettings, Spacing,
};
use shortflow_packet::Ecn;
use shortflow_units::{Bytes, Length, Probability, Rng};

use crate::bench::{Bench, mbit, ms, p};

pub(crate) fn settings() -> RedSettings {
    RedSettings {
        limit: Length::Packets(100),
        // The average is the length: a test sets it by what the queue holds.
        weight: 1.0,
        idle_packet: Bytes(1000),
        rate: mbit(8),
        mean_packet: None,
        spacing: Spacing::Uniform,
        ecn: EcnMode::Drop,
        spare_below: 0,
    }
}

pub(crate) fn curve(min: u64, max: u64, max_probability: f64, above_max: AboveMax) -> DropCurve {
    let max_probability = Probability::new(max_probability).unwrap();
    DropCurve::new(Length::Packets(min), Length::Packets(max), max_probability, above_max).unwrap()
}

fn red(settings: RedSettings, curve: DropCurve) -> Bench<Red> {
    Bench::new(Red::new(RedParams::new(settings, curve).unwrap(), Rng::stream(1, "red")))
}

/// Holds the queue at `length` packets and offers `count` more: which of them were dropped.
fn offered_at(queue: &mut Bench<Red>, length: u64, count: u32) -> Vec<bool> {
    while queue.queue.backlog().packets < length {
        let _ = queue.at(ms(0)).offered(p(0));
    }
    (0..count)
        .map(|number| {
            let dropped = queue.at(ms(0)).offered(p(number)).is_some();
            if !dropped {
                let _ = queue.at(ms(0)).next();
            }
            dropped
        })
        .collect()
}

/// The gaps between drops: 1 when two packets in a row were dropped.
fn gaps(dropped: &[bool]) -> Vec<usize> {
    let at: Vec<_> = (0..dropped.len()).filter(|&number| dropped[number]).collect();
    at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Checks that `gaps` are uniform on `from..=to`: all within, and χ² of their counts below the
/// 99.9 % point for 19 degrees of freedom.
fn assert_uniform(gaps: &[usize], from: usize, to: usize) {
    assert!(gaps.iter().all(|gap| (from..=to).contains(gap)), "outside {from} to {to}");
    let expected = gaps.len() as f64 / (to - from + 1) as f64;
    let chi_square: f64 = (from..=to)
        .map(|value| gaps.iter().filter(|&&gap| gap == value).count() as f64)
        .map(|count| (count - expected).powi(2) / expected)
        .sum();
    assert_eq!(to - from, 19);
    assert!(chi_square < 43.8, "χ² = {chi_square}");
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    let middle = (from + to) as f64 / 2.0;
    // The mean of n uniform gaps deviates by √((20² − 1)/12/n); five of these.
    assert!((mean - middle).abs() < 5.0 * (33.25 / gaps.len() as f64).sqrt(), "mean {mean}");
}

#[test]
fn at_a_steady_average_drops_are_spread_uniformly_from_1_to_1_over_p() {
    // p_b = 0.1 · (10 − 5)/(15 − 5) = 1/20.
    let mut queue = red(settings(), curve(5, 15, 0.1, AboveMax::Forced));
    let dropped = offered_at(&mut queue, 10, 400_000);
    assert_uniform(&gaps(&dropped), 1, 20);
}

#[test]
fn with_wait_drops_are_spread_uniformly_from_1_over_p_to_2_over_p() {
    let waiting = RedSettings { spacing: Spacing::Wait, ..settings() };
    let mut queue = red(waiting, curve(5, 15, 0.1, AboveMax::Forced));
    let dropped = offered_at(&mut queue, 10, 400_000);
    assert_uniform(&gaps(&dropped), 20, 39);
}

#[test]
fn the_share_of_drops_follows_the_curve() {
    // A uniform gap from 1 to 1/p has the mean (1 + 1/p)/2, so the share is 2p/(1 + p).
    let share = |above_max, length| {
        let mut queue = red(settings(), curve(5, 15, 0.1, above_max));
        let dropped = offered_at(&mut queue, length, 1_000_000);
        dropped.iter().filter(|&&dropped| dropped).count() as f64 / 10_000.0
    };
    let table: String = [5, 7, 9, 11, 13]
        .map(|length| {
            let p = (length - 5) as f64 / 100.0;
            format!(
                "{length:>2} pkt {:>5.1} % of {:.1} %\n",
                share(AboveMax::Forced, length),
                200.0 * p / (1.0 + p)
            )
        })
        .concat();
    assert_eq!(
        table,
        " 5 pkt   0.0 % of 0.0 %
 7 pkt   3.9 % of 3.9 %
 9 pkt   7.7 % of 7.7 %
11 pkt  11.3 % of 11.3 %
13 pkt  14.8 % of 14.8 %
"
    );
}

#[test]
fn the_three_reasons_of_a_drop_are_told_apart() {
    let small = RedSettings { limit: Length::Packets(4), ..settings() };
    let mut queue = red(small, curve(1, 3, 1.0, AboveMax::Forced));
    queue.at(ms(0)).takes(p(1)).takes(p(2));
    // At 2 packets p_b is 1/2: of two packets one is dropped.
    let reasons: Vec<_> = (3..5).map(|n| queue.at(ms(0)).offered(p(n))).collect();
    assert!(reasons.contains(&Some(Early)), "{reasons:?}");
    while queue.queue.backlog().packets < 3 {
        let _ = queue.at(ms(0)).offered(p(5));
    }
    queue.at(ms(0)).drops(p(6), Forced);

    let slow = RedSettings { limit: Length::Packets(4), weight: 0.01, ..settings() };
    let mut queue = red(slow, curve(1, 3, 1.0, AboveMax::Forced));
    queue.at(ms(0)).takes(p(1)).takes(p(2)).takes(p(3)).takes(p(4)).drops(p(5), Overlimit);
}

#[test]
fn a_packet_that_finds_a_short_queue_is_spared_whatever_the_average() {
    let steep = || curve(1, 2, 1.0, AboveMax::Forced);
    let mut plain = red(settings(), steep());
    plain.at(ms(0)).takes(p(1)).takes(p(2)).drops(p(3), Forced);

    let mut sparing = red(RedSettings { spare_below: 3, ..settings() }, steep());
    sparing.at(ms(0)).takes(p(1)).takes(p(2)).takes(p(3)).drops(p(4), Forced);
}

#[test]
fn an_ecn_capable_packet_is_marked_below_max_and_dropped_above() {
    let marking = RedSettings { ecn: EcnMode::Mark, ..settings() };
    let mut queue = red(marking, curve(0, 2, 1.0, AboveMax::Forced));
    // At 1 packet p_b is 1/2: the second packet at the latest is chosen.
    queue.at(ms(0)).takes(p(1).with(Ecn::Ect0));
    queue.at(ms(1)).takes(p(2).with(Ecn::Ect0)).gives(p(1).with(Ecn::Ect0));
    let (mut marked, mut dropped) = (0, 0);
    for number in 3..1003 {
        let ecn = [Ecn::Ect0, Ecn::NotEct][number as usize % 2];
        dropped += u32::from(queue.at(ms(2)).offered(p(number).with(ecn)).is_some());
        while queue.queue.backlog().packets > 1 {
            let next = queue.at(ms(2)).next();
            marked += u32::from(next.is_some_and(|packet| packet.ecn == Ecn::Ce));
        }
    }
    assert!(marked > 200 && dropped > 200, "{marked} marked, {dropped} dropped");
    assert!(queue.queue.ecn_marks().abs_diff(u64::from(marked)) <= 1);

    while queue.queue.backlog().packets < 2 {
        let _ = queue.at(ms(3)).offered(p(2000));
    }
    queue.at(ms(3)).drops(p(2001).with(Ecn::Ect0), Forced);
}

#[test]
fn in_the_gentle_region_even_an_ecn_capable_packet_is_dropped_by_chance() {
    let marking = RedSettings { ecn: EcnMode::Mark, ..settings() };
    let mut queue = red(marking, curve(0, 2, 0.0, AboveMax::Gentle));
    queue.at(ms(0)).takes(p(1)).takes(p(2)).takes(p(3));
    // At 3 packets p_b is 1/2.
    let reasons: Vec<_> = (4..6).map(|n| queue.at(ms(0)).offered(p(n).with(Ecn::Ect0))).collect();
    assert!(reasons.contains(&Some(Early)), "{reasons:?}");
    assert_eq!(queue.queue.ecn_marks(), 0);
}

/// As ns-2's dsRED has it: whatever can be marked is, and only what does not fit is dropped.
#[test]
fn above_max_an_ecn_capable_packet_is_marked_where_that_is_set() {
    let marking = RedSettings { ecn: EcnMode::MarkAboveMax, ..settings() };
    let mut queue = red(marking.clone(), curve(0, 2, 0.0, AboveMax::Forced));
    queue.at(ms(0)).takes(p(1)).takes(p(2));
    queue.at(ms(0)).drops(p(4), Forced);
    assert_eq!(queue.at(ms(0)).offered(p(5).with(Ecn::Ect0)), None);
    assert_eq!(queue.queue.ecn_marks(), 1);

    let mut gentle = red(marking, curve(0, 2, 0.0, AboveMax::Gentle));
    gentle.at(ms(0)).takes(p(1)).takes(p(2)).takes(p(3));
    // At 3 packets p_b is 1/2: of two packets one is chosen, and marked.
    let reasons: Vec<_> = (4..6).map(|n| gentle.at(ms(0)).offered(p(n).with(Ecn::Ect0))).collect();
    assert_eq!(reasons, [None, None]);
    assert!(gentle.queue.ecn_marks() >= 1);
}

#[test]
fn after_an_idle_time_the_average_is_that_of_floyd_and_jacobson() {
    let half = RedSettings { weight: 0.5, ..settings() };
    let mut queue = red(half, curve(50, 90, 0.1, AboveMax::Forced));
    queue.at(ms(0)).takes(p(1)).takes(p(2)).takes(p(3));
    // Samples of 0, 1 and 2 packets: 0, 0.5, 1.25.
    assert_eq!(queue.queue.average(), Some(1.25));
    queue.at(ms(10)).gives(p(1)).gives(p(2)).gives(p(3));
    queue.at(ms(13)).takes(p(4));
    // Idle for 3 packet times: (1 − 0.5)³ · 1.25.
    assert!((queue.queue.average().unwrap() - 0.15625).abs() < 1e-12);
}

#[test]
fn in_byte_mode_a_packet_is_dropped_in_proportion_to_its_size() {
    let by_size = RedSettings { mean_packet: Some(Bytes(500)), ..settings() };
    let mut queue = red(by_size, curve(5, 15, 0.1, AboveMax::Forced));
    let _ = offered_at(&mut queue, 6, 0);
    let mut sizes = Rng::stream(1, "sizes");
    let mut dropped = [0u32; 2];
    for number in 0..1_000_000 {
        let kind = sizes.below(2) as usize;
        match queue.at(ms(0)).offered(p(number).sized([100, 1000][kind])) {
            Some(_) => dropped[kind] += 1,
            None => drop(queue.at(ms(0)).next()),
        }
    }
    let ratio = f64::from(dropped[1]) / f64::from(dropped[0]);
    assert!((ratio - 10.0).abs() < 1.0, "{dropped:?}");
}

#[test]
fn in_byte_mode_drops_are_spread_uniformly_over_bytes() {
    // p_b = 0.2 · (10 − 5)/(15 − 5) = 1/10 for a packet of 2000 bytes, 1/20 for one of 1000.
    let by_size = RedSettings { mean_packet: Some(Bytes(2000)), ..settings() };
    let mut queue = red(by_size, curve(5, 15, 0.2, AboveMax::Forced));
    let dropped = offered_at(&mut queue, 10, 400_000);
    assert_uniform(&gaps(&dropped), 1, 20);
}

#[test]
fn parameters_that_contradict_each_other_are_refused_by_name_and_value() {
    let refused = |settings, curve| RedParams::new(settings, curve).unwrap_err().to_string();
    assert_eq!(
        refused(settings(), curve(60, 140, 0.1, AboveMax::Forced)),
        "max_threshold 140 pkt must not be above limit 100 pkt"
    );
    assert_eq!(
        refused(RedSettings { weight: 0.0, ..settings() }, curve(5, 15, 0.1, AboveMax::Forced)),
        "weight must be above 0 and at most 1; found 0"
    );
}
