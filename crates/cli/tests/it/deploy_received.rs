//! `--ingress`, and both directions in one command, as a user meets them.

#![cfg(target_os = "linux")]

use std::process::Command;

use crate::deploy::{STRICT, done, ip, queues, tc, with_a_cable, wrong};
use crate::deploy_state::put_right;
use crate::support::run;

const BOTH: [&str; 6] = ["--dev", "sf0", "--up", "10 Mbit/s", "--down", "50 Mbit/s"];

fn output(program: &str, arguments: &str) -> String {
    let ended = Command::new(program).args(arguments.split(' ')).output().unwrap();
    String::from_utf8(ended.stdout).unwrap()
}

/// What stands at the device and at its ifb device.
fn seen() -> String {
    let classes = ["sf0", "sf-sf0"].map(|device| output("tc", &format!("class show dev {device}")));
    classes.concat()
        + &output("tc", "filter show dev sf0 ingress")
        + &output("ip", "-o link show type ifb")
}

#[test]
fn both_directions_are_deployed_shown_reloaded_and_taken_away_in_one_command() {
    with_a_cable(|| {
        let before = queues();
        let set = ["--set", "parameters.limit=77 pkt", "--set-up", "parameters.limit=33 pkt"];
        let out = done(&[&["deploy", STRICT][..], &BOTH, &set].concat());
        let expected = "sf0: policy \"Strict Priority\", role core, 10 Mbit/s, 3 classes\n\
                        sf0 (received): policy \"Strict Priority\", role core, 50 Mbit/s, 3 classes\n";
        assert_eq!(out, expected);
        let limits = |device: &str| output("tc", &format!("qdisc show dev {device}"));
        assert!(limits("sf0").contains("limit 33p") && !limits("sf0").contains("limit 77p"));
        assert!(limits("sf-sf0").contains("limit 77p") && !limits("sf-sf0").contains("limit 33p"));
        let status = done(&["status"]);
        assert!(
            status.contains("sf0: policy") && status.contains("sf0 (received): policy"),
            "{status}"
        );
        let json: serde_json::Value =
            serde_json::from_str(&done(&["status", "--dev", "sf0", "--json"])).unwrap();
        let directions: Vec<_> =
            json["devices"].as_array().unwrap().iter().map(|it| &it["direction"]).collect();
        assert_eq!(directions, ["sent", "received"]);
        assert_eq!(json["devices"][1]["ifb"], "sf-sf0");

        // Each half keeps its own values.
        let again = ["reload", STRICT, "--dev", "sf0", "--up", "9 Mbit/s", "--down", "40 Mbit/s"];
        let out = done(&again);
        assert!(out.contains("core, 9 Mbit/s") && out.contains("core, 40 Mbit/s"), "{out}");
        assert!(limits("sf0").contains("limit 33p") && limits("sf-sf0").contains("limit 77p"));
        let out = done(&["reload", STRICT, "--dev", "sf0", "--up", "8 Mbit/s"]);
        assert!(out.contains("core, 8 Mbit/s") && out.contains("core, 40 Mbit/s"), "{out}");
        let out = done(&["reload", STRICT, "--dev", "sf0", "--down", "45 Mbit/s"]);
        assert!(out.contains("core, 8 Mbit/s") && out.contains("core, 45 Mbit/s"), "{out}");
        let reset = run(&["reload", STRICT, "--dev", "sf0", "--up", "9 Mbit/s", "--reset"]);
        assert_eq!(reset.code, Some(2), "{}", reset.out);
        assert!(
            reset.err.contains("missing --down RATE, which --up requires: --reset keeps"),
            "{}",
            reset.err
        );
        done(&again);
        let out = done(&["reload", STRICT, "--dev", "sf0", "--ingress", "--rate", "30 Mbit/s"]);
        assert!(out.starts_with("sf0 (received): ") && out.contains("30 Mbit/s"), "{out}");
        assert!(output("tc", "class show dev sf0").contains("ceil 9Mbit"));

        done(&["undeploy", "--dev", "sf0", "--ingress"]);
        let alone = run(&["reload", STRICT, "--dev", "sf0", "--up", "9 Mbit/s"]);
        assert_eq!(alone.code, Some(2), "{}", alone.out);
        assert!(alone.err.contains("or give --rate for this direction alone"), "{}", alone.err);

        let out = done(&["undeploy", "--dev", "sf0"]);
        assert!(out.starts_with("sf0: restored to the previous state"), "{out}");
        assert_eq!(queues(), before);
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");
    });
}

