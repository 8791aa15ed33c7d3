//! What was given room allocates no more, whatever comes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use shortflow_elements::classifier::{Classifier, MultiField};
use shortflow_elements::marker::{
    AdmissionControl, AdmissionParams, AggregateMarker, ColorMarker, Counted, DstfMarker,
    DstfParams, LoadWindow, SimaMarker, SizeLevels,
};
use shortflow_elements::meter::{
    ColorMode, FairMarker, FairMarkerParams, FlowTableSize, InitialRate, SrTcm, SrTcmParams,
    TokenBucket, TokenBucketParams, TrTcm, TrTcmParams, TswParams, TwoBuckets, TwoBucketsParams,
};
use shortflow_elements::sharing::{Depths, Sharing};
use shortflow_elements::{
    Acknowledgements, Aggregate, Conditioner, Drops, Marker, Meter, NewClass, Per, PerAggregate,
    QueueDiscipline, Settling,
};
use shortflow_packet::{Address, Dscp, Packet};
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};

use crate::bench::{mbit, p, rng};
use crate::sima_marker::sima;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts what each thread asks for.
struct Counting;

// The only way to see an allocation is to be the allocator; all work is the system's.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `work` asked for memory.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

const PACKETS: usize = 200;
const FLOWS: usize = 64;

/// A packet of one of the flows, by chance.
fn any_packet(rng: &mut Rng, number: u32) -> Packet {
    let flow = rng.below(FLOWS as u64) as u16;
    let mut packet = p(number).of_flow(flow).sized(40 + rng.below(1460) as u32).packet();
    packet.key.src = Address::v4(0x0a00_0000 + u32::from(flow));
    packet.key.dst = Address::v4(0x0b00_0000 + u32::from(flow % 7));
    packet
}

/// Offers `packets` packets to `queue`, which is asked for one as often as not, so that it fills up
/// and runs empty by turns.
fn offer(queue: &mut dyn QueueDiscipline, drops: &mut Drops, packets: u32) {
    let mut rng = Rng::stream(1, "offer");
    let mut now = Instant::START;
    for number in 0..packets {
        let (arrivals, departures) = if number / 500 % 2 == 0 { (1, rng.below(2)) } else { (0, 1) };
        now += Duration::from_micros(rng.below(700));
        for _ in 0..arrivals {
            queue.enqueue(now, any_packet(&mut rng, number), drops);
        }
        for _ in 0..departures {
            let _ = queue.dequeue(now, drops);
        }
        drops.drain().for_each(drop);
    }
}

/// Every queue that is held to the laws.
#[test]
fn a_queue_with_room_never_allocates_again() {
    for (name, mut queue) in crate::queue_laws::all() {
        let mut drops = Drops::with_room_for(PACKETS);
        queue.reserve(PACKETS, FLOWS);
        let asked = allocations(|| {
            offer(queue.as_mut(), &mut drops, 10_000);
        });
        assert_eq!(asked, 0, "{name}");
    }
}

