//! Compares the edge's view of senders with that of their kernel (`TCP_INFO`).

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration as Time, Instant as WallClock};

use nix::libc;
use shortflow_ebpf::{Link, Record, SenderProgram};
use shortflow_packet::{Packet, Phase, Protocol, SenderView};
use shortflow_scenario::{IpVersion, NodeId, Overrides, from_texts};
use shortflow_testbed::{Device, Home, Host, HostSpec, PortKind, Ports};

use super::{EdgeSpec, Edges, Frames};
use crate::applications::Applications;

const TEXT: &str = r#"
    duration = "20 s"
    hosts = { sender = {}, receiver = {} }
    links.line = { between = ["sender", "receiver"], rate = "10 Mbit/s", delay = "10 ms" }
    workloads.file.bulk = { from = "sender", to = "receiver" }
"#;

const SENDER: NodeId = NodeId(0);
const RECEIVER: NodeId = NodeId(1);

/// Bytes that are sent.
const BYTES: u64 = 600_000;

/// One in this number of data segments is lost when it is first sent.
const LOSS: u32 = 50;

/// Two hosts, the sender's with the program; `None`, with a message, if they cannot be created.
fn hosts(kind: PortKind) -> Option<(Home, [Host; 2], [Device; 2])> {
    let made = || -> Result<_, Box<dyn std::error::Error>> {
        let program = SenderProgram::load()?;
        let home = Home::find()?;
        let mut ports = Ports::new(&home, kind)?;
        let mut host = |node: NodeId, headroom| {
            let addresses: Vec<IpAddr> =
                vec![node.automatic(IpVersion::V4).into(), node.automatic(IpVersion::V6).into()];
            let spec =
                HostSpec { addresses, mtu: 1500, headroom, queue: 1000, ..HostSpec::default() };
            ports.host(&home, &spec)
        };
        let (sender, near) = host(SENDER, Record::LENGTH as u32)?;
        let (receiver, far) = host(RECEIVER, 0)?;
        let link = if kind == PortKind::Tun { Link::None } else { Link::Ethernet };
        sender.within(&home, || program.attach(sender.device, link))??;
        Ok((home, [sender, receiver], [near, far]))
    };
    match made() {
        Ok(made) => Some(made),
        Err(lacking) if std::env::var_os("CI").is_none() => {
            let mut info = std::io::stderr();
            writeln!(info, "skipped: needs hosts and eBPF: {lacking}").unwrap();
            None
        }
        Err(lacking) => panic!("{lacking}"),
    }
}

/// `struct tcp_info` of linux/tcp.h.
struct RawTcpInfo([u8; 240]);

impl RawTcpInfo {
    #[allow(unsafe_code)]
    fn read(stream: &TcpStream) -> RawTcpInfo {
        let mut bytes = [0; 240];
        let mut length = bytes.len() as libc::socklen_t;
        let (to, at) = (bytes.as_mut_ptr().cast(), &raw mut length);
        let socket = stream.as_raw_fd();
        // SAFETY: the descriptor is open, and the kernel writes at most `length` bytes, which there are.
        let done = unsafe { libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, to, at) };
        assert_eq!((done, length as usize), (0, bytes.len()), "Linux 6.7 tells so much");
        RawTcpInfo(bytes)
    }

    fn four(&self, at: usize) -> u32 {
        u32::from_ne_bytes(*self.0[at..].first_chunk().unwrap())
    }

    fn eight(&self, at: usize) -> u64 {
        u64::from_ne_bytes(*self.0[at..].first_chunk().unwrap())
    }

    /// Window, phase, and `tcpi_rtt` in microseconds.
    fn sender(&self) -> (u32, Phase, u64) {
        (self.window(), self.phase(), u64::from(self.four(68)))
    }

    /// Congestion window, or what the peer offers if that is less; `tcpi_snd_wnd` over `tcpi_snd_mss`.
    fn window(&self) -> u32 {
        self.four(80).min(self.four(228) / self.four(16))
    }

    /// `tcpi_ca_state`, and below `tcpi_snd_ssthresh` slow start.
    fn phase(&self) -> Phase {
        match self.0[1] {
            3 => Phase::FastRecovery,
            4 => Phase::LossRecovery,
            _ if self.four(80) < self.four(76) => Phase::SlowStart,
            _ => Phase::CongestionAvoidance,
        }
    }
}

