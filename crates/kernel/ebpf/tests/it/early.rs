//! Every decision of the program for early drops, beside that of the elements, before a line that sends at one rate. Needs the
//! right to load eBPF.

use std::collections::VecDeque;

use shortflow_ebpf::early::{Arrival as Shown, EarlyPlan, EarlyProgram, MAX_QUEUES, QueuePlace};
use shortflow_elements::classifier::{DscpTable, SimaClass};
use shortflow_elements::queue::{
    AboveMax, Averages, DropCurve, EcnMode, PrecedenceMap, RedGate, RedParams, RedSettings, Sima,
    SimaBuffer, SimaQueueParams, Spacing,
};
use shortflow_elements::{Arrival, DropReason, Drops, Gate, QueueDiscipline, Verdict};
use shortflow_packet::{Dscp, Ecn, Packet, TrafficClass};
use shortflow_units::{Bytes, Duration, Instant, Length, Probability, Rate, Rng};

use crate::loaded::loaded;

/// Bytes before IP, and on the line before that.
const HEADER: u32 = 14;
const OVERHEAD: u32 = 4;
/// Packets of each queue.
const ARRIVALS: usize = 2_000;

fn program(plan: &EarlyPlan) -> Option<EarlyProgram> {
    loaded(EarlyProgram::load_to_try(plan))
}

fn place(rate: Rate) -> QueuePlace {
    QueuePlace { handle: 0x5f01_0000, rate, header: HEADER as i32, overhead: OVERHEAD as i32 }
}

/// A header of Ethernet and one of IPv4 with these bits of ECN.
fn frame(ecn: u8) -> Vec<u8> {
    let mut frame = vec![0; 34];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..18].copy_from_slice(&[0x45, ecn, 0, 20]);
    frame
}

/// One of these, each as likely.
fn one_of<T: Copy>(rng: &mut Rng, each: &[T]) -> T {
    each[rng.below(each.len() as u64) as usize]
}

/// A RED queue by chance: all averages, spacings and units.
fn red_by_chance(rng: &mut Rng) -> RedParams {
    let rate = Rate::from_bits_per_sec(one_of(rng, &[999_983, 4_000_000, 100_000_000]));
    let levels = 1 + rng.below(5);
    let in_bytes = rng.below(2) == 0;
    let length = |packets: u64| match in_bytes {
        true => Length::Bytes(Bytes(packets * 700)),
        false => Length::Packets(packets),
    };
    let above_max = one_of(rng, &[AboveMax::Forced, AboveMax::Gentle]);
    let curve = |rng: &mut Rng| {
        let min = 1 + rng.below(30);
        let max = min + 1 + rng.below(30);
        let highest = Probability::new(one_of(rng, &[0.02, 0.1, 0.3, 1.0])).unwrap();
        DropCurve::new(length(min), length(max), highest, above_max).unwrap()
    };
    let curves: Vec<_> = (0..levels).map(|_| curve(rng)).collect();
    let settings = RedSettings {
        limit: length(60 + rng.below(60)),
        weight: one_of(rng, &[1.0, 0.5, 0.1, 0.02, 0.002]),
        idle_packet: Bytes(one_of(rng, &[500, 1000])),
        rate,
        mean_packet: (rng.below(2) == 0).then_some(Bytes(one_of(rng, &[500, 777]))),
        spacing: one_of(
            rng,
            &[Spacing::Uniform, Spacing::Wait, Spacing::Unclamped, Spacing::Geometric],
        ),
        ecn: one_of(rng, &[EcnMode::Drop, EcnMode::Mark, EcnMode::MarkAboveMax]),
        spare_below: one_of(rng, &[0, 0, 2, 9]),
    };
    let level_of = (0..64).filter_map(Dscp::new).fold(DscpTable::filled(0), |table, dscp| {
        table.with(dscp, (u64::from(dscp.value()) % levels) as u8)
    });
    let averages = one_of(rng, &[Averages::Shared, Averages::PerLevel, Averages::Coupled]);
    RedParams::with_levels(settings, curves, level_of, averages).unwrap()
}

/// Times between packets: by turns more and less than a line of this rate sends, and silence.
struct Gaps {
    rng: Rng,
    mean: f64,
    left: u64,
}

impl Gaps {
    fn next(&mut self, packet_time: f64) -> u64 {
        if self.left == 0 {
            self.left = 1 + self.rng.below(200);
            self.mean = one_of(&mut self.rng, &[0.2, 0.7, 0.95, 1.2, 3.0]);
            return (packet_time * self.rng.exponential(20.0)) as u64;
        }
        self.left -= 1;
        (packet_time * self.rng.exponential(self.mean)) as u64
    }
}

