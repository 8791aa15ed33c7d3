//! `deploy`, `reload` and `undeploy`, killed at each system call that changes something in the kernel: packets flow, and the
//! next command goes on from there.

#![cfg(target_os = "linux")]

use std::fs;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use nix::sched::{CloneFlags, setns, unshare};

use crate::support::{command, run};
use crate::tracer::{Fate, killed_at};

const CALLS_FIRST: &str = r#"
name = "Calls First"
[roles.edge]
acks = "echo"
[[roles.edge.classes]]
name = "all"
marker.token-bucket = { rate = "1 Mbit/s", depth = "10 KB", per = "source" }
[[roles.core.queue.strict-priority.bands]]
match = { dscp = "AF11" }
queue.fifo = { limit = "50 pkt" }
[[roles.core.queue.strict-priority.bands]]
queue.fifo = { limit = "50 pkt" }
"#;

/// Other queues, so that new ones are built beside the old ones.
const THREE_BANDS: &str = r#"
name = "Three Bands"
[[roles.edge.classes]]
name = "all"
marker.token-bucket = { rate = "2 Mbit/s", depth = "10 KB", per = "source" }
[[roles.core.queue.strict-priority.bands]]
match = { dscp = "AF11" }
queue.fifo = { limit = "50 pkt" }
[[roles.core.queue.strict-priority.bands]]
match = { protocol = "udp" }
queue.fifo = { limit = "50 pkt" }
[[roles.core.queue.strict-priority.bands]]
queue.fifo = { limit = "50 pkt" }
"#;

/// With the program that marks where it is built.
const ROLES: &str = if cfg!(feature = "ebpf") { "edge,core" } else { "core" };

/// More than any of the commands has steps.
const MOST: usize = 200;

/// A cable from here to another namespace, through which datagrams go.
struct Line {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Line {
    fn new() -> Result<Line, String> {
        let own = |command: &str| tool("ip", command).map(|_| ());
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string())?;
        let (path, receiver) = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string())?;
            let there =
                fs::File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())?;
            let socket = UdpSocket::bind("0.0.0.0:4000").map_err(|error| error.to_string())?;
            Ok::<_, String>((there, socket))
        })
        .join()
        .expect("it does not panic")?;
        let place = format!("/proc/{}/fd/{}", std::process::id(), path.as_raw_fd());
        own(&format!("link add sf0 type veth peer name sf1 netns {place}"))?;
        own("addr add 10.77.4.1/24 dev sf0")?;
        own("link set sf0 up")?;
        let up = std::thread::spawn(move || {
            setns(&path, CloneFlags::CLONE_NEWNET).map_err(|errno| errno.to_string())?;
            tool("ip", "addr add 10.77.4.2/24 dev sf1")?;
            tool("ip", "link set sf1 up")
        });
        up.join().expect("it does not panic")?;
        receiver
            .set_read_timeout(Some(Duration::from_millis(200)))
            .map_err(|error| error.to_string())?;
        let sender = UdpSocket::bind("10.77.4.1:0").map_err(|error| error.to_string())?;
        sender
            .set_read_timeout(Some(Duration::from_millis(200)))
            .map_err(|error| error.to_string())?;
        sender.connect("10.77.4.2:4000").map_err(|error| error.to_string())?;
        let line = Line { sender, receiver };
        // A cable carries nothing for a moment after it is switched on.
        match (0..50).any(|_| line.carries()) {
            true => Ok(line),
            false => Err("the cable carries nothing".to_owned()),
        }
    }

    /// Whether a datagram comes through and another one comes back, at the third attempt at least.
    fn carries(&self) -> bool {
        let back = self.sender.local_addr().expect("it is bound");
        (0..3).any(|_| {
            let _ = self.sender.send(b"packet");
            let _ = self.receiver.send_to(b"answer", back);
            [&self.receiver, &self.sender].iter().all(|socket| socket.recv(&mut [0; 16]).is_ok())
        })
    }
}

