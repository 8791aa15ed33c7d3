//! Queues of a role.

use shortflow_elements::{DropReason, Drops, Dscp, Ecn, Packet, Protocol, QueueDiscipline};

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

#[test]
fn a_threshold_may_be_a_share_of_the_limit() {
    // 10 % and 35 % of 64 packets are 6 and 22 to the nearest packet; the average is the queue.
    let text = r#"
        [roles.core.queue.red]
        limit = "64 pkt"
        weight = 1.0
        min_threshold = "LOW"
        max_threshold = "22 pkt"
        max_probability = 1.0
    "#;
    let (mut shares, mut lengths) = (
        queue(&text.replace("LOW", "10 %").replace("22 pkt", "35 %")),
        queue(&text.replace("LOW", "6 pkt")),
    );
    for _ in 0..200 {
        let dropped =
            [&mut shares, &mut lengths].map(|red| dropped(red.as_mut(), Dscp::BEST_EFFORT, 1));
        assert_eq!(dropped[0], dropped[1]);
    }
    assert_eq!(shares.backlog(), lengths.backlog());
    assert!((7..=22).contains(&shares.backlog().packets), "{:?}", shares.backlog());
}

#[test]
fn three_priority_red_refuses_low_before_med_and_med_before_high() {
    let text = include_str!("../../../../policies/three-priority-red.toml");
    let mut red = queue(text);
    let mut held = |dscp| {
        dropped(red.as_mut(), dscp, 400);
        red.backlog().packets
    };
    // Each gets one packet beyond its maximum threshold, 70 and 120, for an average with weight 0.5
    // comes near to what is held from below, and no packet beyond that.
    let levels = [Dscp::BEST_EFFORT, Dscp::AF12, Dscp::AF11].map(&mut held);
    assert_eq!(levels, [71, 71 + 121, 200], "LOW, then MED, then HIGH to the limit");
}

/// The numbers of the packets that `queue` gives until it is empty.
fn served(queue: &mut dyn QueueDiscipline) -> Vec<u32> {
    let drops = &mut Drops::default();
    std::iter::from_fn(|| queue.dequeue(at(1), drops).map(|queued| queued.packet.tcp.seq)).collect()
}

/// Offers packets of these code points, numbered from 0, and says which were dropped.
fn offered(queue: &mut dyn QueueDiscipline, code_points: &[Dscp]) -> Vec<u32> {
    let mut drops = Drops::default();
    for (number, &dscp) in code_points.iter().enumerate() {
        let mut packet = marked(dscp);
        packet.tcp.seq = number as u32;
        queue.enqueue(at(0), packet, &mut drops);
    }
    drops.drain().map(|drop| drop.packet.tcp.seq).collect()
}

#[test]
fn a_shared_buffer_has_bands_of_code_points_and_pushes_out_of_the_last() {
    let mut shared = queue(
        "[roles.core.queue.shared-priority]\nlimit = \"3 pkt\"\n\
         bands = [[\"EF\", \"CS7\"], \"rest\", \"AF12\"]",
    );
    let arrivals = [Dscp::AF12, Dscp::BEST_EFFORT, Dscp::AF12, Dscp::EF, Dscp::AF11];
    assert_eq!(offered(shared.as_mut(), &arrivals), [2, 0]);
    assert_eq!(served(shared.as_mut()), [3, 1, 4]);
}

#[test]
fn a_range_of_code_points_is_a_band_for_each_of_them() {
    let all: Vec<Dscp> = (0..64).map(|value| Dscp::new(value).unwrap()).collect();
    let text = "[roles.core.queue.shared-priority]\nlimit = \"64 pkt\"\nbands = [\"0-63\"]";
    let (mut upwards, mut downwards) = (queue(text), queue(&text.replace("0-63", "63-0")));
    assert!(offered(upwards.as_mut(), &all).is_empty());
    assert!(offered(downwards.as_mut(), &all).is_empty());
    assert!(served(upwards.as_mut()).into_iter().eq(0..64));
    assert!(served(downwards.as_mut()).into_iter().eq((0..64).rev()));
}

#[test]
fn a_band_of_a_shared_buffer_may_be_a_rule_among_code_points() {
    let mut shared = queue(
        "[roles.core.queue.shared-priority]\nlimit = \"9 pkt\"\n\
         bands = [\"EF\", { match = { src_port = 80 } }, \"rest\"]",
    );
    let mut drops = Drops::default();
    for (number, (dscp, src_port)) in
        [(Dscp::AF11, 7), (Dscp::AF11, 80), (Dscp::EF, 80)].into_iter().enumerate()
    {
        let mut packet = marked(dscp);
        (packet.key.src_port, packet.tcp.seq) = (src_port, number as u32);
        shared.enqueue(at(0), packet, &mut drops);
    }
    assert_eq!(served(shared.as_mut()), [2, 1, 0]);
}

