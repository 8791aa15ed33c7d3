//! Customers behind a tree of sites.

use std::ops::Range;

use proptest::prelude::*;
use shortflow_elements::queue::{
    CoDelParams, EcnMode, Fifo, FifoParams, FlowQueueSettings, FqCodel, FqCodelParams,
};
use shortflow_elements::scheduler::{
    Customer, CustomerSide, CustomerSite, CustomerTree, CustomerTreeParams, CustomerTreeSettings,
    RateRange,
};
use shortflow_elements::{Drops, ParamsError, QueueDiscipline};
use shortflow_packet::{Address, Packet, Prefix};
use shortflow_units::{Bytes, Duration, Instant, Length, Rate};

use crate::bench::{mbit, ms, p, rng};

/// A customer with this number: 10.0.NUMBER.0/24, a site, a guarantee and a plan in Mbit/s.
fn customer(number: u32, site: Option<usize>, at_least: f64, at_most: u64) -> Customer {
    let rates =
        RateRange::new(Rate::from_bits_per_sec((at_least * 1e6) as u64), Some(mbit(at_most)));
    let network = Address::v4(0x0a00_0000 | number << 8);
    Customer { prefixes: vec![Prefix::new(network, 24).unwrap()], site, rates: rates.unwrap() }
}

fn site(parent: Option<usize>, rate: u64) -> CustomerSite {
    CustomerSite { parent, rate: mbit(rate) }
}

fn settings(sites: Vec<CustomerSite>, customers: Vec<Customer>) -> CustomerTreeSettings {
    CustomerTreeSettings {
        side: CustomerSide::Destination,
        rate: None,
        sites,
        customers,
        unknown: None,
    }
}

fn tree(settings: CustomerTreeSettings, line: u64) -> CustomerTree {
    let fifo = |_| Box::new(Fifo::new(FifoParams::new(Length::Packets(50)).unwrap())) as Box<_>;
    CustomerTree::new(CustomerTreeParams::new(settings).unwrap(), mbit(line), fifo)
}

/// A packet of 1000 bytes to a host of this customer.
fn packet_to(customer: usize) -> Packet {
    let mut packet = p(customer as u32).packet();
    packet.key.dst = Address::v4(0x0a00_0001 | (customer as u32) << 8);
    packet
}

/// What each of `count` customers gets in Mbit/s in four seconds at a line of `line` Mbit/s, when those of `busy` always have
/// packets. The first second does not count.
fn got(settings: &CustomerTreeSettings, line: u64, count: usize, busy: &[usize]) -> Vec<f64> {
    let mut tree = tree(settings.clone(), line);
    let (mut drops, mut bytes, mut now) = (Drops::default(), vec![0u64; count], Instant::START);
    for one in busy {
        (0..40).for_each(|_| tree.enqueue(now, packet_to(*one), &mut drops));
    }
    let [start, end] = [1, 5].map(|seconds| Instant::START + Duration::from_secs(seconds));
    while now < end {
        let Some(queued) = tree.dequeue(now, &mut drops) else {
            now = tree.ready_at().expect("busy customers have packets").max(now);
            continue;
        };
        let of = (queued.packet.key.dst.last_32_bits() >> 8 & 0xff) as usize;
        if now >= start {
            bytes[of] += u64::from(queued.packet.size);
        }
        now += mbit(line).time_for(queued.packet.bytes());
        tree.departed(now);
        tree.enqueue(now, packet_to(of), &mut drops);
    }
    assert_eq!(drops.drain().count(), 0);
    bytes.iter().map(|bytes| *bytes as f64 * 8.0 / 4e6).collect()
}

fn close(got: &[f64], expected: &[f64]) {
    let is_close = |(got, expected): (&f64, &f64)| (got - expected).abs() <= 0.02 * expected + 0.05;
    assert!(got.iter().zip(expected).all(is_close), "{got:?} is not near {expected:?}");
}

