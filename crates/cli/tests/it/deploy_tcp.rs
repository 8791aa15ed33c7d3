//! A policy in the TCP of a network namespace of the test's own. Needs root, and to load eBPF.

#![cfg(all(target_os = "linux", feature = "ebpf"))]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use serde_json::Value;

use crate::deploy::{done, ip, with_a_cable};
use crate::support::{run, shortflow};

/// The congestion controls of connections to a port, by `ss`.
fn controls(port: u16) -> String {
    let filter = format!("dport = :{port}");
    let words = ["--tcp", "--info", "--no-header", "state", "established", &filter];
    let ended = Command::new("ss").args(words).output().expect("ss is of iproute2");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

fn connect(listener: &TcpListener) -> [TcpStream; 2] {
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    [near, listener.accept().unwrap().0]
}

/// `status` also lists profiles of namespaces that are gone: what leaves one holds this alone.
pub(crate) static PROFILES: RwLock<()> = RwLock::new(());

/// Connections of this namespace, over a loopback device with the MTU of Ethernet.
fn with_connections(test: impl FnOnce(TcpListener, u16) + Send + 'static) {
    let _others_stay = PROFILES.read().unwrap_or_else(PoisonError::into_inner);
    with_own_connections(test);
}

fn with_own_connections(test: impl FnOnce(TcpListener, u16) + Send + 'static) {
    with_a_cable(move || {
        ip("link set lo up mtu 1500").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        test(listener, port);
    });
}

#[test]
fn connections_come_to_a_profile_in_tcp_and_leave_it_with_the_control_that_they_had() {
    with_connections(|listener, port| {
        let had = run(&["status"]).out;
        assert!(!had.contains("TCP:"), "{had}");
        let _live = connect(&listener);
        let port_text = port.to_string();
        let before = controls(port);
        let said = done(&["deploy", "aggregate", "--tcp", "--peer-port", &port_text]);
        assert!(said.contains(": 1 connection taken over"), "{said}");
        assert_eq!(controls(port).matches(" sf_").count(), 1, "{}", controls(port));
        let again = run(&["deploy", "aggregate", "--tcp"]);
        assert!(
            again.code == Some(2) && again.err.contains("reload POLICY --tcp"),
            "{}",
            again.err
        );
        // Where there are cgroups, a new connection comes to it by itself; a reload takes it over in any case.
        let _new = connect(&listener);
        done(&["reload", "aggregate", "--tcp", "--set", "parameters.rate=7 Mbit/s"]);
        let status = done(&["status"]);
        assert!(status.contains("7 Mbit/s with 200 KB"), "{status}");
        assert!(status.contains("  2 connections"), "{status}");
        let said = done(&["undeploy", "--tcp"]);
        assert!(
            said.contains("; 2 connections with the former congestion control again"),
            "{said}"
        );
        assert!(!controls(port).contains(" sf_"), "{before}\n{}", controls(port));
        assert!(!done(&["status"]).contains("TCP:"));
        let ended = run(&["undeploy", "--tcp"]);
        assert!(ended.code == Some(2) && ended.err.contains("no policy is deployed in TCP"));
    });
}

/// Sends through a connection until its other end is closed. The result counts what arrived.
fn keep_busy([mut near, mut far]: [TcpStream; 2]) -> Arc<AtomicU64> {
    let arrived = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&arrived);
    spawn(move || while near.write_all(&[0; 8192]).is_ok() {});
    spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(bytes @ 1..) = far.read(&mut buffer) {
            count.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    });
    arrived
}

