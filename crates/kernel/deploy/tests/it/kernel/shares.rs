//! On a device as in the element alone: a class that asks for less than its share loses nothing to a flood
//! of another. Each class has a queue of its own in the kernel, so that nothing is shared but the line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shortflow_deploy::Kind;

use super::bench::{Destination, on_a_bench, sender};
use super::load::{EF, SIZE, flood};
use crate::support::{compiled, of_queue, settings};

/// EF has half of the line or more under each, and 10 Mbit/s are the line.
const QUEUES: [&str; 7] = [
    "wfq = { limit = \"50 pkt\", classes = [{ match = { dscp = \"EF\" }, weight = 3 }, { weight = 1 }] }",
    "wfq = { limit = \"60 KB\", classes = [{ match = { dscp = \"EF\" }, weight = 3 }, { weight = 1 }] }",
    "drr.classes = [{ match = { dscp = \"EF\" }, queue.fifo = { limit = \"50 pkt\" } }, \
     { queue.fifo = { limit = \"50 pkt\" } }]",
    "htb.classes = [{ match = { dscp = \"EF\" }, at_least = \"5 Mbit/s\", queue.fifo = { limit = \"50 pkt\" } }, \
     { at_least = \"5 Mbit/s\", queue.fifo = { limit = \"50 pkt\" } }]",
    "wrr.classes = [{ match = { dscp = \"EF\" }, queue.fifo = { limit = \"50 pkt\" } }, \
     { queue.fifo = { limit = \"50 pkt\" } }]",
    "strict-priority.bands = [{ match = { dscp = \"EF\" }, queue.fifo = { limit = \"50 pkt\" } }, \
     { queue.fifo = { limit = \"50 pkt\" } }]",
    "shared-priority = { limit = \"50 pkt\", bands = [\"EF\", \"rest\"] }",
];

#[test]
fn a_class_within_its_share_loses_nothing_to_a_flood() {
    on_a_bench(|bench| {
        for queue in QUEUES {
            // By what every kernel has: HTB's turns and priorities.
            let nearest = settings(&[Kind::Drr, Kind::Ets], true);
            bench.deploy(&compiled(&of_queue(queue), &nearest).unwrap());
            let (light, _bulk) = (bench.receiver(5000), bench.receiver(6000));
            let stop = Arc::new(AtomicBool::new(false));
            // Two sockets have more under way than the queue of the rest holds.
            let floods = [6000; 2].map(|port| flood(Destination::V4, port, 0, &stop));
            std::thread::sleep(Duration::from_millis(200));
            let before = bench.status();
            let socket = sender(Destination::V4, 5000, EF);
            let begin = Instant::now();
            // 3.1 Mbit/s for 0.8 s.
            for number in 0..250 {
                let due = begin + Duration::from_micros(3200 * number);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                socket.send(&[0; SIZE]).unwrap();
            }
            let after = bench.status();
            stop.store(true, Ordering::Relaxed);
            let _ = floods.map(|flood| flood.join().unwrap());
            assert_eq!(light.count(), 250, "{queue}");
            let drops = |class: usize| {
                let [before, after] = [&before, &after].map(|it| it.classes[class].queue.drops);
                after - before
            };
            assert_eq!(drops(0), 0, "{queue}: {after:?}");
            assert!(drops(1) > 100, "{queue}: {after:?}");
            bench.undeploy();
        }
    });
}
