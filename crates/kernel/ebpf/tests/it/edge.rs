//! Every decision of the program that conditions packets, beside that of the elements. Needs the right to load eBPF.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use shortflow_ebpf::edge::{Buckets, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram, Owner, Trial};
use shortflow_elements::classifier::{Classifier, DscpTable, MultiField, SimaClass};
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::marker::{
    AdmissionControl, AggregateMarker, ColorMarker, Counted, DstfMarker, DstfParams, FixedMarker,
    SimaMarker, SimaParams, SizeLevels, TcpStateMarker,
};
use shortflow_elements::meter::{
    ColorMode, FairMarkerParams, FlowTableSize, InitialRate, IntegerFairMarker, IntegerTsw,
    IntegerTswParams, MomentaryRateParams, SrTcm, SrTcmParams, TokenBucket, TokenBucketParams,
    TrTcm, TrTcmParams, Tsw3CmParams, TswParams, TwoBuckets, TwoBucketsParams,
};
use shortflow_elements::{
    Acknowledgements, Aggregate, Color, Conditioner, Marker, Meter, NewClass, Per, PerAggregate,
    Settling,
};
use shortflow_packet::{Dscp, Label, Packet, SenderView};
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};
use shortflow_wire::{DsField, Layers};

use crate::loaded::loaded;
use crate::packets::Packets;
use crate::recording;

/// Packets that each test shows to both.
const PACKETS: usize = 100_000;

/// The program of a plan.
pub(crate) fn program(plan: &EdgePlan) -> Option<EdgeProgram> {
    loaded(EdgeProgram::load_to_try(plan))
}

/// A source of random bits of which the test says what comes.
#[derive(Clone, Default)]
struct Draw(Arc<AtomicU32>);

impl Draw {
    fn is(&self, draw: u32) {
        self.0.store(draw, Ordering::Relaxed);
    }

    fn source(&self) -> impl FnMut() -> u32 + Clone + Send + 'static {
        let draw = Arc::clone(&self.0);
        move || draw.load(Ordering::Relaxed)
    }
}

/// The element that a class of the program is the twin of.
fn twin(class: &EdgeClass, draw: &Draw) -> NewClass {
    let marker = match &class.meter {
        EdgeMeter::Fixed(color) => class.code_points.map(|all| -> Box<dyn Marker> {
            Box::new(FixedMarker::new(all[*color as usize], *color))
        }),
        meter => Some(marker_twin(class, meter, draw)),
    };
    NewClass { name: String::new(), marker, police: class.police }
}

/// The marker that gives a packet of the class its code point.
fn marker_twin(class: &EdgeClass, meter: &EdgeMeter, draw: &Draw) -> Box<dyn Marker> {
    let code_points = class.code_points.unwrap_or_default();
    let rng = Rng::stream(1, "twin");
    match meter {
        EdgeMeter::Dstf(params) => Box::new(DstfMarker::new(params.clone(), rng)),
        EdgeMeter::Sima(params) => Box::new(SimaMarker::new(params.clone(), rng)),
        // Of packets by hand no TCP tells.
        EdgeMeter::TcpState { params, .. } => {
            Box::new(TcpStateMarker::new(params.clone(), code_points, rng))
        }
        EdgeMeter::Admission(params) => Box::new(AdmissionControl::new(params.clone(), rng)),
        EdgeMeter::Aggregate(params) => {
            Box::new(AggregateMarker::new(params.clone(), code_points, rng))
        }
        meter => Box::new(ColorMarker::new(meter_twin(meter, draw), code_points)),
    }
}

