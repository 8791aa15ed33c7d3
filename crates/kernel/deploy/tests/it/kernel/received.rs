//! What the device receives, through an ifb device of ours.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_deploy::{
    DeviceStatus, Error, Observed, Owners, Received, Site, Step, Tc, Wanted, owners,
};
use shortflow_policy::{Policy, from_text};
use socket2::{Domain, Protocol, Socket, Type};

use super::bench::{Bench, DEVICE, Destination, given, on_a_bench, run};
use super::edge::with_the_program;
use crate::support::{kernel_without, of_queue};

/// The name of the ifb device.
const IFB: &str = "sf-sf0";
/// The rate of what is received.
const RATE: &str = "2 Mbit/s";
/// EF.
const EF: u32 = 46;
/// Bytes of a datagram, which is a packet of 1242 bytes with its headers.
const SIZE: usize = 1200;

fn bands(limit: u32) -> Policy {
    of_queue(&format!(
        "strict-priority.bands = [{{ match = {{ dscp = \"EF\" }}, queue.fifo = {{ limit = \"20 pkt\" }} }}, \
         {{ queue.fifo = {{ limit = \"{limit} pkt\" }} }}]"
    ))
}

fn other_bands(limit: u32) -> Policy {
    of_queue(&format!(
        "strict-priority.bands = [{{ match = {{ dscp = \"EF\" }}, queue.fifo = {{ limit = \"20 pkt\" }} }}, \
         {{ match = {{ dscp = \"AF11\" }}, queue.fifo = {{ limit = \"50 pkt\" }} }}, \
         {{ queue.fifo = {{ limit = \"{limit} pkt\" }} }}]"
    ))
}

fn wanted(policy: &Policy, roles: &[&str]) -> Wanted {
    wanted_with(policy, roles, &Owners::new())
}

fn wanted_with(policy: &Policy, roles: &[&str], owners: &Owners) -> Wanted {
    let rate = roles.contains(&"core").then(|| RATE.parse().unwrap());
    let kernel = kernel_without(&[]);
    let site =
        Site { rate, speed: None, link_layer: None, link_header: 14, kernel, nearest: false };
    let roles: Vec<String> = roles.iter().copied().map(str::to_owned).collect();
    Wanted::from_policy_with_owners(policy, &roles, &site, owners).unwrap()
}

/// What stands on the way of received packets, and what is to be done for this to stand there.
fn plan(wanted: &Wanted) -> (Received, Tc, Vec<Step>) {
    let received = Received::observe(DEVICE).unwrap();
    let tc = received.way(Tc::new(DEVICE));
    let steps = received.steps(&tc, wanted).unwrap();
    (received, tc, steps)
}

fn bring(wanted: &Wanted) {
    let (received, tc, steps) = plan(wanted);
    assert_eq!(received.apply(tc, wanted, &steps).unwrap().waiting, 0);
}

fn remove() {
    let received = Received::observe(DEVICE).unwrap();
    received.remove(&Tc::new(DEVICE), &received.removal().unwrap()).unwrap();
}

fn status() -> DeviceStatus {
    DeviceStatus::received(DEVICE).unwrap().expect("something is deployed")
}

/// All that there is to see of the device, also of what it receives.
fn listings(bench: &Bench) -> String {
    bench.listings() + &run("tc", "filter show dev sf0 ingress").unwrap()
}

/// A socket at the device.
fn receiver(port: u16) -> UdpSocket {
    let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.set_only_v6(false).unwrap();
    socket.set_recv_buffer_size(8 << 20).unwrap();
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket.into()
}

/// How many datagrams come until none has come for a while.
fn count(socket: &UdpSocket) -> usize {
    std::iter::from_fn(|| socket.recv(&mut [0; 9000]).ok()).count()
}

/// A socket at the other end, whose datagrams come to the device with this code point.
fn sender(bench: &Bench, to: Destination, port: u16, dscp: u32) -> UdpSocket {
    let (domain, to): (_, SocketAddr) = match to {
        Destination::V4 => (Domain::IPV4, (Ipv4Addr::new(10, 77, 0, 1), port).into()),
        Destination::V6 => (Domain::IPV6, ("fd77::1".parse::<Ipv6Addr>().unwrap(), port).into()),
    };
    sender_to(bench, domain, to, dscp)
}

