//! Queues of a role.

use shortflow_elements::{DropReason, Drops, Dscp, Ecn, Packet, QueueDiscipline};

use crate::{at, packet, place, policy};

fn queue(text: &str) -> Box<dyn QueueDiscipline> {
    policy(text).role("core").unwrap().queue(place("r1->r2")).unwrap()
}

fn marked(dscp: Dscp) -> Packet {
    Packet { dscp, ..packet() }
}

/// Fills `queue` with 40 packets of `first`, then offers `packets` of `dscp`; how many are dropped
/// early or forced.
fn dropped(queue: &mut dyn QueueDiscipline, dscp: Dscp, packets: usize) -> usize {
    let mut drops = Drops::default();
    for _ in 0..packets {
        queue.enqueue(at(0), marked(dscp), &mut drops);
    }
    drops.drain().filter(|d| matches!(d.reason, DropReason::Early | DropReason::Forced)).count()
}

const STAGGERED: &str = r#"
    [roles.core.queue.multi-red]
    limit = "200 pkt"
    weight = 1.0
    levels = [
        { code_points = ["AF11"], min_threshold = "60 pkt", max_threshold = "140 pkt", max_probability = 0.1 },
        { code_points = "rest", min_threshold = "5 pkt", max_threshold = "50 pkt", max_probability = 0.2 },
    ]
"#;

#[test]
fn a_fifo_drops_what_no_longer_fits() {
    let mut fifo = queue("[roles.core.queue.fifo]\nlimit = \"2 pkt\"");
    let mut drops = Drops::default();
    for _ in 0..3 {
        fifo.enqueue(at(0), packet(), &mut drops);
    }
    assert_eq!(drops.drain().map(|d| d.reason).collect::<Vec<_>>(), [DropReason::Overlimit]);
}

#[test]
fn a_shared_average_drops_the_less_protected_at_a_backlog_of_the_better_protected() {
    let mut red = queue(STAGGERED);
    // With a weight of 1, the average is the queue: 55 green packets are below 60 and above 50.
    assert_eq!(dropped(red.as_mut(), Dscp::AF11, 55), 0);
    assert_eq!(dropped(red.as_mut(), Dscp::AF12, 10), 10);
    assert_eq!(dropped(red.as_mut(), Dscp::BEST_EFFORT, 10), 10, "code points of no level: rest");
}

#[test]
fn a_cumulative_average_does_not_count_the_less_protected() {
    let cumulative = STAGGERED.replace("weight", "average = \"cumulative\"\nweight");
    let mut red =
        queue(&cumulative.replace("min_threshold = \"60 pkt\"", "min_threshold = \"10 pkt\""));
    dropped(red.as_mut(), Dscp::AF12, 45);
    assert_eq!(dropped(red.as_mut(), Dscp::AF11, 9), 0);
}

#[test]
fn code_points_of_no_level_belong_to_the_last_when_none_is_for_the_rest() {
    let mut red = queue(&STAGGERED.replace("\"rest\"", "[\"AF12\"]"));
    dropped(red.as_mut(), Dscp::AF11, 55);
    assert_eq!(dropped(red.as_mut(), Dscp::EF, 10), 10);
}

#[test]
fn ecn_marks_in_place_of_early_drops() {
    let early = r#"
        [roles.core.queue.red]
        limit = "200 pkt"
        weight = 1.0
        min_threshold = "5 pkt"
        max_threshold = "150 pkt"
        max_probability = 1.0
        ecn = true
    "#;
    let mut red = queue(early);
    let mut drops = Drops::default();
    for _ in 0..100 {
        red.enqueue(at(0), Packet { ecn: Ecn::Ect0, ..packet() }, &mut drops);
    }
    assert!(drops.is_empty());
    assert!(red.ecn_marks() > 10);
}

#[test]
fn strict_priority_serves_the_first_band_first_and_gives_the_last_what_fits_none() {
    let mut strict = queue(
        r#"
        [roles.core.queue.strict-priority]
        bands = [
            { match = { dscp = ["EF"] }, queue.fifo = { limit = "10 pkt" } },
            { match = { dscp = ["AF11"] }, queue.fifo = { limit = "10 pkt" } },
            { match = { dscp = ["AF12"] }, queue.fifo = { limit = "10 pkt" } },
        ]
        "#,
    );
    let mut drops = Drops::default();
    for dscp in [Dscp::BEST_EFFORT, Dscp::AF12, Dscp::AF11, Dscp::EF] {
        strict.enqueue(at(0), marked(dscp), &mut drops);
    }
    let served: Vec<Dscp> = std::iter::from_fn(|| {
        strict.dequeue(at(1), &mut Drops::default()).map(|queued| queued.packet.dscp)
    })
    .collect();
    assert_eq!(served, [Dscp::EF, Dscp::AF11, Dscp::BEST_EFFORT, Dscp::AF12]);
}
