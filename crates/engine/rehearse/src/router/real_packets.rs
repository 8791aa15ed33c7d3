//! Kernel packets that belong to no workload: any protocol, fragments, ICMP of both versions, and packets without a
//! destination.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration as Time;

use shortflow_scenario::{IpVersion, NodeId, Overrides, from_texts};
use shortflow_sim::LiveNetwork;
use shortflow_testbed::{Device, Error, Home, Host, Ports};
use shortflow_units::{Duration, Instant};
use shortflow_wire::checksum::Sum;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Edges, Routed, Router, Times};
use crate::clock::Clock;
use crate::kernel;

const TEXT: &str = r#"
    duration = "20 s"
    hosts = { a = {}, b = {} }
    routers = { r = {} }
    links.near = { between = ["a", "r"], rate = "100 Mbit/s", delay = "1 ms" }
    links.far = { between = ["r", "b"], rate = "10 Mbit/s", delay = "10 ms" }
    workloads.file.bulk = { from = "a", to = "b" }
"#;

/// Two hosts whose packets are forwarded while `act` runs; `None` if hosts cannot be created.
fn carried(act: impl FnOnce(&Home, &Host, &Host)) -> Option<Routed> {
    let loaded = from_texts(&[("s.toml", TEXT)], &Overrides::default()).unwrap();
    let scenario = &loaded.points()[0].scenario;
    let (specs, _) = kernel::hosts(scenario, IpVersion::V4).unwrap();
    let made = Home::find().and_then(|home| {
        let make =
            |spec: &Option<_>| spec.as_ref().map(|it| Ports::Tun.host(&home, it)).transpose();
        let hosts: Result<Vec<Option<(Host, Device)>>, Error> = specs.iter().map(make).collect();
        hosts.map(|hosts| (home, hosts))
    });
    let (home, hosts) = match made {
        Ok(made) => made,
        Err(lacking) if std::env::var_os("CI").is_none() => {
            writeln!(std::io::stderr(), "skipped: needs hosts: {lacking}").unwrap();
            return None;
        }
        Err(lacking) => panic!("{lacking}"),
    };
    let (hosts, mut devices): (Vec<_>, Vec<_>) = hosts.into_iter().map(Option::unzip).unzip();
    let end = Instant::START + Duration::from_secs(20);
    let router = Router {
        network: LiveNetwork::new(scenario, 0),
        devices: &mut devices,
        clock: Clock::beginning_in(Duration::ZERO).unwrap(),
        times: Times { warm_up: Instant::START, measured_until: end, end },
        largest: 1500,
        streams: Default::default(),
        capture: None,
        monitor: None,
        edges: Edges::without_owner(),
    };
    let (stop, open) = (AtomicBool::new(false), AtomicU32::new(0));
    let [Some(a), Some(b), None] = &hosts[..] else { panic!("two hosts and a router") };
    std::thread::scope(|scope| {
        let routing = scope.spawn(|| router.run(&stop, &open));
        let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&home, a, b)));
        stop.store(true, Ordering::Relaxed);
        let routed = routing.join().unwrap().unwrap();
        acted.unwrap_or_else(|failed| std::panic::resume_unwind(failed));
        Some(routed)
    })
}

/// A socket of a host, which waits for two seconds at most.
fn socket(home: &Home, host: &Host, to: IpAddr, kind: Type, protocol: Option<Protocol>) -> Socket {
    let domain = if to.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = host.within(home, || Socket::new(domain, kind, protocol)).unwrap().unwrap();
    socket.set_read_timeout(Some(Time::from_secs(2))).unwrap();
    socket
}

/// What comes next, as much as there is.
fn receive(socket: &Socket) -> Vec<u8> {
    let mut bytes = vec![0; 65_536];
    let length = std::io::Read::read(&mut &*socket, &mut bytes).expect("it comes within 2 s");
    bytes.truncate(length);
    bytes
}

/// Both addresses of a node.
fn addresses(node: u32) -> [IpAddr; 2] {
    [NodeId(node).automatic(IpVersion::V4).into(), NodeId(node).automatic(IpVersion::V6).into()]
}

/// This number of bytes without repetitions.
fn payload(length: u32) -> Vec<u8> {
    (0..length).map(|at| (at * at / 7) as u8).collect()
}

#[test]
fn an_echo_that_is_larger_than_a_packet_goes_and_comes_in_fragments_over_both_versions_of_ip() {
    carried(|home, a, _| {
        for (to, protocol, asks, answers) in [
            (addresses(1)[0], Protocol::ICMPV4, 8, 0),
            (addresses(1)[1], Protocol::ICMPV6, 128, 129),
        ] {
            let socket = socket(home, a, to, Type::RAW, Some(protocol));
            socket.connect(&SocketAddr::new(to, 0).into()).unwrap();
            let mut echo = [&[asks, 0, 0, 0, 0, 7, 0, 1][..], &payload(4000)].concat();
            // Linux fills in the checksum of ICMPv6 alone (RFC 3542 §3.1).
            let checksum = Sum::default().with(&echo).checksum();
            echo[2..4].copy_from_slice(&checksum.to_be_bytes());
            socket.send(&echo).unwrap();
            let answer = receive(&socket);
            // Over IPv4 the header comes too.
            let answer = &answer[if to.is_ipv4() { 20 } else { 0 }..];
            assert_eq!((answer[0], &answer[4..]), (answers, &echo[4..]), "{to}");
        }
    });
}

#[test]
fn datagrams_in_fragments_and_a_protocol_that_nobody_knows_arrive_as_they_were_sent() {
    carried(|home, a, b| {
        for to in addresses(1) {
            let at = socket(home, b, to, Type::DGRAM, None);
            at.bind(&SocketAddr::new(to, 5006).into()).unwrap();
            let from = socket(home, a, to, Type::DGRAM, None);
            from.send_to(&payload(20_000), &SocketAddr::new(to, 5006).into()).unwrap();
            assert_eq!(receive(&at), payload(20_000), "{to}");

            // 253 is for experiments (RFC 3692).
            let [at, from] =
                [b, a].map(|host| socket(home, host, to, Type::RAW, Some(Protocol::from(253))));
            from.send_to(&payload(700), &SocketAddr::new(to, 0).into()).unwrap();
            let came = receive(&at);
            assert_eq!(came[if to.is_ipv4() { 20 } else { 0 }..], payload(700), "{to}");
        }
    });
}

#[test]
fn what_is_for_nobody_is_counted_and_stops_nobody_else() {
    let routed = carried(|home, a, b| {
        let nobody = ["10.9.9.9", "2001:db8::1"].map(|to| to.parse::<IpAddr>().unwrap());
        for to in nobody {
            let from = socket(home, a, to, Type::DGRAM, None);
            for _ in 0..3 {
                from.send_to(&[1], &SocketAddr::new(to, 9).into()).unwrap();
            }
        }
        let to = addresses(1)[0];
        let at = socket(home, b, to, Type::DGRAM, None);
        at.bind(&SocketAddr::new(to, 5006).into()).unwrap();
        let from = socket(home, a, to, Type::DGRAM, None);
        from.send_to(&[2], &SocketAddr::new(to, 5006).into()).unwrap();
        assert_eq!(receive(&at), [2]);
    });
    let Some(routed) = routed else { return };
    assert_eq!((routed.strangers, routed.refused), (6, 0));
}
