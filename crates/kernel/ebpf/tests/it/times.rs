//! How long connections took, by what a class has seen of them: packets by hand at times by hand. Needs the right to load eBPF.

use std::collections::BTreeMap;

use shortflow_ebpf::edge::{
    Buckets, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, EdgeTimes, Trial,
};
use shortflow_elements::classifier::{MultiField, PortRange, SimaClass};
use shortflow_elements::marker::{
    AdmissionParams, Counted, DstfParams, LoadWindow, SimaParams, SizeLevels,
};
use shortflow_elements::meter::{
    FairMarkerParams, FlowTableSize, InitialRate, MomentaryRateParams, TokenBucketParams, TswParams,
};
use shortflow_elements::{Aggregate, Per};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Rate, Rng};

use crate::edge::{all, dscp, program};

const MS: u64 = 1_000_000;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// A packet of Ethernet, IPv4 and TCP, from this port to port 80.
fn tcp(port: u16, flags: u8, sequence: u32, payload: usize) -> Vec<u8> {
    let length = (40 + payload) as u16;
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0]);
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(port.to_be_bytes());
    packet.extend([0, 80]);
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    packet.resize(54 + payload, 0);
    packet
}

/// A datagram whose payload would be flags of TCP, if it were one.
fn udp(port: u16) -> Vec<u8> {
    let mut packet = tcp(port, SYN | FIN, 1, 0);
    packet[23] = 17;
    packet
}

fn per(by: Aggregate, flows: usize, idle: u64) -> Per {
    Per::new(by, flows, Duration::from_nanos(idle)).unwrap()
}

fn dstf(per: Per) -> EdgeMeter {
    let code_points = SizeLevels::default_code_points(8);
    let levels = SizeLevels::new(&SizeLevels::HARP, code_points).unwrap();
    let never = Rate::from_bits_per_sec(0);
    EdgeMeter::Dstf(DstfParams::new(levels, per, Counted::Packet, never).unwrap())
}

fn bucket(per: Option<Per>) -> EdgeMeter {
    let bucket = TokenBucketParams::new(Rate::from_bits_per_sec(10_000_000), Bytes(2_000)).unwrap();
    EdgeMeter::Buckets { buckets: Buckets::TokenBucket(bucket), per }
}

/// What knows each flow: all meters that have a table of them. A Fair Marker forgets none for its silence.
fn meters(flows: usize, idle: u64) -> Vec<EdgeMeter> {
    let per = per(Aggregate::Flow, flows, idle);
    let rate = Rate::from_bits_per_sec(10_000_000);
    let momentary = MomentaryRateParams::new(rate, Bytes(1448), 0.1).unwrap();
    let code_points = SimaParams::default_code_points(SimaClass::NonRealTime);
    let sima = SimaParams::new(rate, momentary, Some(per), code_points).unwrap();
    let peak = Rate::from_bits_per_sec(80_000);
    let code_points = [Dscp::EF, Dscp::BEST_EFFORT];
    let window = LoadWindow::new(Duration::from_millis(100), 10).unwrap();
    let admission = AdmissionParams::new(rate, peak, None, window, per, code_points).unwrap();
    vec![
        dstf(per),
        bucket(Some(per)),
        EdgeMeter::Sima(sima),
        EdgeMeter::Admission(admission),
        fair_marker(flows),
    ]
}

fn fair_marker(flows: usize) -> EdgeMeter {
    let rate = Rate::from_bits_per_sec(10_000_000);
    let tsw = TswParams::new(rate, Duration::from_secs(1), InitialRate::Zero).unwrap();
    let size = FlowTableSize::AtMost(flows);
    EdgeMeter::FairMarker(FairMarkerParams::new(tsw, 5, size).unwrap())
}

fn class(meter: EdgeMeter) -> EdgeClass {
    let code_points = Some([Dscp::AF11, Dscp::AF12, dscp(1)]);
    EdgeClass { meter, code_points, police: None }
}

/// A program of one class, and what it is shown.
struct Line(EdgeProgram);

impl Line {
    fn with(meter: EdgeMeter) -> Option<Line> {
        let plan = EdgePlan::new(&[(all(), 0)], &[class(meter)]).unwrap();
        program(&plan).map(Line)
    }

    fn at(&self, now: u64, packet: &[u8]) {
        self.cut_at(now, packet, [0; 2]);
    }