/// Every marker that keeps accounts, under each kind of account.
fn marking() -> Vec<NewClass> {
    let per = |aggregate| Per::new(aggregate, ACCOUNTS, Duration::from_secs(60)).unwrap();
    let levels = SizeLevels::new(&SizeLevels::HARP, SizeLevels::default_code_points(8)).unwrap();
    let dstf = |aggregate| {
        let params =
            DstfParams::new(levels.clone(), per(aggregate), Counted::Packet, Rate::ZERO).unwrap();
        Box::new(DstfMarker::new(params, rng())) as Box<dyn Marker>
    };
    let bucket = TokenBucketParams::new(mbit(1), Bytes(3_000)).unwrap();
    let tsw = TswParams::new(mbit(1), Duration::from_secs(1), InitialRate::Zero).unwrap();
    let fair = |table| {
        let params = FairMarkerParams::new(tsw.clone(), 7, table).unwrap();
        colored(Box::new(FairMarker::new(params, rng())))
    };
    let idle_timeout = Duration::from_secs(60);
    let window = LoadWindow::new(Duration::from_millis(500), 10).unwrap();
    let admitted = [Dscp::EF, Dscp::BEST_EFFORT];
    let streams = per(Aggregate::Source);
    let admission =
        AdmissionParams::new(mbit(5), mbit(1), Some(Bytes(3_000)), window, streams, admitted);
    let two =
        TwoBucketsParams { green: bucket.clone(), yellow: bucket.clone(), mode: ColorMode::Blind };
    let sr_tcm = SrTcmParams::new(mbit(1), Bytes(3_000), Bytes(3_000), ColorMode::Blind).unwrap();
    let tr_tcm =
        TrTcmParams::new(mbit(1), Bytes(3_000), mbit(2), Bytes(3_000), ColorMode::Blind).unwrap();
    let each: Vec<(&str, Box<dyn Marker>)> = vec![
        ("dstf by flow", dstf(Aggregate::Flow)),
        ("dstf by pair", dstf(Aggregate::HostPair)),
        ("dstf by source", dstf(Aggregate::Source)),
        ("dstf by destination", dstf(Aggregate::Destination)),
        ("token bucket", metered(per(Aggregate::Source), TokenBucket::new(bucket))),
        ("two buckets", metered(per(Aggregate::Source), TwoBuckets::new(two))),
        ("srTCM", metered(per(Aggregate::Source), SrTcm::new(sr_tcm))),
        ("trTCM", metered(per(Aggregate::Source), TrTcm::new(tr_tcm))),
        ("Fair Marker", fair(FlowTableSize::AtMost(ACCOUNTS))),
        ("Fair Marker without limit", fair(FlowTableSize::Unlimited { idle_timeout })),
        ("SIMA", Box::new(SimaMarker::new(sima(200_000, Some(per(Aggregate::Source))), rng()))),
        ("aggregate", Box::new(aggregate(Sharing::Common))),
        ("aggregate in parts", Box::new(aggregate(Sharing::Logical(Depths::Equal)))),
        ("admission", Box::new(AdmissionControl::new(admission.unwrap(), rng()))),
    ];
    let class = |(name, marker): (&str, _)| NewClass {
        name: name.to_owned(),
        marker: Some(marker),
        police: None,
    };
    each.into_iter().map(class).collect()
}

fn aggregate(sharing: Sharing) -> AggregateMarker {
    crate::aggregate_marker::marker(mbit(1), 60_000, sharing, 64)
}

fn colored(meter: Box<dyn Meter>) -> Box<dyn Marker> {
    Box::new(ColorMarker::new(meter, [Dscp::AF11, Dscp::AF12, Dscp::AF13]))
}

/// A meter of its own for each user.
fn metered<M: Settling + 'static>(per: Per, meter: M) -> Box<dyn Marker> {
    colored(Box::new(PerAggregate::new(per, meter, rng()).unwrap()))
}

const ACCOUNTS: usize = 5_000;

/// Ten times as many addresses come as there is room for, so that tables also give up accounts; of
/// a table without a limit only those that come within its timeout are held.
#[test]
fn a_marker_with_room_never_allocates_again_whatever_addresses_come() {
    for class in marking() {
        let name = class.name.clone();
        let is_unlimited = name.ends_with("without limit");
        let pass = |reserved: bool, class: NewClass| {
            let all = Classifier::new(vec![(MultiField::default(), 0)]);
            let mut edge = Conditioner::new(all, [class], Acknowledgements::Marked);
            if reserved {
                edge.reserve(ACCOUNTS);
            }
            let step = Duration::from_millis(if is_unlimited { 20 } else { 1 });
            let addresses = 10 * ACCOUNTS as u32;
            allocations(|| {
                for number in 0..addresses {
                    let now = Instant::START + step * u64::from(number);
                    let mut packet = p(number).packet();
                    packet.key.src = Address::v6(u128::from(number) << 64);
                    packet.key.dst = Address::v6(u128::from(number) << 64 | 1);
                    let _ = edge.condition(now, &mut packet, None);
                }
            })
        };
        assert_eq!(pass(true, class), 0, "{name}");
        let again = marking().into_iter().find(|class| class.name == name).unwrap();
        assert!(pass(false, again) > 0, "{name} asks for memory where none was made ready");
    }
}