fn meter_twin(meter: &EdgeMeter, draw: &Draw) -> Box<dyn Meter> {
    match meter {
        EdgeMeter::FairMarker(params) => {
            let table = Rng::stream(1, "flow table");
            Box::new(IntegerFairMarker::new(params, table, draw.source()).unwrap())
        }
        EdgeMeter::Buckets { buckets, per } => match buckets.clone() {
            Buckets::TokenBucket(params) => for_each(*per, TokenBucket::new(params)),
            Buckets::TwoBuckets(params) => for_each(*per, TwoBuckets::new(params)),
            Buckets::SrTcm(params) => for_each(*per, SrTcm::new(params)),
            Buckets::TrTcm(params) => for_each(*per, TrTcm::new(params)),
        },
        EdgeMeter::Tsw2Cm(params) => {
            let params = IntegerTswParams::two_colors(params).unwrap();
            Box::new(IntegerTsw::new(params, draw.source()))
        }
        EdgeMeter::Tsw3Cm(params) => {
            let params = IntegerTswParams::three_colors(params).unwrap();
            Box::new(IntegerTsw::new(params, draw.source()))
        }
        _ => unreachable!("it is a marker"),
    }
}

/// A meter for all packets, or one for each of many.
fn for_each<M: Settling + 'static>(per: Option<Per>, meter: M) -> Box<dyn Meter> {
    match per {
        None => Box::new(meter),
        Some(per) => Box::new(PerAggregate::new(per, meter, Rng::stream(1, "meters")).unwrap()),
    }
}

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_sec(bits)
}

fn bucket(bits: u64, bytes: u64) -> TokenBucketParams {
    TokenBucketParams::new(rate(bits), Bytes(bytes)).unwrap()
}

pub(crate) fn dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

/// A third of the code points each.
fn aware() -> ColorMode {
    let colors = (0..64).fold(DscpTable::filled(Color::Green), |table, value| {
        table.with(dscp(value), Color::ALL[usize::from(value) % 3])
    });
    ColorMode::Aware(colors)
}

/// Tables that are too small for the packets' flows, and such as forget.
fn with_tables() -> Vec<EdgeMeter> {
    let mut meters = Vec::new();
    let unlimited = |millis: u64| FlowTableSize::Unlimited {
        idle_timeout: Duration::from_nanos(millis * 1_000_000),
    };
    let at_most = [(5, 20), (3, 0), (0, 7), (2, 60_000)]
        .map(|(threshold, flows)| (threshold, FlowTableSize::AtMost(flows)));
    let unlimited = [(7, unlimited(1)), (2, unlimited(10)), (3, unlimited(1_000))];
    for (threshold, size) in at_most.into_iter().chain(unlimited) {
        let window = Duration::from_nanos(300_000_000);
        let tsw = TswParams::new(rate(4_000_000), window, InitialRate::Committed).unwrap();
        let params = FairMarkerParams::new(tsw, threshold, size).unwrap();
        meters.push(EdgeMeter::FairMarker(params));
    }
    let levels = || {
        let code_points = SizeLevels::default_code_points(8);
        SizeLevels::new(&SizeLevels::HARP, code_points).unwrap()
    };
    let second = 1_000_000_000;
    for (by, size, idle, decay) in [
        (Aggregate::Flow, 40, second / 100, 0),
        (Aggregate::HostPair, 50, 200 * second, 64_000),
        (Aggregate::Source, 3, 30 * second, 512_000),
        (Aggregate::Destination, 1_000, 5 * second, 2_500_000),
    ] {
        let per = Per::new(by, size, Duration::from_nanos(idle)).unwrap();
        let per = per.with_ipv6_prefix(if size == 50 { 128 } else { 33 }).unwrap();
        let params = DstfParams::new(levels(), per, Counted::Packet, rate(decay)).unwrap();
        // In this table some give way that were seen not long ago, and some that were.
        let params = params.believing(if size == 50 { 2_000 } else { 0 });
        meters.push(EdgeMeter::Dstf(params));
    }
    meters
}

fn shared(buckets: Buckets) -> EdgeMeter {
    EdgeMeter::Buckets { buckets, per: None }
}