fn sender_to(bench: &Bench, domain: Domain, to: SocketAddr, dscp: u32) -> UdpSocket {
    bench.there(move || {
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).unwrap();
        match domain {
            Domain::IPV4 => socket.set_tos_v4(dscp << 2).unwrap(),
            _ => socket.set_tclass_v6(dscp << 2).unwrap(),
        }
        socket.connect(&to.into()).unwrap();
        socket.into()
    })
}

/// Sends numbered datagrams at `megabits` until `stop` is set, and returns their count.
fn flood(socket: UdpSocket, megabits: u64, stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    let stop = stop.clone();
    std::thread::spawn(move || {
        let (begin, mut sent) = (Instant::now(), 0);
        while !stop.load(Ordering::Relaxed) {
            let due = Duration::from_nanos(sent * 8_000 * SIZE as u64 / megabits);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
            sent += u64::from(socket.send(&[0; SIZE]).is_ok());
        }
        sent
    })
}

/// Whether datagrams of both families come, a few of each.
fn arrive(bench: &Bench) -> bool {
    let socket = receiver(4100);
    for to in [Destination::V4, Destination::V6] {
        let sender = sender(bench, to, 4100, 0);
        (0..5).for_each(|_| assert_eq!(sender.send(&[1; 40]).unwrap(), 40));
    }
    (0..10).all(|_| socket.recv(&mut [0; 100]).is_ok())
}

/// Bits per second that a socket gets of a flood, after it has begun.
fn received_rate(socket: &UdpSocket, flood: UdpSocket) -> f64 {
    let stop = Arc::new(AtomicBool::new(false));
    let flooding = self::flood(flood, 8, &stop);
    let until = |end: Instant| {
        let mut bytes = 0;
        while Instant::now() < end {
            bytes += socket.recv(&mut [0; 9000]).unwrap_or(0);
        }
        bytes
    };
    let begin = Instant::now();
    until(begin + Duration::from_millis(500));
    let bytes = until(begin + Duration::from_millis(2500));
    stop.store(true, Ordering::Relaxed);
    flooding.join().unwrap();
    // A datagram has 42 bytes of headers.
    (bytes * (SIZE + 42) / SIZE * 8) as f64 / 2.0
}

#[test]
fn what_a_device_receives_is_limited_and_what_it_sends_is_not() {
    on_a_bench(|bench| {
        let before = listings(bench);
        let socket = receiver(6000);
        let free = received_rate(&socket, sender(bench, Destination::V4, 6000, 0));
        assert!(free > 6e6, "{free} bit/s without a deployment");
        bring(&wanted(&bands(50), &["core"]));
        for to in [Destination::V4, Destination::V6] {
            count(&socket);
            let found = received_rate(&socket, sender(bench, to, 6000, 0));
            assert!((1.7e6..2.1e6).contains(&found), "{found} bit/s, {to:?}");
        }
        // The other way is as it was.
        let sent = bench.receiver(6001);
        let stop = Arc::new(AtomicBool::new(false));
        let flooding = flood(super::bench::sender(Destination::V4, 6001, 0), 8, &stop);
        std::thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(sent.count() as u64, flooding.join().unwrap());
        let text = status().text();
        assert!(
            text.starts_with("sf0 (received): policy \"Test\", role core, 2 Mbit/s\n"),
            "{text}"
        );
        assert!(status().wrongs().is_empty(), "{text}");
        assert!(DeviceStatus::read(DEVICE).unwrap().is_none(), "what is sent has no deployment");
        remove();
        assert_eq!(listings(bench), before);
        assert!(DeviceStatus::all().unwrap().is_empty());
    });
}

#[test]
fn what_comes_first_is_neither_lost_nor_delayed_while_the_rest_floods_what_is_received() {
    on_a_bench(|bench| {
        // The socket of the flood has 50 packets under way, more than the queue of the rest holds.
        bring(&wanted(&bands(30), &["core"]));
        let (voice, _bulk) = (receiver(5000), receiver(6000));
        let stop = Arc::new(AtomicBool::new(false));
        let flooding = flood(sender(bench, Destination::V4, 6000, 0), 8, &stop);
        std::thread::sleep(Duration::from_millis(300));
        let senders = [Destination::V4, Destination::V6].map(|to| sender(bench, to, 5000, EF));
        let mut delays = Vec::new();
        for number in 0..100 {
            let begin = Instant::now();
            senders[number % 2].send(&[0; 100]).unwrap();
            voice.recv(&mut [0; 200]).expect("nothing of EF is lost");
            delays.push(begin.elapsed());
            std::thread::sleep(Duration::from_millis(10));
        }
        let status = status();
        stop.store(true, Ordering::Relaxed);
        flooding.join().unwrap();
        assert_eq!(given(&status, "EF"), 100, "{}", status.text());
        let rest = status.classes.iter().find(|class| class.name == "the rest").unwrap();
        assert!(rest.queue.drops > 100, "{}", status.text());
        delays.sort_unstable();
        // A packet of the rest takes 5 ms at 2 Mbit/s; 30 of them take 150 ms.
        eprintln!("EF, received: median {:?}, p95 {:?}", delays[50], delays[95]);
        assert!(delays[50] < Duration::from_millis(15), "{:?}", delays[50]);
    });
}

