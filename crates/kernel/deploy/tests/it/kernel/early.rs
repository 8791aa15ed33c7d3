//! The program for early drops before queues under load. Needs the right to load eBPF.

#![cfg(feature = "ebpf")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shortflow_deploy::{DeviceStatus, Kind, QueueLevel, Tree};

use super::bench::{Bench, Destination, on_a_bench};
use super::interruptions::end_after_each_step;
use super::load::{SIZE, flood};
use crate::support::{compiled, of_queue, settings};

/// A packet of a flood as the kernel counts it: with headers of UDP, IP and Ethernet.
const PACKET: u64 = SIZE as u64 + 8 + 20 + 14;

fn tree(queue: &str) -> Tree {
    compiled(&of_queue(queue), &settings(&[], false)).unwrap()
}

/// The first queue of a policy, its packets and bytes that wait, its drops and its levels.
fn first(status: &DeviceStatus) -> ([u64; 3], Vec<QueueLevel>) {
    let queue = &status.classes[0].queue;
    ([queue.waiting, queue.waiting_bytes, queue.drops], queue.levels.clone())
}

/// What waits in the first queue while datagrams of these code points flood the line: the most of many looks.
fn highest(bench: &Bench, dscps: &[u32]) -> u64 {
    let stop = Arc::new(AtomicBool::new(false));
    let floods: Vec<_> =
        dscps.iter().map(|dscp| flood(Destination::V4, 6000, *dscp, &stop)).collect();
    std::thread::sleep(Duration::from_millis(300));
    let looks = (0..40).map(|_| first(&bench.status()).0);
    let highest = looks.map(|[packets, bytes, _]| {
        // A few packets of neighbours and groups may wait among them, which are shorter; and the kernel reads both numbers one
        // after the other, while packets come and go.
        assert!(bytes.abs_diff(packets * PACKET) < 4 * PACKET, "{bytes} of {packets}");
        packets
    });
    let highest = highest.max().unwrap();
    stop.store(true, Ordering::Relaxed);
    floods.into_iter().for_each(|flood| _ = flood.join());
    highest
}

/// The queue is never longer, and more than half as long: on a busy machine no look may come while it is longest.
fn is_at(found: u64, max: u64) {
    assert!(found <= max && found > max / 2, "{found} of {max}");
}

/// Whether this machine runs the program; on CI it must.
fn is_there() -> bool {
    let (kernel, _) = shortflow_deploy::examine_kernel();
    let is_there = !kernel.lacks(Kind::Early);
    assert!(is_there || std::env::var_os("CI").is_none(), "needs eBPF");
    if !is_there {
        eprintln!("skipped: needs eBPF");
    }
    is_there
}

#[test]
fn a_queue_is_never_longer_than_the_length_from_which_red_drops_all() {
    if !is_there() {
        return;
    }
    on_a_bench(|bench| {
        // The average is the queue itself; whatever finds 21 packets is dropped.
        let red = |max: u64| {
            tree(&format!(
                "red = {{ limit = \"200 pkt\", min_threshold = \"{} pkt\", max_threshold = \"{max} pkt\", \
                 max_probability = 0.5, weight = 1.0 }}",
                max - 1
            ))
        };
        bench.deploy(&red(21));
        is_at(highest(bench, &[0; 4]), 21);
        let ([.., drops], _) = first(&bench.status());
        assert!(drops > 100, "{drops}");
        // Another length after a reload in place.
        bench.deploy(&red(41));
        is_at(highest(bench, &[0; 4]), 41);
        assert!(bench.status().is_whole, "{:?}", bench.status().damage);
    });
}

#[test]
fn levels_with_averages_of_their_own_lose_by_their_thresholds() {
    if !is_there() {
        return;
    }
    on_a_bench(|bench| {
        // Of three levels, each drops all from so many packets of its own and of better ones on.
        let level = |code_points: &str, max: u64| {
            format!(
                "{{ code_points = {code_points}, min_threshold = \"{} pkt\", max_threshold = \"{max} pkt\", \
                 max_probability = 0.5 }}",
                max - 1
            )
        };
        let levels = [level("[\"AF11\"]", 60), level("[\"AF12\"]", 40), level("\"rest\"", 20)];
        bench.deploy(&tree(&format!(
            "multi-red = {{ limit = \"200 pkt\", weight = 1.0, average = \"cumulative\", levels = [{}] }}",
            levels.join(", ")
        )));
        // Of one level alone.
        is_at(highest(bench, &[0; 3]), 20);
        is_at(highest(bench, &[12; 3]), 40);
        // The best level has room for its own, whatever waits of others.
        let all = highest(bench, &[10, 10, 12, 0]);
        assert!((40..=120).contains(&all), "{all}");
        let (_, levels) = first(&bench.status());
        assert_eq!(levels.len(), 3);
        assert!(levels.iter().all(|level| level.packets > 20), "{levels:?}");
        assert!(levels[2].drops > 100 && levels[1].drops > 100, "{levels:?}");
    });
}

#[test]
fn wherever_a_reload_to_early_drops_or_from_them_ends_packets_flow_and_the_next_command_finishes_it()
 {
    if !is_there() {
        return;
    }
    let red = "red = { limit = \"50 pkt\", min_threshold = \"10 pkt\", max_threshold = \"30 pkt\", \
               max_probability = 0.1 }";
    let bands = |first: &str| {
        tree(&format!(
            "strict-priority.bands = [{{ match = {{ dscp = \"EF\" }}, queue.{first} }}, {{ queue.{red} }}]"
        ))
    };
    let (early, other) = (bands("fifo = { limit = \"20 pkt\" }"), bands(red));
    let fifo = tree("fifo = { limit = \"50 pkt\" }");
    on_a_bench(move |bench| {
        end_after_each_step(bench, None, &early, &early);
        end_after_each_step(bench, Some(&fifo), &early, &fifo);
        end_after_each_step(bench, Some(&early), &fifo, &fifo);
        // In place, for other queues.
        end_after_each_step(bench, Some(&early), &other, &early);
    });
}