    /// A packet that a device cuts into so many segments of so many bytes.
    fn cut_at(&self, now: u64, packet: &[u8], [segments, segment]: [u32; 2]) {
        let trial = Trial { packet, now, segments, segment, ..Trial::default() };
        self.0.try_packet(trial, &mut Vec::new()).unwrap();
    }

    fn times(&self) -> [EdgeTimes; 4] {
        self.0.times().unwrap()[0].expect("the class knows flows")
    }

    /// How many connections have ended, the sum of what they took, and how many were forgotten.
    fn sums(&self) -> [u64; 3] {
        let times = self.times();
        let sum = |of: fn(&EdgeTimes) -> u64| times.iter().map(of).sum();
        [sum(EdgeTimes::count), sum(|one| one.sum), sum(|one| one.unfinished)]
    }
}

#[test]
fn a_connection_takes_from_its_syn_to_its_fin_and_what_is_sent_again_does_not_count_again() {
    for meter in meters(100, 1_000_000 * MS) {
        let Some(line) = Line::with(meter) else { return };
        line.at(1_000 * MS, &tcp(1, SYN | ACK, 7, 0));
        line.at(1_004 * MS, &tcp(1, SYN | ACK, 7, 0));
        line.at(1_010 * MS, &tcp(1, ACK, 8, 1_000));
        assert_eq!(line.sums(), [0; 3], "it has not ended");
        line.at(1_030 * MS, &tcp(1, FIN | ACK, 1_008, 500));
        let mut wanted = [EdgeTimes::default(); 4];
        // Of 20 to 50 ms.
        wanted[0].parts[5] = 1;
        wanted[0].sum = 30 * MS;
        assert_eq!(line.times(), wanted);
        line.at(1_500 * MS, &tcp(1, ACK, 8, 1_000));
        line.at(1_600 * MS, &tcp(1, FIN | ACK, 1_008, 500));
        line.at(1_700 * MS, &tcp(1, RST, 1_509, 0));
        line.at(1_800 * MS, &tcp(1, SYN | ACK, 7, 0));
        line.at(1_900 * MS, &tcp(1, RST, 1_509, 0));
        assert_eq!(line.times(), wanted);
    }
}

#[test]
fn a_connection_ends_with_a_rst_too_and_one_whose_beginning_nobody_saw_is_not_timed() {
    let Some(line) = Line::with(fair_marker(100)) else { return };
    line.at(MS, &tcp(1, SYN, 7, 0));
    line.at(4 * MS, &tcp(1, RST | ACK, 8, 0));
    assert_eq!(line.sums(), [1, 3 * MS, 0]);
    line.at(5 * MS, &tcp(2, ACK, 8, 1_000));
    line.at(6 * MS, &tcp(2, FIN | ACK, 1_008, 0));
    line.at(7 * MS, &tcp(3, RST | ACK, 0, 0));
    assert_eq!(line.sums(), [1, 3 * MS, 0]);
}

#[test]
fn each_part_ends_with_its_bound_and_each_group_with_its_size() {
    let Some(line) = Line::with(fair_marker(1_000)) else { return };
    let (mut port, mut now) = (0, MS);
    let mut wanted = [EdgeTimes::default(); 4];
    let mut show = |took: u64, bytes: u64| {
        port += 1;
        line.at(now, &tcp(port, SYN | ACK, 7, 0));
        // Beside the SYN-ACK of 40 bytes, segments of 1000 bytes of data at most, each with 40 of headers.
        let mut left = bytes - 40;
        while left > 1_100 {
            line.at(now, &tcp(port, ACK, 8, 1_000));
            left -= 1_040;
        }
        now += took;
        line.at(now, &tcp(port, FIN | ACK, 8, left as usize - 40));
    };
    for (part, bound) in EdgeTimes::BOUNDS.into_iter().enumerate() {
        for (part, took) in [(part, bound.nanos()), (part + 1, bound.nanos() + 1)] {
            show(took, 100);
            wanted[0].parts[part] += 1;
            wanted[0].sum += took;
        }
    }
    for (size, max) in EdgeTimes::SIZES.into_iter().enumerate() {
        for (size, bytes) in [(size, max.0), (size + 1, max.0 + 1)] {
            show(MS, bytes);
            wanted[size].parts[0] += 1;
            wanted[size].sum += MS;
        }
    }
    assert_eq!(line.times(), wanted);
}

