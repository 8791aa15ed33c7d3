//! What stands between any two steps, and what becomes of it.

use shortflow_deploy::{Step, Tc, Tree};

use super::bench::{Bench, DEVICE, on_a_bench};
use crate::support::{compiled, of_queue, settings};

fn tree(queue: &str) -> Tree {
    compiled(&of_queue(queue), &settings(&[], false)).unwrap()
}

fn two_bands() -> Tree {
    tree(
        "strict-priority.bands = [{ match = { dscp = \"EF\" }, queue.fifo = { limit = \"20 pkt\" } }, \
         { queue.fifo = { limit = \"50 pkt\" } }]",
    )
}

fn three_bands() -> Tree {
    tree(
        "strict-priority.bands = [{ match = { dscp = \"EF\" }, queue.fifo = { limit = \"20 pkt\" } }, \
         { match = { protocol = \"udp\" }, queue.fifo = { limit = \"30 KB\" } }, \
         { queue.fifo = { limit = \"50 pkt\" } }]",
    )
}

/// Ends after each of the steps from `first` to `next`, sees packets come through, and goes on to `last`.
pub(super) fn end_after_each_step(bench: &Bench, first: Option<&Tree>, next: &Tree, last: &Tree) {
    let tc = Tc::new(DEVICE);
    let before = bench.listings();
    let mut done = 0;
    loop {
        if let Some(first) = first {
            bench.deploy(first);
        }
        let steps: Vec<Step> = tc.plan(&tc.observe().unwrap(), next).unwrap();
        tc.apply(&steps[..done]).unwrap();
        assert!(bench.carries_packets(), "after {done} of {steps:#?}");
        bench.deploy(last);
        assert!(bench.carries_packets(), "after {done} and going on, of {steps:#?}");
        let status = bench.status();
        let memo = status.memo.as_ref().expect("it is whole");
        let expected: Vec<_> = last.leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let found: Vec<_> = memo.queues.iter().map(|(_, name)| name.clone()).collect();
        assert_eq!(found, expected, "after {done} of {steps:#?}");
        // Nothing of what was interrupted is left.
        let classes = super::bench::run("tc", "class show dev sf0").unwrap();
        assert_eq!(classes.lines().count(), last.leaves.len() + 3, "{classes}");
        bench.undeploy();
        assert_eq!(bench.listings(), before);
        assert!(bench.carries_packets());
        if done == steps.len() {
            return;
        }
        done += 1;
    }
}

#[test]
fn wherever_a_deployment_ends_packets_flow_and_the_next_command_finishes_it() {
    on_a_bench(|bench| end_after_each_step(bench, None, &three_bands(), &three_bands()));
}

#[test]
fn wherever_a_reload_ends_packets_flow_and_the_next_command_finishes_it() {
    on_a_bench(|bench| {
        end_after_each_step(bench, Some(&two_bands()), &three_bands(), &three_bands());
    });
}

#[test]
fn wherever_a_reload_ends_the_policy_before_can_be_had_again() {
    on_a_bench(|bench| {
        end_after_each_step(bench, Some(&two_bands()), &three_bands(), &two_bands())
    });
}

#[test]
fn wherever_a_change_of_settings_ends_packets_flow_and_the_next_command_finishes_it() {
    on_a_bench(|bench| {
        let slower = Tree { rate: "5 Mbit/s".parse().unwrap(), ..two_bands() };
        end_after_each_step(bench, Some(&two_bands()), &slower, &two_bands());
    });
}