/// A meter for each flow, host or pair: in tables that are too small for them, and such as forget. Of some thousand flows
/// each has a few kbit/s.
fn for_each_user() -> Vec<EdgeMeter> {
    let second = 1_000_000_000;
    let per = |by, size, idle| Per::new(by, size, Duration::from_nanos(idle)).unwrap();
    let each = |buckets, per| EdgeMeter::Buckets { buckets, per: Some(per) };
    let one = bucket(100_000, 2_000);
    let two = TwoBucketsParams {
        green: bucket(30_000, 3_000),
        yellow: bucket(70_001, 3_000),
        mode: aware(),
    };
    let sr = SrTcmParams::new(rate(200_000), Bytes(3_000), Bytes(4_000), ColorMode::Blind);
    let tr = TrTcmParams::new(rate(300_000), Bytes(3_000), rate(1_234_567), Bytes(9_000), aware());
    let meter = MomentaryRateParams::new(rate(10_000_000), Bytes(1448), 0.1).unwrap();
    let code_points = SimaParams::default_code_points(SimaClass::NonRealTime);
    let sima = |nominal, per| {
        let params = SimaParams::new(rate(nominal), meter.clone(), Some(per), code_points);
        EdgeMeter::Sima(params.unwrap())
    };
    vec![
        each(Buckets::TokenBucket(one), per(Aggregate::Flow, 40, second)),
        each(Buckets::TwoBuckets(two), per(Aggregate::HostPair, 1_000, 30 * second)),
        each(Buckets::SrTcm(sr.unwrap()), per(Aggregate::Source, 3, second)),
        each(Buckets::TrTcm(tr.unwrap()), per(Aggregate::Destination, 60_000, second)),
        sima(10_000, per(Aggregate::Flow, 60_000, 150 * second)),
        sima(1_000_000, per(Aggregate::Source, 20, 20 * second)),
    ]
}

/// Nominal rates around that of the packets, some 10 Mbit/s; weights that remember a second, a millisecond, and a slot.
fn by_momentary_rate() -> impl Iterator<Item = EdgeMeter> {
    let of = |(link, weight, nominal)| {
        let meter = MomentaryRateParams::new(rate(link), Bytes(1448), weight).unwrap();
        let code_points = SimaParams::default_code_points(SimaClass::RealTime);
        EdgeMeter::Sima(SimaParams::new(rate(nominal), meter, None, code_points).unwrap())
    };
    [
        (10_000_000, 0.001, 10_000_000),
        (10_000_000, 0.01, 4_000_000),
        (20_000_000, 0.5, 1_000_000),
        (10_000_000_000, 0.01, 10_000_000),
    ]
    .into_iter()
    .map(of)
}

/// A class of each meter, in both modes, at a load that gives all its colours.
pub(crate) fn classes() -> Vec<EdgeClass> {
    let tsw = |bits, window| {
        TswParams::new(rate(bits), Duration::from_nanos(window), InitialRate::Committed).unwrap()
    };
    let mut meters = vec![
        EdgeMeter::Fixed(Color::Yellow),
        shared(Buckets::TokenBucket(bucket(10_000_000, 20_000))),
        EdgeMeter::Tsw2Cm(tsw(5_000_000, 1_000_000_000)),
        EdgeMeter::Tsw3Cm(Tsw3CmParams::new(tsw(5_000_000, 100_000_000), rate(8_000_000)).unwrap()),
    ];
    for mode in [ColorMode::Blind, aware()] {
        let [green, yellow] = [bucket(3_000_000, 10_000), bucket(7_000_001, 3_000)];
        let two = TwoBucketsParams { green, yellow, mode: mode.clone() };
        meters.push(shared(Buckets::TwoBuckets(two)));
        let sr = SrTcmParams::new(rate(9_999_999), Bytes(5_000), Bytes(50_000), mode.clone());
        meters.push(shared(Buckets::SrTcm(sr.unwrap())));
        let tr =
            TrTcmParams::new(rate(3_000_000), Bytes(8_000), rate(12_345_678), Bytes(9_000), mode);
        meters.push(shared(Buckets::TrTcm(tr.unwrap())));
    }
    meters.extend(with_tables());
    meters.extend(by_momentary_rate());
    meters.extend(for_each_user());
    let of = |(at, meter): (usize, EdgeMeter)| EdgeClass {
        meter,
        code_points: Some([Dscp::AF11, Dscp::AF12, Dscp::AF13]),
        police: (at % 3 == 1).then_some([
            PolicerAction::Forward,
            PolicerAction::Remark(dscp(1)),
            PolicerAction::Drop,
        ]),
    };
    meters.into_iter().enumerate().map(of).collect()
}

