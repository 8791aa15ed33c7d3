//! Two network namespaces and a cable between them, which all go when the test ends, however it ends.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};
use shortflow_deploy::{DeviceStatus, Tc, Tree, forget_deployed};
use socket2::{Domain, Protocol, Socket, Type};

/// The device under test.
pub(crate) const DEVICE: &str = "sf0";
/// The other end.
const PEER: &str = "sf1";

/// The namespace of the thread, with the device, and the other one.
pub(crate) struct Bench {
    there: File,
}

/// Runs a test on a bench, where the process may make one. In CI it must.
pub(crate) fn on_a_bench(test: impl FnOnce(&Bench) + Send + 'static) {
    // The namespace is the thread's, and goes with it.
    let ran = std::thread::spawn(move || match Bench::new() {
        Ok(bench) => test(&bench),
        Err(why) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs network namespaces and iproute2: {why}");
        }
        Err(why) => panic!("nothing may be skipped in CI: {why}"),
    });
    if let Err(panic) = ran.join() {
        std::panic::resume_unwind(panic);
    }
}

impl Bench {
    fn new() -> Result<Bench, String> {
        let there = std::thread::spawn(namespace).join().expect("it does not panic")?;
        namespace()?;
        let bench = Bench { there };
        let path = format!("/proc/{}/fd/{}", std::process::id(), bench.there.as_raw_fd());
        let near = [
            format!("link add {DEVICE} type veth peer name {PEER} netns {path}"),
            format!("addr add 10.77.0.1/24 dev {DEVICE}"),
            format!("addr add fd77::1/64 dev {DEVICE} nodad"),
            format!("link set {DEVICE} up"),
        ];
        near.iter().try_for_each(|command| run("ip", command).map(|_| ()))?;
        let far = [
            format!("addr add 10.77.0.2/24 dev {PEER}"),
            format!("addr add fd77::2/64 dev {PEER} nodad"),
            format!("link set {PEER} up"),
        ];
        bench.there(move || far.iter().try_for_each(|command| run("ip", command).map(|_| ())))?;
        bench.wait_for_carrier();
        Ok(bench)
    }

    /// A cable loses what is sent over it until some time after both ends are switched on.
    fn wait_for_carrier(&self) {
        for (to, port) in [(Destination::V4, 8), (Destination::V6, 9)] {
            let (receiver, sender) = (self.receiver(port), sender(to, port, 0));
            let until = Instant::now() + Duration::from_secs(10);
            while !receiver.is_heard() {
                assert!(Instant::now() < until, "the cable carries nothing");
                let _ = sender.send(&[0; 8]);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// Does something in the other namespace.
    pub(crate) fn there<T: Send + 'static>(&self, act: impl FnOnce() -> T + Send + 'static) -> T {
        let there = self.there.try_clone().expect("a descriptor can be doubled");
        let thread = std::thread::spawn(move || {
            setns(&there, CloneFlags::CLONE_NEWNET).expect("the namespace is there");
            act()
        });
        thread.join().expect("it does not panic")
    }

    /// A socket in the other namespace.
    pub(crate) fn receiver(&self, port: u16) -> Receiver {
        self.there(move || {
            let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)).unwrap();
            socket.set_only_v6(false).unwrap();
            // So that nothing is lost at the receiver.
            socket.set_recv_buffer_size(8 << 20).unwrap();
            socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into()).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            Receiver(socket.into())
        })
    }

    /// Brings the device to what the tree says.
    pub(crate) fn deploy(&self, tree: &Tree) {
        let tc = Tc::new(DEVICE);
        let steps = tc.plan(&tc.observe().unwrap(), tree).unwrap();
        assert_eq!(tc.apply(&steps).unwrap().waiting, 0);
    }

    /// Takes everything away.
    pub(crate) fn undeploy(&self) {
        let tc = Tc::new(DEVICE);
        forget_deployed(DEVICE);
        tc.apply(&tc.plan_removal(&tc.observe().unwrap()).unwrap()).unwrap();
    }

    /// How the device stands.
    pub(crate) fn status(&self) -> DeviceStatus {
        DeviceStatus::read(DEVICE).unwrap().expect("something is deployed")
    }

    /// All that there is to see of devices and their queues, without what they have done.
    pub(crate) fn listings(&self) -> String {
        let listings = [
            ("tc", "qdisc show"),
            ("tc", "class show dev sf0"),
            ("tc", "filter show dev sf0"),
            ("ip", "link show"),
        ];
        let listings = listings.map(|(program, command)| run(program, command).unwrap());
        without_counts(&listings.join("\n---\n"))
    }

    /// Sends frames of Ethernet through the device, each with its first `linear` bytes in one piece, and says whether it could.
    pub(crate) fn sends_frames(&self, frames: &[&[u8]], linear: usize) -> bool {
        Bench::send_from(DEVICE, frames, linear)
    }

    /// The same from the other end, so that the device receives them.
    pub(crate) fn receives_frames(&self, frames: Vec<Vec<u8>>) -> bool {
        self.there(move || {
            let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
            frames.iter().all(|frame| Bench::send_from(PEER, &[frame], frame.len()))
        })
    }

    fn send_from(device: &str, frames: &[&[u8]], linear: usize) -> bool {
        let mut python = Command::new("python3");
        python.args(["-c", FRAMES, device, &linear.to_string()]).stdin(Stdio::piped());
        let mut child = match python.spawn() {
            Ok(child) => child,
            Err(error) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: needs python3: {error}");
                return false;
            }
            Err(error) => panic!("nothing may be skipped in CI: {error}"),
        };
        let mut input = child.stdin.take().expect("it was piped");
        for frame in frames {
            let digits: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(input, "{digits}").unwrap();
        }
        drop(input);
        assert!(child.wait().unwrap().success());
        true
    }

    /// Whether datagrams of both families come through, a few of each.
    pub(crate) fn carries_packets(&self) -> bool {
        let receiver = self.receiver(4000);
        let senders = [Destination::V4, Destination::V6].map(|to| sender(to, 4000, 0));
        for number in 0..10u8 {
            senders.iter().for_each(|sender| assert_eq!(sender.send(&[number; 40]).unwrap(), 40));
        }
        receiver.has(20)
    }
}

