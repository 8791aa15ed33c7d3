//! What `status`, `reload` and `undeploy` do when somebody has removed a whole deployment.

#![cfg(target_os = "linux")]

use crate::deploy::{AT, STRICT, done, ip, queues, tc, with_a_cable, wrong};
use crate::deploy_state::put_right;
use crate::support::run;

const QUEUES_GONE: &str = "WRONG: the queues of role `core` are missing on the device";

fn is_well() {
    let status = done(&["status", "--dev", "sf0"]);
    assert!(!status.contains("WRONG"), "{status}");
}

#[test]
fn queues_that_are_removed_together_with_the_place_for_filters_are_missed() {
    with_a_cable(|| {
        let before = queues();
        done(&[&["deploy", STRICT][..], &AT, &["--set", "parameters.limit=77 pkt"]].concat());
        tc("qdisc del dev sf0 root");
        tc("qdisc del dev sf0 clsact");
        let status = wrong();
        assert!(status.starts_with("sf0: policy \"Strict Priority\"\n"), "{status}");
        assert!(status.contains(QUEUES_GONE), "{status}");
        assert_eq!(run(&["status"]).code, Some(1), "without a device, too");
        put_right(&status, STRICT);
        is_well();
        assert!(queues().contains("limit 77p"));

        // Somebody else's queue does not hide it.
        tc("qdisc del dev sf0 clsact");
        tc("qdisc replace dev sf0 root handle 9: pfifo limit 9");
        let status = wrong();
        assert!(
            status.contains(&format!("{QUEUES_GONE}; pfifo 9: of another program")),
            "{status}"
        );
        put_right(&status, STRICT);
        is_well();

        // `undeploy` ends it, and another policy may come.
        tc("qdisc del dev sf0 root");
        tc("qdisc del dev sf0 clsact");
        done(&["undeploy", "--dev", "sf0"]);
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");
        assert_eq!(queues(), before);
        done(&[&["deploy", STRICT][..], &AT].concat());
        done(&["undeploy", "--dev", "sf0"]);
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");
    });
}

#[test]
fn a_place_for_filters_that_holds_nothing_is_not_missed_and_the_queues_are() {
    with_a_cable(|| {
        done(&[&["deploy", STRICT][..], &AT].concat());
        // Nothing marks: the device queues as before.
        tc("qdisc del dev sf0 clsact");
        is_well();
        done(&[&["reload", STRICT][..], &AT].concat());
        tc("qdisc del dev sf0 root");
        let status = wrong();
        assert!(status.contains(QUEUES_GONE), "{status}");
        // Another policy is deployed as on a device that has none.
        done(&[&["deploy", "policies/best-effort.toml"][..], &AT].concat());
        is_well();
        tc("qdisc del dev sf0 root");
        assert!(wrong().contains("policy \"Best Effort\""), "{}", wrong());
    });
}

#[test]
fn a_record_that_is_removed_is_missed_and_the_options_in_it_are_kept() {
    with_a_cable(|| {
        done(&[&["deploy", STRICT][..], &AT, &["--set", "parameters.limit=77 pkt"]].concat());
        tc("filter del dev sf0 parent 5f00: pref 101");
        let status = wrong();
        assert!(status.contains("--set 'parameters.limit=77 pkt'"), "{status}");
        done(&["reload", STRICT, "--dev", "sf0"]);
        is_well();
        assert!(queues().contains("limit 77p"));
    });
}

#[test]
fn a_device_that_is_renamed_keeps_what_is_known_of_its_deployment() {
    let rename = |from: &str, to: &str| {
        ip(&format!("link set {from} down")).unwrap();
        ip(&format!("link set {from} name {to}")).unwrap();
        ip(&format!("link set {to} up")).unwrap();
    };
    with_a_cable(move || {
        done(&[&["deploy", STRICT][..], &AT].concat());
        rename("sf0", "sf7");
        done(&["undeploy", "--dev", "sf7"]);
        rename("sf7", "sf0");
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");

        done(&[&["deploy", STRICT][..], &AT].concat());
        rename("sf0", "sf7");
        tc("qdisc del dev sf7 root");
        tc("qdisc del dev sf7 clsact");
        let status = run(&["status"]);
        assert_eq!(status.code, Some(1), "{}", status.out);
        assert!(status.out.contains(QUEUES_GONE), "{}", status.out);
        // Another device of the old name has never had it.
        ip("link add sf0 type veth peer name sf8").unwrap();
        assert_eq!(run(&["status", "--dev", "sf0"]).code, Some(2));
        done(&["undeploy", "--dev", "sf7"]);
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");
    });
}

#[test]
#[cfg(feature = "ebpf")]
fn a_marker_is_missed_on_a_device_that_is_renamed_and_with_its_queues() {
    use crate::deploy_state::{BOTH, is_marking};
    with_a_cable(|| {
        if !is_marking() {
            return;
        }
        tc("qdisc del dev sf0 root");
        tc("qdisc del dev sf0 clsact");
        let status = wrong();
        assert!(status.contains(QUEUES_GONE), "{status}");
        let marker = "WRONG: the marking program of role `edge` is missing on the device, as is `clsact`: no packet is marked";
        assert!(status.contains(marker), "{status}");
        put_right(&status, BOTH[0]);
        is_well();
        done(&["undeploy", "--dev", "sf0"]);

        let marks = ["--role", "edge", "--dev", "sf0"];
        done(&[&["deploy", BOTH[0]][..], &marks].concat());
        ip("link set sf0 down").unwrap();
        ip("link set sf0 name sf7").unwrap();
        tc("qdisc del dev sf7 clsact");
        let status = run(&["status"]);
        assert_eq!(status.code, Some(1), "{}", status.out);
        assert!(status.out.contains(marker), "{}", status.out);
        done(&["undeploy", "--dev", "sf7"]);
        ip("link set sf7 name sf0").unwrap();
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");
    });
}
