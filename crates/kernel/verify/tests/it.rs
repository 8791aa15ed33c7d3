//! `verify` as its users call it: a peer and a plan, over loopback.

#![cfg(target_os = "linux")]

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_packet::Dscp;
use shortflow_units::Bytes;
use shortflow_verify::{Class, Error, Findings, Peer, Plan, Served, Way};
use socket2::{Domain, Socket, Type};

const LOCALHOST: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// A plan of half a second beside one long flow.
fn short_plan(peer: SocketAddr) -> Plan {
    Plan { length: Duration::from_millis(500), flows: 1, ..Plan::to(peer) }
}

/// Conducts a plan while a peer serves; returns what each of them reports.
fn measured(plan: impl FnOnce(SocketAddr) -> Plan) -> (Findings, Served) {
    let peer = Peer::at(LOCALHOST.into()).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let served = scope.spawn(|| peer.serve(&stop));
        let conducted =
            plan(peer.address()).conduct(None, None, &mut |_, _| {}, &AtomicBool::new(false));
        stop.store(true, Ordering::Relaxed);
        (conducted.unwrap(), served.join().unwrap().unwrap())
    })
}

#[test]
fn code_points_survive_on_loopback_and_short_transfers_complete() {
    let (findings, served) = measured(|peer| {
        let mut plan = short_plan(peer);
        plan.look_at_written(&[Dscp::EF, Dscp::EF, Dscp::BEST_EFFORT]);
        plan
    });
    let written: Vec<Dscp> = findings.code_points.iter().map(|arrival| arrival.written).collect();
    assert_eq!(written, [Dscp::BEST_EFFORT, Dscp::EF], "each code point once");
    assert!(findings.holds(), "{findings:?}");
    let transfers = findings.transfers.as_ref().unwrap();
    assert_eq!(transfers.transfers.failed, 0);
    let complete = transfers.transfers.times.len() as u64;
    assert!(complete > 0 && served.transfers == complete, "{complete} complete, {served:?}");
    assert!(served.probes > 0 && transfers.long_flows > 0.0);
}

#[test]
fn text_and_json_show_the_same_results() {
    let (findings, _) = measured(|peer| Plan { size: Bytes(4000), ..short_plan(peer) });
    let (text, json) = (findings.text(), findings.json());
    assert!(text.contains("BE") && text.contains("survives") && text.contains("4 KB"), "{text}");
    assert_eq!(json["code_points"][0]["survives"], true);
    assert_eq!(json["transfer_bytes"], 4000);
    assert_eq!(json["holds"], findings.holds());
    assert!(text.contains(&format!("of {} transfers", json["transfers"]["complete"])), "{text}");
}

#[test]
fn probes_of_two_classes_that_share_one_queue_wait_alike_so_the_policy_does_not_hold() {
    let class =
        |name: &str, code_point| Class { name: name.to_owned(), code_point, way: Way::Datagram };
    let (findings, _) = measured(|peer| Plan {
        classes: vec![class("calls", Dscp::EF), class("rest", Dscp::BEST_EFFORT)],
        load: Some(1),
        unreached: vec!["backup".to_owned()],
        ..short_plan(peer)
    });
    assert_eq!(findings.classes.len(), 2);
    assert!(!findings.holds(), "one queue separates nothing: {findings:?}");
    let text = findings.text();
    assert!(text.contains("the load"), "{text}");
    assert!(text.contains("backup: not measured"), "{text}");
}

#[test]
fn connections_that_are_slow_are_probed_as_often_as_datagrams_and_hold_up_nothing() {
    // Nobody takes connections from this listener: once two wait, the kernel answers no others.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(LOCALHOST).into()).unwrap();
    listener.listen(0).unwrap();
    let to = listener.local_addr().unwrap().as_socket().unwrap();
    let _waiting: Vec<_> = (0..2)
        .filter_map(|_| TcpStream::connect_timeout(&to, Duration::from_secs(1)).ok())
        .collect();
    let class = |name: &str, way| Class { name: name.to_owned(), code_point: Dscp::EF, way };
    let begin = Instant::now();
    let (findings, _) = measured(|peer| Plan {
        classes: vec![class("slow", Way::Connection(to.port())), class("rest", Way::Datagram)],
        load: Some(1),
        ..short_plan(peer)
    });
    // One after the other they would take 50 seconds: 25 probes, of which each is given up after two.
    assert!(begin.elapsed() < Duration::from_secs(17), "{:?}", begin.elapsed());
    assert_eq!(findings.classes[0].1.loss, 1.0, "{findings:?}");
}

#[test]
fn an_address_where_nothing_listens_is_an_error_that_names_the_command_for_it() {
    let silent = UdpSocket::bind(SocketAddr::from(LOCALHOST)).unwrap();
    let plan = short_plan(silent.local_addr().unwrap());
    let error = plan.conduct(None, None, &mut |_, _| {}, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, Error::NoAnswer(_)), "{error}");
    assert!(error.to_string().contains("shortflow verify --listen"), "{error}");
}

#[test]
fn a_stopped_measurement_ends_soon() {
    let peer = Peer::at(LOCALHOST.into()).unwrap();
    let (serving, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let long = Plan { length: Duration::from_secs(60), ..Plan::to(peer.address()) };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| peer.serve(&serving));
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1500));
            stop.store(true, Ordering::Relaxed);
        });
        let error = long.conduct(None, None, &mut |_, _| {}, &stop).unwrap_err();
        assert!(matches!(error, Error::Interrupted), "{error}");
        serving.store(true, Ordering::Relaxed);
    });
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn two_peers_cannot_share_a_port() {
    let first = Peer::at(LOCALHOST.into()).unwrap();
    let error = Peer::at(first.address()).unwrap_err();
    assert!(matches!(error, Error::Listen(..)), "{error}");
}

#[test]
fn progress_names_each_measurement_and_never_goes_back() {
    let peer = Peer::at(LOCALHOST.into()).unwrap();
    let stop = AtomicBool::new(false);
    let mut steps: Vec<(String, f64)> = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| peer.serve(&stop));
        let mut progress = |what: &str, done: f64| steps.push((what.to_owned(), done));
        short_plan(peer.address())
            .conduct(None, None, &mut progress, &AtomicBool::new(false))
            .unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    let names: Vec<&str> = steps.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(names, ["code points", "short transfers"]);
    assert!(steps.is_sorted_by(|a, b| a.1 <= b.1) && steps.iter().all(|step| step.1 <= 1.0));
}
