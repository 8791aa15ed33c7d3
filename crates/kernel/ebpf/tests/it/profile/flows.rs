//! Connections between two hosts of a test's own, at several distances, and what the kernel of the first says when it sends.

use std::collections::BTreeMap;
use std::io::{IoSliceMut, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimestampns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use shortflow_testbed::{Device, Home, Host, PortKind};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::hosts::{read, two_hosts};

/// The port of the receivers.
pub(super) const PORT: u16 = 80;
/// Round-trip times of connections, in turn.
pub(super) const ROUND_TRIPS: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(150), Duration::from_millis(300)];
/// No test takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Every protocol on a link, in network order (linux/if_ether.h).
const ETH_P_ALL: u16 = 3;

/// A packet with data that the first host has sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) at: Duration,
    pub(super) bytes: usize,
    /// Of the sender.
    pub(super) port: u16,
}

/// What the first host sends, with the times at which its kernel gave it to the device.
pub(super) struct Capture {
    socket: Socket,
    delays: Arc<Delays>,
}

/// How late this machine runs threads: so much later than TCP was answered a packet may be stamped.
#[derive(Default)]
struct Delays {
    longest_nanos: AtomicU64,
    is_over: AtomicBool,
}

impl Delays {
    fn watch(&self) {
        let pause = Duration::from_millis(1);
        while !self.is_over.load(Ordering::Relaxed) {
            let before = Instant::now();
            std::thread::sleep(pause);
            let late = before.elapsed().saturating_sub(pause).as_nanos() as u64;
            self.longest_nanos.fetch_max(late, Ordering::Relaxed);
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.delays.is_over.store(true, Ordering::Relaxed);
    }
}

impl Capture {
    pub(super) fn begin(home: &Home, host: &Host) -> Capture {
        let every = i32::from(ETH_P_ALL.to_be());
        // Packets on their way out reach only sockets for every protocol.
        let all = || Socket::new(Domain::PACKET, Type::DGRAM, Some(Protocol::from(every)));
        let socket = host.within(home, all).unwrap().unwrap();
        setsockopt(&socket, ReceiveTimestampns, &true).unwrap();
        // What root may have beyond the limit of others.
        setsockopt(&socket, RcvBufForce, &(256 << 20)).unwrap();
        socket.set_nonblocking(true).unwrap();
        let delays = Arc::<Delays>::default();
        let watched = delays.clone();
        std::thread::spawn(move || watched.watch());
        Capture { socket, delays }
    }

    /// The longest time so far that a thread was not run when it could have been.
    pub(super) fn longest_delay(&self) -> Duration {
        Duration::from_nanos(self.delays.longest_nanos.load(Ordering::Relaxed))
    }

