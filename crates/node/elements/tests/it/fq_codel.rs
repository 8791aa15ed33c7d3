//! FQ-CoDel: the control law of RFC 8289 and the scheduler of RFC 8290, as timelines.

use shortflow_elements::queue::{CoDelParams, EcnMode, FlowQueueSettings, FqCodel, FqCodelParams};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::{Ecn, Packet};
use shortflow_units::{Bytes, Duration, Instant, Length, Rng};

use crate::bench::{P, ms, number_of, p};

/// A queue, and what it dropped.
pub(crate) struct Line<Q> {
    pub(crate) queue: Q,
    drops: Drops,
}

impl<Q: QueueDiscipline> Line<Q> {
    pub(crate) fn new(queue: Q) -> Self {
        Line { queue, drops: Drops::default() }
    }

    pub(crate) fn takes(&mut self, now: Instant, packet: P) {
        self.takes_packet(now, packet.packet());
    }

    pub(crate) fn takes_packet(&mut self, now: Instant, packet: Packet) {
        self.queue.enqueue(now, packet, &mut self.drops);
    }

    pub(crate) fn gives(&mut self, now: Instant) -> Option<Packet> {
        self.queue.dequeue(now, &mut self.drops).map(|queued| queued.packet)
    }

    /// The number of the packet that is given at `now`.
    pub(crate) fn number(&mut self, now: Instant) -> Option<u32> {
        self.gives(now).map(|packet| number_of(&packet))
    }

    /// The packets dropped since the last look, and why.
    pub(crate) fn all_dropped(&mut self) -> Vec<(u32, DropReason)> {
        self.drops.drain().map(|dropped| (number_of(&dropped.packet), dropped.reason)).collect()
    }

    /// The numbers of the packets dropped since the last look.
    pub(crate) fn dropped(&mut self, reason: DropReason) -> Vec<u32> {
        let dropped = self.all_dropped();
        assert!(dropped.iter().all(|&(_, found)| found == reason), "{dropped:?}");
        dropped.into_iter().map(|(number, _)| number).collect()
    }
}

pub(crate) fn settings(limit: u64, queues: usize) -> FlowQueueSettings {
    let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
    FlowQueueSettings {
        limit: Length::Packets(limit),
        queues,
        quantum: Bytes(1000),
        codel: CoDelParams::new(target, interval, Bytes(1000)).unwrap(),
        ecn: EcnMode::Drop,
    }
}

/// As [`settings`], but that CoDel never drops within a test.
pub(crate) fn patient(limit: u64, queues: usize) -> FlowQueueSettings {
    let codel =
        CoDelParams::new(Duration::from_secs(100), Duration::from_secs(1000), Bytes(1000)).unwrap();
    FlowQueueSettings { codel, ..settings(limit, queues) }
}

fn fq_codel(settings: FlowQueueSettings) -> Line<FqCodel> {
    Line::new(FqCodel::new(FqCodelParams::new(settings).unwrap(), Rng::stream(1, "fq-codel")))
}

/// One flow of packets 0 to 199, queued at the start.
fn one_flow(settings: FlowQueueSettings, ecn: Ecn) -> Line<FqCodel> {
    let mut queue = fq_codel(settings);
    (0..200).for_each(|number| queue.takes(ms(0), p(number).with(ecn)));
    queue
}

fn micros(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}

/// Which numbers are dropped when the queue is asked at these instants.
fn drops_at(queue: &mut Line<FqCodel>, instants: &[Instant]) -> Vec<usize> {
    let counted = |&now: &Instant| {
        queue.number(now).expect("the queue is long");
        queue.dropped(DropReason::Early).len()
    };
    instants.iter().map(counted).collect()
}

#[test]
fn drops_begin_when_the_delay_was_above_the_target_for_an_interval() {
    let mut queue = one_flow(settings(1000, 1024), Ecn::NotEct);
    let asked = [4_999, 5_000, 50_000, 104_999, 105_000].map(micros);
    assert_eq!(drops_at(&mut queue, &asked), [0, 0, 0, 0, 1]);
}

