//! Two hosts and a machine between them, each in a network namespace. All go when the test ends, however it ends.

use std::fs::File;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};

/// The devices of the machine between.
pub(crate) const DEVICES: [&str; 2] = ["near", "far"];

/// The addresses of the hosts.
pub(crate) const HOSTS: [&str; 2] = ["10.78.0.1", "10.78.0.2"];

/// The machine between is the namespace of the thread.
pub(crate) struct Bench {
    hosts: [File; 2],
}

/// Runs a test on a bench, where the process may make one. In CI it must.
pub(crate) fn on_a_bench(test: impl FnOnce(&Bench) + Send + 'static) {
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
        let host = || std::thread::spawn(namespace).join().expect("it does not panic");
        let bench = Bench { hosts: [host()?, host()?] };
        namespace()?;
        for (number, device) in DEVICES.into_iter().enumerate() {
            let there = bench.hosts[number].as_raw_fd();
            let path = format!("/proc/{}/fd/{there}", std::process::id());
            run(&format!("link add {device} type veth peer name eth0 netns {path}"))?;
            run(&format!("link set {device} up"))?;
            let address = HOSTS[number];
            bench.at(number, move || {
                run(&format!("addr add {address}/24 dev eth0"))?;
                run(&format!("addr add fd78::{}/64 dev eth0 nodad", number + 1))?;
                // The checksums are in the packets, as on a wire.
                compute_checksums("eth0");
                run("link set eth0 up")
            })?;
        }
        Ok(bench)
    }

    /// Does something at a host.
    pub(crate) fn at<T: Send + 'static>(
        &self,
        host: usize,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let there = self.hosts[host].try_clone().expect("a descriptor can be doubled");
        let thread = std::thread::spawn(move || {
            setns(&there, CloneFlags::CLONE_NEWNET).expect("the namespace is there");
            act()
        });
        thread.join().expect("it does not panic")
    }

    /// A socket of a host, bound to this address.
    pub(crate) fn socket(&self, host: usize, address: &str) -> UdpSocket {
        let address: SocketAddr = address.parse().unwrap();
        let socket = self.at(host, move || UdpSocket::bind(address).unwrap());
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        socket
    }

    /// Waits until packets pass: a cable loses what is sent until some time after both ends are up.
    pub(crate) fn wait_until_packets_pass(&self) {
        let (to, from) = (self.socket(1, "10.78.0.2:9"), self.socket(0, "10.78.0.1:0"));
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            from.send_to(&[0], "10.78.0.2:9").ok();
            if to.recv(&mut [0; 1]).is_ok() {
                return;
            }
            assert!(Instant::now() < until, "no packet passes");
        }
    }
}

fn namespace() -> Result<File, String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.desc().to_owned())?;
    run("link set lo up")?;
    File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())
}

/// Runs `ip`.
pub(crate) fn run(command: &str) -> Result<(), String> {
    let output = Command::new("ip").args(command.split_whitespace()).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {command}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// `ETHTOOL_STXCSUM` and `SIOCETHTOOL` of the kernel's headers.
const ETHTOOL_STXCSUM: u32 = 0x17;
const SIOCETHTOOL: libc::c_ulong = 0x8946;

#[allow(unsafe_code)]
fn compute_checksums(device: &str) {
    let mut value = [ETHTOOL_STXCSUM, 0];
    // SAFETY: all zeros are an `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: the request and the value that it points to live until the kernel returns.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    assert_eq!(done, 0, "the device lets the kernel compute checksums");
}
