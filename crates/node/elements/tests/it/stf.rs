//! Smallest Transmitted Flow first.

use proptest::prelude::*;
use shortflow_elements::queue::{Stf, StfParams};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_units::{Bytes, Duration, Length};

use crate::bench::{Bench, P, ms, number_of, p, rng};

const TIMEOUT: Duration = Duration::from_secs(10);

fn queue(limit: Length, flows: usize) -> Bench<Stf> {
    Bench::new(Stf::new(StfParams::new(limit, flows, TIMEOUT).unwrap(), rng()))
}

fn in_packets(packets: u64) -> Bench<Stf> {
    queue(Length::Packets(packets), 1000)
}

fn packet(flow: u16, number: u32) -> P {
    p(number).of_flow(flow)
}

#[test]
fn the_flow_of_which_the_fewest_bytes_have_left_is_served() {
    let mut queue = in_packets(9);
    queue.at(ms(0)).takes(packet(1, 1)).takes(packet(1, 2)).takes(packet(1, 3)).gives(packet(1, 1));
    // 1000 bytes of flow 1 have left, none of flow 2.
    queue
        .at(ms(1))
        .takes(packet(2, 4).sized(600))
        .takes(packet(2, 5).sized(600))
        .takes(packet(2, 6));
    queue.at(ms(2)).gives(packet(2, 4).sized(600)).gives(packet(2, 5).sized(600));
    // Now 1000 and 1200.
    queue.at(ms(3)).gives(packet(1, 2)).gives(packet(2, 6)).gives(packet(1, 3)).gives_nothing();
}

#[test]
fn of_flows_that_are_equal_the_one_whose_first_packet_came_first_is_served() {
    let mut queue = in_packets(9);
    queue
        .at(ms(0))
        .takes(packet(3, 1))
        .takes(packet(2, 2))
        .takes(packet(3, 3))
        .takes(packet(2, 4))
        .takes(packet(1, 5));
    queue
        .at(ms(1))
        .gives(packet(3, 1))
        .gives(packet(2, 2))
        .gives(packet(1, 5))
        .gives(packet(3, 3))
        .gives(packet(2, 4));
}

#[test]
fn a_flow_keeps_its_count_while_it_is_away() {
    let mut queue = in_packets(9);
    queue.at(ms(0)).takes(packet(1, 1)).gives(packet(1, 1)).gives_nothing();
    queue
        .at(ms(9_000))
        .takes(packet(1, 2))
        .takes(packet(2, 3))
        .gives(packet(2, 3))
        .gives(packet(1, 2));
}

#[test]
fn a_full_buffer_pushes_out_the_newest_packet_of_the_flow_served_most() {
    let mut queue = in_packets(3);
    queue.at(ms(0)).takes(packet(1, 1)).takes(packet(1, 2)).takes(packet(1, 3)).gives(packet(1, 1));
    queue.at(ms(1)).takes(packet(1, 4)).pushes_out(packet(2, 5), &[packet(1, 4)]);
    queue
        .at(ms(2))
        .pushes_out(packet(2, 6), &[packet(1, 3)])
        .pushes_out(packet(3, 7), &[packet(1, 2)]);
    queue.holds(3, 3000);
    // What is left are equals.
    queue.at(ms(3)).drops(packet(4, 8), DropReason::Overlimit);
    queue.at(ms(4)).gives(packet(2, 5)).gives(packet(3, 7)).gives(packet(2, 6)).gives_nothing();
}

#[test]
fn an_arrival_of_the_flow_served_most_is_refused() {
    let mut queue = in_packets(2);
    queue.at(ms(0)).takes(packet(1, 1)).gives(packet(1, 1));
    queue
        .at(ms(1))
        .takes(packet(2, 2))
        .takes(packet(1, 3))
        .drops(packet(1, 4), DropReason::Overlimit);
    queue.at(ms(2)).gives(packet(2, 2)).gives(packet(1, 3));
}

#[test]
fn under_a_limit_in_bytes_several_may_be_pushed_out() {
    let mut queue = queue(Length::Bytes(Bytes(2000)), 1000);
    let small = |number| packet(1, number).sized(500);
    queue.at(ms(0)).takes(small(1)).gives(small(1));
    queue.at(ms(1)).takes(small(2)).takes(small(3)).takes(small(4)).takes(small(5));
    queue.at(ms(2)).drops(packet(2, 6).sized(2001), DropReason::Overlimit);
    queue.at(ms(3)).pushes_out(packet(2, 7).sized(1000), &[small(5), small(4)]);
    queue.holds(3, 2000);
}

