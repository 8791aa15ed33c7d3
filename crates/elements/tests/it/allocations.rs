//! What was given room allocates no more, whatever comes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use shortflow_elements::marker::{Counted, DstfMarker, DstfParams, SizeLevels};
use shortflow_elements::meter::{
    FairMarker, FairMarkerParams, FlowTableSize, InitialRate, TokenBucket, TokenBucketParams,
    TswParams,
};
use shortflow_elements::{
    Address, Aggregate, Drops, Marker, Meter, Packet, Per, PerAggregate, QueueDiscipline,
};
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};

use crate::bench::{mbit, p, rng};

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

#[test]
fn a_table_with_room_never_allocates_again_whatever_addresses_come() {
    let per = || Per::new(Aggregate::Source, 5_000, Duration::from_secs(60)).unwrap();
    let levels = SizeLevels::new(&SizeLevels::HARP, SizeLevels::default_code_points(8)).unwrap();
    let dstf = DstfParams::new(levels, per(), Counted::Packet, Rate::ZERO).unwrap();
    let mut dstf = DstfMarker::new(dstf, rng());
    let bucket = TokenBucket::new(TokenBucketParams::new(mbit(1), Bytes(3_000)).unwrap());
    let mut users = PerAggregate::new(per(), bucket, rng()).unwrap();
    let tsw = TswParams::new(mbit(1), Duration::from_secs(1), InitialRate::Zero).unwrap();
    let fair = FairMarkerParams::new(tsw, 7, FlowTableSize::AtMost(5_000)).unwrap();
    let mut fair = FairMarker::new(fair, rng());
    dstf.reserve(5_000);
    users.reserve(5_000);
    fair.reserve(5_000);
    let asked = allocations(|| {
        for number in 0..50_000_u32 {
            let now = Instant::START + Duration::from_micros(u64::from(number));
            let mut packet = p(number).packet();
            packet.key.src = Address::v6(u128::from(number) << 64);
            let _ = dstf.mark(now, &mut packet, None);
            let _ = users.meter(now, &packet);
            let _ = fair.meter(now, &packet);
        }
    });
    assert_eq!(asked, 0);
}
