//! Rehearsals of a few seconds beside simulations of the same scenario. Bounds are wide, since a machine that
//! is busy is late; how near they come on an idle one is told elsewhere.

use shortflow_measure::{Replica, WorkloadResult};
use shortflow_rehearse::{PortKind, Rehearsal};
use shortflow_run::{ClassUse, Engine, Error, Measured, Observers, Outcome, Task};
use shortflow_scenario::Scenario;
use shortflow_sim::Simulator;
use shortflow_units::Duration;

use crate::{machine, scenario};

fn run(engine: &dyn Engine, scenario: &Scenario) -> Result<Outcome, Error> {
    engine.check(scenario).unwrap();
    let observers = Observers { transfers: None, tap: None, tcp_info: None, look: &mut |_| true };
    engine.run(&Task { scenario, replica: 0 }, observers)
}

/// What a rehearsal found, and the simulation; none, and a word on what is lacking, where there can be no
/// rehearsal; on CI there must.
pub(crate) fn both(scenario: &Scenario) -> Option<[Replica; 2]> {
    beside(Rehearsal::OVER_IPV4, scenario)
}

/// What a rehearsal found, and how many packets the classes of its policy were given; none, and a word on what is
/// lacking, where there can be no rehearsal.
pub(crate) fn outcome(
    rehearsal: Rehearsal,
    scenario: &Scenario,
) -> Option<(Replica, Option<ClassUse>)> {
    match run(&rehearsal, scenario) {
        Ok(Outcome { measured: Measured::Replica(replica), classes, .. }) => {
            Some((*replica, classes))
        }
        Ok(_) => panic!("a rehearsal has replicas"),
        Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts: {lacking}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// As [`both`], with this way to rehearse. Programs that run in real time too may stop a router for as long as
/// the kernel gives others (50 ms of every second), which moves means: then it is rehearsed again.
fn beside(rehearsal: Rehearsal, scenario: &Scenario) -> Option<[Replica; 2]> {
    let _machine = machine();
    let replica = |outcome: Outcome| match outcome.measured {
        Measured::Replica(replica) => *replica,
        Measured::Means(_) => panic!("both engines have replicas"),
    };
    for attempts_left in (0..5).rev() {
        match run(&rehearsal, scenario) {
            Ok(rehearsed) => {
                let timing =
                    rehearsed.timing.expect("how late packets were is told with every run");
                if timing.max > Duration::from_millis(10) && attempts_left > 0 {
                    continue;
                }
                return Some([replica(rehearsed), replica(run(&Simulator, scenario).unwrap())]);
            }
            Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: needs hosts: {lacking}");
                return None;
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the last attempt is taken as it is")
}

/// A client and a server over a line of 10 Mbit/s that holds 50 packets.
pub(crate) fn line(workloads: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "4 s"
        hosts = {{ client = {{}}, server = {{}} }}
        routers = {{ r = {{}} }}
        measure.ports = ["server->r"]
        [links]
        access = {{ between = ["client", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
        line = {{ between = ["r", "server"], rate = "10 Mbit/s", delay = "10 ms", queue = "50 pkt" }}
        [workloads]
        {workloads}
        "#
    );
    scenario(&[("line.toml", &text)])
}

fn near(what: &str, [found, expected]: [f64; 2], within: f64) {
    assert!((found / expected - 1.0).abs() <= within, "{what}: {found}, simulated {expected}");
}

fn mean(web: &WorkloadResult) -> f64 {
    web.all.mean().unwrap().value()
}

#[test]
fn an_idle_line_takes_as_long_as_in_the_simulation() {
    let scenario = line(
        r#"web.transfers = { client = "client", server = "server", rate = "5 /s", request = { constant = "300 B" }, reply = { constant = "10 KB" } }
        call.cbr = { from = "client", to = "server", rate = "80 kbit/s", packet = "200 B" }"#,
    );
    let Some(found) = both(&scenario) else { return };
    let web = found.each_ref().map(|replica| &replica.workloads[0]);
    assert!(web[0].all.n().abs_diff(web[1].all.n()) <= 1, "the same arrivals");
    near("completion time", web.map(mean), 0.25);
}

#[test]
fn an_idle_line_takes_as_long_over_ipv6_as_over_ipv4() {
    let scenario = line(
        r#"web.transfers = { client = "client", server = "server", rate = "5 /s", request = { constant = "300 B" }, reply = { constant = "10 KB" } }
        call.cbr = { from = "client", to = "server", rate = "80 kbit/s", packet = "200 B" }"#,
    );
    let Some([over_ipv4, _]) = both(&scenario) else { return };
    let Some([over_ipv6, simulated]) = beside(Rehearsal::OVER_IPV6, &scenario) else { return };
    let web = [&over_ipv6, &over_ipv4].map(|replica| &replica.workloads[0]);
    assert!(web[0].all.n().abs_diff(web[1].all.n()) <= 1, "the same arrivals");
    near("completion time", web.map(mean), 0.15);
    let calls = [&over_ipv6, &simulated].map(|replica| &replica.workloads[1].datagrams);
    let calls = calls.map(|datagrams| datagrams.as_ref().unwrap());
    assert_eq!((calls[0].sent, calls[0].loss()), (calls[1].sent, Some(0.0)));
}

#[test]
fn a_rehearsal_that_waits_for_nothing_ends_before_its_drain_does() {
    let text = r#"
        duration = "2 s"
        drain = "100 s"
        hosts = { client = {}, server = {} }
        links.line = { between = ["client", "server"], rate = "1 Mbit/s", delay = "10 ms" }
        [workloads]
        web.transfers = { client = "client", server = "server", rate = "2 /s", request = { constant = "300 B" }, reply = { constant = "100 KB" } }
    "#;
    let begun = std::time::Instant::now();
    let Some([rehearsed, simulated]) = both(&scenario(&[("line.toml", text)])) else { return };
    // A reply takes 0.8 s of the line, so that some are open when arrivals end.
    let [rehearsed, simulated] = [rehearsed, simulated].map(|r| r.workloads[0].all.n());
    assert_eq!((rehearsed, rehearsed > 1), (simulated, true), "all were waited for");
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn a_line_that_is_offered_twice_its_rate_loses_half() {
    let scenario = line(
        r#"flood.cbr = { from = "server", to = "client", rate = "20 Mbit/s", packet = "1000 B" }"#,
    );
    let Some(found) = both(&scenario) else { return };
    let port = found.each_ref().map(|replica| replica.port("server->r").unwrap().utilisation);
    near("utilisation", port, 0.05);
    let lost =
        found.map(|replica| replica.workloads[0].datagrams.as_ref().unwrap().loss().unwrap());
    near("loss", lost, 0.1);
}

#[test]
fn long_flows_and_sessions_get_through() {
    let scenario = line(
        r#"file.bulk = { from = "server", to = "client" }
        type.telnet = { client = "client", server = "server", packet = "100 B", pause.exponential.mean = "150 ms" }"#,
    );
    let Some(found) = both(&scenario) else { return };
    let echoes = found.each_ref().map(|replica| replica.workloads[1].all.n());
    assert!(echoes[0] > 5 && echoes[0] * 2 > echoes[1], "echoes: {echoes:?}");
    let port = found.each_ref().map(|replica| replica.port("server->r").unwrap().utilisation);
    near("utilisation", port, 0.15);
}

/// A download fills its buffer within its slow start, and then loses nothing until the next overflow, which is farther
/// away than the run is long.
#[test]
fn what_a_long_flow_sent_again_before_the_warm_up_ended_does_not_count() {
    let text = |warm_up: &str| {
        format!(
            r#"
            duration = "6 s"
            warm_up = "{warm_up}"
            hosts = {{ server = {{}}, client = {{}} }}
            routers = {{ r = {{}} }}
            [links]
            access = {{ between = ["client", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
            line = {{ between = ["server", "r"], rate = "4 Mbit/s", delay = "40 ms", queue = "30 pkt" }}
            [workloads]
            file.bulk = {{ from = "server", to = "client" }}
            "#
        )
    };
    let again = |warm_up: &str| {
        let found = both(&scenario(&[("s.toml", &text(warm_up))]))?;
        Some(found.map(|replica| replica.counters["file/retransmissions"]))
    };
    let (Some(all), Some(late)) = (again("0 s"), again("5 s")) else { return };
    assert!(all[0] > 5.0 && late[0] < all[0] / 2.0, "rehearsed: {late:?} of {all:?}");
    assert!(all[1] > 5.0 && late[1] < all[1] / 2.0, "simulated: {late:?} of {all:?}");
}

#[test]
fn a_rehearsal_ends_when_it_is_told_to_and_leaves_nothing_open() {
    let _machine = machine();
    let scenario = line(r#"file.bulk = { from = "server", to = "client" }"#);
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    let mut looks = 0;
    let look = &mut |_| {
        looks += 1;
        looks < 20
    };
    let observers = Observers { transfers: None, tap: None, tcp_info: None, look };
    let ended = Rehearsal::default().run(&Task { scenario: &scenario, replica: 0 }, observers);
    match ended {
        Err(Error::Interrupted) => assert_eq!(open(), before),
        Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts: {lacking}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn ports_of_every_kind_carry_the_same() {
    let scenario = line(
        r#"web.transfers = { client = "client", server = "server", rate = "5 /s", request = { constant = "300 B" }, reply = { constant = "10 KB" } }
        flood.cbr = { from = "server", to = "client", rate = "12 Mbit/s", packet = "1000 B" }"#,
    );
    for ports in [PortKind::Packet, PortKind::Xdp] {
        let rehearsal = Rehearsal { ports, ..Rehearsal::OVER_IPV4 };
        let Some(found) = beside(rehearsal, &scenario) else { return };
        let lost =
            found.map(|replica| replica.workloads[1].datagrams.as_ref().unwrap().loss().unwrap());
        near(ports.name(), lost, 0.15);
    }
}

/// A queue counts packets, and a fragment would be one.
#[test]
fn a_large_datagram_is_one_packet_as_in_the_simulation() {
    let scenario = line(
        r#"flood.cbr = { from = "server", to = "client", rate = "12 Mbit/s", packet = "9000 B" }
        rare.poisson = { from = "client", to = "server", rate = "20 /s", size = { constant = "65535 B" } }"#,
    );
    let Some(found) = both(&scenario) else { return };
    let packets =
        found.clone().map(|replica| replica.ports[0].code_points[0].arrived.packets as f64);
    near("packets", packets, 0.05);
    let lost = found
        .clone()
        .map(|replica| replica.workloads[0].datagrams.as_ref().unwrap().loss().unwrap());
    near("lost", lost, 0.15);
    let delay = found.map(|replica| replica.workloads[1].datagrams.as_ref().unwrap().delay);
    near("delay", delay.map(Option::unwrap), 0.05);
}
