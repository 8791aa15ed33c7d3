//! Packets between two hosts, through the router and past it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_inline::{Bridge, Inline, Plan, Report, acting_roles};
use shortflow_policy::from_text;
use shortflow_units::LinkLayer;

use crate::bench::{Bench, DEVICES, on_a_bench, run};

/// Marks datagrams to port 5000, and gives them priority.
pub(crate) const MARKS: &str = "\
    [[roles.edge.classes]]\nname = \"calls\"\nmatch = { dst_port = 5000 }\nmarker.fixed = { dscp = \"EF\" }\n\
    [[roles.core.queue.strict-priority.bands]]\nmatch = { dscp = \"EF\" }\nqueue.fifo = { limit = \"100 pkt\" }\n\
    [[roles.core.queue.strict-priority.bands]]\nqueue.fifo = { limit = \"100 pkt\" }\n";

/// Runs `act` while a router with this policy works at this rate; what it counted.
fn routed(text: &'static str, rate: &'static str, act: impl FnOnce()) -> Report {
    let (is_ready, ready) = std::sync::mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    // The thread is in the namespace of this one.
    let running = std::thread::spawn(move || {
        let policy = from_text("p.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let rates = [rate.parse().unwrap(); 2];
        let plan = Plan::new(acting_roles(&policy, &[]).unwrap(), rates, LinkLayer::default(), 1);
        let bridge = Bridge::join(DEVICES).unwrap();
        let mut router = Inline::attach(&bridge, DEVICES, &plan.unwrap()).unwrap();
        is_ready.send(()).unwrap();
        let second = shortflow_units::Duration::from_secs(1);
        router.run(&stopped, second, |_| ControlFlow::Continue(())).unwrap()
    });
    ready.recv_timeout(Duration::from_secs(10)).expect("the router attaches");
    let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
    stop.store(true, Ordering::Relaxed);
    let report = running.join().unwrap();
    acted.unwrap_or_else(|failed| std::panic::resume_unwind(failed));
    report
}

/// Sends `count` datagrams to a port of the far host, and counts those that arrive.
fn passed(bench: &Bench, port: u16, count: usize, length: usize) -> usize {
    let to = format!("10.78.0.2:{port}");
    let (receiver, sender) = (bench.socket(1, &to), bench.socket(0, "10.78.0.1:0"));
    for _ in 0..count {
        sender.send_to(&vec![1; length], &to).unwrap();
    }
    std::iter::from_fn(|| receiver.recv(&mut [0; 9000]).ok()).take(count).count()
}

#[test]
fn packets_of_both_versions_of_ip_pass_both_ways_and_are_marked() {
    on_a_bench(|bench| {
        let report = routed(MARKS, "100 Mbit/s", || {
            bench.wait_until_packets_pass();
            assert_eq!(passed(bench, 5000, 20, 100), 20);
            let (far, near) = (bench.socket(1, "[fd78::2]:5000"), bench.socket(0, "[fd78::1]:0"));
            near.send_to(&[7; 300], "[fd78::2]:5000").unwrap();
            let (length, from) = far.recv_from(&mut [0; 500]).unwrap();
            assert_eq!(length, 300);
            far.send_to(&[8; 200], from).unwrap();
            assert_eq!(near.recv(&mut [0; 500]).unwrap(), 200);
        });
        let [there, back] = &report.directions;
        assert_eq!(there.classes[0].packets.iter().sum::<u64>(), 21, "{there:?}");
        assert!(there.packets > 21 && back.packets > 0, "{report:?}");
        // Questions for addresses go to many, so they take the bridge.
        assert!(there.to_bridge > 0, "{there:?}");
    });
}

#[test]
fn a_transfer_gets_the_rate_of_the_line_and_its_packets_wait_here() {
    on_a_bench(|bench| {
        let text = "[roles.core]\nqueue.fifo = { limit = \"50 pkt\" }\n";
        let (mut took, mut got) = (Duration::ZERO, 0);
        let report = routed(text, "20 Mbit/s", || {
            bench.wait_until_packets_pass();
            let listener = bench.at(1, || TcpListener::bind("10.78.0.2:5001").unwrap());
            let mut sender = bench.at(0, || TcpStream::connect("10.78.0.2:5001").unwrap());
            let (mut receiver, _) = listener.accept().unwrap();
            let begun = Instant::now();
            let sending =
                std::thread::spawn(move || sender.write_all(&vec![0; 5_000_000]).unwrap());
            let mut bytes = vec![0; 1 << 16];
            loop {
                match receiver.read(&mut bytes).unwrap() {
                    0 => break,
                    count => got += count,
                }
            }
            took = begun.elapsed();
            sending.join().unwrap();
        });
        assert_eq!(got, 5_000_000);
        let megabits = got as f64 * 8e-6 / took.as_secs_f64();
        // Headers take 3.5 %; a busy machine may be slower, never faster.
        assert!(megabits < 20.0 && megabits > 12.0, "{megabits} Mbit/s");
        assert!(!report.directions[0].dropped.is_empty(), "{report:?}");
    });
}

#[test]
fn a_class_with_priority_loses_nothing_to_a_flood_of_another() {
    on_a_bench(|bench| {
        let report = routed(MARKS, "2 Mbit/s", || {
            bench.wait_until_packets_pass();
            let flood = bench.socket(0, "10.78.0.1:0");
            let (receiver, sender) =
                (bench.socket(1, "10.78.0.2:5000"), bench.socket(0, "10.78.0.1:0"));
            let mut longest = Duration::ZERO;
            for _ in 0..50 {
                (0..20).for_each(|_| drop(flood.send_to(&[0; 1200], "10.78.0.2:7")));
                let sent = Instant::now();
                sender.send_to(&[1; 100], "10.78.0.2:5000").unwrap();
                assert_eq!(receiver.recv(&mut [0; 200]).unwrap(), 100, "it is not lost");
                longest = longest.max(sent.elapsed());
                std::thread::sleep(Duration::from_millis(20));
            }
            // A hundred packets of the flood take half a second; one takes 5 ms.
            assert!(longest < Duration::from_millis(200), "{longest:?}");
        });
        assert!(report.directions[0].dropped.iter().any(|(_, count)| *count > 300), "{report:?}");
    });
}

#[test]
fn fragments_long_frames_and_tagged_frames_pass() {
    on_a_bench(|bench| {
        routed(MARKS, "100 Mbit/s", || {
            bench.wait_until_packets_pass();
            assert_eq!(passed(bench, 5000, 5, 4000), 5, "in fragments");
        });
        for device in DEVICES {
            run(&format!("link set {device} mtu 9000")).unwrap();
        }
        for host in 0..2 {
            bench.at(host, || run("link set eth0 mtu 9000").unwrap());
        }
        let report = routed(MARKS, "100 Mbit/s", || {
            bench.wait_until_packets_pass();
            assert_eq!(passed(bench, 5000, 5, 8000), 5, "jumbo frames");
        });
        assert!(report.directions[0].too_long >= 5, "{report:?}");
    });
}

#[test]
fn the_bridge_forwards_before_the_router_and_after_it() {
    on_a_bench(|bench| {
        let bridge = Bridge::join(DEVICES).unwrap();
        assert!(bridge.is_new);
        bench.wait_until_packets_pass();
        let report = routed(MARKS, "100 Mbit/s", || {
            assert_eq!(passed(bench, 5000, 10, 100), 10);
        });
        assert_eq!(report.directions[0].classes[0].packets.iter().sum::<u64>(), 10);
        assert_eq!(passed(bench, 5000, 10, 100), 10, "after it");
        assert!(!Bridge::join(DEVICES).unwrap().is_new, "the bridge stays");
    });
}

#[test]
fn a_router_that_hangs_stops_nobody_for_long() {
    on_a_bench(|bench| {
        let policy = from_text("p.toml", MARKS, &[]).unwrap();
        let rates = ["100 Mbit/s".parse().unwrap(); 2];
        let plan = Plan::new(acting_roles(&policy, &[]).unwrap(), rates, LinkLayer::default(), 1);
        let bridge = Bridge::join(DEVICES).unwrap();
        bench.wait_until_packets_pass();
        // It is attached and does not run, as one that hangs.
        let _router = Inline::attach(&bridge, DEVICES, &plan.unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(passed(bench, 5000, 10, 100), 10);
    });
}

#[test]
fn neighbour_discovery_passes_a_full_queue() {
    on_a_bench(|bench| {
        let text = "[roles.core]\nqueue.fifo = { limit = \"20 pkt\" }\n";
        let report = routed(text, "500 kbit/s", || {
            bench.wait_until_packets_pass();
            let flood = bench.socket(0, "[fd78::1]:0");
            (0..400).for_each(|_| drop(flood.send_to(&[0; 1200], "[fd78::2]:7")));
            // The far host asks for the near one, whose answer goes the way of the flood.
            bench.at(1, || run("-6 neigh flush dev eth0").unwrap());
            (0..200).for_each(|_| drop(flood.send_to(&[0; 1200], "[fd78::2]:7")));
            let far = bench.socket(1, "[fd78::2]:0");
            let near = bench.socket(0, "[fd78::1]:6000");
            near.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
            far.send_to(&[1; 50], "[fd78::1]:6000").unwrap();
            assert_eq!(near.recv(&mut [0; 100]).unwrap(), 50, "the address is found");
        });
        assert!(report.directions[0].dropped.iter().any(|(_, count)| *count > 100), "{report:?}");
    });
}