/// Sends the frames of Ethernet that it reads in hexadecimal digits, each with so many of its first bytes in one piece and the
/// rest in pages: behind the header that devices of virtual machines have (PACKET_VNET_HDR of packet(7)), which says so.
const FRAMES: &str = "
import socket, struct, sys
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
packets.setsockopt(263, 15, 1)
packets.bind((sys.argv[1], 0))
before = struct.pack('=BBHHHH', 0, 0, int(sys.argv[2]), 0, 0, 0)
for line in sys.stdin:
    packets.send(before + bytes.fromhex(line))
";

/// Listings without the packets that HTB has counted on their way past its classes: neighbour discovery
/// sends some whenever it likes.
fn without_counts(listings: &str) -> String {
    let mut pieces = listings.split("direct_packets_stat ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |reported, piece| {
        reported + piece.trim_start_matches(|it: char| it.is_ascii_digit())
    })
}

/// Packets that a class has been given: those that it has sent on, dropped, or still holds.
pub(crate) fn given(status: &DeviceStatus, class: &str) -> u64 {
    let found = status.classes.iter().find(|it| it.name == class);
    let queue = &found.unwrap_or_else(|| panic!("no class {class:?} in {status:?}")).queue;
    queue.packets + queue.drops + queue.waiting
}

fn namespace() -> Result<File, String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.desc().to_owned())?;
    run("ip", "link set lo up")?;
    File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())
}

/// What a command says.
pub(crate) fn run(program: &str, command: &str) -> Result<String, String> {
    let output = Command::new(program).args(command.split_whitespace()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program} {command}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A socket in the other namespace.
pub(crate) struct Receiver(UdpSocket);

impl Receiver {
    /// How many datagrams come until none has come for a while.
    pub(crate) fn count(&self) -> usize {
        self.all().len()
    }

    /// Whether so many datagrams come.
    fn has(&self, count: usize) -> bool {
        (0..count).all(|_| self.0.recv(&mut [0; 100]).is_ok())
    }

    /// How many datagrams come until it is told to stop and none has come for a while.
    pub(crate) fn count_until(&self, stop: &AtomicBool) -> usize {
        let mut count = 0;
        loop {
            let is_last = stop.load(Ordering::Relaxed);
            count += self.count();
            if is_last {
                return count;
            }
        }
    }

    /// The datagrams that come until none has come for a while, each with when it came.
    pub(crate) fn all(&self) -> Vec<(Instant, Vec<u8>)> {
        let mut all = Vec::new();
        let mut buffer = [0; 9000];
        while let Ok(length) = self.0.recv(&mut buffer) {
            all.push((Instant::now(), buffer[..length].to_vec()));
        }
        all
    }

    fn is_heard(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let is_heard = self.0.recv(&mut [0; 100]).is_ok();
        self.0.set_nonblocking(false).unwrap();
        is_heard
    }
}

/// The other end, by one of its addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination {
    V4,
    V6,
}

/// A socket whose datagrams go through the device, with this code point.
pub(crate) fn sender(to: Destination, port: u16, dscp: u32) -> UdpSocket {
    let (domain, from, to): (_, SocketAddr, SocketAddr) = match to {
        Destination::V4 => (
            Domain::IPV4,
            (Ipv4Addr::new(10, 77, 0, 1), 0).into(),
            (Ipv4Addr::new(10, 77, 0, 2), port).into(),
        ),
        Destination::V6 => (
            Domain::IPV6,
            ("fd77::1".parse::<Ipv6Addr>().unwrap(), 0).into(),
            ("fd77::2".parse::<Ipv6Addr>().unwrap(), port).into(),
        ),
    };
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    match domain {
        Domain::IPV4 => socket.set_tos_v4(dscp << 2).unwrap(),
        _ => socket.set_tclass_v6(dscp << 2).unwrap(),
    }
    socket.bind(&from.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.into()
}