/// What was counted on the network.
#[derive(Debug, Default)]
struct Counted {
    segments: u32,
    bytes: u64,
    again: u32,
    bytes_again: u64,
    lost: u32,
    /// How often the state of the last packet was compared with the kernel's, and how often during recovery.
    compared: u32,
    in_recovery: u32,
}

/// A network that hands on a packet at a time.
struct Network {
    devices: [Device; 2],
    frames: Frames,
    edges: Edges,
    counted: Counted,
    /// Segments of the sender, and those that were given to it.
    passed: [u32; 2],
    /// The state in the last segment with data, if its sender has received nothing since.
    last: Option<SenderView>,
}

impl Network {
    fn take(&mut self, from: usize) -> Option<Packet> {
        loop {
            match self.frames.take_in(|place| self.devices[from].read(place)) {
                Ok(Some(packet)) => return Some(packet),
                // Not of these two.
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn hand_on(&mut self, packet: &Packet, to: usize) {
        self.devices[to].write(self.frames.give_back(packet)).unwrap();
    }

    /// Hands on all that the sender has sent. Whether there was something.
    fn send(&mut self) -> bool {
        let mut is_something = false;
        while let Some(packet) = self.take(0) {
            is_something = true;
            let view = self.edges.sent(SENDER, &packet, self.frames.seen(&packet)).unwrap();
            self.passed[0] += u32::from(packet.key.protocol == Protocol::TCP);
            let counted = &mut self.counted;
            let payload = u64::from(packet.payload);
            let is_again = view.is_retransmission == Some(true) && payload > 0;
            if payload > 0 {
                counted.segments += 1;
                counted.bytes += payload;
                counted.again += u32::from(is_again);
                counted.bytes_again += if is_again { payload } else { 0 };
                self.last = Some(view);
            }
            if payload > 0 && !is_again && counted.segments.is_multiple_of(LOSS) {
                counted.lost += 1;
                self.frames.release(&packet);
            } else {
                self.hand_on(&packet, 1);
            }
        }
        is_something
    }

    /// Hands on one packet of the receiver.
    fn answer(&mut self) {
        if let Some(packet) = self.take(1) {
            let seen = self.frames.seen(&packet);
            self.last = None;
            self.passed[1] += u32::from(packet.key.protocol == Protocol::TCP);
            self.hand_on(&packet, 0);
            self.edges.came(SENDER, &packet, seen);
        }
    }

    /// Waits until the sender's kernel has taken all answers (`tcpi_segs_in`), and all that it sent is here
    /// (`tcpi_segs_out`): it does both when it has time, and nothing is lost on the way.
    fn settle(&mut self, stream: &TcpStream) -> RawTcpInfo {
        let begun = WallClock::now();
        loop {
            while self.send() {}
            let info = RawTcpInfo::read(stream);
            if [info.four(136), info.four(140)] == self.passed {
                return info;
            }
            assert!(begun.elapsed() < Time::from_secs(5), "{:?} passed", self.passed);
        }
    }

    /// Compares the state in the last segment with the kernel's state now and `before` the last acknowledgement: the
    /// segment was sent at one of both times, since a kernel may send more when it learns that a segment has left.
    fn compare(&mut self, before: &RawTcpInfo, now: &RawTcpInfo) {
        let Some(view) = self.last.take() else { return };
        let micros = view.smoothed_rtt.unwrap().nanos() / 1000;
        let found = (view.window_segments.unwrap(), view.phase.unwrap(), micros);
        let expected = [before.sender(), now.sender()];
        assert!(expected.contains(&found), "{found:?} of {expected:?}, {:?}", self.counted);
        self.counted.compared += 1;
        let is_recovery = matches!(found.1, Phase::FastRecovery | Phase::LossRecovery);
        self.counted.in_recovery += u32::from(is_recovery);
    }
}

/// Sends until all is acknowledged, and gives what was counted beside what the kernel tells at the end.
fn sent(
    home: &Home,
    [sender, receiver]: &[Host; 2],
    network: &mut Network,
    to: SocketAddr,
) -> RawTcpInfo {
    let listener = receiver.within(home, || TcpListener::bind(to)).unwrap().unwrap();
    std::thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Time::from_secs(5))).unwrap();
            std::io::copy(&mut stream.take(BYTES), &mut std::io::sink()).unwrap()
        });
        let connecting = scope.spawn(move || {
            let connect = || TcpStream::connect_timeout(&to, Time::from_secs(5));
            sender.within(home, connect).unwrap().unwrap()
        });
        let begun = WallClock::now();
        let carry = |network: &mut Network| {
            assert!(begun.elapsed() < Time::from_secs(20), "{:?}", network.counted);
            if !network.send() {
                network.answer();
            }
        };
        while !connecting.is_finished() {
            carry(network);
        }
        let mut stream = connecting.join().unwrap();
        stream.set_nonblocking(true).unwrap();
        let (zeros, mut to_write) = ([0; 65_536], BYTES);
        // tcpi_bytes_acked counts the SYN too.
        while RawTcpInfo::read(&stream).eight(120) <= BYTES {
            let bytes = to_write.min(zeros.len() as u64) as usize;
            to_write -= stream.write(&zeros[..bytes]).unwrap_or(0) as u64;
            let before = network.settle(&stream);
            network.answer();
            let now = network.settle(&stream);
            network.compare(&before, &now);
            assert!(begun.elapsed() < Time::from_secs(20), "{:?}", network.counted);
        }
        assert_eq!(receiving.join().unwrap(), BYTES);
        RawTcpInfo::read(&stream)
    })
}

