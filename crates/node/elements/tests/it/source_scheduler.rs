//! The source host's output-link scheduler (Noureddine & Tobagi 2002, §6.2), rule by rule.

use std::collections::VecDeque;

use proptest::prelude::*;
use shortflow_elements::DropReason::Overlimit;
use shortflow_elements::classifier::{Classifier, MultiField, PortRange};
use shortflow_elements::meter::TokenBucketParams;
use shortflow_elements::scheduler::{ConnectionRule, SourceLimits, SourceParams, SourceScheduler};
use shortflow_elements::{Drops, QueueDiscipline};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Instant, Length, Rate};

use crate::bench::{Bench, P, ms, number_of, p, rng};

const MARKS: [Dscp; 3] = [Dscp::AF11, Dscp::AF12, Dscp::AF13];

const LIMITS: SourceLimits =
    SourceLimits { limit: Length::Packets(100), limit_per_connection: None, connections: 20 };

/// HIGH: 8 kbit/s, so 1 byte per millisecond; MED: twice that. Connections from ports 100 on are
/// in class 2, from 200 on in class 3; those from x50 on have weight 2.
pub(crate) fn scheduler(
    limits: SourceLimits,
    rate: u64,
    burst: [u64; 2],
    remark: Duration,
) -> SourceScheduler {
    let bucket = |rate, burst| TokenBucketParams::new(Rate::from_bits_per_sec(rate), Bytes(burst));
    let (high, medium) = (bucket(rate, burst[0]).unwrap(), bucket(2 * rate, burst[1]).unwrap());
    let (mut matches, mut rules) = (Vec::new(), Vec::new());
    for (class, first) in [(1, 0), (2, 100), (3, 200)] {
        for (weight, first) in [(1, first), (2, first + 50)] {
            let src_ports = Some(PortRange::new(first, first + 49).unwrap().into());
            matches.push((MultiField { src_ports, ..MultiField::default() }, rules.len()));
            rules.push(ConnectionRule::new(class, weight).unwrap());
        }
    }
    let params = SourceParams::new(limits, high, medium, remark, MARKS).unwrap();
    SourceScheduler::new(params.with_rules(Classifier::new(matches), rules).unwrap(), rng())
}

/// Buckets of 1000 and 2000 bytes, and remarking after 200 ms.
fn source() -> Bench<SourceScheduler> {
    Bench::new(scheduler(LIMITS, 8_000, [1000, 2000], Duration::from_millis(200)))
}

fn high(number: u32) -> P {
    p(number).marked(Dscp::AF11)
}

fn medium(number: u32) -> P {
    p(number).marked(Dscp::AF12)
}

fn low(number: u32) -> P {
    p(number).marked(Dscp::AF13)
}

#[test]
fn classes_are_served_in_their_order() {
    let mut queue = source();
    let [first, second, third] = [low(1).of_flow(1), high(2).of_flow(101), high(3).of_flow(201)];
    queue.at(ms(0)).takes(third.sized(100)).takes(second.sized(100)).takes(first);
    queue.at(ms(0)).gives(first).gives(second.sized(100)).gives(third.sized(100)).gives_nothing();
}

#[test]
fn in_a_class_high_goes_before_medium_before_low() {
    let mut queue = source();
    let [one, two, three] = [low(1).of_flow(1), medium(2).of_flow(2), high(3).of_flow(3)];
    queue.at(ms(0)).takes(one).takes(two).takes(three);
    queue.at(ms(0)).gives(three).gives(two).gives(one);
}

#[test]
fn a_connection_keeps_its_order_whatever_the_marks_of_its_packets() {
    let mut queue = source();
    queue.at(ms(0)).takes(low(1)).takes(high(2)).takes(low(3).of_flow(1)).takes(medium(4));
    // The head of connection 0 is LOW; once it is gone, the HIGH packet behind it is the head.
    queue.at(ms(0)).gives(low(1)).gives(high(2)).gives(medium(4)).gives(low(3).of_flow(1));
}

#[test]
fn a_high_packet_waits_for_its_tokens_and_low_packets_pass_it() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1)).takes(high(2).sized(100)).gives(high(1)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(100)));
    queue.at(ms(40)).takes(low(3).of_flow(201));
    assert_eq!(queue.queue.ready_at(), Some(ms(40)));
    queue.at(ms(50)).gives(low(3).of_flow(201)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(100)));
    queue.at(ms(99)).gives_nothing();
    queue.at(ms(100)).gives(high(2).sized(100));
    assert_eq!(queue.queue.ready_at(), None);
}

