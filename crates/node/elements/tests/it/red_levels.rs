//! RED with several levels.

use shortflow_elements::classifier::DscpTable;
use shortflow_elements::queue::{AboveMax, Averages, Red, RedParams, RedSettings};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::{Dscp, Packet};
use shortflow_units::{Bytes, Length, Rng};

use crate::bench::{Bench, P, mbit, ms, p};
use crate::red::{curve, settings};

fn green(number: u32) -> P {
    p(number).marked(Dscp::AF11)
}

fn marked(dscp: Dscp) -> Packet {
    Packet { size: 500, dscp, ..Packet::default() }
}

fn yellow(number: u32) -> P {
    p(number).marked(Dscp::AF12)
}

/// Casetti & Mellia 2005: green 60/140/0.1, everything else 5/60/0.2.
fn two_levels(averages: Averages) -> Bench<Red> {
    let settings = RedSettings { limit: Length::Packets(200), ..settings() };
    let curves = vec![curve(60, 140, 0.1, AboveMax::Forced), curve(5, 60, 0.2, AboveMax::Forced)];
    let levels = DscpTable::filled(1).with(Dscp::AF11, 0);
    let params = RedParams::with_levels(settings, curves, levels, averages).unwrap();
    Bench::new(Red::new(params, Rng::stream(1, "red")))
}

/// What each level is judged by once the queue holds 4 green and 3 yellow packets.
fn averages(averages: Averages) -> [f64; 2] {
    let mut queue = two_levels(averages);
    for number in 0..4 {
        queue.at(ms(0)).takes(green(number));
    }
    for number in 4..7 {
        queue.at(ms(0)).takes(yellow(number));
    }
    // One more of each, since an average is sampled before a packet is added.
    let _ = queue.at(ms(0)).offered(green(7));
    let _ = queue.at(ms(0)).offered(yellow(8));
    [queue.queue.average_of(0), queue.queue.average_of(1)]
}

#[test]
fn what_an_average_counts_is_a_setting() {
    // Before the last sample of green there are 4 green packets; of yellow, 5 green and 3 yellow.
    assert_eq!(averages(Averages::Shared), [8.0, 8.0]);
    assert_eq!(averages(Averages::PerLevel), [4.0, 3.0]);
    assert_eq!(averages(Averages::Coupled), [4.0, 8.0]);
}

/// Three levels stand in the gate itself, more of them elsewhere.
#[test]
fn levels_that_no_packet_has_change_nothing() {
    let history = |levels: usize| {
        let settings = RedSettings { limit: Length::Packets(200), ..settings() };
        let curves = vec![curve(5, 60, 0.2, AboveMax::Gentle); levels];
        let level_of = DscpTable::filled(1).with(Dscp::AF11, 0);
        let params =
            RedParams::with_levels(settings, curves, level_of, Averages::PerLevel).unwrap();
        let mut queue = Red::new(params, Rng::stream(1, "red"));
        let mut moves = Rng::stream(1, "moves");
        let mut drops = Drops::default();
        let mut history = Vec::new();
        for millis in 0..2000 {
            let packet = if moves.below(2) == 0 { marked(Dscp::AF11) } else { marked(Dscp::AF12) };
            queue.enqueue(ms(millis), packet, &mut drops);
            if moves.below(5) < 4 {
                let _ = queue.dequeue(ms(millis), &mut drops);
            }
            let reasons: Vec<_> = drops.drain().map(|dropped| dropped.reason).collect();
            history.push((reasons, queue.backlog(), queue.average_of(0), queue.average_of(1)));
        }
        history
    };
    let three = history(3);
    assert!(three.iter().any(|(reasons, ..)| !reasons.is_empty()));
    assert_eq!(three, history(5));
}

#[test]
fn with_staggered_thresholds_green_passes_where_yellow_is_dropped() {
    let mut queue = two_levels(Averages::Shared);
    for number in 0..60 {
        queue.at(ms(0)).takes(green(number));
    }
    queue.at(ms(1)).drops(yellow(100), DropReason::Forced).takes(green(101));
    while queue.queue.backlog().packets < 140 {
        let _ = queue.at(ms(1)).offered(green(102));
    }
    queue.at(ms(2)).drops(green(200), DropReason::Forced);
}

#[test]
fn under_coupled_averages_yellow_never_harms_green() {
    let mut queue = two_levels(Averages::Coupled);
    for number in 0..100_000 {
        let _ = queue.at(ms(0)).offered(yellow(number));
        if queue.queue.backlog().packets > 50 {
            let _ = queue.at(ms(0)).next();
        }
    }
    queue.at(ms(1)).takes(green(100_000));
    assert_eq!(queue.queue.average_of(0), 0.0);
}