#[test]
fn a_connection_that_both_selections_have_stays_in_the_profile_while_the_selection_changes() {
    with_connections(|listener, port| {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let other_port = other.local_addr().unwrap().port();
        let idle = connect(&other);
        let (port_text, before) = (port.to_string(), Instant::now());
        done(&["deploy", "aggregate", "--tcp", "--peer-port", &port_text]);
        let arrived = keep_busy(connect(&listener));
        done(&["reload", "aggregate", "--tcp", "--peer-port", &port_text]);
        let reload = |words: &[&str]| done(&[&["reload", "aggregate", "--tcp"], words].concat());
        let said = reload(&["--peer", "127.0.0.1"]);
        // The accepted ends of both connections send to 127.0.0.1, too.
        assert!(said.contains(": 3 connections taken over"), "{said}");
        assert_eq!(controls(other_port).matches(" sf_").count(), 1, "{}", controls(other_port));
        let said = reload(&["--peer", "127.0.0.1", "--peer-port", &port_text]);
        let left =
            ": 0 connections taken over, 3 connections with the former congestion control again";
        assert!(said.contains(left), "{said}");
        assert!(!controls(other_port).contains(" sf_"), "{}", controls(other_port));
        reload(&["--set", "parameters.rate=7 Mbit/s"]);
        let status = done(&["status", "--tcp"]);
        assert!(status.contains(&format!("to 127.0.0.1/32 to port {port}")), "{status}");

        // Without the profile, a loopback device carries as much in a few milliseconds.
        sleep(Duration::from_millis(200));
        let most = 200_000.0 + 7e6 / 8.0 * before.elapsed().as_secs_f64();
        let arrived = arrived.load(Ordering::Relaxed);
        assert!(arrived > 100_000 && (arrived as f64) < most, "{arrived} B of {most} B");
        drop(idle);
        done(&["undeploy", "--tcp"]);
    });
}

#[test]
fn a_deployment_in_tcp_that_is_killed_at_any_moment_is_removed_by_the_next_command() {
    with_connections(|listener, port| {
        for millis in [5, 20, 60, 150, 300] {
            let mut command = shortflow(&["deploy", "aggregate", "--tcp"]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            sleep(Duration::from_millis(millis));
            let _ = child.kill();
            child.wait().unwrap();
            // TCP works on.
            let _connection = connect(&listener);
            let ended = run(&["undeploy", "--tcp"]);
            assert!(matches!(ended.code, Some(0 | 2)), "{millis} ms: {}", ended.err);
            assert!(!controls(port).contains(" sf_"), "{millis} ms: {}", controls(port));
        }
        for millis in [20, 60, 150] {
            done(&["deploy", "aggregate", "--tcp"]);
            let mut command = shortflow(&["reload", "aggregate", "--tcp", "--peer-port", "1"]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            sleep(Duration::from_millis(millis));
            let _ = child.kill();
            child.wait().unwrap();
            done(&["undeploy", "--tcp"]);
            let _connection = connect(&listener);
            assert!(!controls(port).contains(" sf_"), "{millis} ms: {}", controls(port));
        }
    });
}

#[test]
fn a_profile_whose_network_namespace_is_gone_is_listed_and_removed_by_name() {
    let _alone = PROFILES.write().unwrap_or_else(PoisonError::into_inner);
    with_own_connections(|_, _| {
        let deploy = || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            done(&["deploy", "aggregate", "--tcp"]);
            let status: Value =
                serde_json::from_str(&run(&["status", "--tcp", "--json"]).out).unwrap();
            status["tcp"]["control"].as_str().unwrap().to_owned()
        };
        let (tell, hear) = channel();
        let (end, ends) = channel::<()>();
        let elsewhere = spawn(move || {
            tell.send(deploy()).unwrap();
            ends.recv()
        });
        let control = hear.recv().unwrap();
        let undeploy = ["undeploy", "--tcp", "--control", &control];
        let refused = run(&undeploy);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("still exists\n"), "{}", refused.err);
        assert!(!run(&["status", "--tcp"]).out.contains(&control));

        drop(end);
        elsewhere.join().unwrap().unwrap_err();
        let status = run(&["status", "--tcp"]);
        assert_eq!(status.code, Some(1), "{}", status.out);
        assert!(status.out.contains(&undeploy.join(" ")), "{}", status.out);
        let said = done(&undeploy);
        assert!(said.contains("\"Aggregate\" of a network namespace that is gone"), "{said}");
        assert!(!run(&["status", "--tcp"]).out.contains(&control));
        let again = run(&undeploy);
        assert_eq!(again.code, Some(2), "{}", again.err);
        assert!(again.err.contains("no profile of another network namespace"), "{}", again.err);
    });
}