#[test]
fn guarantees_come_first_and_the_rest_is_shared_in_proportion_to_plans() {
    let customers = vec![customer(0, None, 10.0, 20), customer(1, None, 0.008, 40)];
    let tree = settings(vec![], customers);
    // 10 are guaranteed to the first. Of 20 it gets a third, so 16.7; the second gets 13.3.
    close(&got(&tree, 30, 2, &[0, 1]), &[16.67, 13.33]);
    close(&got(&tree, 30, 2, &[0]), &[20.0, 0.0]);
}

#[test]
fn a_site_never_carries_more_than_its_rate() {
    let customers = (0..4).map(|n| customer(n, (n < 3).then_some(0), 0.008, 50)).collect();
    let tree = settings(vec![site(None, 30)], customers);
    close(&got(&tree, 100, 4, &[0, 1, 2, 3]), &[10.0, 10.0, 10.0, 50.0]);
    close(&got(&tree, 100, 4, &[0]), &[30.0, 0.0, 0.0, 0.0]);
}

#[test]
fn what_a_site_was_guaranteed_for_idle_customers_goes_to_its_busy_ones() {
    let customers = vec![
        customer(0, Some(0), 40.0, 100),
        customer(1, Some(0), 0.008, 100),
        customer(2, None, 0.008, 100),
    ];
    let tree = settings(vec![site(None, 100)], customers);
    // The second gets the 40 of the first, and half of what is left.
    close(&got(&tree, 100, 3, &[1, 2]), &[0.0, 70.0, 30.0]);
}

#[test]
fn customers_with_less_than_12_mbit_s_share_as_if_they_had_12() {
    let customers = vec![
        customer(0, None, 0.008, 6),
        customer(1, None, 0.008, 12),
        customer(2, None, 0.008, 24),
    ];
    close(&got(&settings(vec![], customers), 8, 3, &[0, 1, 2]), &[2.0, 2.0, 4.0]);
}

#[test]
fn the_longest_prefix_counts_and_unknown_addresses_come_after_customers() {
    let host = |address| vec![Prefix::host(Address::v4(address))];
    let mut customers: Vec<Customer> = (0..2).map(|n| customer(n, None, 0.008, 40)).collect();
    // One host in the network of the first.
    customers[1].prefixes = host(0x0a00_0001);
    let mut tree = settings(vec![], customers);
    // The last number is that of no customer: it gets its hundredth.
    close(&got(&tree, 10, 3, &[0, 2]), &[9.9, 0.0, 0.1]);
    tree.unknown = Some(mbit(3));
    close(&got(&tree, 10, 3, &[2]), &[0.0, 0.0, 3.0]);
}

#[test]
fn what_cannot_be_is_refused_by_the_number_of_the_customer_or_site() {
    let refused = |settings| CustomerTreeParams::new(settings).unwrap_err().to_string();
    let ok = || vec![customer(0, Some(0), 1.0, 2)];
    let circle = vec![site(Some(1), 5), site(Some(0), 5)];
    for (settings, expected) in [
        (settings(vec![], vec![]), "there is no customer; list at least one"),
        (settings(vec![], ok()), "customer 1: its site does not exist"),
        (settings(circle, ok()), "site 1: sites stand in a circle, or more than 6 deep"),
        (settings(vec![site(Some(7), 5)], ok()), "site 1: its parent does not exist"),
        (settings(vec![site(None, 0)], ok()), "site 1: rate must be above zero; found 0 bit/s"),
        (
            settings(vec![site(None, 5)], vec![customer(0, Some(0), 6.0, 8)]),
            "site 1: its customers are guaranteed 6 Mbit/s together, which is above its rate 5 Mbit/s",
        ),
        (
            settings(vec![site(None, 5)], [ok(), ok()].concat()),
            "customer 2: 10.0.0.0/24 already belongs to customer 1",
        ),
    ] {
        assert_eq!(refused(settings), expected);
    }
    let _: fn(CustomerTreeSettings) -> Result<CustomerTreeParams, ParamsError> =
        CustomerTreeParams::new;
}