#[test]
fn a_priority_that_lacks_tokens_in_a_class_is_blocked_for_lower_classes() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1).sized(950)).gives(high(1).sized(950));
    // 50 bytes of HIGH tokens are left: enough for the small packet of class 2, but class 1 waits.
    let small = high(3).sized(40).of_flow(101);
    let other = medium(4).sized(40).of_flow(201);
    queue.at(ms(0)).takes(high(2).sized(150)).takes(small).takes(other);
    queue.at(ms(0)).gives(other).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(100)));
    queue.at(ms(100)).gives(high(2).sized(150)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(140)));
    queue.at(ms(140)).gives(small);
}

#[test]
fn in_its_own_class_a_small_packet_that_finds_tokens_passes_a_large_one_that_does_not() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1).sized(950)).gives(high(1).sized(950));
    let small = high(3).sized(40).of_flow(2);
    queue.at(ms(0)).takes(high(2).sized(150).of_flow(1)).takes(small).gives(small).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(140)));
}

#[test]
fn connections_of_a_class_take_turns_with_their_weights_in_packets() {
    let mut queue = source();
    for number in 0..6 {
        // Connection 50 has weight 2.
        for flow in [1, 50, 2] {
            let _ = queue.at(ms(0)).takes(low(number).of_flow(flow));
        }
    }
    let mut at = queue.at(ms(0));
    let turns: Vec<u16> = (0..8).map(|_| at.next().unwrap().key.src_port).collect();
    assert_eq!(turns, [1, 50, 50, 2, 1, 50, 50, 2]);
}

#[test]
fn a_high_packet_that_was_queued_for_200_ms_is_sent_as_medium() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1)).gives(high(1));
    queue.at(ms(10)).takes(high(2).of_flow(1));
    // Its tokens would be there at 1000 ms. At 210 ms it is MED, for which there are tokens.
    assert_eq!(queue.queue.ready_at(), Some(ms(210)));
    queue.at(ms(209)).gives_nothing();
    queue.at(ms(210)).gives(medium(2).of_flow(1));
}

#[test]
fn after_another_200_ms_it_is_sent_as_low() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1)).takes(medium(2)).takes(medium(3)).takes(high(4));
    queue.at(ms(0)).gives(high(1)).gives(medium(2)).gives(medium(3));
    // MED tokens for 1000 bytes are there at 500 ms, HIGH ones at 1000 ms; at 400 ms it is LOW.
    assert_eq!(queue.queue.ready_at(), Some(ms(400)));
    queue.at(ms(400)).gives(low(4));
}

#[test]
fn a_packet_that_came_as_medium_is_low_after_200_ms() {
    let mut queue = source();
    queue.at(ms(0)).takes(medium(1).sized(2000)).gives(medium(1).sized(2000));
    queue.at(ms(5)).takes(medium(2));
    assert_eq!(queue.queue.ready_at(), Some(ms(205)));
    queue.at(ms(205)).gives(low(2));
}

#[test]
fn the_time_counts_from_when_the_packet_was_queued() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1)).takes(high(2)).takes(high(3).sized(300));
    queue.at(ms(0)).gives(high(1)).gives_nothing();
    // Packet 2 goes as MED at 200 ms. Packet 3, then head, has been queued as long.
    queue.at(ms(200)).gives(medium(2)).gives(medium(3).sized(300));
}

#[test]
fn a_packet_greater_than_its_bucket_goes_when_it_is_remarked() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1).sized(1001)).gives_nothing();
    assert_eq!(queue.queue.ready_at(), Some(ms(200)));
    queue.at(ms(200)).gives(medium(1).sized(1001));
    queue.at(ms(200)).takes(medium(2).sized(2001));
    assert_eq!(queue.queue.ready_at(), Some(ms(400)));
    queue.at(ms(400)).gives(low(2).sized(2001));
}

#[test]
fn a_remarked_head_blocks_its_new_priority_and_frees_its_old_one() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1).sized(900)).gives(high(1).sized(900));
    queue.at(ms(0)).takes(medium(2).sized(1900)).gives(medium(2).sized(1900));
    queue.at(ms(0)).takes(high(3));
    queue.at(ms(150)).takes(high(4).sized(300).of_flow(101));
    // At 200 ms the packet of class 1 becomes MED, without tokens (500 of 1000). HIGH tokens for
    // the packet of class 2 (250 at 150 ms) are there then, which class 1 no longer blocks.
    assert_eq!(queue.queue.ready_at(), Some(ms(200)));
    queue.at(ms(200)).gives(high(4).sized(300).of_flow(101)).gives_nothing();
    // At 400 ms it is LOW, before its tokens of MED (at 450 ms).
    assert_eq!(queue.queue.ready_at(), Some(ms(400)));
    queue.at(ms(399)).takes(medium(5).sized(40).of_flow(101)).gives_nothing();
    queue.at(ms(400)).gives(low(3)).gives(medium(5).sized(40).of_flow(101));
}