/// A cgroup of version 2 of the test's own; `None`, where the machine has none.
fn own_cgroup() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let root = PathBuf::from(mounts.find(|fields| fields.get(2) == Some(&"cgroup2"))?[1]);
    let own = root.join(format!("shortflow-tcp-{}", std::process::id()));
    std::fs::create_dir(&own).ok()?;
    Some(own)
}

/// Moves the processes of the test to this cgroup.
fn enter(cgroup: &Path) {
    std::fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).unwrap();
}

#[test]
fn only_new_connections_of_the_cgroup_come_to_the_profile() {
    with_connections(|listener, port| {
        let Some(own) = own_cgroup() else {
            eprintln!("skipped: needs a cgroup of version 2");
            return;
        };
        let folder = own.to_str().unwrap();
        let refused = run(&["deploy", "aggregate", "--tcp", "--cgroup", "/"]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("/ is not a cgroup of version 2"), "{}", refused.err);
        for dry in [&["--dry-run"][..], &[]] {
            let missing = own.join("missing").to_str().unwrap().to_owned();
            let words = ["deploy", "aggregate", "--tcp", "--cgroup", &missing];
            let refused = run(&[&words, dry].concat());
            assert_eq!(refused.code, Some(2), "{}", refused.err);
            assert!(refused.err.contains("/missing is not a cgroup"), "{}", refused.err);
        }
        done(&["deploy", "aggregate", "--tcp", "--cgroup", folder]);
        let status = run(&["status", "--tcp"]).out;
        assert!(status.contains(&format!("of all kinds, new ones of {folder}\n")), "{status}");
        assert!(status.contains(": growth reno\n"), "{status}");
        let _outside = connect(&listener);
        assert!(!controls(port).contains(" sf_"), "{}", controls(port));
        enter(&own);
        let _inside = connect(&listener);
        enter(own.parent().unwrap());
        let found = controls(port);
        assert_eq!(found.matches(" sf_").count(), 1, "{found}");
        std::fs::remove_dir(&own).unwrap();
        // Another cgroup of the same name, as where a service is started again.
        for is_again in [false, true] {
            if is_again {
                std::fs::create_dir(&own).unwrap();
            }
            let status = run(&["status", "--tcp"]).out;
            assert!(status.contains("new connections are not selected"), "{status}");
        }
        std::fs::remove_dir(&own).unwrap();
        done(&["undeploy", "--tcp"]);
    });
}

#[test]
fn a_dry_run_checks_the_policy_and_deploys_nothing() {
    with_connections(|_, _| {
        let words = ["deploy", "aggregate", "--tcp", "--local", "192.0.2.0/24", "--dry-run"];
        let said = done(&words);
        let expected = "would deploy policy \"Aggregate\", role source, 5 Mbit/s with 200 KB, connections from 192.0.2.0/24";
        assert!(said.contains(expected), "{said}");
        assert_eq!(done(&["status", "--tcp"]), "no policy is deployed in TCP\n");
        let refused = run(&["deploy", "fq-codel", "--tcp", "--dry-run"]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
    });
}

#[test]
fn addresses_of_two_families_are_refused() {
    let words = ["deploy", "aggregate", "--tcp", "--local", "2001:db8::1", "--peer", "192.0.2.7"];
    let refused = run(&words);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("no connection is from 2001:db8::1 to 192.0.2.7"),
        "{}",
        refused.err
    );
}

#[test]
fn a_command_without_a_place_names_both() {
    for words in [&["undeploy"][..], &["deploy", "aggregate"], &["reload", "aggregate"]] {
        let refused = run(words);
        assert_eq!(refused.code, Some(2));
        assert!(refused.err.contains("--dev") && refused.err.contains("--tcp"), "{}", refused.err);
    }
}