/// What a line does with a RED queue before it.
struct Port {
    gate: RedGate,
    rate: Rate,
    free_at: u64,
    waiting: VecDeque<Arrival>,
}

impl Port {
    fn time_for(&self, packet: Arrival) -> u64 {
        self.rate.time_for(Bytes(u64::from(packet.size + HEADER + OVERHEAD))).nanos()
    }

    /// Sends what it has sent by then.
    fn go_on(&mut self, now: u64) {
        while let Some(packet) = self.waiting.front().copied().filter(|_| self.free_at <= now) {
            self.waiting.pop_front();
            let begun = self.free_at;
            self.free_at += self.time_for(packet);
            self.gate.begin(at(begun), at(self.free_at), packet);
        }
    }

    fn arrive(&mut self, now: u64, packet: Arrival) -> Verdict {
        if self.waiting.is_empty() && self.free_at <= now {
            let left_at = now + self.time_for(packet);
            let verdict = self.gate.pass(at(now), at(left_at), packet);
            if !matches!(verdict, Verdict::Drop(_)) {
                self.free_at = left_at;
            }
            return verdict;
        }
        let verdict = self.gate.admit(at(now), packet);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.waiting.push_back(packet);
        }
        verdict
    }

    /// Packets and bytes that wait, as the kernel counts them.
    fn waits(&self) -> [u32; 2] {
        let bytes = self.waiting.iter().map(|packet| packet.size + HEADER).sum();
        [self.waiting.len() as u32, bytes]
    }
}

fn at(nanos: u64) -> Instant {
    Instant::START + Duration::from_nanos(nanos)
}

/// The numbers of a verdict, in the order of `EarlyCounter`.
fn kind(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Mark => 1,
        Verdict::Drop(DropReason::Early) => 2,
        Verdict::Drop(DropReason::Forced) => 3,
        Verdict::Drop(_) => 4,
    }
}

#[test]
fn red_drops_and_marks_the_same_packets_as_the_element() {
    let mut rng = Rng::stream(7, "early");
    let mut of_kind = [0u64; 5];
    for round in 0..40 {
        let all: Vec<_> = (0..MAX_QUEUES).map(|_| red_by_chance(&mut rng)).collect();
        let mut plan = EarlyPlan::new(true);
        all.iter().for_each(|params| plan.add_red(params, place(params.settings().rate)));
        let Some(program) = program(&plan) else { return };
        for (queue, params) in all.iter().enumerate() {
            let name = format!("round {round}, queue {queue}");
            let found = compare_red(&program, queue, params, &Rng::stream(round, &name), &name);
            of_kind.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
        }
    }
    // Everything happens often.
    assert!(of_kind.iter().all(|found| *found > 5_000), "{of_kind:?}");
}

fn compare_red(
    program: &EarlyProgram,
    queue: usize,
    params: &RedParams,
    seed: &Rng,
    name: &str,
) -> [u64; 5] {
    let mut rng = seed.beside("traffic");
    let mut gaps = Gaps { rng: seed.beside("gaps"), mean: 1.0, left: 0 };
    // The program gets the element's next draw.
    let mut mirror = seed.beside("draws");
    let rate = params.settings().rate;
    let gate = RedGate::new(params.clone(), mirror.clone());
    let mut port = Port { gate, rate, free_at: 0, waiting: VecDeque::new() };
    let (mut now, mut out, mut of_kind) = (1_000_000u64, Vec::new(), [0; 5]);
    let mut counted = vec![[0u64; 5]; params.curves().len()];
    for number in 0..ARRIVALS {
        now += gaps.next(rate.time_for(Bytes(700)).nanos() as f64);
        port.go_on(now);
        let dscp = Dscp::new(rng.below(64) as u8).unwrap();
        let ecn = one_of(&mut rng, &Ecn::ALL);
        let size = one_of(&mut rng, &[40, 576, 700, 1500]);
        let draw = (mirror.clone().uniform() * 4_294_967_296.0) as u32;
        let level = params.level_of(dscp);
        let bits = ecn as u8;
        let (packet, waiting) = (frame(bits), [port.waits(), [0; 2]]);
        let size_of = size + HEADER;
        let shown = Shown { packet: &packet, queue, level, now, draw, waiting, size: size_of };
        let passes = program.try_packet(shown, &mut out).unwrap();
        let verdict = port.arrive(now, Arrival { size, class: TrafficClass::new(dscp, ecn) });
        while mirror.position() < port.gate.draws() {
            mirror.uniform();
        }
        let expected = !matches!(verdict, Verdict::Drop(_));
        assert_eq!(passes, expected, "{name}, packet {number}: {verdict:?}, {params:?}");
        if passes {
            let marked = if verdict == Verdict::Mark { 3 } else { bits };
            assert_eq!(out[15] & 3, marked, "{name}, packet {number}: {params:?}");
        }
        of_kind[kind(verdict)] += 1;
        counted[level][kind(verdict)] += 1;
    }
    for (level, expected) in counted.into_iter().enumerate() {
        let found = program.counter(queue, level).unwrap();
        let found =
            [found.passed - found.marked, found.marked, found.early, found.forced, found.overlimit];
        assert_eq!(found, expected, "{name}, level {level}");
    }
    of_kind
}

