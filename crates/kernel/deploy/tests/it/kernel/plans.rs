//! Plans of customers on a device, with traffic.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_deploy::{Error, Kind, PlansDevice, PlansDone, PlansStatus, Tc, examine_kernel};
use shortflow_plans::{Direction, Plans};
use shortflow_text::InputFiles;

use super::bench::{Bench, DEVICE, on_a_bench, run};

/// Bytes of each datagram, and those before them on the device: Ethernet, IPv4, UDP.
const DATA: usize = 1200;
const HEADERS: usize = 14 + 20 + 8;

/// A line of 50 Mbit/s with a site of 10; unknown addresses get 2 Mbit/s.
const SITES: &str = "
[line]
down = \"50 Mbit/s\"
up = \"50 Mbit/s\"
[unknown]
down = \"2 Mbit/s\"
up = \"2 Mbit/s\"
[sites.tower]
down = \"10 Mbit/s\"
up = \"10 Mbit/s\"
";

/// A customer with the address 10.77.0.`host`, a plan and further keys.
fn customer(name: &str, host: u8, plan: &str, more: &str) -> String {
    format!(
        "[[customer]]\nname = \"{name}\"\naddresses = [\"10.77.0.{host}\"]\ndown = \"{plan}\"\nup = \"{plan}\"\n{more}\n"
    )
}

const AT_TOWER: &str = "site = \"tower\"";

fn plans(customers: &[String]) -> Plans {
    plans_of(&format!("{SITES}{}", customers.concat()))
}

/// FQ-CoDel where this kernel has it, as CI's machines do.
fn queue() -> &'static str {
    if examine_kernel().0.lacks(Kind::FqCodel) { "fifo" } else { "fq-codel" }
}

fn plans_of(text: &str) -> Plans {
    let inputs = InputFiles::default();
    inputs.give(Path::new("plans.toml"), &format!("queue = \"{}\"\n{text}", queue()));
    let found = shortflow_plans::load_from(&inputs, Path::new("plans.toml"));
    found.unwrap_or_else(|found| panic!("{found}"))
}

fn device() -> PlansDevice {
    PlansDevice::find(Tc::new(DEVICE)).unwrap()
}

fn deploy(plans: &Plans) -> Option<PlansDone> {
    match device().deploy(plans, Direction::Down) {
        Ok(done) => Some(done),
        Err(Error::Program(lacking)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs eBPF: {lacking}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn status() -> PlansStatus {
    let status = device().status().unwrap().expect("plans are deployed");
    assert!(status.wrongs().is_empty(), "{:?}", status.wrongs());
    status
}

/// The other end gets these addresses of customers, too.
fn add_addresses(bench: &Bench, hosts: &'static [u8]) {
    bench.there(move || {
        for host in hosts {
            run("ip", &format!("addr add 10.77.0.{host}/24 dev sf1")).unwrap();
        }
    });
}

fn to(host: u8) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::new(10, 77, 0, 1), 0)).unwrap();
    socket
        .connect(SocketAddr::from((Ipv4Addr::new(10, 77, 0, host), 4000 + u16::from(host))))
        .unwrap();
    socket
}

/// Sends to each of these hosts faster than any plan, and says how fast each one received: in Mbit/s on the device, over a second
/// that begins when queues have filled.
fn received<const N: usize>(bench: &Bench, hosts: [u8; N]) -> [f64; N] {
    const SETTLING: Duration = Duration::from_millis(700);
    // A busy machine may read some packets tens of milliseconds late.
    const MEASURED: Duration = Duration::from_secs(3);
    let receivers = hosts.map(|host| bench.receiver(4000 + u16::from(host)));
    let stop = Arc::new(AtomicBool::new(false));
    let senders = hosts.map(|host| {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let socket = to(host);
            // 24 Mbit/s, in bursts of two packets.
            let mut next = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                // A full queue is what this is about.
                (0..2).for_each(|_| drop(socket.send(&[0; DATA])));
                next += Duration::from_micros(800);
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        })
    });
    let start = Instant::now();
    let collecting = receivers.map(|receiver| std::thread::spawn(move || receiver.all()));
    std::thread::sleep(SETTLING + MEASURED);
    stop.store(true, Ordering::Relaxed);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    let measured = start + SETTLING..start + SETTLING + MEASURED;
    collecting.map(|all| {
        let all = all.join().unwrap();
        let count = all.iter().filter(|(at, _)| measured.contains(at)).count();
        (count * (DATA + HEADERS) * 8) as f64 / MEASURED.as_secs_f64() / 1e6
    })
}

/// Within a tenth: a second has a few hundred packets, and CoDel's drops leave gaps.
fn is_about(rate: f64, expected: f64) -> bool {
    (0.9 * expected..1.05 * expected).contains(&rate)
}