#[test]
fn a_flow_that_was_silent_for_longer_than_the_timeout_starts_again() {
    let mut queue = in_packets(9);
    queue.at(ms(0)).takes(packet(1, 1)).takes(packet(2, 2)).gives(packet(1, 1)).gives(packet(2, 2));
    // Flow 2 has a packet in the queue all the time; it is not silent.
    queue.at(ms(1)).takes(packet(2, 3));
    queue.at(ms(10_000)).takes(packet(3, 4)).gives(packet(3, 4)).gives(packet(2, 3));
    assert_eq!(queue.queue.flows(), 3);
    // Flow 1 has been silent for 10.001 s, flow 2 for one millisecond.
    queue
        .at(ms(10_001))
        .takes(packet(2, 5))
        .takes(packet(1, 6))
        .gives(packet(1, 6))
        .gives(packet(2, 5));
    assert_eq!(queue.queue.flows(), 3);
    queue.at(ms(30_000)).takes(packet(4, 7));
    assert_eq!(queue.queue.flows(), 1);
}

#[test]
fn in_a_full_table_a_new_flow_takes_the_place_of_the_longest_silent_one() {
    let mut queue = queue(Length::Packets(9), 3);
    for flow in [2, 1, 3] {
        queue.at(ms(flow.into())).takes(packet(flow, flow.into())).gives(packet(flow, flow.into()));
    }
    queue.at(ms(4)).takes(packet(4, 4)).gives(packet(4, 4));
    assert_eq!(queue.queue.flows(), 3);
    // Flow 2 was forgotten for flow 4; as it comes back flow 1 is, and 3 and 4 are remembered.
    queue.at(ms(5)).takes(packet(3, 5)).takes(packet(4, 6)).takes(packet(2, 7)).gives(packet(2, 7));
    queue.at(ms(6)).gives(packet(3, 5)).gives(packet(4, 6));
}

#[test]
fn a_new_flow_is_refused_while_every_flow_of_a_full_table_has_packets() {
    let mut queue = queue(Length::Packets(9), 2);
    queue
        .at(ms(0))
        .takes(packet(1, 1))
        .takes(packet(2, 2))
        .drops(packet(3, 3), DropReason::Overlimit);
    queue.at(ms(1)).takes(packet(2, 4)).gives(packet(1, 1)).takes(packet(3, 5));
    queue.holds(3, 3000);
}

#[test]
fn a_queue_without_a_limit_a_flow_or_a_timeout_is_refused() {
    let refused = |limit, flows, timeout| StfParams::new(limit, flows, timeout).unwrap_err();
    let one = Length::Packets(1);
    assert_eq!(
        refused(Length::Bytes(Bytes(0)), 1, TIMEOUT).to_string(),
        "limit must be above zero; found 0 B"
    );
    assert_eq!(refused(one, 0, TIMEOUT).to_string(), "flows must be above zero; found 0");
    assert_eq!(
        refused(one, 1, Duration::ZERO).to_string(),
        "idle_timeout must be above zero; found 0 ns"
    );
}

/// The discipline as the paper tells it: counters, and a list that is searched from end to end.
#[derive(Default)]
struct Oracle {
    sent: [u64; 6],
    /// Flow, size and number, in order of arrival.
    held: Vec<(u16, u32, u32)>,
}

impl Oracle {
    fn enqueue(&mut self, limit: usize, arrival: (u16, u32, u32)) -> Option<u32> {
        self.held.push(arrival);
        if self.held.len() <= limit {
            return None;
        }
        // Of flows served alike, what came last goes: the flow of the latest first packet, but the
        // arrival's own flow before all others.
        let first_of = |flow| self.held.iter().position(|&(other, ..)| other == flow);
        let (flow, ..) = arrival;
        let worst =
            self.held.iter().map(|&(other, ..)| other).max_by_key(|&other| {
                (self.sent[usize::from(other)], other == flow, first_of(other))
            })?;
        let newest = self.held.iter().rposition(|&(other, ..)| other == worst)?;
        Some(self.held.remove(newest).2)
    }

    fn dequeue(&mut self) -> Option<u32> {
        // `min_by_key` gives the first of several that are least.
        let (next, _) = (self.held.iter().enumerate())
            .min_by_key(|(_, (flow, ..))| self.sent[usize::from(*flow)])?;
        let (flow, size, number) = self.held.remove(next);
        self.sent[usize::from(flow)] += u64::from(size);
        Some(number)
    }
}

proptest! {
    #[test]
    fn stf_does_what_a_search_through_all_packets_finds(
        limit in 1..20usize,
        steps in prop::collection::vec(prop::option::weighted(0.6, (0..6u16, 1..4u32)), 0..300),
    ) {
        let mut queue = in_packets(limit as u64).queue;
        let (mut oracle, mut drops) = (Oracle::default(), Drops::default());
        for (number, step) in steps.into_iter().enumerate() {
            let number = number as u32;
            match step {
                Some((flow, size)) => {
                    let arrival = packet(flow, number).sized(100 * size);
                    queue.enqueue(ms(0), arrival.packet(), &mut drops);
                    let lost = oracle.enqueue(limit, (flow, 100 * size, number));
                    let dropped: Vec<u32> = drops.drain().map(|drop| number_of(&drop.packet)).collect();
                    prop_assert_eq!(dropped, Vec::from_iter(lost));
                }
                None => {
                    let given = queue.dequeue(ms(0), &mut drops);
                    prop_assert_eq!(given.map(|given| number_of(&given.packet)), oracle.dequeue());
                }
            }
        }
    }
}