#[test]
fn a_site_whose_customers_all_wait_is_not_ready_before_the_first_of_them() {
    // The second customer waits longer than the site of the first.
    let customers = vec![customer(0, Some(1), 0.008, 40), customer(1, Some(0), 0.008, 1)];
    let mut tree = tree(settings(vec![site(None, 12), site(Some(0), 6)], customers), 50);
    let mut drops = Drops::default();
    (0..12).for_each(|number| tree.enqueue(ms(10), packet_to(number % 2), &mut drops));
    while tree.ready_at().is_some_and(|at| at <= ms(10)) {
        assert!(tree.dequeue(ms(10), &mut drops).is_some());
    }
    let first = tree.ready_at().unwrap();
    let late = first + Duration::from_micros(500);
    tree.enqueue(late, packet_to(1), &mut drops);
    assert_eq!(tree.ready_at(), Some(first));
    assert!(tree.dequeue(first - Duration::from_micros(500), &mut drops).is_none());
    assert_eq!(tree.ready_at(), Some(first));
    assert!(tree.dequeue(first, &mut drops).is_some());
}

/// Trees of up to four sites with these rates and eight customers with one of these guarantees, and who is busy.
fn trees(
    rates: Range<u64>,
    guarantees: &[f64],
) -> impl Strategy<Value = (CustomerTreeSettings, Vec<bool>)> {
    let site = (prop::option::of(0..4usize), rates);
    let one = (
        prop::option::of(0..4usize),
        prop::sample::select(guarantees.to_vec()),
        5..40u64,
        any::<bool>(),
    );
    let parts = (prop::collection::vec(site, 1..5), prop::collection::vec(one, 1..9));
    parts.prop_map(|(sites, customers)| {
        let sites: Vec<CustomerSite> = sites
            .into_iter()
            .enumerate()
            // A parent stands before its sites.
            .map(|(at, (parent, rate))| self::site(parent.filter(|parent| *parent < at), rate))
            .collect();
        let count = sites.len();
        let busy = customers.iter().map(|(.., is_busy)| *is_busy).collect();
        let customers = customers.into_iter().enumerate().map(|(at, (site, least, most, _))| {
            customer(at as u32, site.filter(|site| *site < count), least, most)
        });
        (settings(sites, customers.collect()), busy)
    })
}

/// Weighted max–min shares, in Mbit/s: everyone gets more in small steps, until a plan, a site or the line is full.
fn poured(settings: &CustomerTreeSettings, line: f64, busy: &[bool]) -> Vec<f64> {
    const STEP: f64 = 1e-3;
    let mega = |rate: Rate| rate.bits_per_sec() as f64 / 1e6;
    let path = |at: usize| {
        let first = settings.customers[at].site;
        std::iter::successors(first, |site| settings.sites[*site].parent)
    };
    let mut got = vec![0.0; busy.len()];
    let behind = |site: usize| (0..busy.len()).filter(move |at| path(*at).any(|one| one == site));
    let pour = |got: &mut Vec<f64>, members: &[usize], budget: f64| loop {
        let fits = |at: &usize, got: &Vec<f64>| {
            got[*at] < mega(settings.customers[*at].rates.at_most().unwrap())
                && path(*at).all(|site| {
                    behind(site).map(|at| got[at]).sum::<f64>() < mega(settings.sites[site].rate)
                })
        };
        let open: Vec<usize> =
            members.iter().copied().filter(|at| busy[*at] && fits(at, got)).collect();
        if open.is_empty() || members.iter().map(|at| got[*at]).sum::<f64>() >= budget {
            return;
        }
        for at in open {
            got[at] +=
                STEP * mega(settings.customers[at].rates.at_most().unwrap()).max(12.112) / 12.112;
        }
    };
    for at in (0..busy.len()).filter(|at| busy[*at]) {
        got[at] = mega(settings.customers[at].rates.at_least());
    }
    // Innermost sites first: a parent stands before its sites.
    for site in (0..settings.sites.len()).rev() {
        let guaranteed = behind(site).map(|at| mega(settings.customers[at].rates.at_least())).sum();
        pour(&mut got, &behind(site).collect::<Vec<_>>(), guaranteed);
    }
    pour(&mut got, &(0..busy.len()).collect::<Vec<_>>(), line);
    got
}