#[test]
fn what_could_go_at_ready_at_still_can_when_the_line_is_free_later() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1));
    assert_eq!(queue.queue.ready_at(), Some(ms(0)));
    // The line was busy for 300 ms. The packet did not wait for tokens: it is still HIGH.
    queue.at(ms(300)).gives(high(1));
}

#[test]
fn an_arrival_that_does_not_compete_does_not_change_what_goes() {
    let sent_at_300_ms = |another: bool| {
        let mut queue = source();
        queue.at(ms(0)).takes(high(1));
        if another {
            // LOW, in the last class, while the line is busy.
            queue.at(ms(250)).takes(low(2).of_flow(201));
        }
        queue.at(ms(300)).next()
    };
    // The first packet waited for the line alone: it is still HIGH.
    assert_eq!(sent_at_300_ms(false), Some(high(1).packet()));
    assert_eq!(sent_at_300_ms(true), Some(high(1).packet()));
}

#[test]
fn an_arrival_that_blocks_what_could_go_is_seen_together_with_what_was_remarked() {
    let mut queue = source();
    queue.at(ms(0)).takes(high(1).sized(700)).gives(high(1).sized(700));
    queue.at(ms(0)).takes(high(2).sized(300).of_flow(101));
    // At 50 ms class 1 wants 1000 bytes of HIGH, of which there are 350: class 2 must wait. At
    // 200 ms its head is MED, for which there are tokens.
    queue.at(ms(50)).takes(high(3).sized(1000));
    assert_eq!(queue.queue.ready_at(), Some(ms(200)));
    queue.at(ms(200)).gives(medium(2).sized(300).of_flow(101));
}

#[test]
fn of_many_heads_that_are_remarked_one_after_another_the_first_is_low_first() {
    let limits = SourceLimits { limit: Length::Packets(2000), connections: 512, ..LIMITS };
    let mut queue = scheduler(limits, 8, [1500, 1500], Duration::from_millis(200));
    let mut drops = Drops::default();
    let at = |millis| ms(0) + Duration::from_micros(10 * millis);
    queue.enqueue(at(0), high(0).sized(1500).of_flow(0).packet(), &mut drops);
    assert!(queue.dequeue(at(0), &mut drops).is_some(), "takes all tokens of HIGH");
    queue.enqueue(at(0), medium(1).sized(1500).of_flow(0).packet(), &mut drops);
    assert!(queue.dequeue(at(0), &mut drops).is_some(), "takes all tokens of MED");
    for n in 0..512_u32 {
        let packet = high(n).sized(1000).of_flow(n as u16).packet();
        queue.enqueue(at(u64::from(n)), packet, &mut drops);
        // At 8 bit/s no tokens come in time: the first head is LOW after 400 ms.
        assert_eq!(queue.ready_at(), Some(ms(400)), "after {n} arrivals");
    }
    assert!(drops.is_empty());
}

#[test]
fn other_code_points_are_low_and_are_not_rewritten() {
    let mut queue = source();
    queue.at(ms(0)).takes(p(1)).takes(p(2).marked(Dscp::EF));
    queue.at(ms(500)).gives(p(1)).gives(p(2).marked(Dscp::EF));
}

#[test]
fn each_limit_drops_what_no_longer_fits() {
    let per_connection = SourceLimits {
        limit: Length::Packets(4),
        limit_per_connection: Some(Length::Packets(2)),
        connections: 2,
    };
    let mut queue =
        Bench::new(scheduler(per_connection, 8_000, [9, 9], Duration::from_millis(200)));
    queue.at(ms(0)).takes(low(1)).takes(low(2)).drops(low(3), Overlimit);
    queue.at(ms(0)).takes(low(4).of_flow(1)).drops(low(5).of_flow(2), Overlimit);
    queue.at(ms(0)).takes(low(6).of_flow(1)).gives(low(1)).takes(low(7));
    queue.at(ms(0)).gives(low(4).of_flow(1)).gives(low(2)).gives(low(6).of_flow(1));
    // Connection 1 waits no longer: there is room for another.
    queue.at(ms(0)).takes(low(8).of_flow(2)).gives(low(7)).gives(low(8).of_flow(2));
    queue.holds(0, 0);
}

