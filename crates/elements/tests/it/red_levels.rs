//! RED with several levels.

use shortflow_elements::classifier::DscpTable;
use shortflow_elements::queue::{AboveMax, Averages, Red, RedParams, RedSettings};
use shortflow_elements::{DropReason, Dscp, QueueDiscipline};
use shortflow_units::{Length, Rng};

use crate::bench::{Bench, P, ms, p};
use crate::red::{curve, settings};

fn green(number: u32) -> P {
    p(number).marked(Dscp::AF11)
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
    Bench::of(Red::new(params, Rng::stream(1, "red")))
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