/// A packet that both are shown, when, what is drawn for it, and what its host knows.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) packet: Vec<u8>,
    pub(crate) now: u64,
    pub(crate) draw: u32,
    /// The round-trip time that its host tells, in microseconds; 0 where it tells none.
    pub(crate) rtt: u32,
    /// The mark of its socket, which is the number of its connection's label.
    pub(crate) mark: u16,
    /// What its connection has sent, and what remains, where its host tells that.
    pub(crate) sent: Option<u32>,
    pub(crate) remaining: Option<u32>,
}

/// Packets of all kinds, with a clock that stands still, one that is set back, and a pause beside the usual gaps.
pub(crate) fn drawn(seed: u64, mean_gap: u64) -> impl Iterator<Item = Shown> {
    let (mut packets, mut now) = (Packets::new(seed), 0_u64);
    (0..PACKETS).map(move |number| {
        now = match packets.below(64) {
            0 => now,
            1 => now.saturating_sub(packets.below(2 * mean_gap)),
            2 if number % 512 == 0 => now + packets.below(10_000 * mean_gap),
            _ => now + packets.below(2 * mean_gap),
        };
        let draw = packets.below(1 << 32) as u32;
        Shown { packet: packets.any(), now, draw, ..Shown::default() }
    })
}

/// The recorded packets until there are a fifth of [`PACKETS`], so many times as fast as they came.
pub(crate) fn recorded(seed: u64, faster: u64) -> impl Iterator<Item = Shown> {
    let (packets, mut rng) = (recording::packets(), Rng::stream(seed, "draws"));
    let length = packets.last().expect("there are some").0 + 1_000_000;
    (0..PACKETS / 5).map(move |number| {
        let (at, packet) = &packets[number % packets.len()];
        let round = (number / packets.len()) as u64;
        let draw = rng.below(1 << 32) as u32;
        {
            let now = (round * length + at) / faster;
            Shown { packet: packet.clone(), now, draw, ..Shown::default() }
        }
    })
}

/// Packets of all kinds: [`compare_of`] them.
pub(crate) fn compare(
    rules: &[(MultiField, usize)],
    classes: &[EdgeClass],
    seed: u64,
    mean_gap: u64,
) {
    let Some((conditioner, program)) = compare_of(rules, classes, drawn(seed, mean_gap)) else {
        return;
    };
    compare_tables(&conditioner, &program);
}