#[test]
fn a_sender_is_seen_as_its_kernel_tells_it_through_losses_over_all_ports_and_versions_of_ip() {
    let loaded = from_texts(&[("s.toml", TEXT)], &Overrides::default()).unwrap();
    let scenario = &loaded.points()[0].scenario;
    for (kind, to) in [
        (PortKind::Tun, IpAddr::from(RECEIVER.automatic(IpVersion::V4))),
        (PortKind::Tun, RECEIVER.automatic(IpVersion::V6).into()),
        (PortKind::Packet, RECEIVER.automatic(IpVersion::V6).into()),
        (PortKind::Xdp, RECEIVER.automatic(IpVersion::V4).into()),
    ] {
        let Some((home, hosts, devices)) = hosts(kind) else { return };
        let specs = vec![Some(EdgeSpec { initial_window: 10 }), None];
        let applications = Some(Applications::new(false).unwrap());
        let edges = Edges::new(specs, scenario, applications);
        let (counted, last) = Default::default();
        let frames = Frames::new(16, 1500 + Record::LENGTH);
        let mut network = Network { devices, frames, edges, counted, passed: [0; 2], last };
        let info = sent(&home, &hosts, &mut network, SocketAddr::new(to, 80));
        let counted = network.counted;
        assert!(counted.compared > 15 && counted.in_recovery > 3, "{counted:?}");
        let (segments, bytes) = (info.four(156), info.eight(200));
        assert_eq!((counted.segments, counted.bytes), (segments, bytes), "sent");
        let (segments, bytes) = (info.four(100), info.eight(208));
        assert_eq!(
            (counted.again, counted.bytes_again),
            (segments, bytes),
            "sent again: {kind:?} to {to}"
        );
        assert!(counted.again >= counted.lost && counted.lost > 5, "{counted:?}");
    }
}