#[test]
fn sima_drops_the_same_packets_as_the_element() {
    let mut rng = Rng::stream(8, "early");
    let (mut drops, mut passed) = ([0u64; 2], 0u64);
    for round in 0..40 {
        let maps = [
            PrecedenceMap::CeilingOfGreater,
            PrecedenceMap::FloorOfGreater,
            PrecedenceMap::CeilingOfMean,
            PrecedenceMap::FloorOfMean,
        ];
        let mut buffer = |class: SimaClass| {
            let limit = Bytes(3_000 + rng.below(20_000));
            let weight = one_of(&mut rng, &[1.0, 0.5, 0.1, 0.01]);
            SimaBuffer::new(limit, weight, class.code_points()).unwrap()
        };
        let (real_time, other) = (buffer(SimaClass::RealTime), buffer(SimaClass::NonRealTime));
        let map = maps[round % 4];
        let params = SimaQueueParams::new(real_time, other, map).unwrap();
        let rate = Rate::from_bits_per_sec(4_000_000);
        let mut plan = EarlyPlan::new(true);
        // Another queue before it, so that its places are not the first.
        plan.skip();
        plan.add_sima(&params, [place(rate); 2]);
        let Some(program) = program(&plan) else { return };
        let mut queue = Sima::new(params);
        let mut gaps = Gaps { rng: Rng::stream(round as u64, "gaps"), mean: 1.0, left: 0 };
        let (mut now, mut free_at, mut held) = (0, 0, [[0u32; 2]; 2]);
        let (mut out, mut dropped) = (Vec::new(), Drops::default());
        for number in 0..10_000 {
            now += gaps.next(1_400_000.0);
            while free_at <= now {
                let Some(sent) = queue.dequeue(at(now), &mut dropped) else { break };
                let which = usize::from(!is_real_time(sent.packet.dscp));
                held[which][0] -= 1;
                held[which][1] -= sent.packet.size + HEADER;
                free_at += rate.time_for(sent.packet.bytes()).nanos();
            }
            free_at = free_at.max(now);
            let class = one_of(&mut rng, &[SimaClass::RealTime, SimaClass::NonRealTime]);
            let (which, precedence) =
                (usize::from(class != SimaClass::RealTime), rng.below(8) as usize);
            let dscp = class.code_points()[precedence];
            let size = one_of(&mut rng, &[40, 200, 700, 1500]);
            let shown = Shown {
                packet: &frame(0),
                queue: 1 + which,
                level: precedence,
                now,
                draw: 0,
                waiting: held,
                size: size + HEADER,
            };
            let passes = program.try_packet(shown, &mut out).unwrap();
            let packet = Packet { size, dscp, ..Packet::default() };
            queue.enqueue(at(now), packet, &mut dropped);
            let reasons: Vec<_> = dropped.drain().map(|one| one.reason).collect();
            assert_eq!(passes, reasons.is_empty(), "round {round}, packet {number}: {reasons:?}");
            match reasons.first() {
                None => {
                    held[which][0] += 1;
                    held[which][1] += size + HEADER;
                    passed += 1;
                }
                Some(DropReason::Forced) => drops[0] += 1,
                Some(_) => drops[1] += 1,
            }
        }
    }
    assert!(passed > 50_000 && drops[0] > 50_000 && drops[1] > 1_000, "{passed} {drops:?}");
}

fn is_real_time(dscp: Dscp) -> bool {
    SimaClass::RealTime.code_points().contains(&dscp)
}