/// Shows both the same packets at the same times, and compares what they make of each, and what they count.
pub(crate) fn compare_of(
    rules: &[(MultiField, usize)],
    classes: &[EdgeClass],
    shown: impl Iterator<Item = Shown>,
) -> Option<(Conditioner, EdgeProgram)> {
    let owners = [1, 2].map(|mark| (Label(mark), Owner::Mark(mark.into())));
    let plan = EdgePlan::with_owners(rules, classes, &owners).unwrap();
    let program = program(&plan)?;
    let draw = Draw::default();
    let twins = classes.iter().map(|class| twin(class, &draw));
    let mut conditioner =
        Conditioner::new(Classifier::new(rules.to_vec()), twins, Acknowledgements::Marked);
    let (mut out, mut count, mut dropped, mut marked) = (Vec::new(), 0, 0, 0);
    for (number, shown) in shown.enumerate() {
        let sender = view(&shown);
        let Shown { packet, now, draw: drawn, rtt, mark, sent, remaining } = shown;
        draw.is(drawn);
        let (segments, segment, mark) = (0, 0, mark.into());
        let trial = Trial {
            priority: 0,
            packet: &packet,
            now,
            draw: drawn,
            mark,
            segments,
            segment,
            rtt,
            sent,
            remaining,
        };
        let goes_on = program.try_packet(trial, &mut out).unwrap();

        let (layers, mut expected) = (Layers::of_ethernet(&packet), packet.clone());
        let mut refused = false;
        if let Some(mut descriptor) = layers.descriptor(None) {
            let at = Instant::from_nanos(now);
            refused = conditioner.condition(at, &mut descriptor, sender.as_ref()).is_some();
            let ds = DsField::from(&descriptor);
            if !refused {
                layers.ds_place().unwrap().write(&mut expected, ds).unwrap();
            }
        }
        assert_eq!(goes_on, !refused, "packet {number} at {now}: {packet:02x?}");
        assert!(
            out == expected,
            "packet {number} at {now}:\n{packet:02x?}\nours\n{expected:02x?}\nits\n{out:02x?}"
        );
        count += 1;
        dropped += usize::from(refused);
        marked += usize::from(packet != expected);
    }
    assert!(
        marked + dropped > count / 10 || classes.is_empty(),
        "of {count} packets {marked} were marked and {dropped} dropped"
    );
    let counters = program.counters().unwrap();
    for (number, (own, theirs)) in conditioner.counters().iter().zip(&counters).enumerate() {
        assert_eq!(own.packets, theirs.map(|color| color.packets), "class {number}");
        assert_eq!(own.bytes, theirs.map(|color| color.bytes), "class {number}");
        assert!(own.packets.iter().sum::<u64>() > 0, "class {number} has seen nothing");
    }
    let theirs: u64 = counters.iter().flatten().map(|color| color.dropped_packets).sum();
    assert_eq!(dropped as u64, theirs);
    Some((conditioner, program))
}

/// What a host tells of a packet's connection, where it tells anything.
fn view(shown: &Shown) -> Option<SenderView> {
    let Shown { rtt, mark, sent, remaining, .. } = *shown;
    let bytes = |bytes: u32| Bytes(bytes.into());
    let view = SenderView {
        smoothed_rtt: (rtt > 0).then(|| Duration::from_micros(rtt.into())),
        label: Label(mark),
        sent: sent.map(bytes).unwrap_or_default(),
        remaining: remaining.map(bytes),
        ..SenderView::default()
    };
    (rtt > 0 || mark > 0 || sent.is_some()).then_some(view)
}

/// Compares what the tables have seen; each must have seen everything that a table can.
pub(crate) fn compare_tables(conditioner: &Conditioner, program: &EdgeProgram) {
    for (own, table) in conditioner.counters().iter().zip(program.tables().unwrap()) {
        let counted = |names: [&str; 3]| {
            own.marker.iter().find(|(name, _)| names.contains(name)).map(|(_, count)| *count)
        };
        let Some(misses) = counted(["flow table misses", "aggregates seen", "connections seen"])
        else {
            continue;
        };
        let evictions =
            counted(["flow table evictions", "aggregates evicted", "connections evicted"]).unwrap();
        let hits = own.packets.iter().sum::<u64>() - misses;
        assert_eq!([hits, misses, evictions], [table.hits, table.misses, table.evictions]);
        assert!(misses > 100, "{misses} of {hits}");
        assert!(table.used == 0 || hits > 1000, "{hits} of {misses}");
    }
}

pub(crate) fn all() -> MultiField {
    MultiField::default()
}

#[test]
fn each_meter_by_itself_decides_as_its_element_does() {
    for (number, class) in classes().into_iter().enumerate() {
        // Some 620 bytes every 500 us are 10 Mbit/s.
        compare(&[(all(), 0)], &[class], number as u64, 500_000);
    }
}

/// Seconds of an office's line, again and again at times that the kernel's own TCP had, and ten times as fast.
#[test]
fn what_was_recorded_is_decided_as_the_elements_do() {
    for (number, class) in classes().into_iter().enumerate() {
        let faster = [1, 10][number % 2];
        if compare_of(&[(all(), 0)], &[class], recorded(number as u64, faster)).is_none() {
            return;
        }
    }
}