#[test]
fn a_reload_without_a_direction_reloads_both_of_a_policy_and_says_which_it_leaves() {
    with_a_cable(|| {
        done(&[&["deploy", STRICT][..], &BOTH].concat());
        let reload = |arguments: &[&str]| {
            let ended = run(&[&["reload", "--dev", "sf0"][..], arguments].concat());
            assert_eq!(ended.code, Some(0), "{}", ended.err);
            (ended.out, ended.err)
        };
        let other = "policies/best-effort.toml";
        let (out, _) = reload(&[other]);
        let expected = "sf0: policy \"Best Effort\", role core, 10 Mbit/s, 1 class\n\
                        sf0 (received): policy \"Best Effort\", role core, 50 Mbit/s, 1 class\n";
        assert_eq!(out, expected);
        let left = "this does not change what sf0 receives, which has policy \"Best Effort\": add --ingress";
        let (out, err) = reload(&[STRICT, "--rate", "9 Mbit/s"]);
        assert!(!out.contains("(received)") && err.contains(left), "{out}{err}");
        // The two directions have different policies by now.
        let (out, err) = reload(&[STRICT]);
        assert!(!out.contains("(received)") && err.contains(left), "{out}{err}");
        let (out, err) = reload(&[STRICT, "--ingress"]);
        assert!(out.starts_with("sf0 (received)") && !err.contains(left), "{out}{err}");
        done(&["undeploy", "--dev", "sf0"]);
    });
}

#[test]
fn a_dry_run_of_both_directions_prints_what_is_then_done() {
    with_a_cable(|| {
        let before = queues();
        let dry = done(&[&["deploy", STRICT, "--dry-run"][..], &BOTH].concat());
        assert_eq!(queues(), before);
        assert_eq!(dry.matches("dev sf0 clsact").count(), 1, "{dry}");
        let shell = |script: &str| {
            let ended = Command::new("sh").args(["-euc", script]).status().expect("there is sh");
            assert!(ended.success(), "{script}");
        };
        // The action of a filter has a number, which the kernel gives.
        let without_number = |text: String| {
            let lines = text.lines().filter(|line| !line.contains("ref 1 bind 1"));
            // The address of an ifb device is random, and its index the next.
            let lines = lines.filter(|line| !line.contains("sf-sf0: <"));
            lines.collect::<Vec<_>>().join("\n")
        };
        shell(&dry);
        let by_hand = without_number(seen());
        let status = done(&["status"]);
        assert!(status.contains("sf0 (received): policy \"Strict Priority\""), "{status}");
        let removal = done(&["undeploy", "--dev", "sf0", "--dry-run"]);
        shell(&removal);
        assert_eq!(queues(), before, "{removal}");
        done(&[&["deploy", STRICT][..], &BOTH].concat());
        assert_eq!(without_number(seen()), by_hand);
        done(&["undeploy", "--dev", "sf0"]);
    });
}