fn tool(program: &str, arguments: &str) -> Result<String, String> {
    let ended = command(program).args(arguments.split(' ')).output();
    let ended = ended.map_err(|error| format!("{program}: {error}"))?;
    match ended.status.success() {
        true => Ok(String::from_utf8_lossy(&ended.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
    }
}

/// What stands at the device, without what it has done.
fn listings() -> String {
    let each = [
        "qdisc show dev sf0",
        "class show dev sf0",
        "filter show dev sf0",
        "filter show dev sf0 ingress",
    ];
    each.map(|listing| tool("tc", listing).unwrap()).concat()
        + &tool("ip", "-o link show type ifb").unwrap()
}

fn done(arguments: &[&str]) {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}{}", ended.out, ended.err);
}

/// Kills `victim` at its first change, at its second and so on, until it ends by itself; how often it was killed.
fn at_each_change(line: &Line, begin: &dyn Fn(), victim: &[&str], repair: &dyn Fn()) -> usize {
    for nth in 1..MOST {
        begin();
        let fate = killed_at(victim, nth);
        assert!(line.carries(), "{victim:?}, killed at its change number {nth}");
        if fate == Fate::Ended {
            return nth - 1;
        }
        repair();
        assert!(line.carries(), "{victim:?}, killed at its change number {nth} and repaired");
    }
    panic!("{victim:?} makes more than {MOST} changes")
}

/// Does something where a line and both policies are.
fn with_a_line(test: impl FnOnce(&Line, &str, &str) + Send + 'static) {
    let ran = std::thread::spawn(move || match Line::new() {
        Ok(line) => {
            let folder = tempfile::tempdir().unwrap();
            let write = |name: &str, text: &str| {
                let file = folder.path().join(name);
                fs::write(&file, text).unwrap();
                path(&file)
            };
            test(&line, &write("two.toml", CALLS_FIRST), &write("three.toml", THREE_BANDS));
        }
        Err(why) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs network namespaces and iproute2: {why}");
        }
        Err(why) => panic!("nothing may be skipped in CI: {why}"),
    });
    if let Err(panic) = ran.join() {
        std::panic::resume_unwind(panic);
    }
}

fn path(file: &Path) -> String {
    file.to_str().expect("it is text").to_owned()
}

fn with<'a>(word: &'a str, policy: &'a str) -> [&'a str; 8] {
    [word, policy, "--role", ROLES, "--dev", "sf0", "--rate", "10 Mbit/s"]
}

/// What `status` says where all is whole.
fn is_whole(policy: &str) {
    let status = run(&["status", "--dev", "sf0"]);
    assert_eq!(status.code, Some(0), "{}", status.out);
    assert!(status.out.contains(policy), "{}", status.out);
}

#[test]
fn killed_at_any_change_a_deployment_lets_packets_flow_and_is_finished_or_taken_away() {
    with_a_line(|line, two, _| {
        let before = listings();
        let repair = || {
            done(&with("deploy", two));
            is_whole("Calls First");
            done(&["undeploy", "--dev", "sf0"]);
            assert_eq!(listings(), before);
        };
        let killed = at_each_change(line, &|| (), &with("deploy", two), &repair);
        assert!(killed > 8, "{killed} changes were seen");
    });
}

#[test]
fn killed_at_any_change_a_reload_lets_packets_flow_and_is_finished() {
    with_a_line(|line, two, three| {
        done(&with("deploy", two));
        let repair = || {
            done(&with("reload", three));
            is_whole("Three Bands");
        };
        let begin = || done(&with("reload", two));
        let killed = at_each_change(line, &begin, &with("reload", three), &repair);
        assert!(killed > 8, "{killed} changes were seen");
    });
}

#[test]
fn killed_at_any_change_a_removal_lets_packets_flow_and_is_finished() {
    with_a_line(|line, two, _| {
        let before = listings();
        let repair = || {
            let ended = run(&["undeploy", "--dev", "sf0"]);
            // The last change may have been made before the kill.
            assert!(matches!(ended.code, Some(0 | 2)), "{}{}", ended.out, ended.err);
            assert_eq!(listings(), before);
        };
        let begin = || done(&with("deploy", two));
        let undeploy = ["undeploy", "--dev", "sf0"];
        let killed = at_each_change(line, &begin, &undeploy, &repair);
        assert!(killed > 0, "no change was seen");
    });
}

/// Both directions of the device.
fn both<'a>(word: &'a str, policy: &'a str, rate: &'a str) -> [&'a str; 10] {
    [word, policy, "--role", ROLES, "--dev", "sf0", "--up", rate, "--down", rate]
}

#[test]
fn killed_at_any_change_both_directions_let_packets_flow_and_are_finished_or_taken_away() {
    with_a_line(|line, _, three| {
        let before = listings();
        let repair = || {
            done(&both("deploy", three, "10 Mbit/s"));
            is_whole("sf0 (received): policy \"Three Bands\"");
            done(&["undeploy", "--dev", "sf0"]);
            assert_eq!(listings(), before);
        };
        let killed = at_each_change(line, &|| (), &both("deploy", three, "10 Mbit/s"), &repair);
        eprintln!("killed at {killed} changes");
        assert!(killed > 16, "{killed} changes were seen");
    });
}

#[test]
fn killed_at_any_change_a_removal_of_both_directions_lets_packets_flow_and_is_finished() {
    with_a_line(|line, _, three| {
        let before = listings();
        let repair = || {
            let ended = run(&["undeploy", "--dev", "sf0"]);
            assert!(matches!(ended.code, Some(0 | 2)), "{}{}", ended.out, ended.err);
            assert_eq!(listings(), before);
        };
        let begin = || done(&both("deploy", three, "10 Mbit/s"));
        let killed = at_each_change(line, &begin, &["undeploy", "--dev", "sf0"], &repair);
        assert!(killed > 1, "{killed} changes were seen");
    });
}