#[test]
fn what_cannot_be_is_refused() {
    let bucket = || TokenBucketParams::new(Rate::from_bits_per_sec(8_000), Bytes(1000)).unwrap();
    let second = Duration::from_secs(1);
    let refused = |limits, remark| {
        let error = SourceParams::new(limits, bucket(), bucket(), remark, MARKS).unwrap_err();
        (error.parameter(), error.to_string())
    };
    let none = SourceLimits { connections: 0, ..LIMITS };
    let message = "connections must be 1 to 1048576; found 0".to_owned();
    assert_eq!(refused(none, second), ("connections", message));
    let message = "remark_after must be above zero; found 0 ns".to_owned();
    assert_eq!(refused(LIMITS, Duration::ZERO), ("remark_after", message));
    let empty = SourceLimits { limit_per_connection: Some(Length::Packets(0)), ..LIMITS };
    let message = "limit_per_connection must be above zero; found 0 pkt".to_owned();
    assert_eq!(refused(empty, second), ("limit_per_connection", message));
    let error = ConnectionRule::new(0, 1).unwrap_err();
    assert_eq!(error.to_string(), "class must be 1 to 8; found 0");
    let error = ConnectionRule::new(1, 0).unwrap_err();
    assert_eq!(error.to_string(), "weight must be above zero; found 0");
}

/// The rules read literally: every head is looked at, and time goes by in steps of 0.1 ms, at
/// which, by the choice of sizes and rates, everything happens.
struct Oracle {
    connections: Vec<(u16, VecDeque<Waiting>)>,
    /// Tokens in tenths of a byte, as of `at`: HIGH earns one in a step, MED two.
    tokens: [u64; 2],
    at: u64,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    number: u32,
    size: u32,
    mark: usize,
    since: u64,
}

const STEP: u64 = 100_000;
const BURST: [u64; 2] = [300, 500];
const REMARK_STEPS: u64 = 1_500;

impl Oracle {
    fn priority(waiting: &Waiting, step: u64) -> usize {
        (waiting.mark + (step.saturating_sub(waiting.since) / REMARK_STEPS) as usize)
            .min(waiting.mark.max(2))
    }

    fn tokens_at(&self, step: u64, priority: usize) -> u64 {
        let earned = (step - self.at) * [1, 2][priority];
        (self.tokens[priority] + earned).min(10 * BURST[priority])
    }

    /// The class and priority that is served with the heads as of `heads_at` and the tokens as of
    /// `step`.
    fn served(&self, heads_at: u64, step: u64) -> Option<(u16, usize)> {
        let mut blocked = [false; 3];
        for class in 0..3 {
            for (priority, blocked) in blocked.iter_mut().enumerate() {
                let of_class = self.connections.iter().filter(|(flow, _)| flow / 100 == class);
                let heads: Vec<&Waiting> = of_class
                    .filter_map(|(_, packets)| packets.front())
                    .filter(|head| Oracle::priority(head, heads_at) == priority)
                    .collect();
                let admitted = |head: &&Waiting| {
                    priority == 2 || 10 * u64::from(head.size) <= self.tokens_at(step, priority)
                };
                if !*blocked && heads.iter().any(admitted) {
                    return Some((class, priority));
                }
                *blocked |= !heads.is_empty();
            }
        }
        None
    }

    fn ready_at(&self, from: u64) -> Option<u64> {
        let mut steps = from..=from + 2 * REMARK_STEPS;
        let is_empty = self.connections.iter().all(|(_, packets)| packets.is_empty());
        (!is_empty).then(|| steps.find(|&step| self.served(step, step).is_some()).unwrap())
    }

    fn enqueue(&mut self, step: u64, flow: u16, waiting: Waiting) -> bool {
        let known = self.connections.iter().position(|(other, _)| *other == flow);
        let place = known.unwrap_or_else(|| {
            self.connections.push((flow, VecDeque::new()));
            self.connections.len() - 1
        });
        let packets = &mut self.connections[place].1;
        packets.push_back(Waiting { since: step, ..waiting });
        packets.len() == 1
    }

    fn sent(&mut self, step: u64, flow: u16, priority: usize) -> Waiting {
        self.tokens = [self.tokens_at(step, 0), self.tokens_at(step, 1)];
        self.at = step;
        let connection = self.connections.iter_mut().find(|(other, _)| *other == flow);
        let waiting = connection.unwrap().1.pop_front().unwrap();
        if priority < 2 {
            self.tokens[priority] -= 10 * u64::from(waiting.size);
        }
        waiting
    }
}

