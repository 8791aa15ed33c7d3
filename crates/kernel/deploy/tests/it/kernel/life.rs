//! From the first command to the last, and who else is there.

use std::time::Duration;

use shortflow_deploy::{
    DeviceLock, DeviceStatus, Error, Kind, Root, Site, Tc, Tree, Wanted, examine, link,
};

use super::bench::{DEVICE, given, on_a_bench, run};
use crate::support::{compiled, of_queue, settings, shipped};

fn fifo() -> Tree {
    compiled(&of_queue("fifo = { limit = \"100 pkt\" }"), &settings(&[], false)).unwrap()
}

#[test]
fn what_is_taken_away_leaves_the_device_as_it_was() {
    on_a_bench(|bench| {
        // Nearly all of it is a kernel with HTB and FIFOs able to do.
        let names =
            ["best-effort.toml", "strict-priority.toml", "dstf.toml", "shared-priority.toml"];
        let before = bench.listings();
        for name in names {
            let tree = compiled(&shipped(name), &settings(&[], true)).unwrap();
            bench.deploy(&tree);
            assert_ne!(bench.listings(), before, "{name}");
            assert!(bench.carries_packets(), "{name}");
            let status = bench.status();
            let counted: u64 = status.classes.iter().map(|class| class.queue.packets).sum();
            assert!(counted >= 20, "{name}: {status:?}");
            bench.undeploy();
            assert_eq!(bench.listings(), before, "{name}");
        }
    });
}

#[test]
fn a_reload_with_other_settings_keeps_what_the_classes_have_counted() {
    on_a_bench(|bench| {
        bench.deploy(&fifo());
        assert!(bench.carries_packets());
        let before = given(&bench.status(), "all");
        bench.deploy(&Tree { rate: "5 Mbit/s".parse().unwrap(), ..fifo() });
        let status = bench.status();
        assert_eq!(status.memo.as_ref().unwrap().rate, "5 Mbit/s".parse().unwrap());
        assert!(before >= 20 && given(&status, "all") >= before);
        assert!(run("tc", "class show dev sf0").unwrap().contains("ceil 5Mbit"));
    });
}

#[test]
fn what_stands_there_is_known_for_what_was_wanted_and_for_nothing_else() {
    on_a_bench(|bench| {
        let policy = shipped("strict-priority.toml");
        let at = |rate: &str| {
            let rate = Some(rate.parse().unwrap());
            let kernel = settings(&[], false).kernel;
            let site = Site {
                rate,
                speed: None,
                link_layer: None,
                link_header: 14,
                kernel,
                nearest: false,
            };
            Wanted::from_policy(&policy, &[], &site).unwrap()
        };
        let narrow = |wanted: Wanted| {
            let mut tree = wanted.tree.unwrap();
            tree.leaves[0].queue.settings = "limit 7".to_owned();
            Wanted { tree: Some(tree), ..wanted }
        };
        let (tc, wanted) = (Tc::new(DEVICE), at("10 Mbit/s"));
        assert!(!wanted.is_deployed(&tc).unwrap());
        for _ in 0..2 {
            let observed = tc.observe().unwrap();
            let steps = wanted.steps(&tc, &observed, DEVICE).unwrap();
            wanted.apply(tc.clone(), &observed, &steps).unwrap();
            assert!(wanted.is_deployed(&tc).unwrap());
            assert!(!at("5 Mbit/s").is_deployed(&tc).unwrap());
            assert!(!narrow(at("10 Mbit/s")).is_deployed(&tc).unwrap(), "a limit is another");
        }
        bench.undeploy();
        assert!(!wanted.is_deployed(&tc).unwrap());
    });
}

#[test]
fn what_others_have_put_there_is_left_alone() {
    on_a_bench(|bench| {
        run("tc", "qdisc add dev sf0 root handle 5f00: htb default 30").unwrap();
        let before = bench.listings();
        let tc = Tc::new(DEVICE);
        let observed = tc.observe().unwrap();
        assert!(matches!(&observed.root, Root::Other { kind, .. } if kind == "htb"));
        let error = tc.plan(&observed, &fifo()).unwrap_err();
        assert!(
            error.to_string().contains("the device has another queueing discipline, htb 5f00:"),
            "{error}"
        );
        assert!(!error.is_of_input());
        assert!(matches!(tc.plan_removal(&observed), Err(Error::NotDeployed { .. })));
        assert!(DeviceStatus::all().unwrap().is_empty());
        assert_eq!(bench.listings(), before);
    });
}

#[test]
fn somebody_who_comes_between_looking_and_doing_is_noticed_by_the_kernel() {
    on_a_bench(|bench| {
        let tc = Tc::new(DEVICE);
        let steps = tc.plan(&tc.observe().unwrap(), &fifo()).unwrap();
        run("tc", "qdisc add dev sf0 root handle 7: pfifo limit 7").unwrap();
        let before = bench.listings();
        let error = tc.apply(&steps).unwrap_err();
        assert!(error.to_string().contains("the step was: tc qdisc add dev sf0 root"), "{error}");
        assert_eq!(bench.listings(), before);
    });
}

#[test]
fn a_device_that_vanishes_is_told_and_a_device_that_comes_back_is_untouched() {
    on_a_bench(|bench| {
        let tc = Tc::new(DEVICE);
        bench.deploy(&fifo());
        let next = Tree { rate: "5 Mbit/s".parse().unwrap(), ..fifo() };
        let steps = tc.plan(&tc.observe().unwrap(), &next).unwrap();
        run("ip", "link del sf0").unwrap();
        assert!(matches!(tc.apply(&steps), Err(Error::Vanished { .. })));
        assert!(matches!(tc.observe(), Err(Error::Vanished { .. })));
        let error = link(DEVICE).unwrap_err();
        assert_eq!(error.to_string(), "unknown device `sf0`\nthe devices are lo");
        run("ip", "link add sf0 type veth peer name sf9").unwrap();
        assert_eq!(tc.observe().unwrap().root, Root::Default);
    });
}

#[test]
fn one_command_at_a_time_changes_a_device() {
    on_a_bench(|_| {
        let take = |device: &str| DeviceLock::take(device, Duration::ZERO);
        let first = take(DEVICE).unwrap();
        assert!(matches!(take(DEVICE), Err(Error::Claimed { .. })));
        assert!(take("sf7").is_ok(), "another device is free");
        let later = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| DeviceLock::take(DEVICE, Duration::from_secs(10)));
            drop(first);
            waiting.join().unwrap()
        });
        // A thread has the namespace of the one that began it.
        assert!(later.is_ok() && matches!(take(DEVICE), Err(Error::Claimed { .. })));
        drop(later);
        // A child that another test has forked holds all that is open here until it becomes its program.
        assert!(DeviceLock::take(DEVICE, Duration::from_secs(10)).is_ok());
    });
}

#[test]
fn a_doctor_tries_the_kernel_out_and_leaves_no_trace() {
    on_a_bench(|bench| {
        let before = bench.listings();
        let report = examine();
        assert_eq!(bench.listings(), before);
        assert_eq!(report.how, "probed in a network namespace");
        // What the other tests do with this kernel, it can.
        let has = [Kind::Htb, Kind::Bpf, Kind::Pfifo].map(|kind| report.kernel.has(kind));
        assert_eq!(has, [Some(true); 3]);
        // And what it cannot, tc refuses.
        let refused = run("tc", "qdisc add dev lo root fq_codel").is_err();
        assert_eq!(report.kernel.lacks(Kind::FqCodel), refused);
        assert!(report.findings.iter().all(|finding| finding.found.is_ok()), "{report:?}");
    });
}
