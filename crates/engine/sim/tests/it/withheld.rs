//! A profile inside TCP (Mehra, Tewari & Kandlur 1999, §4.1 and §6) beside the same profile behind it.

use shortflow_measure::Replica;

use crate::aggregate::{FAIR, goodputs, server, shaper};
use crate::bench::{run, scenario_under};

fn shaped(sharing: &str, place: &str) -> Replica {
    server(&shaper(sharing, &format!(", place = \"{place}\"")), [500; 3])
}

/// Each connection has a window of 40 KB. Behind TCP, what exceeds its share of a round trip waits: two
/// seconds for 40 KB at 20 KB/s. Inside TCP a packet waits for the line at most, and round trips are those of
/// the path.
#[test]
fn inside_tcp_nothing_waits_behind_it_so_that_round_trips_are_those_of_the_path() {
    for sharing in ["partitioned", "logical", "common"] {
        let wait = |place| shaped(sharing, place).port("server->router").unwrap().mean_wait;
        let (inside, behind) = (wait("tcp"), wait("queue"));
        assert!(inside < 0.005, "{sharing}: {inside} s");
        assert!((1.2..2.0).contains(&behind), "{sharing}: {behind} s");
    }
}

/// The tokens are the same, wherever segments wait for them.
#[test]
fn both_places_give_each_connection_its_share() {
    for place in ["tcp", "queue"] {
        for sharing in ["partitioned-by-rtt", "logical-equal"] {
            let got = goodputs(&shaped(sharing, place));
            assert!(got.iter().all(|got| (got - FAIR).abs() < 0.2), "{sharing} {place}: {got:?}");
        }
    }
}

/// A server with a profile sends files and datagrams; the next router polices the same profile, and counts what
/// conforms.
fn policed(place: &str, more: &str) -> Replica {
    let policy = format!(
        r#"
        [roles.server]
        {}
        [[roles.border.classes]]
        name = "all"
        marker.token-bucket = {{ rate = "480 kbit/s", depth = "30 KB" }}
        police = {{ yellow = "drop" }}
        "#,
        shaper("logical-equal", &format!(", place = \"{place}\"")),
    );
    let scenario = format!(
        r#"
        duration = "60 s"
        policy = "policy.toml"
        hosts = {{ server = {{}}, client = {{}} }}
        routers = {{ router = {{}} }}
        bind = [
            {{ role = "server", at = "server", to = "router" }},
            {{ role = "border", at = "router", from = "server" }},
        ]
        [links]
        access = {{ between = ["server", "router"], rate = "100 Mbit/s", delay = "1 ms" }}
        line = {{ between = ["router", "client"], rate = "100 Mbit/s", delay = "20 ms", loss = 0.01 }}
        [workloads.files.transfers]
        client = "client"
        server = "server"
        rate = "3 /s"
        request.constant = "100 B"
        reply.constant = "15 KB"
        {more}
        "#
    );
    run(&scenario_under(&policy, &scenario)).replica
}

/// §4: the profile holds over every interval, so that who polices the same bucket finds nothing beyond it, whether
/// segments, retransmissions, acknowledgements or datagrams leave.
#[test]
fn whoever_polices_the_same_profile_drops_nothing() {
    let calls = r#"
        [workloads.calls.cbr]
        from = "server"
        to = "client"
        rate = "60 kbit/s"
        packet = "200 B"
    "#;
    for more in ["", calls] {
        let replica = policed("tcp", more);
        let marked = |color| {
            let name = format!("router<-server/all/marked {color} packets");
            replica.counters[&name]
        };
        assert_eq!(marked("yellow"), 0.0);
        assert!(marked("green") > 2_500.0, "{}", marked("green"));
    }
}

/// Datagrams wait for tokens in the queue, files in TCP. A datagram's turn comes with the turn of a TCP that goes on,
/// between two expiries of the timer, and it leaves at once.
#[test]
fn datagrams_that_wait_beside_connections_leave_when_their_turn_comes() {
    let flood = r#"
        [workloads.flood.cbr]
        from = "server"
        to = "client"
        rate = "400 kbit/s"
        packet = "700 B"
    "#;
    let replica = policed("tcp", flood);
    let named =
        |name: &str| replica.workloads.iter().find(|workload| workload.name == name).unwrap();
    assert_eq!(replica.counters["router<-server/all/marked yellow packets"], 0.0);
    let (flood, files) = (named("flood").datagrams.as_ref().unwrap(), named("files"));
    assert!(flood.delivered > 500, "{} datagrams", flood.delivered);
    assert!(files.delivered_bytes > 1_000_000, "{} bytes", files.delivered_bytes);
}