#[test]
fn a_customer_gets_its_plan_and_unknown_addresses_theirs() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11, 12]);
        let all = plans(&[customer("A", 11, "6 Mbit/s", AT_TOWER)]);
        if deploy(&all).is_none() {
            return;
        }
        let [known, unknown] = received(bench, [11, 12]);
        assert!(is_about(known, 6.0), "{known}");
        assert!(is_about(unknown, 2.0), "{unknown}");
        let status = status();
        let [customer] = &status.customers[..] else { panic!("{status:?}") };
        assert!(customer.packets() > 500 && customer.drops() > 0, "{status:?}");
        assert_eq!(status.sites[0].bytes(), customer.bytes());
        let counts = status.counts.unwrap();
        assert!(
            counts.customers.packets > counts.unknown.packets / 2 && counts.unknown.packets > 1_000
        );
        assert!(status.unknown.drops() > 0, "{status:?}");
    });
}

#[test]
fn two_customers_share_the_rate_of_their_site() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11, 12]);
        let all = ["A", "B"].iter().zip([11, 12]);
        let all: Vec<String> =
            all.map(|(name, host)| customer(name, host, "10 Mbit/s", AT_TOWER)).collect();
        if deploy(&plans(&all)).is_none() {
            return;
        }
        let [a, b] = received(bench, [11, 12]);
        assert!(is_about(a + b, 10.0), "{a} + {b}");
        // Turns are of a frame.
        assert!((a - b).abs() < 1.0, "{a} and {b}");
    });
}

#[test]
fn a_guaranteed_rate_is_kept_while_others_send() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11, 12, 13]);
        let least = format!("{AT_TOWER}\nat_least = {{ down = \"7 Mbit/s\", up = \"7 Mbit/s\" }}");
        let all = [
            customer("A", 11, "10 Mbit/s", &least),
            customer("B", 12, "10 Mbit/s", AT_TOWER),
            customer("C", 13, "10 Mbit/s", AT_TOWER),
        ];
        if deploy(&plans(&all)).is_none() {
            return;
        }
        let [a, b, c] = received(bench, [11, 12, 13]);
        assert!(is_about(a + b + c, 10.0), "{a} + {b} + {c}");
        assert!(a > 0.95 * 7.0, "{a}");
        // The rest, which A borrows, too.
        assert!(b > 0.5 && c > 0.5, "{b} and {c}");
    });
}

#[test]
fn what_busy_customers_get_is_predicted() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11, 12, 13]);
        let guaranteed =
            format!("{AT_TOWER}\nat_least = {{ down = \"3 Mbit/s\", up = \"3 Mbit/s\" }}");
        // The site holds A and B; all three could have 45 Mbit/s of the line's 50, and C has what its plan allows.
        let all = plans(&[
            customer("A", 11, "20 Mbit/s", AT_TOWER),
            customer("B", 12, "5 Mbit/s", &guaranteed),
            customer("C", 13, "16 Mbit/s", ""),
        ]);
        if deploy(&all).is_none() {
            return;
        }
        let predicted = all.shares(Direction::Down, &[true; 3]);
        for (received, predicted) in received(bench, [11, 12, 13]).into_iter().zip(predicted) {
            assert!(is_about(received, predicted / 1e6), "{received}, {predicted}");
        }
    });
}

#[test]
fn a_change_of_one_customer_loses_nothing_of_another() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11, 12, 13]);
        let with = |plan: &str, more: &str| {
            plans(&[
                customer("A", 11, "10 Mbit/s", AT_TOWER),
                customer("B", 12, plan, more),
                customer("C", 13, "10 Mbit/s", AT_TOWER),
            ])
        };
        if deploy(&with("4 Mbit/s", AT_TOWER)).is_none() {
            return;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let senders = [11, 13].map(|host| {
            let (stop, receiver) = (stop.clone(), bench.receiver(4000 + u16::from(host)));
            let receiving = {
                let stop = stop.clone();
                std::thread::spawn(move || receiver.count_until(&stop))
            };
            let sending = std::thread::spawn(move || {
                let (socket, mut sent) = (to(host), 0);
                // 2 Mbit/s, which neither plan nor site limits.
                while !stop.load(Ordering::Relaxed) {
                    socket.send(&[0; DATA]).unwrap();
                    sent += 1;
                    std::thread::sleep(Duration::from_millis(5));
                }
                sent
            });
            (sending, receiving)
        });
        std::thread::sleep(Duration::from_millis(200));
        let mut commands = Vec::new();
        for (plan, more) in
            [("5 Mbit/s", AT_TOWER), ("6 Mbit/s", ""), ("900 kbit/s", ""), ("4 Mbit/s", AT_TOWER)]
        {
            let done = device().reload(&with(plan, more), Direction::Down).unwrap();
            assert!(!done.is_new);
            commands.push((done.commands, done.prefixes));
            std::thread::sleep(Duration::from_millis(100));
        }
        // A rate; another place with a queue, the old class, and what the site guarantees; a rate that changes the queue; another
        // place. CoDel's target follows slow rates, and a FIFO's limit fast ones.
        assert_eq!(commands, [(1, 0), (4, 1), (2, 0), (4, 1)]);
        stop.store(true, Ordering::Relaxed);
        for (sending, receiving) in senders {
            let (sent, received) = (sending.join().unwrap(), receiving.join().unwrap());
            assert!(sent > 50);
            assert_eq!(received, sent, "of a customer that does not change, nothing is lost");
        }
        let status = status();
        assert_eq!(status.customers[1].at_most.bits_per_sec(), 4_000_000);
        assert_eq!(status.customers[1].site.as_deref(), Some("tower"));
    });
}