#[test]
fn flows_that_give_way_or_are_silent_for_too_long_count_as_unfinished_by_what_they_had_sent() {
    let Some(line) = Line::with(dstf(per(Aggregate::Flow, 2, 1_000 * MS))) else { return };
    line.at(MS, &tcp(1, SYN, 7, 0));
    for _ in 0..20 {
        line.at(2 * MS, &tcp(1, ACK, 8, 1_000));
    }
    line.at(3 * MS, &tcp(2, SYN, 7, 0));
    assert_eq!(line.sums(), [0; 3]);
    line.at(4 * MS, &tcp(3, SYN, 7, 0));
    let unfinished = |line: &Line| line.times().map(|one| one.unfinished);
    assert_eq!(unfinished(&line), [0, 1, 0, 0], "the first gave way, with 20,840 bytes");
    // What comes of it later is of a flow whose beginning nobody saw, and displaces the second.
    line.at(5 * MS, &tcp(1, FIN | ACK, 20_008, 0));
    assert_eq!(unfinished(&line), [1, 1, 0, 0]);
    // The third was silent for too long when it is met again, and is no more than a new one.
    line.at(1_005 * MS, &tcp(3, FIN | ACK, 8, 0));
    assert_eq!(unfinished(&line), [2, 1, 0, 0]);
    // Ended ones are not forgotten before their end.
    line.at(1_006 * MS, &tcp(4, SYN, 7, 0));
    line.at(1_007 * MS, &tcp(4, FIN, 8, 0));
    line.at(1_008 * MS, &tcp(5, SYN, 7, 0));
    line.at(1_009 * MS, &tcp(6, SYN, 7, 0));
    assert_eq!(line.sums(), [1, MS, 3]);
}

#[test]
fn another_connection_of_the_same_addresses_and_ports_is_timed_by_itself() {
    let Some(line) = Line::with(fair_marker(100)) else { return };
    line.at(MS, &tcp(1, SYN | ACK, 7, 0));
    for _ in 0..20 {
        line.at(2 * MS, &tcp(1, ACK, 8, 1_000));
    }
    line.at(11 * MS, &tcp(1, FIN | ACK, 20_008, 0));
    line.at(5_000 * MS, &tcp(1, SYN | ACK, 99, 0));
    line.at(5_003 * MS, &tcp(1, FIN | ACK, 100, 0));
    let counts = line.times().map(|one| (one.count(), one.sum));
    assert_eq!(counts, [(1, 3 * MS), (1, 10 * MS), (0, 0), (0, 0)]);
    // One that ended without the device, as by the other side's RST, is forgotten when the next begins.
    line.at(6_000 * MS, &tcp(1, SYN | ACK, 1_000, 0));
    line.at(7_000 * MS, &tcp(1, SYN | ACK, 2_000, 0));
    line.at(7_001 * MS, &tcp(1, FIN | ACK, 2_001, 0));
    assert_eq!(line.sums(), [3, 14 * MS, 1]);
}

#[test]
fn a_piece_that_a_device_will_cut_ends_a_connection_with_the_bytes_of_its_segments() {
    let Some(line) = Line::with(fair_marker(100)) else { return };
    line.at(MS, &tcp(1, SYN | ACK, 7, 0));
    for _ in 0..6 {
        line.at(MS, &tcp(1, ACK, 8, 1_000));
    }
    // 6280 bytes, and twenty segments of 150 bytes of data: 10,080; with that packet as it is they would be 9320.
    line.cut_at(2 * MS, &tcp(1, FIN | ACK, 6_008, 3_000), [20, 150]);
    assert_eq!(line.times().map(|one| one.count()), [0, 1, 0, 0]);
}

#[test]
fn datagrams_are_not_timed_and_hosts_are_not_and_who_knows_no_flows_has_nothing_to_tell() {
    let Some(line) = Line::with(fair_marker(1)) else { return };
    line.at(MS, &udp(1));
    line.at(2 * MS, &udp(1));
    line.at(3 * MS, &udp(2));
    assert_eq!(line.times(), [EdgeTimes::default(); 4]);
    let to = |port| MultiField {
        src_ports: Some(PortRange::new(port, port).unwrap().into()),
        ..MultiField::default()
    };
    let classes = [
        class(dstf(per(Aggregate::HostPair, 10, 1_000 * MS))),
        class(bucket(None)),
        class(bucket(Some(per(Aggregate::Flow, 10, 1_000 * MS)))),
    ];
    let plan = EdgePlan::new(&[(to(1), 0), (to(2), 1), (to(3), 2)], &classes).unwrap();
    let line = Line(program(&plan).unwrap());
    for port in 1..=3 {
        line.at(MS, &tcp(port, SYN, 7, 0));
        line.at(2 * MS, &tcp(port, FIN, 8, 0));
    }
    let counts = line.0.times().unwrap().into_iter();
    let counts: Vec<_> = counts.map(|times| times.map(|times| times[0].count())).collect();
    assert_eq!(counts, [None, None, Some(1)]);
}

