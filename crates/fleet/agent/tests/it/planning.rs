//! Who gets what, and what changes.

use shortflow_agent::{Change, Fleet, changes};
use shortflow_deploy::{Kernel, Owners, Site};
use shortflow_units::LinkLayer;

use crate::support::{bundle, fleet};

const MACHINES: &str = r#"
[machines.gw1]
groups = ["branch"]
tags = ["canary"]
interfaces.wan = { device = "eth0", rate = "95 Mbit/s" }
interfaces.lan = { device = "eth1", rate = "900 Mbit/s" }

[machines.gw2]
groups = ["branch"]
interfaces.wan = { device = "ppp0", rate = "9 Mbit/s" }

[machines.shop]
interfaces.up = { device = "eth0", rate = "950 Mbit/s" }
"#;

fn assigned(assignments: &str) -> Fleet {
    fleet(&format!("{MACHINES}{assignments}"))
}

/// The policies of all devices: `machine/device name`.
fn who_gets_what(fleet: &Fleet) -> Vec<String> {
    let of = |machine: &shortflow_agent::Machine| -> Vec<String> {
        let devices = machine.devices.iter().map(|(_, device, target)| {
            let name = target.as_ref().map_or("nothing", |target| &target.policy.name);
            format!("{}/{device} {name}", machine.name)
        });
        devices.collect()
    };
    fleet.machines.iter().flat_map(of).collect()
}

fn lines(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| format!("{} {}", change.device, change.difference)).collect()
}

#[test]
fn an_assignment_without_conditions_reaches_every_interface() {
    let fleet = assigned("[[assign]]\npolicy = \"policies/fq-codel.toml\"\n");
    assert_eq!(
        who_gets_what(&fleet),
        ["gw1/eth0 FQ-CoDel", "gw1/eth1 FQ-CoDel", "gw2/ppp0 FQ-CoDel", "shop/eth0 FQ-CoDel"]
    );
}

