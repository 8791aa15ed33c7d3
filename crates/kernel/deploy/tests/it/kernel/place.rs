//! The place for filters (`clsact`), whose coming and going empties a device's queues.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use shortflow_deploy::{Error, Observed, Site, Step, Tc, Tree, Wanted};
use shortflow_policy::{Policy, from_text};

use super::bench::{Bench, DEVICE, Destination, on_a_bench, run, sender};
use super::edge::with_the_program;
use crate::support::{kernel_without, of_queue};

/// Marks packets by how much their flow has sent, before two priorities.
const MARKS: &str = r#"
name = "Young First"
[[roles.edge.classes]]
name = "all"
marker.dstf = { thresholds = ["3 KB", "6 KB"], code_points = ["CS1", "AF11", "BE"] }
[[roles.core.queue.strict-priority.bands]]
match = { dscp = "CS1" }
queue.fifo = { limit = "1000 pkt" }
[[roles.core.queue.strict-priority.bands]]
queue.fifo = { limit = "1000 pkt" }
"#;

fn marks() -> Wanted {
    wanted(&from_text("marks.toml", MARKS, &[]).unwrap(), &["edge", "core"])
}

fn marks_only() -> Wanted {
    wanted(&from_text("marks.toml", MARKS, &[]).unwrap(), &["edge"])
}

fn queues_only() -> Wanted {
    wanted(&of_queue("fifo = { limit = \"1000 pkt\" }"), &["core"])
}

fn wanted(policy: &Policy, roles: &[&str]) -> Wanted {
    let rate = roles.contains(&"core").then(|| "10 Mbit/s".parse().unwrap());
    let kernel = kernel_without(&[]);
    let site =
        Site { rate, speed: None, link_layer: None, link_header: 14, kernel, nearest: false };
    let roles: Vec<String> = roles.iter().copied().map(str::to_owned).collect();
    Wanted::from_policy(policy, &roles, &site).unwrap()
}

/// What stands there, and what is to be done for this to stand there.
fn plan(wanted: &Wanted) -> (Observed, Vec<Step>) {
    let tc = Tc::new(DEVICE);
    let observed = tc.observe().unwrap();
    let steps = wanted.steps(&tc, &observed, DEVICE).unwrap();
    (observed, steps)
}

fn bring(wanted: &Wanted) {
    let (observed, steps) = plan(wanted);
    assert_eq!(wanted.apply(Tc::new(DEVICE), &observed, &steps).unwrap().waiting, 0);
}

/// A filter of somebody else at this place.
fn foreign(place: u16) -> String {
    format!("filter add dev sf0 egress protocol all pref {place} handle 800::1 u32 match u32 0 0")
}

#[test]
fn the_place_of_a_deployment_that_was_killed_at_its_first_step_goes_with_it() {
    on_a_bench(|bench| {
        let before = bench.listings();
        let killed = || {
            let (observed, steps) = plan(&marks_only());
            assert!(steps[0].to_string().contains("clsact"), "{steps:?}");
            marks_only().apply(Tc::new(DEVICE), &observed, &steps[..1]).unwrap();
            assert_ne!(bench.listings(), before);
        };
        let remove = || {
            let tc = Tc::new(DEVICE);
            let observed = tc.observe().unwrap();
            let steps = tc.plan_removal(&observed).unwrap();
            tc.remove(&observed, &steps).unwrap();
            assert!(matches!(
                tc.plan_removal(&tc.observe().unwrap()),
                Err(Error::NotDeployed { .. })
            ));
        };
        killed();
        remove();
        assert_eq!(bench.listings(), before);
        // Whoever deploys again knows that the place was not there before.
        killed();
        bring(&queues_only());
        remove();
        assert_eq!(bench.listings(), before);
        // A filter of somebody else needs the place.
        killed();
        run("tc", &foreign(7)).unwrap();
        let with_other = bench.listings();
        remove();
        assert_eq!(bench.listings(), with_other);
    });
}

/// Numbered datagrams of two flows, as fast as their sockets take them.
struct Numbered {
    stop: Arc<AtomicBool>,
    /// Whether nothing more is sent.
    is_sent: Arc<AtomicBool>,
    sent: [JoinHandle<u64>; 2],
    came: [JoinHandle<BTreeSet<u64>>; 2],
}

