//! What busy customers get.

use shortflow_plans::{Direction, Plans};
use shortflow_units::Probability;

use crate::support::with;

fn shares(plans: &Plans, is_busy: &[bool]) -> Vec<f64> {
    let bits = plans.shares(Direction::Down, is_busy);
    bits.into_iter().map(|bits| (bits / 1e4).round() / 100.0).collect()
}

#[test]
fn who_cannot_get_more_leaves_the_rest_to_the_others_of_its_site() {
    // A sector of 200 Mbit/s: the small plan is full, and the others share the rest two to one.
    let plans = with(
        "A,192.0.2.1,20 Mbit/s,5 Mbit/s,,,sector\n\
         B,192.0.2.2,150 Mbit/s,5 Mbit/s,,,sector\n\
         C,192.0.2.3,300 Mbit/s,5 Mbit/s,,,sector\n",
    )
    .unwrap();
    // All get the same part of their plans until the sector is full: 200 of 470 Mbit/s.
    let part = 200.0 / 470.0;
    let found = shares(&plans, &[true; 3]);
    for (found, plan) in found.iter().zip([20.0, 150.0, 300.0]) {
        assert!((found - part * plan).abs() < 0.02, "{found}, {plan}");
    }
    assert_eq!(shares(&plans, &[true, true, false]), [20.0, 150.0, 0.0]);
    assert_eq!(shares(&plans, &[false, false, true]), [0.0, 0.0, 200.0], "the sector is full");
}

#[test]
fn a_full_site_leaves_the_rest_of_the_one_in_front_to_others() {
    // A tower of 400 Mbit/s, of which the sector behind it takes no more than 200.
    let plans = with(
        "A,192.0.2.1,400 Mbit/s,5 Mbit/s,,,sector\n\
         B,192.0.2.2,200 Mbit/s,5 Mbit/s,,,tower\n\
         C,192.0.2.3,200 Mbit/s,5 Mbit/s,,,tower\n",
    )
    .unwrap();
    // Quanta are limited to 200 KB: A's is twice B's. At half of their plans all are 400, and the sector is full too.
    assert_eq!(shares(&plans, &[true; 3]), [200.0, 100.0, 100.0]);
    assert_eq!(shares(&plans, &[true, true, false]), [200.0, 200.0, 0.0]);
}

#[test]
fn guarantees_come_first_and_those_of_idle_customers_go_to_their_site() {
    let plans = with(
        "A,192.0.2.1,200 Mbit/s,50 Mbit/s,150 Mbit/s,40 Mbit/s,sector\n\
         B,192.0.2.2,200 Mbit/s,50 Mbit/s,,,sector\n\
         C,192.0.2.3,800 Mbit/s,50 Mbit/s,,,\n",
    )
    .unwrap();
    // A has 150 and half of the sector's other 50.
    let found = shares(&plans, &[true, true, false]);
    assert!((found[0] - 175.0).abs() < 0.02 && (found[1] - 25.0).abs() < 0.02, "{found:?}");
    assert_eq!(shares(&plans, &[false, true, true])[1..], [200.0, 800.0], "the line has room");
}

#[test]
fn nothing_is_overdrawn_and_nobody_can_get_more() {
    // Customers with all kinds of plans behind all places, of which some are busy.
    let sites = ["", "tower", "sector"];
    let row = |at: u32| {
        let plan = 1 + at * at * 7 % 300;
        let guarantee = if at.is_multiple_of(5) {
            format!("{} kbit/s,100 kbit/s", 100 * plan)
        } else {
            ",".into()
        };
        let (site, host) = (sites[at as usize % 3], at + 1);
        format!("C{at},198.51.100.{host},{plan} Mbit/s,1 Mbit/s,{guarantee},{site}\n")
    };
    let plans = with(&(0..40).map(row).collect::<String>()).unwrap();
    for pattern in 1..60u64 {
        let is_busy: Vec<bool> =
            (0..40).map(|at| pattern.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> at & 1 == 1).collect();
        let shares = plans.shares(Direction::Down, &is_busy);
        let behind = |site: Option<usize>| -> f64 {
            let is_behind = |at: &usize| {
                site.is_none_or(|site| plans.path(plans.customers[*at].site).any(|one| one == site))
            };
            (0..40).filter(is_behind).map(|at| shares[at]).sum()
        };
        let full = |site: Option<usize>| {
            let rate =
                site.map_or(plans.line, |site| plans.sites[site].rates).down.bits_per_sec() as f64;
            assert!(behind(site) <= rate * (1.0 + 1e-6), "{pattern}: {} of {rate}", behind(site));
            behind(site) >= rate * (1.0 - 1e-6)
        };
        let is_full = [full(None), full(Some(0)), full(Some(1))];
        for (at, customer) in plans.customers.iter().enumerate() {
            let plan = customer.plan.down.bits_per_sec() as f64;
            assert_eq!(shares[at] > 0.0, is_busy[at], "{pattern}");
            let floor = plans.floor(customer, Direction::Down).bits_per_sec() as f64;
            assert!(!is_busy[at] || shares[at] >= floor.min(plan) * (1.0 - 1e-9), "{pattern}");
            let is_held = is_full[0] || plans.path(customer.site).any(|site| is_full[1 + site]);
            assert!(
                !is_busy[at] || is_held || shares[at] >= plan * (1.0 - 1e-6),
                "{pattern}: {at} could get more"
            );
        }
    }
}

#[test]
fn the_more_customers_are_busy_the_less_each_can_expect() {
    let row = |at: u32| format!("C{at},198.51.100.{},50 Mbit/s,5 Mbit/s,,,sector\n", at + 1);
    let plans = with(&(0..20).map(row).collect::<String>()).unwrap();
    let of_sector =
        |busy: f64| plans.forecast(Probability::new(busy).unwrap())[2].parts[0].unwrap();
    // Four of twenty fit into 200 Mbit/s; all of them get 10 Mbit/s each.
    assert!((of_sector(0.2).mean - 1.0).abs() < 1e-6 && (of_sector(1.0).mean - 0.2).abs() < 1e-6);
    assert!((of_sector(0.4).least_of_nine - 0.5).abs() < 1e-6);
    let line = plans.forecast(Probability::new(0.2).unwrap())[0].clone();
    assert_eq!((line.site, line.parts[0]), (None, Some(of_sector(0.2))));
}