/// The least draw with which a packet is green, or one less: where the colour hangs on the last bit of the share.
fn at_the_edge(
    meter: &IntegerTsw<impl FnMut() -> u32 + Clone + Send>,
    draw: &Draw,
    now: Instant,
    packet: &Packet,
) -> u32 {
    let is_green = |drawn: u64| {
        draw.is(drawn as u32);
        meter.clone().meter(now, packet) == Color::Green
    };
    let (mut min, mut max) = (0, u64::from(u32::MAX));
    while min < max {
        let between = (min + max) / 2;
        if is_green(between) { max = between } else { min = between + 1 }
    }
    min as u32
}

#[test]
fn at_the_very_edge_of_a_draw_a_window_decides_as_its_element_does() {
    let params = |bits, nanos| {
        TswParams::new(rate(bits), Duration::from_nanos(nanos), InitialRate::Zero).unwrap()
    };
    for (seed, params, gap) in
        [(1, params(5_000_000, 1_000_000_000), 500_000), (2, params(9_000_000_000, 77_000), 400)]
    {
        let class = EdgeClass {
            meter: EdgeMeter::Tsw2Cm(params.clone()),
            code_points: Some([Dscp::AF11, Dscp::AF12, Dscp::AF13]),
            police: None,
        };
        let Some(program) = program(&EdgePlan::new(&[(all(), 0)], &[class]).unwrap()) else {
            return;
        };
        let draw = Draw::default();
        let mut meter =
            IntegerTsw::new(IntegerTswParams::two_colors(&params).unwrap(), draw.source());
        let (mut packets, mut now, mut out, mut denied) = (Packets::new(seed), 0, Vec::new(), 0);
        for number in 0..20_000 {
            now += packets.below(2 * gap);
            let packet = packets.any();
            let Some(descriptor) = Layers::of_ethernet(&packet).descriptor(None) else { continue };
            let edge = at_the_edge(&meter, &draw, Instant::from_nanos(now), &descriptor);
            let drawn = edge.saturating_sub(number % 2);
            draw.is(drawn);
            let color = meter.meter(Instant::from_nanos(now), &descriptor);
            let trial = Trial { packet: &packet, now, draw: drawn, ..Trial::default() };
            assert!(program.try_packet(trial, &mut out).unwrap());
            let found = Layers::of_ethernet(&out).descriptor(None).unwrap().dscp;
            assert_eq!(
                found,
                if color == Color::Green { Dscp::AF11 } else { Dscp::AF12 },
                "packet {number}"
            );
            denied += u32::from(color == Color::Yellow);
        }
        assert!(denied > 1000, "{denied}");
    }
}

#[test]
fn a_packet_that_a_device_will_cut_counts_and_pays_as_its_segments_do() {
    let class = EdgeClass {
        meter: shared(Buckets::TokenBucket(bucket(8, 4_540))),
        code_points: Some([Dscp::AF11, Dscp::AF12, Dscp::AF13]),
        police: None,
    };
    let plan = EdgePlan::new(&[(all(), 0)], &[class]).unwrap();
    let Some(program) = program(&plan) else { return };
    // Three segments of 1000 bytes: 3 × 1040 bytes with the headers of IP and TCP, which the packet has once.
    let mut packet = vec![2; 12];
    packet
        .extend([8, 0, 0x45, 0, 0x0b, 0xe0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0, 80, 0, 81, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    packet.resize(14 + 3040, 0);
    let mut out = Vec::new();
    let mut code_point = |segments| {
        let trial = Trial { packet: &packet, segments, ..Trial::default() };
        assert!(program.try_packet(trial, &mut out).unwrap());
        dscp(out[15] >> 2)
    };
    assert_eq!(code_point(3), Dscp::AF11, "3120 of 4540 bytes");
    assert_eq!(code_point(3), Dscp::AF12, "1420 are left");
    let [green, yellow, _] = program.counters().unwrap()[0];
    assert_eq!([(green.packets, green.bytes), (yellow.packets, yellow.bytes)], [(3, 3120); 2]);
}