/// A frame with these tags and a datagram of EF.
fn tagged(to: Destination, tags: &[u8]) -> Vec<u8> {
    let (kind, header): ([u8; 2], Vec<u8>) = match to {
        Destination::V4 => {
            let header =
                [0x45, 46 << 2, 0, 48, 0, 0, 0, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1];
            ([8, 0], header.to_vec())
        }
        Destination::V6 => {
            let class = 46u32 << 2 | 6 << 8;
            let first = (class << 20).to_be_bytes();
            let addresses =
                ["fd77::2", "fd77::1"].map(|it| it.parse::<Ipv6Addr>().unwrap().octets());
            ([0x86, 0xdd], [&first[..], &[0, 28, 17, 64], &addresses.concat()].concat())
        }
    };
    let datagram = [[0x13, 0x88, 0x13, 0x88, 0, 28, 0, 0].as_slice(), &[0; 20]].concat();
    [&[2; 12], tags, &kind, &header, &datagram].concat()
}

#[test]
fn packets_in_vlans_are_told_apart() {
    on_a_bench(|bench| {
        bring(&wanted(&bands(50), &["core"]));
        let before = status();
        let tags: [&[u8]; 3] = [&[], &[0x81, 0, 0, 7], &[0x88, 0xa8, 0, 9]];
        let both = [Destination::V4, Destination::V6];
        let frames: Vec<Vec<u8>> =
            both.iter().flat_map(|to| tags.map(|tags| tagged(*to, tags))).collect();
        if !bench.receives_frames(frames) {
            return;
        }
        let status = status();
        let more = |class| given(&status, class) - given(&before, class);
        assert_eq!(more("EF"), 6, "{}", status.text());
        assert_eq!(more("unreadable headers"), 0, "{}", status.text());
    });
}

#[test]
fn what_arrives_is_marked_before_it_waits() {
    with_the_program(|bench| {
        let text = "[[roles.edge.classes]]\nname = \"calls\"\nmatch = { protocol = \"udp\", dst_port = 5001 }\n\
                    marker.fixed = { dscp = \"EF\" }\n[[roles.core.queue.strict-priority.bands]]\nmatch = { dscp = \"EF\" }\n\
                    queue.fifo = { limit = \"20 pkt\" }\n[[roles.core.queue.strict-priority.bands]]\n\
                    queue.fifo = { limit = \"50 pkt\" }\n";
        let policy = from_text("marks.toml", text, &[]).unwrap();
        let before = listings(bench);
        bring(&wanted(&policy, &["edge", "core"]));
        let socket = receiver(5001);
        for to in [Destination::V4, Destination::V6] {
            let sender = sender(bench, to, 5001, 0);
            (0..5).for_each(|_| assert_eq!(sender.send(&[0; 40]).unwrap(), 40));
        }
        assert_eq!(count(&socket), 10);
        let status = status();
        assert_eq!(given(&status, "EF"), 10, "{}", status.text());
        let seen = status.edge.as_ref().unwrap().seen.as_ref().expect("root may look");
        assert_eq!(seen[0].colors[0].packets, 10, "{}", status.text());
        remove();
        assert_eq!(listings(bench), before);
    });
}

#[test]
fn markers_that_ask_sockets_are_refused_for_what_is_received() {
    on_a_bench(|_| {
        let refused = |policy: &str, given: &[(String, String)]| {
            let policy = from_text("edge.toml", policy, &[]).unwrap();
            let owners = owners(&policy, given).unwrap();
            let received = Received::observe(DEVICE).unwrap();
            let tc = received.way(Tc::new(DEVICE));
            let found = received.steps(&tc, &wanted_with(&policy, &["edge"], &owners));
            let Err(error @ Error::NotReceived { .. }) = found else { panic!("{found:?}") };
            assert!(error.is_of_input());
            error.to_string()
        };
        let class = "[[roles.edge.classes]]\nname = \"all\"\nmarker.dstf = {}\n";
        let echo = refused(&format!("[roles.edge]\nacks = \"echo\"\n{class}"), &[]);
        assert!(echo.contains("`acks = \"echo\"`"), "{echo}");
        let label = [("shell".to_owned(), "mark:7".to_owned())];
        let labelled = class.replace("marker", "match = { label = \"shell\" }\nmarker");
        let labelled = refused(&labelled, &label);
        assert!(labelled.contains("label"), "{labelled}");
        let asks = class.replace("marker", "match = { sent_up_to = \"30 KB\" }\nmarker");
        assert!(refused(&asks, &[]).contains("socket"));
    });
}