#[test]
fn stf_serves_the_flow_of_which_the_fewest_bytes_have_left() {
    let mut stf = queue("[roles.core.queue.stf]\nlimit = \"9 pkt\"");
    let mut drops = Drops::default();
    let mut offer = |stf: &mut dyn QueueDiscipline, number: u32, src_port| {
        let mut packet = packet();
        (packet.key.src_port, packet.tcp.seq) = (src_port, number);
        stf.enqueue(at(0), packet, &mut drops);
    };
    offer(stf.as_mut(), 0, 80);
    assert_eq!(served(stf.as_mut()), [0]);
    offer(stf.as_mut(), 1, 80);
    offer(stf.as_mut(), 2, 81);
    assert_eq!(served(stf.as_mut()), [2, 1]);
}

/// The packets of DT-WFQ at R1–R2 in Guo, Zhu, Zhang & Zhang 2005, §4: each real-time flow has its
/// own rate, what else comes from R0–R1 has the rest of its 10 Mbit/s, and the others have the
/// other 10; best effort has 200 packets in all.
const DT_WFQ: &str = r#"
    [roles.core.queue.wfq]
    limit = "200 pkt"
    classes = [
        { match = { protocol = "udp", dst_port = 5001 }, weight = "10 kbit/s", limit = "100 pkt" },
        { match = { protocol = "udp", dst_port = 5002 }, weight = "20 kbit/s", limit = "100 pkt" },
        { match = { src = "10.0.0.0/24" }, weight = "9970 kbit/s" },
        { weight = "10 Mbit/s" },
    ]
"#;

/// Offers `count` packets from port 80 and the address 10.0.`net`.1 and says how many are dropped.
fn from_net(queue: &mut dyn QueueDiscipline, net: u32, count: usize) -> usize {
    let mut drops = Drops::default();
    for _ in 0..count {
        let mut packet = packet();
        packet.key.src.0 += net << 8;
        queue.enqueue(at(0), packet, &mut drops);
    }
    drops.len()
}

#[test]
fn wfq_shares_the_link_by_reserved_rates() {
    let mut wfq = queue(DT_WFQ);
    from_net(wfq.as_mut(), 0, 100);
    from_net(wfq.as_mut(), 1, 100);
    let mut from_r0 = 0;
    for _ in 0..100 {
        let given = wfq.dequeue(at(0), &mut Drops::default()).unwrap();
        from_r0 += usize::from(given.packet.key.src == packet().key.src);
    }
    // 9970 to 10000.
    assert!((49..=51).contains(&from_r0), "{from_r0}");
}

#[test]
fn wfq_classes_share_a_limit_or_have_their_own() {
    let mut wfq = queue(DT_WFQ);
    assert_eq!(from_net(wfq.as_mut(), 0, 150), 0);
    assert_eq!(from_net(wfq.as_mut(), 1, 60), 10);
    let mut drops = Drops::default();
    for _ in 0..100 {
        let mut datagram = packet();
        (datagram.key.protocol, datagram.key.dst_port) = (Protocol::Udp, 5001);
        wfq.enqueue(at(0), datagram, &mut drops);
    }
    assert!(drops.is_empty(), "real-time packets have buffers of their own");
}

#[test]
fn a_weight_per_flow_is_one_for_each_5_tuple() {
    let mut wfq = queue(
        "[roles.core.queue.wfq]\nlimit = \"100 pkt\"\n\
         classes = [{ match = { protocol = \"tcp\" }, weight = 1.5, per = \"flow\" }, { weight = 3 }]",
    );
    let mut drops = Drops::default();
    for _ in 0..20 {
        for (protocol, src_port) in [(Protocol::Tcp, 1), (Protocol::Tcp, 2), (Protocol::Udp, 3)] {
            let mut packet = packet();
            (packet.key.protocol, packet.key.src_port) = (protocol, src_port);
            wfq.enqueue(at(0), packet, &mut drops);
        }
    }
    let mut given = [0; 4];
    for _ in 0..20 {
        let packet = wfq.dequeue(at(0), &mut drops).unwrap().packet;
        given[usize::from(packet.key.src_port)] += 1;
    }
    assert_eq!(given, [0, 5, 5, 10]);
}