#[test]
fn customers_behind_a_full_site_in_a_site_take_nothing_from_their_neighbours() {
    let customers = vec![
        customer(0, Some(1), 0.008, 25),
        customer(1, Some(1), 0.008, 50),
        customer(2, Some(0), 0.008, 40),
        customer(3, None, 0.008, 100),
    ];
    let tree = settings(vec![site(None, 60), site(Some(0), 30)], customers);
    close(&got(&tree, 100, 4, &[0, 1, 2, 3]), &[10.0, 20.0, 20.0, 50.0]);
}

#[test]
fn a_guarantee_beside_a_small_plan_does_not_count_against_the_share_of_its_site() {
    let customers = vec![
        customer(0, Some(0), 40.0, 50),
        customer(1, Some(0), 0.008, 50),
        customer(2, None, 0.008, 100),
    ];
    let tree = settings(vec![site(None, 80)], customers);
    close(&got(&tree, 100, 3, &[0, 1, 2]), &[50.0, 16.67, 33.33]);
    close(&got(&tree, 100, 3, &[1, 2]), &[0.0, 50.0, 50.0]);
}

proptest! {
    /// As a router does it: it takes packets whenever it looks, and sends each when it was due, which may be up to 2 ms ago.
    #[test]
    fn whenever_it_is_asked_it_gives_a_packet_or_says_a_later_time(
        drawn in trees(3..20, &[0.008, 0.2]),
        arrivals in prop::collection::vec((prop::collection::vec(0..8usize, 0..12), 0..3_000u64), 50..100),
    ) {
        let codel = CoDelParams::new(Duration::from_micros(500), Duration::from_millis(4), Bytes(700));
        let flows = FlowQueueSettings {
            limit: Length::Packets(20),
            queues: 4,
            quantum: Bytes(700),
            codel: codel.unwrap(),
            ecn: EcnMode::Drop,
        };
        let queue = |_| Box::new(FqCodel::new(FqCodelParams::new(flows).unwrap(), rng())) as Box<_>;
        let (settings, _) = drawn;
        let mut tree = CustomerTree::new(CustomerTreeParams::new(settings).unwrap(), mbit(50), queue);
        let (mut drops, mut now, mut free_at, mut held) = (Drops::default(), ms(10), ms(0), 0);
        for (customers, gap) in arrivals {
            now += Duration::from_micros(gap);
            for customer in customers {
                tree.enqueue(now, packet_to(customer), &mut drops);
                held += 1;
            }
            let mut last = None;
            while let Some(due) = tree.ready_at().map(|at| at.max(free_at)).filter(|due| *due <= now) {
                let at = due.max(now - Duration::from_millis(2));
                let (before, given) = (tree.backlog(), tree.dequeue(at, &mut drops));
                if let Some(queued) = &given {
                    free_at = at + mbit(50).time_for(queued.packet.bytes());
                    tree.departed(free_at);
                    held -= 1;
                }
                let is_news = tree.backlog() != before || Some(at) > last;
                prop_assert!(is_news, "asked at {at}, with {before:?}: nothing");
                last = Some(at);
            }
            held -= drops.drain().count() as u64;
            prop_assert_eq!(tree.backlog().packets, held);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn shares_are_weighted_max_min_fair(drawn in trees(25..60, &[0.008, 1.0, 3.0]), line in 25..90u64) {
        let (settings, busy) = drawn;
        prop_assume!(busy.contains(&true));
        let expected = poured(&settings, line as f64, &busy);
        let who: Vec<usize> = (0..busy.len()).filter(|at| busy[*at]).collect();
        let found = got(&settings, line, busy.len(), &who);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found - expected).abs() <= 0.06 * expected + 0.15, "{found} {expected}");
        }
    }
}
