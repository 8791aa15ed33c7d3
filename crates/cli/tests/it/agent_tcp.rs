//! The agent with a policy in its machine's own TCP, in a network namespace of the test's own.

use std::net::{TcpListener, TcpStream};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::agent::{fleet, repository, start, until};
use crate::deploy::{done, ip, with_a_cable};
use crate::deploy_tcp::PROFILES;
use crate::support::run;

const FLEET: &str = r#"
[machines.gw1]
interfaces.own = { tcp = { peer_port = 4711 } }

[[assign]]
policy = "policies/aggregate.toml"
"#;

fn eventually(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{}", run(&["status", "--tcp"]).out);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The name of the congestion control, which each deployment has of its own.
fn control() -> String {
    let status: Value = serde_json::from_str(&run(&["status", "--tcp", "--json"]).out).unwrap();
    status["tcp"]["control"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_keeps_a_policy_in_the_tcp_of_its_machine() {
    let _others_stay = PROFILES.read().unwrap_or_else(PoisonError::into_inner);
    with_a_cable(|| {
        ip("link set lo up mtu 1500").unwrap();
        let listener = TcpListener::bind("127.0.0.1:4711").unwrap();
        let _live = [TcpStream::connect("127.0.0.1:4711").unwrap(), listener.accept().unwrap().0];
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        repository(&at.join("fleet"), FLEET);
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/aggregate.toml");
        std::fs::copy(shipped, at.join("fleet/policies/aggregate.toml")).unwrap();
        let _agent = start(at);
        let summary = "(tcp): \"Aggregate\", in TCP, connections to port 4711";
        until(at, &[&format!("{summary}: done")]);
        let status = done(&["status", "--tcp"]);
        assert!(status.contains("5 Mbit/s with 200 KB"), "{status}");
        assert!(status.contains("  1 connection,"), "{status}");

        // Somebody takes it away: the agent brings it back.
        done(&["undeploy", "--tcp"]);
        until(at, &["another process changed it once"]);
        assert!(done(&["status", "--tcp"]).contains("  1 connection,"));

        let changed = FLEET.to_owned() + "set = { \"parameters.rate\" = \"7 Mbit/s\" }\n";
        std::fs::write(at.join("fleet/fleet.toml"), changed).unwrap();
        let holds = |text: &str| run(&["status", "--tcp"]).out.contains(text);
        eventually(|| holds("7 Mbit/s with 200 KB"));
        let control = control();
        let changed = FLEET.replace("peer_port = 4711", "peer_port = 4712");
        std::fs::write(at.join("fleet/fleet.toml"), changed).unwrap();
        eventually(|| holds("connections to port 4712") && holds("  0 connections,"));
        assert_eq!(self::control(), control, "the profile stays while its connections change");

        std::fs::write(at.join("fleet/fleet.toml"), fleet("without")).unwrap();
        eventually(|| holds("no policy is deployed in TCP"));
    });
}