/// What `status` says is wrong, of which there is something.
fn wrong() -> String {
    let wrongs = status().wrongs();
    let text: Vec<String> =
        wrongs.iter().map(|it| format!("{} | {}", it.what, it.command)).collect();
    assert!(!text.is_empty());
    text.join("\n")
}

#[test]
fn a_way_that_somebody_takes_away_is_missed_and_a_reload_repairs_it() {
    on_a_bench(|bench| {
        let before = listings(bench);
        let policy = wanted(&bands(50), &["core"]);
        for (change, message) in [
            (
                ("tc", "filter del dev sf0 ingress pref 21321"),
                "redirects what sf0 receives to sf-sf0 is missing",
            ),
            (
                ("tc", "qdisc del dev sf0 clsact"),
                "redirects what sf0 receives to sf-sf0 is missing",
            ),
            (
                ("ip", "link del dev sf-sf0"),
                "the device sf-sf0 is missing: the kernel drops every packet",
            ),
            (
                ("ip", "link set dev sf-sf0 down"),
                "the device sf-sf0 is down: the kernel drops every packet",
            ),
            (("tc", "qdisc del dev sf-sf0 root"), "the queues of role `core` are missing"),
        ] {
            bring(&policy);
            run(change.0, change.1).unwrap();
            let found = wrong();
            assert!(found.contains(message), "{change:?}: {found}");
            assert!(found.contains("shortflow reload POLICY --dev sf0 --ingress"), "{found}");
            bring(&policy);
            assert!(status().wrongs().is_empty(), "{change:?}: {}", status().text());
            assert!(arrive(bench), "{change:?}");
            remove();
            assert_eq!(listings(bench), before, "{change:?}");
        }
        // Nothing of it is left in the kernel.
        bring(&policy);
        run("tc", "qdisc del dev sf0 clsact").unwrap();
        run("ip", "link del dev sf-sf0").unwrap();
        let found = wrong();
        assert!(
            found.contains("the device sf-sf0 and the filter that redirects there are missing"),
            "{found}"
        );
        bring(&policy);
        assert!(status().wrongs().is_empty() && arrive(bench));
        remove();
        assert_eq!(listings(bench), before);
    });
}

#[test]
fn a_device_that_is_renamed_keeps_its_way_and_one_that_is_gone_leaves_one_to_remove() {
    on_a_bench(|_| {
        bring(&wanted(&bands(50), &["core"]));
        run("ip", "link set sf0 down").unwrap();
        run("ip", "link set sf0 name sf8").unwrap();
        let [status] = &DeviceStatus::all().unwrap()[..] else { panic!("one is deployed") };
        assert_eq!((status.name().as_str(), status.ifb.as_deref()), ("sf8 (received)", Some(IFB)));
        assert!(status.wrongs().is_empty(), "{}", status.text());
        run("ip", "link del sf8").unwrap();
        let [status] = &DeviceStatus::all().unwrap()[..] else { panic!("it is left") };
        let [wrong] = &status.wrongs()[..] else { panic!("{}", status.text()) };
        assert_eq!(wrong.command, "ip link del dev sf-sf0");
        run("ip", "link del dev sf-sf0").unwrap();
        assert!(DeviceStatus::all().unwrap().is_empty());
    });
}

/// Both directions, of which each may come first and go first.
#[test]
fn both_directions_share_a_place_for_filters_that_goes_with_the_last() {
    on_a_bench(|bench| {
        let policy = wanted(&bands(50), &["core"]);
        let send = || {
            let tc = Tc::new(DEVICE);
            let observed: Observed = tc.observe().unwrap();
            let steps = policy.steps(&tc, &observed, DEVICE).unwrap();
            policy.apply(tc, &observed, &steps).unwrap();
        };
        for has_place in [false, true] {
            if has_place {
                run("tc", "qdisc add dev sf0 clsact").unwrap();
            }
            let before = listings(bench);
            for order in 0..4 {
                let (first, last) = (order % 2 == 0, order / 2 == 0);
                if first {
                    send();
                }
                bring(&policy);
                if !first {
                    send();
                }
                assert_eq!(DeviceStatus::both(DEVICE).unwrap().len(), 2);
                if last {
                    remove();
                }
                bench.undeploy();
                if !last {
                    let text = status().text();
                    assert!(status().wrongs().is_empty() && arrive(bench), "{text}");
                    remove();
                }
                assert_eq!(listings(bench), before, "{order}, {has_place}");
            }
        }
    });
}

