//! A router ends when its bridge changes, and says what to do.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use shortflow_deploy::{Kernel, Received, Site, Tc, Wanted};
use shortflow_inline::{Bridge, Inline, Plan, acting_roles};
use shortflow_policy::from_text;
use shortflow_units::LinkLayer;

use crate::bench::{DEVICES, on_a_bench, run};
use crate::passing::MARKS;

/// What a router says as its end after something was done while it ran.
fn ended(mut act: impl FnMut()) -> String {
    let policy = from_text("p.toml", MARKS, &[]).unwrap();
    let rates = ["100 Mbit/s".parse().unwrap(); 2];
    let plan = Plan::new(acting_roles(&policy, &[]).unwrap(), rates, LinkLayer::default(), 1);
    let bridge = Bridge::join(DEVICES).unwrap();
    let mut router = Inline::attach(&bridge, DEVICES, &plan.unwrap()).unwrap();
    assert_eq!(router.change(), None);
    let (stop, begun) = (AtomicBool::new(false), Instant::now());
    let interval = shortflow_units::Duration::from_millis(100);
    let mut is_changed = false;
    let ended = router.run(&stop, interval, |_| {
        if !is_changed {
            act();
            is_changed = true;
        }
        match begun.elapsed() > Duration::from_secs(20) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    ended.unwrap_err().to_string()
}

/// The first line of what it says.
const FIRST: &str = "the bridge sfbr0 or its ports changed, so the router ended\n";

/// These commands to `ip` end a router, and it says this after its first line.
fn says(commands: &'static [&'static str], expected: &'static str) {
    on_a_bench(move |_| {
        let message = ended(|| commands.iter().for_each(|command| run(command).unwrap()));
        assert_eq!(message.strip_prefix(FIRST), Some(expected), "{message}");
    });
}

#[test]
fn a_bridge_that_is_switched_off_ends_the_router() {
    let expected = "sfbr0 is down\nswitch it on (`ip link set dev sfbr0 up`); then start it again";
    says(&["link set sfbr0 down"], expected);
}

#[test]
fn a_port_that_is_switched_off_ends_the_router() {
    let expected = "far is down\nswitch it on (`ip link set dev far up`); then start it again";
    says(&["link set far down"], expected);
}

#[test]
fn a_bridge_that_is_gone_is_made_again_by_the_next_start() {
    says(&["link del sfbr0"], "sfbr0 is gone\nstart it again");
}

#[test]
fn a_device_without_the_bridge_comes_back_by_the_next_start() {
    says(&["link set near nomaster"], "near is no port of sfbr0\nstart it again");
}

#[test]
fn a_device_in_another_bridge_must_be_put_back() {
    let expected = "near is no port of sfbr0\n\
        put it back (`ip link set dev near master sfbr0`); then start it again";
    says(&["link add br9 type bridge", "link set near master br9"], expected);
}

#[test]
fn a_device_that_is_gone_must_come_back_before_another_start() {
    let expected = "near was removed, or moved to another network namespace\n\
        bring it back; then start it again";
    says(&["link del near"], expected);
}

#[test]
fn a_device_with_another_name_is_named_by_it() {
    let expected = "near was renamed to nearer\nstart it with the new name nearer in --between";
    says(&["link set near down", "link set near name nearer"], expected);
}

#[test]
fn a_third_port_must_be_taken_out_before_another_start() {
    let expected = "sfbr0 has the ports near, far, third\n\
        leave it two ports (`ip link set dev third nomaster`); then start it again";
    let commands = &["link add third type veth peer name other", "link set third master sfbr0"];
    says(commands, expected);
}

#[test]
fn a_bridge_that_runs_the_spanning_tree_protocol_ends_the_router() {
    let expected = "sfbr0 runs the spanning tree protocol\n\
        switch that off (`ip link set dev sfbr0 type bridge stp_state 0`); then start it again";
    says(&["link set sfbr0 type bridge stp_state 1"], expected);
}

#[test]
fn an_ethernet_address_that_changes_ends_the_router() {
    let expected = "an Ethernet address of this machine changed\nstart it again";
    says(&["link set sfbr0 address 02:00:00:00:00:77"], expected);
}

/// Deploys a queue on what a device receives, without asking whether a router has the device.
fn deploy_on_received(device: &str) {
    let text = "name = \"Queue\"\n[roles.core]\nqueue.fifo = { limit = \"9 pkt\" }\n";
    let policy = from_text("p.toml", text, &[]).unwrap();
    let site = Site {
        rate: Some("2 Mbit/s".parse().unwrap()),
        speed: None,
        link_layer: None,
        link_header: 14,
        kernel: Kernel::default(),
        nearest: false,
    };
    let wanted = Wanted::from_policy(&policy, &[], &site).unwrap();
    let received = Received::observe(device).unwrap();
    let tc = received.way(Tc::new(device));
    let steps = received.steps(&tc, &wanted).unwrap();
    received.apply(tc, &wanted, &steps).unwrap();
}

#[test]
fn a_policy_that_is_deployed_on_received_packets_ends_the_router_and_keeps_the_next_one_out() {
    on_a_bench(|_| {
        let message = ended(|| deploy_on_received("far"));
        let expected = "policy \"Queue\" was deployed on far (received)\n\
            remove it (`shortflow undeploy --dev far --ingress`); then start it again";
        assert_eq!(message.strip_prefix(FIRST), Some(expected), "{message}");
        let policy = from_text("p.toml", MARKS, &[]).unwrap();
        let rates = ["100 Mbit/s".parse().unwrap(); 2];
        let plan = Plan::new(acting_roles(&policy, &[]).unwrap(), rates, LinkLayer::default(), 1);
        let bridge = Bridge::join(DEVICES).unwrap();
        let refused = Inline::attach(&bridge, DEVICES, &plan.unwrap()).err().unwrap();
        assert!(refused.is_of_input(), "{refused}");
        assert!(refused.to_string().contains("is deployed on far (received)"), "{refused}");
    });
}
