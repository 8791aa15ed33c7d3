//! Plans of customers on devices, as a user meets them.

use std::path::Path;

use shortflow_deploy::{Kind, examine_kernel};

use crate::deploy::{AT, STRICT, done, ip, queues, with_a_cable};
use crate::plans::PLANS;
use crate::support::run;

const CUSTOMERS: &str = "name,addresses,down,up,site\nA,192.0.2.1,25 Mbit/s,5 Mbit/s,tower\n";

/// Plans in a folder, with a queue that this kernel has.
fn write(folder: &Path, customers: &str) -> String {
    let queue = if examine_kernel().0.lacks(Kind::FqCodel) { "fifo" } else { "fq-codel" };
    std::fs::write(folder.join("customers.csv"), customers).unwrap();
    let plans = folder.join("plans.toml");
    std::fs::write(&plans, format!("queue = \"{queue}\"\n{PLANS}")).unwrap();
    plans.to_str().unwrap().to_owned()
}

#[test]
fn plans_are_deployed_on_both_devices_looked_at_changed_and_removed() {
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let plans = write(folder.path(), CUSTOMERS);
        let before = queues();
        let both = ["--down", "sf0", "--up", "sf1"];
        let said = done(&[&["deploy", &plans][..], &both].concat());
        let what = "plans \"Village\": 1 customer with 1 address or prefix, 1 site";
        assert_eq!(said, format!("sf0: {what} down\nsf1: {what} up\n"));
        let status = done(&["status"]);
        assert!(
            status.contains(
                "sf0: plans \"Village\" down, 1 customers behind 1 sites, line 100 Mbit/s\n"
            ),
            "{status}"
        );
        assert!(status.contains("  site tower  at most 10 Mbit/s  sent 0 B"), "{status}");
        let json: serde_json::Value = serde_json::from_str(&done(&["status", "--json"])).unwrap();
        assert_eq!(json["devices"].as_array().unwrap().len(), 0);
        assert_eq!(json["plans"][1]["customers"][0]["at_most_bit_per_s"], 5_000_000);

        let again = run(&[&["deploy", &plans][..], &both].concat());
        assert_eq!(again.code, Some(2));
        assert!(
            again.err.contains("plans \"Village\" are deployed on sf0 already"),
            "{}",
            again.err
        );
        let policy = run(&[&["deploy", STRICT][..], &AT].concat());
        assert_eq!(policy.code, Some(2));
        assert!(policy.err.contains("shortflow undeploy --dev sf0"), "{}", policy.err);
        let verify = run(&["verify", STRICT, "--dev", "sf0", "--peer", "192.0.2.7"]);
        assert_eq!(verify.code, Some(2));
        assert!(verify.err.contains("plans \"Village\" are deployed on sf0"), "{}", verify.err);

        assert_eq!(done(&["reload", &plans]).matches("nothing has changed").count(), 2);
        write(folder.path(), &CUSTOMERS.replace(",5 Mbit/s", ",6 Mbit/s"));
        let said = done(&["reload", &plans]);
        assert!(
            said.starts_with("sf0: plans \"Village\" down: nothing has changed\nsf1: "),
            "{said}"
        );
        assert!(
            said.contains("up: ") && said.contains("commands of tc and 0 prefixes changed"),
            "{said}"
        );

        assert_eq!(done(&["undeploy", "--dev", "sf1"]), "sf1: plans \"Village\" are removed\n");
        done(&["undeploy", "--dev", "sf0"]);
        assert_eq!(queues(), before);
        assert_eq!(done(&["status"]), "no policy is deployed on this machine\n");
        assert_eq!(run(&["undeploy", "--dev", "sf0"]).code, Some(2));
    });
}

#[test]
fn a_second_device_that_cannot_have_plans_leaves_the_first_as_it_was() {
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let plans = write(folder.path(), CUSTOMERS);
        done(&[&["deploy", STRICT][..], &["--dev", "sf1", "--rate", "10 Mbit/s"]].concat());
        let before = queues();
        let ended = run(&["deploy", &plans, "--down", "sf0", "--up", "sf1"]);
        assert_eq!(ended.code, Some(2));
        assert!(
            ended.err.contains("policy \"Strict Priority\" is deployed on sf1"),
            "{}",
            ended.err
        );
        assert_eq!(queues(), before);
        ip("link del sf0").unwrap();
    });
}

#[test]
fn what_plans_do_not_take_is_refused_with_what_to_type() {
    with_a_cable(|| {
        let folder = tempfile::tempdir().unwrap();
        let plans = write(folder.path(), CUSTOMERS);
        let refused = |more: &[&str], part: &str| {
            let ended = run(&[&["deploy", &plans][..], more].concat());
            assert_eq!(ended.code, Some(2), "{more:?}");
            assert!(ended.err.contains(part), "{more:?}: {}", ended.err);
        };
        refused(&[], "--down DEVICE, --up DEVICE");
        refused(&["--dev", "sf0"], "--dev applies to policies");
        refused(&["--down", "sf0", "--nearest"], "--nearest applies to policies");
        refused(&["--down", "20 Mbit/s"], "--down eth0");
        refused(&["--down", "sf0", "--up", "sf0"], "give two devices");
        refused(&["--down", "sf9"], "unknown device `sf9`");
        let ended = run(&["deploy", STRICT, "--dev", "sf0", "--up", "sf0", "--down", "sf1"]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("invalid rate `sf0` for --up"), "{}", ended.err);
        let steps = done(&["deploy", &plans, "--down", "sf0", "--dry-run"]);
        assert!(steps.contains("tc class add dev sf0 parent 5e00:"), "{steps}");
        assert!(!queues().contains("5e00:"), "nothing is changed");
    });
}