#[test]
fn a_redirect_or_a_device_that_is_gone_is_wrong_and_the_printed_command_repairs_it() {
    with_a_cable(|| {
        let ingress = ["--dev", "sf0", "--ingress", "--rate", "10 Mbit/s"];
        done(&[&["deploy", STRICT][..], &ingress].concat());
        for (program, change) in [
            ("tc", "filter del dev sf0 ingress pref 21321"),
            ("tc", "qdisc del dev sf0 clsact"),
            ("ip", "link del dev sf-sf0"),
            ("ip", "link set dev sf-sf0 down"),
        ] {
            if program == "tc" {
                tc(change)
            } else {
                ip(change).unwrap()
            }
            let status = wrong();
            assert!(status.starts_with("sf0 (received): "), "{status}");
            assert!(status.contains("shortflow undeploy --dev sf0 --ingress"), "{status}");
            put_right(&status, STRICT);
            let status = done(&["status", "--dev", "sf0"]);
            assert!(status.contains("core, 10 Mbit/s") && !status.contains("WRONG"), "{status}");
        }
        let out = done(&["undeploy", "--dev", "sf0", "--ingress"]);
        assert!(out.starts_with("sf0 (received): restored"), "{out}");
    });
}

#[test]
fn what_makes_no_sense_is_refused_by_name_and_changes_nothing() {
    with_a_cable(|| {
        let before = queues();
        let refused = |arguments: &[&str], message: &str| {
            let ended = run(&[&["deploy", STRICT, "--dev", "sf0"][..], arguments].concat());
            assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.err);
            assert!(ended.err.contains(message), "{arguments:?}: {}", ended.err);
            assert_eq!(queues(), before);
        };
        let up = ["--up", "10 Mbit/s"];
        let both = [&up[..], &["--down", "10 Mbit/s"]].concat();
        refused(&[&both[..], &["--rate", "9 Mbit/s"]].concat(), "--rate");
        refused(&[&both[..], &["--ingress"]].concat(), "--ingress");
        refused(&up, "--down");
        refused(&["--rate", "9 Mbit/s", "--set-down", "a=b"], "--set-down");
        refused(&["--set-up", "a=b"], "--up");
        refused(&["--rate", "9 Mbit/s", "--mpu", "9 KB"], "write 0 B to 256 B");
        refused(&["--rate", "9 Mbit/s", "--link-layer", "overhead 5000"], "is out of range");
        refused(&["--up", "10 kbit/s", "--down", "10 Mbit/s"], "64 kbit/s");
        // What one half cannot have is refused before the other one is changed.
        tc("qdisc add dev sf0 root handle 7: pfifo limit 9");
        let foreign = queues();
        let ended = run(&[&["deploy", STRICT, "--dev", "sf0"][..], &both].concat());
        assert_eq!((ended.code, queues()), (Some(3), foreign), "{}", ended.err);
        tc("qdisc del dev sf0 root");

        done(&[&["deploy", STRICT, "--dev", "sf0"][..], &both].concat());
        let ended = run(&[&["deploy", STRICT, "--dev", "sf0"][..], &both].concat());
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("--up '10 Mbit/s' --down '10 Mbit/s'"), "{}", ended.err);
        for command in [&["status"][..], &["undeploy"], &["deploy", STRICT, "--rate", "9 Mbit/s"]] {
            let ended = run(&[command, &["--dev", "sf-sf0"]].concat());
            assert_eq!(ended.code, Some(2), "{}", ended.err);
            assert!(ended.err.contains("`--dev sf0 --ingress`"), "{}", ended.err);
        }
        done(&["undeploy", "--dev", "sf0"]);
        let ended = run(&["undeploy", "--dev", "sf0", "--ingress"]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("nothing is deployed on sf0 (received)"), "{}", ended.err);
        assert_eq!(queues(), before);
    });
}

#[test]
fn a_doctor_says_whether_received_packets_can_be_shaped() {
    let ended = run(&["doctor", "--ingress"]);
    for part in ["ifb (CONFIG_IFB, ifb)", "mirred (CONFIG_NET_ACT_MIRRED, act_mirred)"] {
        assert!(ended.out.contains(part), "{}", ended.out);
    }
    let needed = ended.out.lines().filter(|line| line.contains("needed by"));
    assert!(needed.clone().any(|line| line.contains("mirred")), "{}", ended.out);
}
