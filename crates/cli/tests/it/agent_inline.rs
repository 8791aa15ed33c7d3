//! The agent with a router between two devices, in network namespaces of the test's own.

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};

use crate::agent::{repository, start_from, until};
use crate::deploy::ip;
use crate::support::run;

const FLEET: &str = r#"
[machines.gw1]
interfaces.line = { between = ["near", "far"], rate = "10 Mbit/s", rate_back = "2 Mbit/s" }

[[assign]]
policy = "policies/turns.toml"
"#;

/// No kernel has such a queue.
const TURNS: &str = r#"
name = "Turns"
[roles.edge]
classes = [{ name = "calls", match = { dst_port = 4000 }, marker.fixed = { dscp = "EF" } }]
[[roles.core.queue.wrr.classes]]
match = { dscp = "EF" }
weight = 3
queue.fifo = { limit = "50 pkt" }
[[roles.core.queue.wrr.classes]]
weight = 1
queue.fifo = { limit = "50 pkt" }
"#;

/// A host in a namespace of its own, at the other end of `device`, which this makes.
fn host(device: &'static str, address: &'static str) -> Result<UdpSocket, String> {
    let there = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string())?;
        File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())
    });
    let there = there.join().expect("it does not panic")?;
    let place = format!("/proc/{}/fd/{}", std::process::id(), there.as_raw_fd());
    ip(&format!("link add {device} type veth peer name eth0 netns {place}"))?;
    ip(&format!("link set {device} up"))?;
    let bound = std::thread::spawn(move || {
        setns(&there, CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string())?;
        ip(&format!("addr add {address}/24 dev eth0"))?;
        ip("link set eth0 up")?;
        let socket =
            UdpSocket::bind(format!("{address}:4000")).map_err(|error| error.to_string())?;
        send_without_checksums(&socket);
        Ok::<_, String>(socket)
    });
    let socket = bound.join().expect("it does not panic")?;
    let waits = socket.set_read_timeout(Some(Duration::from_millis(200)));
    waits.map(|()| socket).map_err(|error| error.to_string())
}

/// No device computes checksums for these packets, as a virtual one would leave to a wire that is not there.
#[allow(unsafe_code)]
fn send_without_checksums(socket: &UdpSocket) {
    let (yes, length) = (1_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel reads the number, which lives until it returns.
    let done = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_NO_CHECK);
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const yes).cast(), length)
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// Runs a test with two hosts; the machine between them is the namespace of the thread.
fn between_two_hosts(test: impl FnOnce([UdpSocket; 2]) + Send + 'static) {
    let ran = std::thread::spawn(move || {
        let made = unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string());
        let hosts = made.and_then(|()| Ok([host("near", "10.79.0.1")?, host("far", "10.79.0.2")?]));
        match hosts {
            Ok(hosts) => test(hosts),
            Err(why) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: needs network namespaces and iproute2: {why}");
            }
            Err(why) => panic!("nothing may be skipped in CI: {why}"),
        }
    });
    if let Err(panic) = ran.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Whether a datagram comes from the first host to the second, within five seconds of attempts.
fn passes([near, far]: &[UdpSocket; 2]) -> bool {
    (0..25).any(|_| {
        let _ = near.send_to(b"packet", "10.79.0.2:4000");
        far.recv(&mut [0; 16]).is_ok()
    })
}

/// Whether packets from the first device to the second are counted.
fn has_routed(metrics: &str) -> bool {
    let counted = "shortflow_class_packets_total{device=\"near,far\",class=\"near->far\"} ";
    metrics.lines().filter_map(|line| line.strip_prefix(counted)).any(|count| count != "0")
}

fn source(at: &Path) -> String {
    repository(&at.join("fleet"), FLEET);
    std::fs::write(at.join("fleet/policies/turns.toml"), TURNS).unwrap();
    at.join("fleet").to_str().unwrap().to_owned()
}

#[test]
fn an_agent_routes_between_two_devices_and_what_it_leaves_forwards_all_packets() {
    between_two_hosts(|hosts| {
        let folder = tempfile::tempdir().unwrap();
        let (at, from) = (folder.path(), source(folder.path()));
        let mut agent = start_from(at, &["--source", &from, "--inline"]);
        let done = "near,far: \"Turns\", inline, 10 Mbit/s, back 2 Mbit/s: done";
        until(at, &[done]);
        assert!(passes(&hosts), "the router forwards packets");

        let socket = at.join("agent.sock");
        let mut metrics = String::new();
        // A router reports every second.
        for _ in 0..50 {
            metrics = run(&["agent", "metrics", "--socket", socket.to_str().unwrap()]).out;
            if has_routed(&metrics) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let rate = "shortflow_device_rate_bytes_per_second{device=\"near,far\"} 1250000\n";
        assert!(metrics.contains(rate), "{metrics}");
        assert!(has_routed(&metrics), "{metrics}");

        agent.0.kill().unwrap();
        agent.0.wait().unwrap();
        assert!(passes(&hosts), "the bridge forwards packets without the agent");

        let _again = start_from(at, &["--source", &from, "--inline"]);
        until(at, &[done]);
        assert!(passes(&hosts), "the agent routes again, over the same bridge");
        let fleet = FLEET.replace("10 Mbit/s", "20 Mbit/s");
        std::fs::write(at.join("fleet/fleet.toml"), fleet).unwrap();
        until(at, &["near,far: \"Turns\", inline, 20 Mbit/s, back 2 Mbit/s: done"]);
        assert!(passes(&hosts), "a router with another rate has taken its place");
    });
}

#[test]
fn a_router_that_ends_by_itself_is_in_the_log_with_the_reason_and_another_one_starts() {
    between_two_hosts(|hosts| {
        let folder = tempfile::tempdir().unwrap();
        let (at, from) = (folder.path(), source(folder.path()));
        let _agent = start_from(at, &["--source", &from, "--inline"]);
        until(at, &["back 2 Mbit/s: done"]);
        assert!(passes(&hosts), "the router forwards packets");

        ip("link del sfbr0").unwrap();
        until(at, &["back 2 Mbit/s: done", "another process changed it once"]);
        assert!(passes(&hosts), "another router forwards packets over another bridge");
        let journal = std::fs::read_to_string(at.join("journal")).unwrap();
        assert!(journal.contains("near,far: the router has ended: "), "{journal}");

        // As when a device is taken out of the bridge by mistake.
        ip("link set near nomaster").unwrap();
        until(at, &["back 2 Mbit/s: done", "another process changed it 2 times"]);
        assert!(passes(&hosts), "the device comes back to the bridge");
    });
}

#[test]
fn an_agent_that_may_not_route_says_what_to_type() {
    between_two_hosts(|_| {
        let folder = tempfile::tempdir().unwrap();
        let from = source(folder.path());
        let _agent = start_from(folder.path(), &["--source", &from]);
        let why = "failed: this agent does not route between two devices; start it with --inline";
        until(folder.path(), &[why]);
    });
}