impl Numbered {
    fn begin(bench: &Bench) -> Numbered {
        let [stop, is_sent] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let ports = [6100, 6101];
        let came = ports.map(|port| {
            let (receiver, is_sent) = (bench.receiver(port), is_sent.clone());
            std::thread::spawn(move || {
                let mut came = BTreeSet::new();
                loop {
                    let is_last = is_sent.load(Ordering::Relaxed);
                    let number =
                        |bytes: Vec<u8>| u64::from_be_bytes(bytes[..8].try_into().unwrap());
                    came.extend(receiver.all().into_iter().map(|(_, bytes)| number(bytes)));
                    if is_last {
                        return came;
                    }
                }
            })
        });
        let sent = ports.map(|port| {
            let (socket, stop) = (sender(Destination::V4, port, 0), stop.clone());
            std::thread::spawn(move || {
                let (mut number, mut datagram) = (0u64, [0; 1200]);
                while !stop.load(Ordering::Relaxed) {
                    datagram[..8].copy_from_slice(&number.to_be_bytes());
                    number += u64::from(socket.send(&datagram).is_ok());
                }
                number
            })
        });
        std::thread::sleep(Duration::from_millis(200));
        Numbered { stop, is_sent, sent, came }
    }

    /// The numbers of each flow that were sent and did not come, and how many were sent.
    fn end(self) -> [(Vec<u64>, u64); 2] {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.sent.map(|sent| sent.join().unwrap());
        self.is_sent.store(true, Ordering::Relaxed);
        let mut sent = sent.into_iter();
        self.came.map(|came| {
            let (came, sent) = (came.join().unwrap(), sent.next().unwrap());
            ((0..sent).filter(|number| !came.contains(number)).collect(), sent)
        })
    }
}

#[test]
fn a_reload_that_brings_or_takes_away_what_marks_loses_no_packet() {
    with_the_program(|bench| {
        let before = bench.listings();
        bring(&queues_only());
        let flows = Numbered::begin(bench);
        // What waited behind others is paid for at 1 kbit/s first.
        let tc = Tc::new(DEVICE).with_patience(Duration::from_secs(60));
        for next in [marks(), queues_only()] {
            let (observed, steps) = plan(&next);
            assert!(observed.waiting() > 50, "{} packets wait", observed.waiting());
            assert_eq!(observed.lost_by(&steps), 0, "{steps:#?}");
            assert_eq!(next.apply(tc.clone(), &observed, &steps).unwrap().waiting, 0);
        }
        for (missing, sent) in flows.end() {
            assert!(sent > 500, "{sent} were sent");
            assert!(missing.is_empty(), "{missing:?} of {sent}");
        }
        bench.undeploy();
        assert_eq!(bench.listings(), before);
    });
}

/// As versions before this one have left it.
fn without_a_place() -> Wanted {
    let wanted = queues_only();
    Wanted { tree: wanted.tree.map(|tree| Tree { has_place: false, ..tree }), ..wanted }
}

#[test]
fn where_queues_lack_a_place_it_is_made_for_what_marks_alone_and_what_is_lost_is_told() {
    with_the_program(|bench| {
        bring(&without_a_place());
        let flows = Numbered::begin(bench);
        bring(&queues_only());
        let is_there = || run("tc", "qdisc show dev sf0").unwrap().contains("clsact");
        assert!(!is_there(), "what waits is not thrown away for nothing");
        let next = marks();
        let (observed, steps) = plan(&next);
        let reported = observed.notes_on(true, &steps).join("\n");
        assert!(observed.lost_by(&steps) > 50, "{reported}");
        assert!(reported.contains("waiting packets are lost"), "{reported}");
        next.apply(Tc::new(DEVICE), &observed, &steps).unwrap();
        assert!(is_there());
        let lost: usize = flows.end().iter().map(|(missing, _)| missing.len()).sum();
        assert!(lost > 50, "{lost} are lost");
    });
}