#[test]
fn customers_come_and_go_with_their_addresses() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11, 12]);
        let [a, b] =
            [("A", 11), ("B", 12)].map(|(name, host)| customer(name, host, "10 Mbit/s", ""));
        if deploy(&plans(std::slice::from_ref(&a))).is_none() {
            return;
        }
        let count = |host: u8| {
            let before = status().counts.unwrap();
            (0..20).for_each(|_| drop(to(host).send(&[0; 100])));
            // The first ones wait until the neighbour's address is known.
            let patience = Instant::now() + Duration::from_secs(2);
            loop {
                let after = status().counts.unwrap();
                let found = (
                    after.customers.packets - before.customers.packets,
                    after.unknown.packets - before.unknown.packets,
                );
                if found.0 + found.1 >= 20 || Instant::now() > patience {
                    break found;
                }
            }
        };
        assert_eq!((count(11), count(12)), ((20, 0), (0, 20)));
        device().reload(&plans(&[a, b.clone()]), Direction::Down).unwrap();
        assert_eq!((count(11), count(12)), ((20, 0), (20, 0)));
        device().reload(&plans(std::slice::from_ref(&b)), Direction::Down).unwrap();
        assert_eq!((count(11), count(12)), ((0, 20), (20, 0)));
        assert_eq!(device().reload(&plans(&[b]), Direction::Down).unwrap(), PlansDone::default());
    });
}

#[test]
fn classes_that_others_change_or_remove_are_reported_and_reload_puts_them_right() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11]);
        let all = plans(&[customer("A", 11, "6 Mbit/s", AT_TOWER)]);
        if deploy(&all).is_none() {
            return;
        }
        let wrongs = || device().status().unwrap().unwrap().wrongs().join("; ");
        // The class with the plan: `class htb 5e00:4 parent 5e00:3 leaf …`
        let listing = bench.listings();
        let plan = listing.lines().find(|line| line.contains("ceil 6Mbit")).unwrap();
        let words: Vec<&str> = plan.split_whitespace().collect();
        let class = |verb: &str, rates: &str| {
            let parent =
                if verb == "del" { String::new() } else { format!("parent {} ", words[4]) };
            let what = format!("class {verb} dev sf0 {parent}classid {} {rates}", words[2]);
            run("tc", what.trim()).unwrap();
        };
        class("change", "htb rate 8kbit ceil 20mbit");
        assert!(wrongs().contains("1 classes have other rates"), "{}", wrongs());
        assert!(device().reload(&all, Direction::Down).unwrap().is_new);
        let [known] = received(bench, [11]);
        assert!(is_about(known, 6.0), "{known}");
        assert_eq!(device().reload(&all, Direction::Down).unwrap(), PlansDone::default());
        class("del", "");
        assert!(wrongs().contains("1 classes or their queues are gone"), "{}", wrongs());
        assert!(device().reload(&all, Direction::Down).unwrap().is_new);
        assert_eq!(wrongs(), "");
    });
}

#[test]
fn no_address_of_ipv4_belongs_to_a_customer_with_all_of_ipv6() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11, 12]);
        let with_all = |addresses: &str| {
            customer("V", 12, "4 Mbit/s", "").replace("\"10.77.0.12\"", addresses)
        };
        let [a, v] = [customer("A", 11, "6 Mbit/s", ""), with_all("\"::/0\"")];
        if deploy(&plans(&[a.clone(), v])).is_none() {
            return;
        }
        let [known, unknown] = received(bench, [11, 12]);
        assert!(is_about(known, 6.0) && is_about(unknown, 2.0), "{known}, {unknown}");
        let found = status();
        assert!(found.counts.unwrap().unknown.packets > 500, "{found:?}");
        // Whoever has all of IPv4 too gets it.
        let v = with_all("\"::/0\", \"0.0.0.0/0\"");
        device().reload(&plans(&[a, v]), Direction::Down).unwrap();
        let [_, known] = received(bench, [11, 12]);
        assert!(is_about(known, 4.0), "{known}");
    });
}