#[test]
fn names_groups_tags_and_interfaces_must_all_fit_and_any_of_a_list_does() {
    let one = |conditions: &str| {
        let fleet =
            assigned(&format!("[[assign]]\npolicy = \"policies/fq-codel.toml\"\n{conditions}\n"));
        let mut who = who_gets_what(&fleet);
        who.retain(|line| !line.ends_with("nothing"));
        who.iter().map(|line| line.trim_end_matches(" FQ-CoDel").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(one("machines = [\"gw*\"]\ninterfaces = [\"wan\"]"), ["gw1/eth0", "gw2/ppp0"]);
    assert_eq!(one("groups = [\"branch\"]\ntags = [\"canary\"]"), ["gw1/eth0", "gw1/eth1"]);
    assert_eq!(
        one("machines = [\"shop\", \"gw?\"]\ninterfaces = [\"up\", \"lan\"]"),
        ["gw1/eth1", "shop/eth0"]
    );
}

#[test]
fn of_two_that_reach_an_interface_the_greater_priority_wins_whatever_their_order() {
    let general = "[[assign]]\npolicy = \"policies/fq-codel.toml\"\n";
    let special =
        "[[assign]]\npolicy = \"policies/best-effort.toml\"\npriority = 10\ntags = [\"canary\"]\n";
    for text in [format!("{general}{special}"), format!("{special}{general}")] {
        assert_eq!(
            who_gets_what(&assigned(&text)),
            [
                "gw1/eth0 Best Effort",
                "gw1/eth1 Best Effort",
                "gw2/ppp0 FQ-CoDel",
                "shop/eth0 FQ-CoDel"
            ]
        );
    }
}

#[test]
fn a_plan_says_of_each_device_what_is_new_changed_gone_or_the_same() {
    let before = assigned(
        "[[assign]]\npolicy = \"policies/fq-codel.toml\"\ninterfaces = [\"wan\", \"up\"]\n",
    );
    let after = fleet(
        &(MACHINES.replace("95 Mbit/s", "90 Mbit/s")
            + "[[assign]]\npolicy = \"policies/fq-codel.toml\"\nmachines = [\"gw*\"]\nset = { \"parameters.limit\" = \"99 pkt\" }\n"),
    );
    let between = |name: &str| lines(&changes(before.machine(name), after.machine(name)));
    assert_eq!(
        between("gw1"),
        [
            "eth0 change  rate 95 Mbit/s → 90 Mbit/s; set nothing → parameters.limit = 99 pkt",
            "eth1 new     \"FQ-CoDel\", 900 Mbit/s"
        ]
    );
    assert_eq!(between("shop"), ["eth0 gone    \"FQ-CoDel\", 950 Mbit/s"]);
    let same =
        |fleet: &Fleet, name: &str| lines(&changes(fleet.machine(name), fleet.machine(name)));
    assert_eq!(same(&before, "gw2"), ["ppp0 same    \"FQ-CoDel\", 9 Mbit/s"]);
    assert_eq!(
        lines(&changes(before.machine("gw2"), None)),
        ["ppp0 gone    \"FQ-CoDel\", 9 Mbit/s"],
        "a machine that is taken out gives up what it has"
    );
}

#[test]
fn a_link_layer_of_an_interface_reaches_the_queue_of_its_device() {
    let layer = |wan: &str| {
        let machines = MACHINES.replace("\"95 Mbit/s\" }", &format!("\"95 Mbit/s\"{wan} }}"));
        fleet(&(machines + "[[assign]]\npolicy = \"policies/fq-codel.toml\"\n"))
    };
    let (before, after) = (layer(""), layer(", link_layer = \"docsis\""));
    let docsis: LinkLayer = "docsis".parse().unwrap();
    let reported = |fleet: &Fleet, device: &str| {
        let target = fleet.targets("gw1").unwrap()[device];
        (target.link_layer, target.wanted(site(), &Owners::new()).unwrap().options.link_layer)
    };
    assert_eq!(reported(&before, "eth0"), (None, None));
    assert_eq!(reported(&after, "eth0"), (Some(docsis), Some(docsis)));
    assert_eq!(reported(&after, "eth1"), (None, None), "another interface of the machine");
    let targets = [&before, &after].map(|fleet| fleet.targets("gw1").unwrap()["eth0"]);
    let commands =
        targets.map(|target| format!("{:?}", target.wanted(site(), &Owners::new()).unwrap().tree));
    assert_ne!(commands[0], commands[1], "the kernel is asked for something else");
    let changed = lines(&changes(before.machine("gw1"), after.machine("gw1")));
    assert_eq!(changed[0], format!("eth0 change  link layer none → {docsis}"));
    assert_eq!(
        lines(&changes(None, after.machine("gw1")))[0],
        format!("eth0 new     \"FQ-CoDel\", 95 Mbit/s over {docsis}")
    );
}

/// A device of Ethernet, with a kernel that has every queue.
fn site() -> Site {
    let (kernel, link_header) = (Kernel::default(), 14);
    Site { rate: None, speed: None, link_layer: None, link_header, kernel, nearest: false }
}

#[test]
fn a_label_belongs_to_a_machine_and_changes_the_devices_whose_policy_matches_it() {
    let class = |name: &str, rule: &str| {
        format!(
            "[[roles.host.classes]]\nname = \"{name}\"\n{rule}marker.tcp-state = {{ high = 8, medium = 16 }}\n"
        )
    };
    let policy = format!(
        "name = \"Labelled\"\n{}{}",
        class("shell", "match.label = \"shell\"\n"),
        class("rest", "")
    );
    let of = |shell: &str| {
        let text = format!(
            "[machines.gw1]\nlabels = {{ shell = \"{shell}\" }}\ninterfaces.wan = {{ device = \"eth0\" }}\n\
             interfaces.lan = {{ device = \"eth1\", rate = \"900 Mbit/s\" }}\n\n\
             [[assign]]\npolicy = \"policies/labelled.toml\"\ninterfaces = [\"wan\"]\n\n\
             [[assign]]\npolicy = \"policies/fq-codel.toml\"\ninterfaces = [\"lan\"]\n"
        );
        let bundle = bundle(&text, &[("policies/labelled.toml", &policy)]);
        Fleet::check(&bundle).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    };
    // Whether the group is there only the machine can know.
    let (before, after) = (of("mark:7"), of("cgroup:system.slice/no.such"));
    assert!(after.warnings.is_empty(), "{}", after.warnings);
    assert_eq!(
        lines(&changes(before.machine("gw1"), after.machine("gw1"))),
        [
            "eth0 change  labels shell = mark:7 → shell = cgroup:system.slice/no.such",
            "eth1 same    \"FQ-CoDel\", 900 Mbit/s"
        ]
    );
}
