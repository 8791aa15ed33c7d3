//! `shortflow inline`, as a user meets it.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::deploy::{done, ip, with_a_cable};
use crate::interrupt::signal;
use crate::support::{Ended, run, shortflow};

const POLICY: &str = "policies/best-effort.toml";
const BETWEEN: [&str; 4] = ["--between", "sf0,sf2", "--rate", "10 Mbit/s"];

/// Two cables: the router is between sf0 and sf2.
fn with_two_cables(test: impl FnOnce() + Send + 'static) {
    with_a_cable(|| {
        ip("link add sf2 type veth peer name sf3").unwrap();
        ip("link set sf2 up").unwrap();
        ip("link set sf3 up").unwrap();
        test();
    });
}

fn inline(more: &[&str]) -> Ended {
    run(&[&["inline", POLICY][..], &BETWEEN, more].concat())
}

/// Starts a router, and returns when its program is at both devices.
fn begun(seconds: &str) -> Child {
    let mut command = shortflow(&["inline", POLICY, "--seconds", seconds]);
    let child = command.args(BETWEEN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let begun = Instant::now();
    while ["sf0", "sf2"].iter().any(|device| !description(device).contains("xdp")) {
        assert!(begun.elapsed() < Duration::from_secs(20), "the router does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.unwrap()
}

fn description(device: &str) -> String {
    let words = ["-d", "link", "show", "dev", device];
    let ended = std::process::Command::new("ip").args(words).output().unwrap();
    String::from_utf8(ended.stdout).unwrap()
}

fn ended(child: Child) -> Ended {
    child.wait_with_output().unwrap().into()
}

#[test]
fn one_device_is_counted_as_one() {
    let ended = run(&["inline", POLICY, "--between", "eth1", "--rate", "1 Mbit/s"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("--between names `eth1`, and must name two devices"),
        "{}",
        ended.err
    );
}

#[test]
fn a_policy_on_received_packets_and_a_router_refuse_each_other() {
    with_two_cables(|| {
        let deploy = ["deploy", POLICY, "--dev", "sf2", "--ingress", "--rate", "10 Mbit/s"];
        done(&deploy);
        let refused = inline(&["--seconds", "1"]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        let undeploy = "shortflow undeploy --dev sf2 --ingress";
        for part in ["is deployed on sf2 (received)", undeploy] {
            assert!(refused.err.contains(part), "{}", refused.err);
        }
        done(&["undeploy", "--dev", "sf2", "--ingress"]);
        let router = begun("60");
        let sent = ["deploy", POLICY, "--dev", "sf2", "--rate", "10 Mbit/s"];
        let both = ["deploy", POLICY, "--dev", "sf2", "--up", "2 Mbit/s", "--down", "5 Mbit/s"];
        let dry = [&deploy[..], &["--dry-run"]].concat();
        for words in [&deploy[..], &sent, &both, &dry] {
            let refused = run(words);
            assert_eq!(refused.code, Some(2), "{words:?}: {}", refused.err);
            let expected = "the inline router between sf0 and sf2 has sf2";
            assert!(refused.err.contains(expected), "{words:?}: {}", refused.err);
        }
        signal(&router, "INT");
        let out = ended(router);
        assert_eq!(out.code, Some(0), "nothing was deployed: {}", out.err);
        done(&deploy);
    });
}

#[test]
fn the_last_note_names_the_removal_of_the_bridge_only_if_the_router_made_it() {
    with_two_cables(|| {
        let out = ended(begun("1"));
        assert_eq!(out.code, Some(0), "{}", out.err);
        let note = "the bridge sfbr0 forwards all packets (`ip link del sfbr0` removes it)";
        assert!(out.err.contains(note), "{}", out.err);
        let again = inline(&["--seconds", "1"]);
        assert!(again.err.contains(note), "it was made by an earlier router: {}", again.err);
        ip("link del sfbr0").unwrap();
        ip("link add br9 type bridge").unwrap();
        ip("link set br9 up").unwrap();
        ip("link set sf0 master br9").unwrap();
        ip("link set sf2 master br9").unwrap();
        let own = inline(&["--seconds", "1"]);
        assert!(own.err.contains("the bridge br9 forwards all packets\n"), "{}", own.err);
    });
}

#[test]
fn a_bridge_that_went_down_is_not_said_to_forward() {
    with_two_cables(|| {
        // Within two seconds, the end comes by itself or because of the change.
        let router = begun("2");
        ip("link set sfbr0 down").unwrap();
        let out = ended(router);
        assert!(!out.err.contains("forwards all packets"), "{}", out.err);
        assert!(out.err.contains("sfbr0 is down"), "{}", out.err);
        assert!(out.err.contains("`ip link set dev sfbr0 up`"), "{}", out.err);
        let refused = inline(&["--seconds", "1"]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains("ip link set dev sfbr0 up"), "{}", refused.err);
    });
}

#[test]
fn a_limit_above_what_the_router_keeps_is_named_on_the_terminal_and_in_the_json() {
    with_two_cables(|| {
        let limit = ["--set", "parameters.limit=100000 pkt", "--seconds", "1", "--json"];
        let out = inline(&limit);
        assert_eq!(out.code, Some(0), "{}", out.err);
        assert!(out.err.contains("100000 packets"), "{}", out.err);
        for line in out.out.lines() {
            let report: serde_json::Value = serde_json::from_str(line).unwrap();
            let what = report["warnings"][0]["what"].as_str().unwrap();
            assert!(what.contains("limit = 100000 pkt"), "{what}");
        }
    });
}
