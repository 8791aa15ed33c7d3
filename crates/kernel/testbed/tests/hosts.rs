//! Hosts as the kernel makes them. Needs the right to make network namespaces, and TUN.

#![cfg(target_os = "linux")]

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use shortflow_testbed::{
    Checksums, Device, Error, Home, Host, HostSpec, KernelPath, PortKind, Ports, RouteSpec,
};

/// None, and a word on what is lacking, where hosts cannot be made; on CI they must.
fn home() -> Option<Home> {
    let made = Home::find().and_then(|home| Ports::Tun.host(&home, &spec(1)).map(|_| home));
    match made {
        Ok(home) => Some(home),
        Err(lacking) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts: {lacking}");
            None
        }
        Err(lacking) => panic!("needs hosts: {lacking}"),
    }
}

fn addresses(number: u8) -> Vec<IpAddr> {
    vec![IpAddr::from([10, 0, 0, number]), format!("fd00::{number}").parse().unwrap()]
}

fn spec(number: u8) -> HostSpec {
    HostSpec { addresses: addresses(number), mtu: 1500, queue: 100, ..HostSpec::default() }
}

/// Carries packets between two hosts until told to stop, for ten seconds at most, and gives them.
fn carry(mut devices: [Device; 2], stop: &AtomicBool) -> Vec<Vec<u8>> {
    let (begun, mut carried, mut buffer) = (Instant::now(), Vec::new(), [0; 2048]);
    while !stop.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(10) {
        let mut ready =
            devices.each_ref().map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
        poll(&mut ready, PollTimeout::from(20u8)).unwrap();
        for (from, to) in [(0, 1), (1, 0)] {
            loop {
                match devices[from].read(&mut buffer) {
                    Ok(length) => {
                        carried.push(buffer[..length].to_vec());
                        // What is not for the other, such as a question for routers, it does not take.
                        let _ = devices[to].write(&buffer[..length]);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    carried
}

/// Connects the first host to the second, which answers what it is told.
fn converse(home: &Home, hosts: [&Host; 2], to: IpAddr) -> Vec<u8> {
    let address = SocketAddr::new(to, 80);
    let listener = hosts[1].within(home, || TcpListener::bind(address)).unwrap().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = [0; 5];
            stream.read_exact(&mut heard).unwrap();
            stream.write_all(&heard).unwrap();
        });
        let patience = Duration::from_secs(5);
        let stream = hosts[0].within(home, || TcpStream::connect_timeout(&address, patience));
        let mut stream = stream.unwrap().unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        stream.write_all(b"hello").unwrap();
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).unwrap();
        heard.to_vec()
    })
}

/// The packets that passed between two hosts which have talked over IPv4 and IPv6.
fn talk(home: &Home, kind: PortKind) -> Vec<Vec<u8>> {
    let mut ports = Ports::new(home, kind).unwrap();
    let [(a, at_a), (b, at_b)] = [1, 2].map(|number| ports.host(home, &spec(number)).unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let carrying = scope.spawn(|| carry([at_a, at_b], &stop));
        for address in addresses(2) {
            assert_eq!(converse(home, [&a, &b], address), b"hello", "{}", kind.name());
        }
        stop.store(true, Ordering::Relaxed);
        carrying.join().unwrap()
    })
}

#[test]
fn two_hosts_talk_over_ipv4_and_ipv6_through_devices_of_every_kind() {
    let Some(home) = home() else { return };
    for kind in PortKind::ALL {
        let carried = talk(&home, kind);
        let versions = |version| carried.iter().filter(|packet| packet[0] >> 4 == version).count();
        let name = kind.name();
        assert!(versions(4) >= 7 && versions(6) >= 7, "{name}: a connection takes seven packets");
        assert!(carried.iter().all(|packet| packet.len() <= 1500), "{name}");
    }
}

#[test]
fn nothing_is_said_on_a_cable_but_what_hosts_send() {
    let Some(home) = home() else { return };
    for kind in [PortKind::Packet, PortKind::Xdp] {
        let mut ports = Ports::new(&home, kind).unwrap();
        let (_host, mut device) = ports.host(&home, &spec(1)).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let read = device.read(&mut [0; 2048]);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock, "{}", kind.name());
    }
}

#[test]
fn the_first_packet_of_a_new_host_comes_whatever_its_device() {
    let Some(home) = home() else { return };
    for kind in [PortKind::Tun, PortKind::Packet, PortKind::Xdp] {
        for attempt in 0..25 {
            let (host, mut device) =
                Ports::new(&home, kind).unwrap().host(&home, &spec(1)).unwrap();
            let sends = || UdpSocket::bind("10.0.0.1:0").unwrap().send_to(b"first", "10.0.0.2:9");
            assert_eq!(host.within(&home, sends).unwrap().unwrap(), 5);
            let (begun, mut packet) = (Instant::now(), [0; 2048]);
            // A kernel of IPv6 says something, too.
            while packet[28..33] != *b"first" {
                let is_late = begun.elapsed() > Duration::from_secs(5);
                assert!(!is_late, "{}: that of host {attempt} is lost", kind.name());
                if let Err(error) = device.read(&mut packet) {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }
}

#[test]
fn the_kernel_carries_between_two_hosts_what_is_of_ipv4() {
    let Some(home) = home() else { return };
    let path = KernelPath::make(&home, [&spec(1), &spec(2)], Checksums::LeftToDevices).unwrap();
    let [a, b] = &path.hosts;
    assert_eq!(converse(&home, [a, b], addresses(2)[0]), b"hello");
}

#[test]
fn the_process_s_own_network_is_as_before() {
    let Some(home) = home() else { return };
    let devices = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap().lines().count();
    let before = devices();
    let (host, _device) = Ports::Tun.host(&home, &spec(1)).unwrap();
    assert_eq!(devices(), before);
    let inside = host.within(&home, devices).unwrap();
    assert_eq!((inside, devices()), (4, before), "two lines of titles, lo and eth0");
}

#[test]
fn settings_are_those_of_the_host_alone_and_an_unknown_one_is_told() {
    let Some(home) = home() else { return };
    let read = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_sack").unwrap();
    let before = read();
    let settings = vec![("ipv4/tcp_sack", "0".to_owned())];
    let route = RouteSpec { initial_window: Some(4), quick_acks: true, ..RouteSpec::default() };
    let spec = |settings| HostSpec { settings, route, ..spec(1) };
    let (host, _device) = Ports::Tun.host(&home, &spec(settings)).unwrap();
    assert_eq!((host.within(&home, read).unwrap().as_str(), read()), ("0\n", before));
    let settings = vec![("ipv4/tcp_telepathy", "1".to_owned())];
    let refused = Ports::Tun.host(&home, &spec(settings)).unwrap_err();
    assert!(matches!(refused, Error::Setting { .. }), "{refused}");
    assert!(refused.to_string().contains("/proc/sys/net/ipv4/tcp_telepathy"), "{refused}");
}

/// Linux keeps to a route's least timeout only where the route is locked at it.
#[test]
fn the_least_timeout_of_a_route_is_locked() {
    let Some(home) = home() else { return };
    let route = RouteSpec { rto_min: Some(5000), ..RouteSpec::default() };
    let (host, _device) = Ports::Tun.host(&home, &HostSpec { route, ..spec(1) }).unwrap();
    let shown = || std::process::Command::new("ip").args(["route", "show", "default"]).output();
    let Ok(shown) = host.within(&home, shown).unwrap() else {
        return eprintln!("skipped: needs ip (iproute2)");
    };
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("rto_min lock 5s"), "{shown}");
}