#[derive(Debug, Clone)]
enum Move {
    Enqueue { flow: u16, size: u32, mark: usize },
    Dequeue { later: u64 },
    Wait { steps: u64 },
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let flow = prop::sample::select(vec![0u16, 1, 101, 102, 201, 202]);
    let one = prop_oneof![
        5 => (flow, 1..60u32, 0..3usize)
            .prop_map(|(flow, size, mark)| Move::Enqueue { flow, size: 10 * size, mark }),
        4 => prop_oneof![3 => Just(0u64), 1 => 0..400u64].prop_map(|later| Move::Dequeue { later }),
        2 => (0..1_000u64).prop_map(|steps| Move::Wait { steps }),
    ];
    prop::collection::vec(one, 0..120)
}

proptest! {
    #[test]
    fn what_goes_when_is_what_the_rules_say_read_literally(moves in moves()) {
        let remark = Duration::from_nanos(REMARK_STEPS * STEP);
        let mut queue = scheduler(LIMITS, 8_000, BURST, remark);
        let full = BURST.map(|bytes| 10 * bytes);
        let mut oracle = Oracle { connections: Vec::new(), tokens: full, at: 0 };
        let mut drops = Drops::default();
        let (mut step, mut ready) = (0, None);
        let instant = |step| Instant::from_nanos(step * STEP);
        for (number, one) in moves.into_iter().enumerate() {
            let number = number as u32;
            match one {
                Move::Enqueue { flow, size, mark } => {
                    let packet = p(number).of_flow(flow).sized(size).marked(MARKS[mark]);
                    queue.enqueue(instant(step), packet.packet(), &mut drops);
                    prop_assert!(drops.is_empty());
                    let is_head =
                        oracle.enqueue(step, flow, Waiting { number, size, mark, since: step });
                    // What could go while the line was busy still can, unless this one blocks it.
                    let still = |ready| ready <= step && oracle.served(ready, step).is_some();
                    if is_head && !ready.is_some_and(still) {
                        ready = oracle.ready_at(step);
                    }
                }
                Move::Dequeue { later } => {
                    let Some(ready_at) = ready else { continue };
                    step = step.max(ready_at) + later;
                    let given = queue.dequeue(instant(step), &mut drops).unwrap().packet;
                    let flow = given.key.src_port;
                    let priority = MARKS.iter().position(|&mark| mark == given.dscp).unwrap();
                    prop_assert_eq!(Some((flow / 100, priority)), oracle.served(ready_at, step));
                    prop_assert_eq!(oracle.sent(step, flow, priority).number, number_of(&given));
                    ready = oracle.ready_at(step);
                }
                Move::Wait { steps } => step += steps,
            }
            prop_assert_eq!(queue.ready_at(), ready.map(instant));
        }
    }

    /// In any interval, at most rate·t + burst of a regulated priority leaves.
    #[test]
    fn a_priority_keeps_to_its_bucket_in_every_interval(moves in moves()) {
        let rate = 333_333;
        let mut queue = scheduler(LIMITS, rate, BURST, Duration::from_millis(3));
        let mut drops = Drops::default();
        let mut sent: [Vec<(Instant, u64)>; 2] = Default::default();
        let mut now = Instant::START;
        for (number, one) in moves.into_iter().enumerate() {
            match one {
                Move::Enqueue { flow, size, mark } => {
                    let packet = p(number as u32).of_flow(flow).sized(size).marked(MARKS[mark]);
                    queue.enqueue(now, packet.packet(), &mut drops);
                }
                Move::Wait { steps } => now += Duration::from_micros(3 * steps),
                Move::Dequeue { .. } => {
                    let Some(ready_at) = queue.ready_at() else { continue };
                    now = now.max(ready_at);
                    let given = queue.dequeue(now, &mut drops).unwrap().packet;
                    let priority = MARKS.iter().position(|&mark| mark == given.dscp).unwrap();
                    if let Some(sent) = sent.get_mut(priority) {
                        sent.push((now, u64::from(given.size)));
                    }
                }
            }
        }
        for (priority, sent) in sent.iter().enumerate() {
            let rate = Rate::from_bits_per_sec(rate * [1, 2][priority]);
            for (first, &(start, _)) in sent.iter().enumerate() {
                let mut bytes = 0;
                for &(end, size) in &sent[first..] {
                    bytes += size;
                    prop_assert!(bytes <= rate.volume(end.since(start)).0 + BURST[priority] + 1);
                }
            }
        }
    }
}