#[test]
fn a_delay_below_the_target_starts_the_interval_anew() {
    let mut queue = fq_codel(settings(1000, 1024));
    (0..4).for_each(|number| queue.takes(ms(0), p(number)));
    (4..20).for_each(|number| queue.takes(ms(50), p(number)));
    // Late since 10 ms, until a packet that came at 50 ms leaves at 54 ms; late again since 60 ms.
    for millis in [10, 20, 30, 53] {
        assert!(queue.number(ms(millis)).is_some_and(|number| number < 4));
    }
    assert_eq!(queue.number(ms(54)), Some(4));
    assert_eq!(drops_at(&mut queue, &[60, 110, 159, 160].map(ms)), [0, 0, 0, 1]);
}

#[test]
fn drops_follow_at_the_interval_over_the_square_root_of_their_number() {
    let mut queue = one_flow(settings(1000, 1024), Ecn::NotEct);
    drops_at(&mut queue, &[5, 105].map(ms));
    // 105 + 100 = 205; + 100/√2 = 275.711; + 100/√3 = 333.446; + 100/√4 = 383.446 ms.
    let asked = [204_999, 205_000, 275_710, 275_711, 333_445, 333_446, 383_445, 383_446];
    assert_eq!(drops_at(&mut queue, &asked.map(micros)), [0, 1, 0, 1, 0, 1, 0, 1]);
    // + 100/√5 = 428.167; + 100/√6 = 468.992; + 100/√7 = 506.788 ms: two are due at once.
    assert_eq!(drops_at(&mut queue, &[470, 506, 507].map(ms)), [2, 0, 1]);
}

#[test]
fn a_queue_of_one_packet_behind_the_head_is_left_alone() {
    let mut queue = fq_codel(settings(1000, 1024));
    for number in 0..50 {
        // Each packet waits for 20 ms, with one packet behind it.
        queue.takes(ms(20 * u64::from(number)), p(number));
        if number > 0 {
            assert_eq!(queue.number(ms(20 * u64::from(number))), Some(number - 1));
        }
    }
    assert!(queue.dropped(DropReason::Early).is_empty());
}

/// A flow that was dropping, with 5 signals, until it left at 600 ms; its next signal would have
/// been at 428.167 ms.
fn left_after_five_signals() -> Line<FqCodel> {
    let mut queue = fq_codel(settings(1000, 1024));
    (0..12).for_each(|number| queue.takes(ms(0), p(number)));
    assert_eq!(drops_at(&mut queue, &[5, 105, 205, 276, 334, 384].map(ms)), [0, 1, 1, 1, 1, 1]);
    // One packet is left: the queue is good, and dropping ends.
    assert_eq!(drops_at(&mut queue, &[ms(600)]), [0]);
    assert_eq!(queue.queue.backlog().packets, 0);
    queue
}

