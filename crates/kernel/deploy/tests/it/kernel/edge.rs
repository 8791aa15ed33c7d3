//! Packets that are marked before they wait.

use shortflow_deploy::{DeviceStatus, Edge, Error, Owners, Step, Tc, compile_edge, converge_edge};
use shortflow_policy::Policy;

use super::bench::{Bench, DEVICE, Destination, given, on_a_bench, run, sender};
use crate::support::{compiled, settings, shipped};

/// Marks datagrams to port 5001 EF, and drops those to port 5002; the first 3 KB of other flows are CS1.
fn policy(depth: &str) -> Policy {
    with(depth, "mark")
}

fn with(depth: &str, acks: &str) -> Policy {
    let text = format!(
        "[roles.edge]
        acks = \"{acks}\"
        [[roles.edge.classes]]
        name = \"calls\"
        match = {{ protocol = \"udp\", dst_port = 5001 }}
        marker.fixed = {{ dscp = \"EF\", bucket = {{ rate = \"80 bit/s\", depth = \"{depth}\" }} }}
        police.yellow = {{ remark = \"BE\" }}
        [[roles.edge.classes]]
        name = \"none\"
        match = {{ protocol = \"udp\", dst_port = 5002 }}
        police.green = \"drop\"
        [[roles.edge.classes]]
        name = \"young\"
        match = {{ protocol = \"udp\", dst_port = 5003 }}
        marker.dstf = {{ thresholds = [\"3 KB\", \"6 KB\"], code_points = [\"CS1\", \"AF11\", \"BE\"] }}
        [[roles.core.queue.strict-priority.bands]]
        match = {{ dscp = \"EF\" }}
        queue.fifo = {{ limit = \"100 pkt\" }}
        [[roles.core.queue.strict-priority.bands]]
        match = {{ dscp = \"CS1\" }}
        queue.fifo = {{ limit = \"100 pkt\" }}
        [[roles.core.queue.strict-priority.bands]]
        queue.fifo = {{ limit = \"100 pkt\" }}
        "
    );
    shortflow_policy::from_text("edge.toml", &text, &[]).expect("it is a policy")
}

/// The same, where acknowledgements echo code points.
fn echoing(depth: &str) -> Policy {
    with(depth, "echo")
}

fn edge(policy: &Policy) -> Edge {
    let role = policy.role("edge").unwrap();
    compile_edge(policy, role, &Owners::new()).unwrap().expect("it conditions")
}

/// What is to be done for the edge and the queues of a policy to stand there, and the way.
fn plan(policy: &Policy) -> (Tc, Vec<Step>) {
    let tc = Tc::new(DEVICE);
    let observed = tc.observe().unwrap();
    let edge = edge(policy);
    let marking = converge_edge(DEVICE, &observed.edge, &policy.name, Some(&edge));
    let tree = compiled(policy, &settings(&[], false)).unwrap();
    let steps = tc.plan_with(&observed, &tree, marking).unwrap();
    (tc.with_edge(edge, observed.edge.memo), steps)
}

/// Runs a test where the kernel and the build have the program. In CI they must.
pub(super) fn with_the_program(test: impl FnOnce(&Bench) + Send + 'static) {
    on_a_bench(|bench| {
        let program = shortflow_deploy::examine().program;
        match program.found {
            Ok(_) => test(bench),
            Err(why) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: needs the program that marks: {why}");
            }
            // CI tests builds without it as well, and says so there.
            Err(why) if cfg!(feature = "ebpf") => panic!("nothing may be skipped in CI: {why}"),
            Err(_) => {}
        }
    });
}

pub(crate) fn deploy(policy: &Policy) {
    let (tc, steps) = plan(policy);
    tc.apply(&steps).unwrap();
}

fn packets(status: &DeviceStatus, class: &str) -> [u64; 3] {
    let edge = status.edge.as_ref().expect("there is an edge");
    let number = edge.memo.classes.iter().position(|name| name == class).unwrap();
    edge.seen.as_ref().expect("root may look")[number].colors.map(|color| color.packets)
}

/// Sends so many datagrams, of 100 bytes with the headers of IPv4 and UDP.
fn send(to: Destination, port: u16, count: usize) {
    let sender = sender(to, port, 0);
    (0..count).for_each(|_| assert_eq!(sender.send(&[0; 72]).unwrap(), 72));
}

#[test]
fn what_the_edge_marks_the_queues_of_the_same_device_tell_apart() {
    with_the_program(|bench| {
        let before = bench.listings();
        deploy(&policy("10 KB"));
        let _receivers = [5001, 5002, 5003].map(|port| bench.receiver(port));
        send(Destination::V4, 5001, 10);
        send(Destination::V6, 5001, 5);
        send(Destination::V4, 5002, 7);
        // The first three datagrams of 1028 bytes begin below 3 KB.
        let flow = sender(Destination::V4, 5003, 0);
        (0..8).for_each(|_| assert_eq!(flow.send(&[0; 1000]).unwrap(), 1000));
        std::thread::sleep(std::time::Duration::from_millis(100));
        let status = bench.status();
        assert_eq!([given(&status, "EF"), given(&status, "CS1")], [15, 3], "{}", status.text());
        assert_eq!(packets(&status, "calls"), [15, 0, 0]);
        let seen = status.edge.as_ref().unwrap().seen.as_ref().unwrap();
        assert_eq!(seen[1].colors[0].dropped_packets, 7, "{}", status.text());
        assert_eq!((seen[2].table.misses, seen[2].table.hits), (1, 7));
        let from = flow.local_addr().unwrap();
        let [top] = &seen[2].flows[..] else { panic!("{}", status.text()) };
        assert_eq!(
            (top.to_string(), top.bytes),
            (format!("udp {from} > 10.77.0.2:5003"), 8 * 1028)
        );
        assert!(
            status.text().contains(&format!("\n  udp {from} > 10.77.0.2:5003   8224  ")),
            "{}",
            status.text()
        );
        let json = &status.json()["edge"]["classes"];
        assert_eq!(
            (&json[2]["top"][0]["bytes"], &json[0]["top"]),
            (&8224.into(), &serde_json::json!([]))
        );
        assert!(status.is_whole && status.text().contains("\n  calls "), "{}", status.text());
        bench.undeploy();
        assert_eq!(bench.listings(), before);
    });
}

#[test]
fn a_reload_keeps_the_tokens_of_a_class_and_the_flows_that_it_knows() {
    with_the_program(|bench| {
        let _receivers = [5001, 5003].map(|port| bench.receiver(port));
        deploy(&policy("2 KB"));
        send(Destination::V4, 5001, 15);
        let flow = sender(Destination::V4, 5003, 0);
        (0..3).for_each(|_| assert_eq!(flow.send(&[0; 1000]).unwrap(), 1000));
        deploy(&policy("3 KB"));
        // 500 of 2000 bytes are left, and a second brings 10.
        send(Destination::V4, 5001, 8);
        assert_eq!(flow.send(&[0; 1000]).unwrap(), 1000);
        std::thread::sleep(std::time::Duration::from_millis(100));
        let status = bench.status();
        let [green, yellow, _] = packets(&status, "calls");
        assert!((5..=6).contains(&green) && green + yellow == 8, "{green} green, {yellow} yellow");
        assert_eq!(packets(&status, "young"), [0, 1, 0], "the flow has sent 3 KB before");
    });
}

#[test]
fn each_source_has_a_bucket_of_its_own_and_status_tells_who_has_sent_the_most() {
    with_the_program(|bench| {
        let text = "
            [[roles.edge.classes]]
            name = \"each\"
            match = { protocol = \"udp\", dst_port = 5001 }
            marker.token-bucket = { rate = \"80 bit/s\", depth = \"1 KB\", per = \"source\" }
            [[roles.core.queue.strict-priority.bands]]
            match = { dscp = \"AF11\" }
            queue.fifo = { limit = \"100 pkt\" }
            [[roles.core.queue.strict-priority.bands]]
            queue.fifo = { limit = \"100 pkt\" }";
        deploy(&shortflow_policy::from_text("each.toml", text, &[]).unwrap());
        let _receiver = bench.receiver(5001);
        // Of 100 bytes each by IPv4, of 120 by IPv6: ten and eight fit into 1000.
        send(Destination::V4, 5001, 12);
        send(Destination::V6, 5001, 12);
        std::thread::sleep(std::time::Duration::from_millis(100));
        let status = bench.status();
        assert_eq!(packets(&status, "each"), [18, 6, 0], "{}", status.text());
        let seen = &status.edge.as_ref().unwrap().seen.as_ref().unwrap()[0];
        let reported = seen.flows.iter().map(|flow| (flow.to_string(), flow.bytes));
        assert_eq!(
            reported.collect::<Vec<_>>(),
            [("from fd77::/64".to_owned(), 1440), ("from 10.77.0.1".to_owned(), 1200)]
        );
        // A new plan keeps what each has left, and what it has sent.
        deploy(
            &shortflow_policy::from_text("each.toml", &text.replace("1 KB", "900 B"), &[]).unwrap(),
        );
        send(Destination::V4, 5001, 3);
        std::thread::sleep(std::time::Duration::from_millis(100));
        let status = bench.status();
        assert_eq!(packets(&status, "each"), [0, 3, 0], "{}", status.text());
        assert!(status.text().contains("from 10.77.0.1      1500"), "{}", status.text());
    });
}

#[test]
fn wherever_it_ends_packets_flow_and_the_next_command_finishes_it_or_takes_it_away() {
    with_the_program(|bench| {
        let before = bench.listings();
        let (_, all) = plan(&policy("10 KB"));
        let ways = [(None, false), (Some(false), false), (Some(true), false), (Some(false), true)];
        for ((before_it, echoes), done) in
            ways.into_iter().flat_map(|way| (0..=all.len()).map(move |done| (way, done)))
        {
            let of = |echoes, depth: &str| if echoes { echoing(depth) } else { policy(depth) };
            if let Some(echoed) = before_it {
                deploy(&of(echoed, "5 KB"));
            }
            let policy = |depth: &str| of(echoes, depth);
            let (tc, steps) = plan(&policy("10 KB"));
            tc.apply(&steps[..done.min(steps.len())]).unwrap();
            assert!(bench.carries_packets(), "after {done} of {steps:#?}");
            if done % 2 == 0 {
                deploy(&policy("10 KB"));
                assert!(bench.carries_packets(), "after {done} and going on");
                assert!(bench.status().is_whole);
            }
            if let Ok(removal) = Tc::new(DEVICE).plan_removal(&Tc::new(DEVICE).observe().unwrap()) {
                Tc::new(DEVICE).apply(&removal).unwrap();
            }
            assert_eq!(bench.listings(), before, "after {done} of {steps:#?}");
        }
    });
}

#[test]
fn wherever_taking_away_ends_the_next_command_goes_on() {
    with_the_program(|bench| {
        let before = bench.listings();
        for done in 0..=5 {
            deploy(&echoing("10 KB"));
            let tc = Tc::new(DEVICE);
            let steps = tc.plan_removal(&tc.observe().unwrap()).unwrap();
            assert_eq!(steps.len(), 5, "{steps:?}");
            tc.apply(&steps[..done]).unwrap();
            assert!(bench.carries_packets(), "after {done}");
            match tc.plan_removal(&tc.observe().unwrap()) {
                Ok(steps) => drop(tc.apply(&steps).unwrap()),
                Err(Error::NotDeployed { .. }) => assert_eq!(done, 5),
                Err(error) => panic!("{error}"),
            }
            assert_eq!(bench.listings(), before, "after {done}");
        }
    });
}

#[test]
fn filters_of_others_stay_and_so_does_their_place() {
    with_the_program(|bench| {
        run("tc", "qdisc add dev sf0 clsact").unwrap();
        run("tc", "filter add dev sf0 ingress protocol all pref 5 bpf bytecode 1,6,0,0,0")
            .unwrap_err();
        run("tc", "filter add dev sf0 ingress protocol all pref 5 u32 match u32 0 0").unwrap();
        let seen = || run("tc", "filter show dev sf0 ingress").unwrap() + &bench.listings();
        let before = seen();
        deploy(&echoing("10 KB"));
        assert!(seen().contains("shortflow_echo"), "{}", seen());
        deploy(&policy("10 KB"));
        assert!(!seen().contains("shortflow_echo"), "{}", seen());
        deploy(&echoing("10 KB"));
        deploy(&policy("9 KB"));
        bench.undeploy();
        assert_eq!(seen(), before);
    });
}

#[test]
fn policies_that_come_with_the_program_are_deployed_whole() {
    with_the_program(|bench| {
        let before = bench.listings();
        let _receiver = bench.receiver(4100);
        for name in ["dstf.toml", "short-first.toml", "calls-first.toml"] {
            let policy = shipped(name);
            let queues = settings(&[], true);
            let tree = match compiled(&policy, &queues) {
                Ok(tree) => tree,
                // `stf` is in no kernel.
                Err(_) => continue,
            };
            let tc = Tc::new(DEVICE);
            let observed = tc.observe().unwrap();
            let edge = edge(&policy);
            let marking = converge_edge(DEVICE, &observed.edge, &policy.name, Some(&edge));
            let steps = tc.plan_with(&observed, &tree, marking).unwrap();
            tc.with_edge(edge, None).apply(&steps).unwrap();
            send(Destination::V4, 4100, 5);
            std::thread::sleep(std::time::Duration::from_millis(50));
            let status = bench.status();
            assert!(
                given(&status, "CS7") >= 5,
                "a flow begins in the first class: {}",
                status.text()
            );
            assert!(bench.carries_packets(), "{name}");
            bench.undeploy();
            assert_eq!(bench.listings(), before, "{name}");
        }
    });
}