/// A flow, as the model knows it.
struct Known {
    turn: usize,
    seen_at: u64,
    /// When its connection began, if that was seen and its end was not.
    begun: Option<u64>,
    first: u32,
    bytes: u64,
}

/// What is to be counted, with nothing but a list of what comes.
#[derive(Default)]
struct Model {
    flows: BTreeMap<u16, Known>,
    times: [EdgeTimes; 4],
}

impl Model {
    fn class(bytes: u64) -> usize {
        [10_000, 100_000, 1_000_000].into_iter().filter(|max| bytes > *max).count()
    }

    fn forget(&mut self, port: u16) {
        let gone = self.flows.remove(&port).expect("it is known");
        self.times[Model::class(gone.bytes)].unfinished += u64::from(gone.begun.is_some());
    }

    /// A packet, as the `turn`th, in a table of so many flows that forgets after so long.
    fn see(&mut self, [turn, max]: [usize; 2], idle: u64, now: u64, packet: (u16, u8, u32, u64)) {
        let (port, flags, sequence, size) = packet;
        let known = self.flows.get(&port);
        let is_other = |known: &Known| flags & SYN != 0 && sequence != known.first;
        if known.is_some_and(|known| now - known.seen_at > idle || is_other(known)) {
            self.forget(port);
        } else if known.is_none() && self.flows.len() == max {
            let oldest = self.flows.iter().min_by_key(|(_, known)| known.turn);
            let oldest = *oldest.expect("it is full").0;
            self.forget(oldest);
        }
        let begun = (flags & SYN != 0).then_some(now);
        let fresh = Known { turn, seen_at: now, begun, first: sequence, bytes: 0 };
        let known = self.flows.entry(port).or_insert(fresh);
        (known.turn, known.seen_at) = (turn, now);
        known.bytes += size;
        if flags & (FIN | RST) != 0
            && let Some(begun) = known.begun.take()
        {
            let (took, group) = (now - begun, Model::class(known.bytes));
            let bounds = EdgeTimes::BOUNDS.into_iter();
            let part = bounds.filter(|bound| took > bound.nanos()).count();
            self.times[group].parts[part] += 1;
            self.times[group].sum += took;
        }
    }
}

#[test]
fn packets_at_random_are_counted_as_a_list_of_them_says_in_tables_of_any_size() {
    for (flows, idle) in [(8, 400 * MS), (50, 200 * MS), (1_000, 3_000_000 * MS)] {
        for (number, meter) in meters(flows, idle).into_iter().enumerate() {
            let idle = if matches!(meter, EdgeMeter::FairMarker(_)) { u64::MAX } else { idle };
            let Some(line) = Line::with(meter) else { return };
            let mut rng = Rng::stream(number as u64, "times");
            let (mut model, mut now) = (Model::default(), MS);
            for turn in 0..20_000 {
                let pause = [MS / 10, MS, 10 * MS][rng.below(3) as usize];
                now += rng.below(2 * pause);
                let flags = [SYN, SYN | ACK, FIN | ACK, RST, RST | SYN];
                let flags = flags.get(rng.below(12) as usize).copied().unwrap_or(ACK);
                let (port, sequence) = (rng.below(60) as u16, rng.below(2) as u32);
                let payload = rng.below(1_400) as usize;
                line.at(now, &tcp(port, flags, sequence, payload));
                let packet = (port, flags, sequence, 40 + payload as u64);
                model.see([turn, flows], idle, now, packet);
            }
            assert_eq!(line.times(), model.times, "meter {number} of {flows} flows");
            assert!(model.times.iter().map(EdgeTimes::count).sum::<u64>() > 300);
            assert!(model.times.iter().map(|one| one.unfinished).sum::<u64>() > 300);
        }
    }
}