#[test]
fn soon_after_it_left_dropping_takes_up_the_rate_that_it_had() {
    let mut queue = left_after_five_signals();
    (100..200).for_each(|number| queue.takes(ms(1000), p(number)));
    // Late since 1005 ms, so at 1105 ms it begins, with signal number 5 − 1 = 4: the next comes
    // 100/√4 ms later, and then 100/√5.
    let asked = [1_005_000, 1_105_000, 1_154_999, 1_155_000, 1_199_721, 1_199_722];
    assert_eq!(drops_at(&mut queue, &asked.map(micros)), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn long_after_it_left_dropping_begins_anew() {
    let mut queue = left_after_five_signals();
    // 16 intervals after 428 ms are over at 2028 ms.
    (100..200).for_each(|number| queue.takes(ms(2000), p(number)));
    let asked = [2_005_000, 2_105_000, 2_204_999, 2_205_000, 2_275_710, 2_275_711];
    assert_eq!(drops_at(&mut queue, &asked.map(micros)), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn ecn_capable_packets_are_marked_in_place_of_drops_and_are_sent() {
    let marking = FlowQueueSettings { ecn: EcnMode::Mark, ..settings(1000, 1024) };
    let mut queue = one_flow(marking, Ecn::Ect0);
    let asked = [5, 105, 204, 205, 275, 276].map(ms);
    let marked: Vec<bool> =
        asked.map(|now| queue.gives(now).unwrap().ecn == Ecn::Ce).into_iter().collect();
    assert_eq!(marked, [false, true, false, true, false, true]);
    assert_eq!(queue.queue.ecn_marks(), 3);
    assert_eq!(queue.number(ms(276)), Some(6), "no packet is lost");
    assert!(queue.dropped(DropReason::Early).is_empty());
    let mut deaf = one_flow(marking, Ecn::NotEct);
    assert_eq!(drops_at(&mut deaf, &asked), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn flows_share_the_line_by_bytes_not_by_packets() {
    let mut queue = fq_codel(patient(10_000, 1024));
    for number in 0..2000 {
        queue.takes(ms(0), p(number).of_flow(1).sized(200));
        queue.takes(ms(0), p(number).of_flow(2).sized(1500));
    }
    let mut bytes = [0u64; 2];
    for _ in 0..1000 {
        let packet = queue.gives(ms(1)).unwrap();
        bytes[usize::from(packet.key.src_port) - 1] += u64::from(packet.size);
    }
    // Each is at most a quantum and a packet ahead of what is due.
    assert!(bytes[0].abs_diff(bytes[1]) <= 2 * (1000 + 1500), "{bytes:?}");
}

#[test]
fn a_flow_that_just_began_to_send_goes_before_those_with_a_backlog() {
    let mut queue = fq_codel(patient(1000, 1024));
    (0..10).for_each(|number| queue.takes(ms(0), p(number).of_flow(1)));
    assert_eq!([1, 2].map(|at| queue.number(ms(at))), [Some(0), Some(1)]);
    queue.takes(ms(3), p(100).of_flow(2).sized(80));
    assert_eq!([3, 4].map(|at| queue.number(ms(at))), [Some(100), Some(2)]);
}

#[test]
fn a_flow_that_comes_back_at_once_does_not_starve_the_others() {
    let mut queue = fq_codel(patient(1000, 1024));
    (0..10).for_each(|number| queue.takes(ms(0), p(number).of_flow(1)));
    assert_eq!(queue.number(ms(0)), Some(0));
    let mut given = Vec::new();
    for number in 100..108 {
        // One small packet of flow 2 waits whenever the line is free.
        queue.takes(ms(1), p(number).of_flow(2).sized(500));
        given.push(queue.number(ms(1)).unwrap() < 100);
    }
    // Its first quantum, 1000 bytes, goes first; then it gets as many bytes as flow 1.
    assert_eq!(given, [false, false, true, false, false, true, false, false]);
}

#[test]
fn above_the_limit_the_fattest_flow_loses_half_its_packets_from_its_head() {
    let mut queue = fq_codel(patient(10, 1024));
    (0..8).for_each(|number| queue.takes(ms(0), p(number).of_flow(1)));
    queue.takes(ms(0), p(20).of_flow(2).sized(1500));
    queue.takes(ms(0), p(21).of_flow(2).sized(1500));
    assert!(queue.dropped(DropReason::Overlimit).is_empty());
    queue.takes(ms(0), p(22).of_flow(2).sized(1500));
    assert_eq!(queue.dropped(DropReason::Overlimit), [0, 1, 2, 3]);
    // Now flow 2 has the most bytes, 4500 against 4000.
    (30..34).for_each(|number| queue.takes(ms(0), p(number).of_flow(3).sized(40)));
    assert_eq!(queue.dropped(DropReason::Overlimit), [20, 21]);
}

#[test]
fn at_most_64_packets_are_dropped_at_a_time() {
    let mut queue = fq_codel(patient(200, 1024));
    (0..201).for_each(|number| queue.takes(ms(0), p(number)));
    assert_eq!(queue.dropped(DropReason::Overlimit), (0..64).collect::<Vec<_>>());
}

#[test]
fn flows_in_one_queue_keep_the_order_of_arrival() {
    let mut queue = fq_codel(patient(100, 1));
    (0..10).for_each(|number| queue.takes(ms(0), p(number).of_flow(number as u16 % 3)));
    assert!((0..10).all(|number| queue.number(ms(1)) == Some(number)));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |settings| {
        let error = FqCodelParams::new(settings).unwrap_err();
        (error.parameter(), error.to_string())
    };
    let message = "queues must be 1 to 65536; found 0".to_owned();
    assert_eq!(refused(settings(10, 0)), ("queues", message));
    let message = "limit must be above zero; found 0 pkt".to_owned();
    assert_eq!(refused(settings(0, 1)), ("limit", message));
    let empty = FlowQueueSettings { quantum: Bytes(0), ..settings(1, 1) };
    assert_eq!(refused(empty), ("quantum", "quantum must be above zero; found 0 B".to_owned()));
    let second = Duration::from_secs(1);
    let error = CoDelParams::new(second, second, Bytes(0)).unwrap_err();
    assert_eq!(error.to_string(), "interval 1 s must be above target 1 s");
}
