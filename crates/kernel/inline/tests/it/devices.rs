//! Devices and bridges that no router may have.

use std::process::Command;

use shortflow_inline::{Bridge, Inline, Plan, acting_roles, warnings};
use shortflow_policy::from_text;
use shortflow_units::LinkLayer;

use crate::bench::{DEVICES, on_a_bench, run};
use crate::passing::MARKS;

#[test]
fn a_device_with_an_address_is_not_taken_from_its_network() {
    on_a_bench(|_| {
        run("addr add 192.0.2.1/24 dev near").unwrap();
        let refused = Bridge::join(DEVICES).unwrap_err().to_string();
        assert!(refused.contains("192.0.2.1") && refused.contains("bridge"), "{refused}");
    });
}

#[test]
fn a_bridge_that_does_more_than_forward_between_the_two_is_refused() {
    on_a_bench(|_| {
        run("link add br9 type bridge forward_delay 0").unwrap();
        DEVICES.iter().for_each(|device| run(&format!("link set {device} master br9")).unwrap());
        let refused = |what: &str| {
            let message = Bridge::join(DEVICES).unwrap_err().to_string();
            assert!(message.contains(what), "{message}");
        };
        run("link set br9 up").unwrap();
        let bridge = Bridge::join(DEVICES).unwrap();
        assert!(!bridge.is_new && !bridge.is_made_here());
        run("link add third type veth peer name other").unwrap();
        run("link set third master br9").unwrap();
        refused("has the ports");
        run("link set third nomaster").unwrap();
        run("link set near type bridge_slave isolated on").unwrap();
        refused("isolates its port near");
        run("link set near type bridge_slave isolated off").unwrap();
        run("link set br9 type bridge stp_state 1").unwrap();
        refused("spanning tree");
    });
}

#[test]
fn a_bridge_or_a_port_that_is_down_is_refused_with_the_command_that_switches_it_on() {
    on_a_bench(|_| {
        run("link add br9 type bridge").unwrap();
        DEVICES.iter().for_each(|device| run(&format!("link set {device} master br9")).unwrap());
        run("link set near down").unwrap();
        for device in ["br9", "near"] {
            let refused = Bridge::join(DEVICES).unwrap_err();
            let expected = format!(
                "{device} is down, so no packet would pass without the router\nswitch it on: ip link set dev {device} up"
            );
            assert_eq!(refused.to_string(), expected);
            assert!(refused.is_of_input());
            run(&format!("link set dev {device} up")).unwrap();
        }
        Bridge::join(DEVICES).unwrap();
    });
}

#[test]
fn the_two_ends_of_a_cable_are_refused() {
    on_a_bench(|_| {
        run("link add p0 type veth peer name p1").unwrap();
        for ends in [["p0", "p1"], ["p1", "p0"]] {
            let refused = Bridge::join(ends).unwrap_err();
            assert!(refused.is_of_input() && refused.to_string().contains("two ends"), "{refused}");
        }
        let found = Command::new("ip").args(["link", "show", "type", "bridge"]).output().unwrap();
        assert!(found.stdout.is_empty(), "no bridge is made");
    });
}

#[test]
fn in_place_of_a_bridge_its_ports_are_asked_for() {
    on_a_bench(|_| {
        run("link add br9 type bridge").unwrap();
        let refused = Bridge::join(["br9", "near"]).unwrap_err().to_string();
        assert!(
            refused.contains("br9 is a bridge") && refused.contains("two devices"),
            "{refused}"
        );
        DEVICES.iter().for_each(|device| run(&format!("link set {device} master br9")).unwrap());
        let refused = Bridge::join(["br9", "near"]).unwrap_err().to_string();
        assert!(refused.contains("--between near,far"), "{refused}");
    });
}

#[test]
fn what_the_kernel_refuses_is_shown_without_a_wrong_cause() {
    on_a_bench(|_| {
        // The kernel lets no device with a macvlan device above it into a bridge.
        run("link add link near name upper type macvlan mode bridge").unwrap();
        let refused = Bridge::join(DEVICES).unwrap_err().to_string();
        assert!(refused.contains("`ip link set dev near master"), "{refused}");
        assert!(!refused.contains("root"), "{refused}");
    });
}

#[test]
fn a_second_router_at_the_same_devices_is_refused() {
    on_a_bench(|_| {
        let policy = from_text("p.toml", MARKS, &[]).unwrap();
        let rates = ["100 Mbit/s".parse().unwrap(); 2];
        let plan = Plan::new(acting_roles(&policy, &[]).unwrap(), rates, LinkLayer::default(), 1);
        let plan = plan.unwrap();
        let bridge = Bridge::join(DEVICES).unwrap();
        let _first = Inline::attach(&bridge, DEVICES, &plan).unwrap();
        let refused = Inline::attach(&bridge, DEVICES, &plan).err().expect("it is refused");
        let expected =
            "the inline router between near and far has near already\nend that router first";
        assert!(refused.is_of_input() && refused.to_string().starts_with(expected), "{refused}");
        // It is not advised to take the device out of the bridge of the first one.
        run("link add third type veth peer name other").unwrap();
        let refused = Bridge::join(["near", "third"]).unwrap_err();
        assert!(refused.to_string().starts_with(expected), "{refused}");
    });
}

#[test]
fn limits_and_frames_above_what_the_router_keeps_are_named() {
    on_a_bench(|_| {
        let found = |limit: &str| {
            let text = format!(
                "[[roles.core.queue.strict-priority.bands]]\nmatch = {{ dscp = \"EF\" }}\n\
                 queue.fifo = {{ limit = \"{limit}\" }}\n\
                 [[roles.core.queue.strict-priority.bands]]\nqueue.fifo = {{ limit = \"768 pkt\" }}\n"
            );
            let policy = from_text("p.toml", &text, &[]).unwrap();
            let rates = ["1 Mbit/s".parse().unwrap(); 2];
            let roles = acting_roles(&policy, &[]).unwrap();
            let plan = Plan::new(roles, rates, LinkLayer::default(), 1).unwrap();
            let found = warnings(&plan, DEVICES).unwrap();
            found.into_iter().map(|warning| warning.to_string()).collect::<Vec<_>>()
        };
        assert!(found("32000 pkt").is_empty() && found("48 MB").is_empty());
        let key = "roles.core.queue.strict-priority.bands.0.queue.fifo.limit";
        for (limit, packets) in [("32001 pkt", 32_769), ("60 MB", 40_768)] {
            let found = found(limit).concat();
            let expected = format!(
                "role \"core\" may queue {packets} packets ({key} = {limit}, and 1 more), and the router drops those above 32768"
            );
            assert!(found.starts_with(&expected), "{found}");
            assert!(found.contains(&format!("--set '{key}=")), "{found}");
        }
        run("link set far mtu 9000").unwrap();
        let found = found("10 pkt").concat();
        assert!(found.starts_with("far has an MTU of 9000 bytes"), "{found}");
        run("link set far mtu 3818").unwrap();
    });
}