    /// The packets with data so far, since the first of them.
    pub(super) fn sent(&self) -> Vec<Sent> {
        let (mut sent, mut buffer) = (Vec::new(), vec![0; 70_000]);
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        loop {
            let mut parts = [IoSliceMut::new(&mut buffer)];
            let (length, at) = {
                let received = recvmsg::<()>(
                    self.socket.as_raw_fd(),
                    &mut parts,
                    Some(&mut control),
                    MsgFlags::empty(),
                );
                let Ok(received) = received else { break };
                let at = received.cmsgs().unwrap().find_map(|message| match message {
                    ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
                    _ => None,
                });
                (received.bytes, at.expect("the kernel stamps each packet"))
            };
            let packet = &buffer[..length];
            let ports = ports(packet).filter(|[port, _]| length > 100 && *port > PORT);
            if let Some([port, _]) = ports {
                sent.push(Sent { at, bytes: length, port });
            }
        }
        // Processors stamp packets that they send at once in one order, and hand them over in another.
        sent.sort_by_key(|one| one.at);
        let first = sent.first().map_or(Duration::ZERO, |one| one.at);
        sent.iter_mut().for_each(|one| one.at -= first);
        sent
    }
}

/// The source and destination ports of a packet, behind the header of IPv4 or IPv6.
fn ports(packet: &[u8]) -> Option<[u16; 2]> {
    let at = if packet.first()? >> 4 == 4 { 20 } else { 40 };
    let port = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    Some([port(at)?, port(at + 2)?])
}

/// Carries packets between the hosts until it is stopped; those to the first host wait for the round-trip time of
/// their connection, by its port there. Of each connection's packets with data it loses the one of this number.
fn carry(devices: &mut [Device; 2], stop: &AtomicBool, lost: Option<usize>) {
    let mut sent: BTreeMap<u16, usize> = BTreeMap::new();
    let (begun, mut buffer, mut number) = (Instant::now(), [0; 2048], 0);
    let mut waiting: BTreeMap<(Duration, u64), Vec<u8>> = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
        let mut is_idle = true;
        while let Some(length) = read(&mut devices[0], &mut buffer) {
            is_idle = false;
            if let Some([port, _]) = ports(&buffer[..length]).filter(|_| length > 100) {
                let number = sent.entry(port).or_default();
                *number += 1;
                if Some(*number) == lost {
                    continue;
                }
            }
            let _ = devices[1].write(&buffer[..length]);
        }
        while let Some(length) = read(&mut devices[1], &mut buffer) {
            is_idle = false;
            number += 1;
            let Some([_, port]) = ports(&buffer[..length]) else { continue };
            let due = begun.elapsed() + ROUND_TRIPS[usize::from(port) % ROUND_TRIPS.len()];
            waiting.insert((due, number), buffer[..length].to_vec());
        }
        while let Some(first) = waiting.first_entry().filter(|one| one.key().0 <= begun.elapsed()) {
            is_idle = false;
            let _ = devices[0].write(&first.remove());
        }
        if is_idle {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Connections from the first host to the second, until this is dropped.
pub(super) struct Flows {
    pub(super) home: Home,
    pub(super) hosts: [Host; 2],
    pub(super) senders: Vec<TcpStream>,
    address: SocketAddr,
    listener: TcpListener,
    reading: Vec<JoinHandle<()>>,
    carrying: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Flows {
    /// Over IPv4. None, where there can be no hosts.
    pub(super) fn new() -> Option<Flows> {
        Flows::to([10, 0, 0, 2].into())
    }

    /// To this address of the second host. None, where there can be no hosts.
    pub(super) fn to(address: IpAddr) -> Option<Flows> {
        Flows::made(address, None)
    }

    /// Over IPv4, where each connection loses the packet with data of this number. None, where there can be no hosts.
    pub(super) fn losing(number: usize) -> Option<Flows> {
        Flows::made([10, 0, 0, 2].into(), Some(number))
    }

    fn made(address: IpAddr, lost: Option<usize>) -> Option<Flows> {
        let address = SocketAddr::new(address, PORT);
        let (home, hosts, mut devices, ()) = two_hosts(PortKind::Tun, 0, |_, _| Ok(()))?;
        let listener = hosts[1].within(&home, || TcpListener::bind(address)).unwrap().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        let carrying = std::thread::spawn(move || carry(&mut devices, &stopping, lost));
        Some(Flows {
            home,
            hosts,
            senders: Vec::new(),
            address,
            listener,
            reading: Vec::new(),
            carrying: Some((stop, carrying)),
        })
    }

    /// Opens a connection with this congestion control; its round-trip time is the next one's turn.
    pub(super) fn connect(&mut self, control: &str) {
        let port = 20_001 + self.senders.len() as u16;
        let socket = self.hosts[0].within(&self.home, || {
            let socket =
                Socket::new(Domain::for_address(self.address), Type::STREAM, None).unwrap();
            socket.set_tcp_congestion(control.as_bytes()).unwrap();
            let any: IpAddr = match self.address {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            socket.bind(&SocketAddr::new(any, port).into()).unwrap();
            socket.connect(&self.address.into()).unwrap();
            socket
        });
        let (mut receiver, _) = self.listener.accept().unwrap();
        self.reading.push(std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while matches!(receiver.read(&mut buffer), Ok(length) if length > 0) {}
        }));
        self.senders.push(socket.unwrap().into());
    }

    /// Each sends as much as it can, until that is stopped.
    pub(super) fn writers(&self) -> Writers {
        let stop = Arc::new(AtomicBool::new(false));
        let write = |sender: &TcpStream| {
            let (mut sender, stop) = (sender.try_clone().unwrap(), stop.clone());
            sender.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let _ = sender.write(&[7; 20_000]);
                }
            })
        };
        let threads = self.senders.iter().map(write).collect();
        Writers { stop, threads }
    }

    /// The congestion control of each.
    pub(super) fn controls(&self) -> Vec<String> {
        let name = |sender: &TcpStream| {
            let name = SockRef::from(sender).tcp_congestion().unwrap();
            String::from_utf8(name.into_iter().take_while(|byte| *byte != 0).collect()).unwrap()
        };
        self.senders.iter().map(name).collect()
    }
}

/// The applications of connections.
pub(super) struct Writers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Writers {
    pub(super) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Flows {
    fn drop(&mut self) {
        for sender in &self.senders {
            SockRef::from(sender).set_linger(Some(Duration::ZERO)).unwrap();
        }
        self.senders.clear();
        self.reading.drain(..).for_each(|thread| thread.join().unwrap());
        if let Some((stop, carrying)) = self.carrying.take() {
            stop.store(true, Ordering::Relaxed);
            carrying.join().unwrap();
        }
    }
}