#[test]
fn an_average_forgets_when_its_own_packets_are_gone() {
    let mut queue = two_levels(Averages::PerLevel);
    queue.at(ms(0)).takes(green(1)).takes(green(2)).takes(yellow(3));
    assert_eq!(queue.queue.average_of(0), 1.0);
    queue.at(ms(1)).gives(green(1)).gives(green(2));
    // A yellow packet is still held, but no green one.
    queue.at(ms(2)).takes(green(4));
    assert_eq!(queue.queue.average_of(0), 0.0);
}

#[test]
fn a_level_that_has_no_curve_is_refused() {
    let curves = vec![curve(5, 60, 0.2, AboveMax::Forced)];
    let levels = DscpTable::filled(0).with(Dscp::AF13, 2);
    let refused = RedParams::with_levels(settings(), curves, levels, Averages::Shared).unwrap_err();
    assert_eq!(refused.to_string(), "level 2 is used but there are only 1 levels");
}

fn red(number: u32) -> P {
    p(number).marked(Dscp::AF13)
}

/// Noureddine & Tobagi 2002, §4.1: HIGH_q counts HIGH, MED_q HIGH and MED, LOW_q all, with the same
/// weight, 0.5, and the same max_p, 0.1; a small packet lasts 1 ms.
fn three_priorities(thresholds: [(u64, u64); 3]) -> Bench<Red> {
    let settings = RedSettings {
        limit: Length::Packets(50),
        weight: 0.5,
        idle_packet: Bytes(1000),
        rate: mbit(8),
        ..settings()
    };
    let curves = thresholds.map(|(min, max)| curve(min, max, 0.1, AboveMax::Forced));
    let levels = DscpTable::filled(2).with(Dscp::AF11, 0).with(Dscp::AF12, 1);
    let params = RedParams::with_levels(settings, curves.to_vec(), levels, Averages::Coupled);
    Bench::new(Red::new(params.unwrap(), Rng::stream(1, "red")))
}

#[test]
fn three_averages_each_count_their_own_priority_and_those_above() {
    let mut queue = three_priorities([(30, 40), (20, 30), (10, 20)]);
    queue.at(ms(0)).takes(green(1)).takes(yellow(2)).takes(red(3));
    queue.at(ms(0)).takes(green(4)).takes(yellow(5)).takes(red(6));
    let averages = |queue: &Bench<Red>| [0, 1, 2].map(|level| queue.queue.average_of(level));
    // What each arrival finds, of those that its average counts: HIGH_q 0, 1; MED_q 0, 1, 2, 3;
    // LOW_q 0, 1, 2, 3, 4, 5; each new average is halfway between the old one and that.
    assert_eq!(averages(&queue), [0.5, 2.125, 4.031_25]);

    // HIGH is gone at 1 ms, and 2 ms later HIGH_q has halved twice; one MED and two in all wait.
    queue.at(ms(1)).gives(green(1)).gives(yellow(2)).gives(red(3)).gives(green(4));
    queue.at(ms(3)).takes(green(7));
    let [high, med, low] = averages(&queue);
    assert!((high - 0.125).abs() < 1e-12, "{high}");
    assert_eq!([med, low], [1.5625, 3.015_625]);
}

#[test]
fn each_priority_is_dropped_by_the_average_of_what_is_no_worse() {
    let mut queue = three_priorities([(12, 18), (8, 12), (2, 4)]);
    // While one packet after another comes, an average with weight 0.5 is 1 behind what is held.
    for number in 1..=7 {
        queue.at(ms(0)).takes(green(number));
    }
    // LOW counts what is better: LOW_q is 6. MED_q is 6 too, below 8.
    queue.at(ms(0)).drops(red(8), DropReason::Forced).takes(yellow(9));
    queue.at(ms(0)).drops(red(10), DropReason::Forced);
    for number in 11..=15 {
        queue.at(ms(0)).takes(green(number));
    }
    // 12 HIGH and a MED: MED_q is above 12, HIGH_q, which does not count the MED, below.
    queue.at(ms(0)).drops(yellow(16), DropReason::Forced).takes(green(17));
}

#[test]
fn high_is_not_harmed_by_any_number_of_med_and_low() {
    let mut queue = three_priorities([(12, 18), (40, 49), (40, 49)]);
    for number in 1..=20 {
        queue.at(ms(0)).takes(yellow(number)).takes(red(100 + number));
    }
    assert_eq!(queue.queue.average_of(0), 0.0);
    queue.at(ms(0)).takes(green(21));
}