#[test]
fn what_machines_of_a_link_tell_each_other_passes_all_classes() {
    on_a_bench(|bench| {
        add_addresses(bench, &[11]);
        if deploy(&plans(&[customer("A", 11, "6 Mbit/s", "")])).is_none() {
            return;
        }
        let send = |to: SocketAddr| {
            let from: IpAddr = match to {
                SocketAddr::V4(_) => Ipv4Addr::new(10, 77, 0, 1).into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let socket = UdpSocket::bind((from, 0)).unwrap();
            (0..20).for_each(|_| assert_eq!(socket.send_to(&[0; 100], to).unwrap(), 100));
        };
        let counted = |to: SocketAddr| {
            let before = status().counts.unwrap();
            send(to);
            let after = status().counts.unwrap();
            (
                after.unknown.packets - before.unknown.packets,
                after.past_classes.packets - before.past_classes.packets,
            )
        };
        // Groups of OSPF and of a wider network.
        let v4 = |address: [u8; 4]| SocketAddr::from((Ipv4Addr::from(address), 9));
        let listed = run("ip", "-o link show dev sf0").unwrap();
        let index = listed.split(':').next().unwrap().parse().unwrap();
        let v6 = |address: &str| {
            SocketAddr::V6(SocketAddrV6::new(address.parse().unwrap(), 9, 0, index))
        };
        for (to, expected) in [
            (v4([224, 0, 0, 5]), 0),
            (v4([224, 0, 1, 5]), 20),
            (v6("ff02::5"), 0),
            (v6("ff05::5"), 20),
        ] {
            let (unknown, past) = counted(to);
            assert_eq!(unknown, expected, "{to}");
            // The kernel may report its groups in the meantime (MLD).
            assert!(past >= 20 - expected, "{to}: {past}");
        }
    });
}

#[test]
fn six_nested_sites_are_taken_and_everything_is_removed_again() {
    on_a_bench(|bench| {
        let before = bench.listings();
        let site = |number: usize| {
            let parent = match number {
                1 => String::new(),
                _ => format!("parent = \"s{}\"\n", number - 1),
            };
            format!("[sites.s{number}]\n{parent}down = \"10 Mbit/s\"\nup = \"10 Mbit/s\"\n")
        };
        let sites: String = (1..=Plans::MAX_DEPTH).map(site).collect();
        let last = format!("site = \"s{}\"", Plans::MAX_DEPTH);
        let text = format!("{SITES}{sites}{}", customer("A", 2, "5 Mbit/s", &last));
        if deploy(&plans_of(&text)).is_none() {
            return;
        }
        assert_eq!(status().sites.len(), 1 + Plans::MAX_DEPTH);
        assert!(bench.carries_packets());
        let refused = device().deploy(&plans_of(&text), Direction::Down).unwrap_err();
        assert!(matches!(refused, Error::PlansDeployed { .. }), "{refused}");
        device().undeploy().unwrap();
        assert_eq!(bench.listings(), before);
        assert!(device().status().unwrap().is_none());
        assert!(matches!(device().undeploy(), Err(Error::NotDeployed { .. })));
    });
}

#[test]
fn another_owners_queues_are_not_replaced_and_a_lost_record_or_program_is_reported() {
    on_a_bench(|bench| {
        let all = plans(&[customer("A", 2, "5 Mbit/s", "")]);
        run("tc", "qdisc add dev sf0 root handle 7: htb").unwrap();
        let refused = device().deploy(&all, Direction::Down);
        if let Err(Error::Program(_)) = refused {
            return;
        }
        assert!(matches!(refused, Err(Error::Obstacle { .. })), "{refused:?}");
        run("tc", "qdisc del dev sf0 root").unwrap();
        if deploy(&all).is_none() {
            return;
        }
        // Without the program, packets go past all classes.
        run("tc", "filter del dev sf0 egress").unwrap();
        assert!(bench.carries_packets());
        let found = device().status().unwrap().unwrap();
        assert!(found.wrongs().iter().any(|wrong| wrong.contains("program is gone")), "{found:?}");
        assert!(device().reload(&all, Direction::Down).unwrap().is_new);
        assert_eq!(status().customers.len(), 1);
        run("tc", "qdisc del dev sf0 root").unwrap();
        assert!(bench.carries_packets());
        let found = device().status().unwrap().unwrap();
        assert!(found.wrongs().iter().any(|wrong| wrong.contains("classes are gone")), "{found:?}");
        device().undeploy().unwrap();
    });
}