#[test]
fn what_waits_in_the_queue_of_others_is_told_before_a_place_is_made_beside_it() {
    on_a_bench(|bench| {
        run("tc", "qdisc add dev sf0 root handle 7: htb default 1").unwrap();
        let class = "class add dev sf0 parent 7: classid 7:1 htb rate 1mbit burst 1600";
        run("tc", class).unwrap();
        let _receiver = bench.receiver(6200);
        let sender = sender(Destination::V4, 6200, 0);
        (0..40).for_each(|_| assert!(sender.send(&[0; 1200]).is_ok()));
        let (observed, steps) = plan(&marks_only());
        assert!(observed.lost_by(&steps) > 10, "{steps:#?}");
    });
}

#[test]
fn a_place_that_was_there_before_the_queues_stays_though_nobody_has_filters_in_it() {
    with_the_program(|bench| {
        run("tc", "qdisc add dev sf0 clsact").unwrap();
        let before = bench.listings();
        for all in [&[queues_only()][..], &[marks()], &[queues_only(), marks(), queues_only()]] {
            all.iter().for_each(bring);
            bench.undeploy();
            assert_eq!(bench.listings(), before, "{all:#?}");
        }
    });
}

#[test]
fn where_somebody_else_stands_at_the_place_of_the_program_it_is_refused_and_nothing_of_theirs_goes()
{
    on_a_bench(|bench| {
        run("tc", "qdisc add dev sf0 clsact").unwrap();
        let seen = || run("tc", "filter show dev sf0 egress").unwrap() + &bench.listings();
        for place in [21318, 21319] {
            run("tc", &foreign(place)).unwrap();
            let before = seen();
            let tc = Tc::new(DEVICE);
            let observed = tc.observe().unwrap();
            let refused = marks().steps(&tc, &observed, DEVICE);
            let Err(error @ Error::PlaceTaken { .. }) = refused else { panic!("{refused:?}") };
            assert!(!error.is_of_input() && error.to_string().contains(&place.to_string()));
            // Queues alone have nothing to do with it.
            bring(&queues_only());
            bench.undeploy();
            assert!(matches!(
                tc.plan_removal(&tc.observe().unwrap()),
                Err(Error::NotDeployed { .. })
            ));
            assert_eq!(seen(), before);
            run("tc", &format!("filter del dev sf0 egress pref {place}")).unwrap();
        }
    });
}

#[test]
fn where_a_filter_of_others_has_the_place_of_levels_a_queue_with_levels_is_refused_and_it_stays() {
    let red = "red = { limit = \"200 pkt\", min_threshold = \"20 pkt\", max_threshold = \"80 pkt\", max_probability = 0.1, \
               weight = 0.002 }";
    on_a_bench(|bench| {
        run("tc", "qdisc add dev sf0 clsact").unwrap();
        for theirs in ["protocol all pref 65535 handle 1", "protocol ip pref 65535 handle 1"] {
            let mut words = vec!["filter", "add", "dev", "sf0", "egress"];
            words.extend(theirs.split(' ').chain(["bpf", "bytecode", "1,6 0 0 7"]));
            assert!(std::process::Command::new("tc").args(&words).status().unwrap().success());
            let seen = || run("tc", "filter show dev sf0 egress").unwrap() + &bench.listings();
            let before = seen();
            let tc = Tc::new(DEVICE);
            let refused =
                wanted(&of_queue(red), &["core"]).steps(&tc, &tc.observe().unwrap(), DEVICE);
            let Err(error @ Error::PlaceTaken { .. }) = refused else { panic!("{refused:?}") };
            assert!(error.to_string().contains("65535"), "{error}");
            assert_eq!(seen(), before);
            run("tc", "filter del dev sf0 egress pref 65535").unwrap();
        }
    });
}

#[test]
fn who_comes_to_the_place_of_the_program_afterwards_is_left_there() {
    with_the_program(|bench| {
        bring(&marks());
        let theirs = "filter add dev sf0 egress protocol all pref 21319 handle 7 bpf da bytecode";
        let program = "1,6 0 0 4294967295";
        let mut words: Vec<&str> = theirs.split(' ').collect();
        words.push(program);
        assert!(std::process::Command::new("tc").args(&words).status().unwrap().success());
        bench.undeploy();
        let left = run("tc", "filter show dev sf0 egress").unwrap();
        assert!(left.contains("handle 0x7") && !left.contains("shortflow"), "{left}");
    });
}