#[test]
fn a_filter_of_another_program_at_the_place_of_the_redirect_is_refused_and_left() {
    on_a_bench(|bench| {
        run("tc", "qdisc add dev sf0 clsact").unwrap();
        run(
            "tc",
            "filter add dev sf0 ingress protocol all pref 21321 handle 800::1 u32 match u32 0 0",
        )
        .unwrap();
        let before = listings(bench);
        let received = Received::observe(DEVICE).unwrap();
        let tc = received.way(Tc::new(DEVICE));
        let error = received.steps(&tc, &wanted(&bands(50), &["core"])).unwrap_err();
        assert!(error.to_string().contains("filter show dev sf0 ingress"), "{error}");
        assert_eq!(listings(bench), before);
    });
}

#[test]
fn reloading_what_is_received_under_load_loses_no_packet() {
    on_a_bench(|bench| {
        bring(&wanted(&bands(4000), &["core"]));
        let socket = receiver(6000);
        let stop = Arc::new(AtomicBool::new(false));
        let flooding = flood(sender(bench, Destination::V4, 6000, 0), 3, &stop);
        std::thread::sleep(Duration::from_millis(500));
        for policy in [bands(3000), other_bands(3000), bands(4000)] {
            let wanted = wanted(&policy, &["core"]);
            let (received, tc, steps) = plan(&wanted);
            assert!(
                received.observed.waiting() > 10,
                "{} packets wait",
                received.observed.waiting()
            );
            received.apply(tc, &wanted, &steps).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        let sent = flooding.join().unwrap();
        let found = count(&socket) as u64;
        eprintln!("{found} of {sent} packets arrived");
        assert_eq!(found, sent);
    });
}

/// Ends after each of the steps, sees packets come, and goes on.
fn end_after_each_step(bench: &Bench, first: Option<&Wanted>, next: &Wanted) {
    let before = listings(bench);
    for done in 0.. {
        if let Some(first) = first {
            bring(first);
        }
        let (received, tc, steps) = plan(next);
        received.way(tc).apply(&steps[..done]).unwrap();
        assert!(arrive(bench), "after {done} of {steps:#?}");
        if done % 2 == 0 {
            bring(next);
            assert!(arrive(bench), "after {done} and going on, of {steps:#?}");
            assert!(
                status().wrongs().is_empty(),
                "after {done} of {steps:#?}: {}",
                status().text()
            );
        }
        if Received::observe(DEVICE).unwrap().is_known() {
            remove();
        }
        assert_eq!(listings(bench), before, "after {done} of {steps:#?}");
        if done == steps.len() {
            return;
        }
    }
}

#[test]
fn wherever_a_deployment_on_received_packets_ends_they_arrive_and_the_next_command_finishes_it() {
    on_a_bench(|bench| end_after_each_step(bench, None, &wanted(&bands(50), &["core"])));
}

#[test]
fn wherever_a_reload_on_received_packets_ends_they_arrive_and_the_next_command_finishes_it() {
    on_a_bench(|bench| {
        let [two, three] = [bands(50), other_bands(50)].map(|policy| wanted(&policy, &["core"]));
        end_after_each_step(bench, Some(&two), &three);
    });
}

#[test]
fn wherever_a_removal_ends_packets_arrive_and_the_next_command_finishes_it() {
    on_a_bench(|bench| {
        let before = listings(bench);
        for done in 0.. {
            bring(&wanted(&bands(50), &["core"]));
            let received = Received::observe(DEVICE).unwrap();
            let steps = received.removal().unwrap();
            Tc::new(DEVICE).apply(&steps[..done]).unwrap();
            assert!(arrive(bench), "after {done} of {steps:#?}");
            if done == steps.len() {
                shortflow_deploy::forget_received(DEVICE);
                break;
            }
            remove();
            assert_eq!(listings(bench), before, "after {done} of {steps:#?}");
        }
        assert_eq!(listings(bench), before);
    });
}
