//! The discipline without a kernel (programs/qdisc/twin.c), and what it is asked.

use std::collections::BTreeMap;
use std::ffi::c_void;

use shortflow_ebpf::qdisc::{LAYOUT, MAX_FQS, QdiscPlan, Sizes};
use shortflow_packet::{FlowKey, Packet};
use shortflow_units::{Instant, Rng};

/// No place.
const NONE: u32 = u32::MAX;
/// The list beside the plan of packets that cannot be read.
const UNREADABLE: usize = 2;
/// Where averages stand in `struct machine`, and the size of what a level keeps.
const REDS: usize = 2264;
const LEVEL: usize = 40;
/// Where the numbers of places and of flows that were ever used stand.
const FRESH_PLACES: usize = 20;
const FRESH_FLOWS: usize = 36;

/// `struct arrival`.
#[repr(C)]
struct Arrival {
    size: u32,
    length: u32,
    segments: u32,
    queue: u32,
    is_beside: u32,
    code_point: u32,
    key: Key,
}

/// `struct flow_key`.
#[repr(C)]
struct Key {
    source: [u64; 2],
    destination: [u64; 2],
    source_port: u16,
    destination_port: u16,
    protocol: u16,
    queue: u16,
}

impl Key {
    fn new(flow: &FlowKey, queue: usize) -> Key {
        Key {
            source: flow.src.halves(),
            destination: flow.dst.halves(),
            source_port: flow.src_port,
            destination_port: flow.dst_port,
            protocol: flow.protocol.0.into(),
            queue: queue as u16,
        }
    }
}

/// `struct wide`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Wide {
    high: u64,
    low: u64,
}

impl Wide {
    fn new(value: u128) -> Wide {
        Wide { high: (value >> 64) as u64, low: value as u64 }
    }
}

/// What programs/wide.h makes of two numbers: their sum and difference; the products of the low word of the second with the low
/// word of the first, and with all of it; the quotient by it; and whether the first is below the second.
#[allow(unsafe_code)]
pub(crate) fn wide_results(a: u128, b: u128) -> [u128; 6] {
    let mut results = [Wide::default(); 6];
    // SAFETY: it writes six numbers.
    unsafe { shortflow_twin_wide(Wide::new(a), Wide::new(b), results.as_mut_ptr()) };
    results.map(|wide| u128::from(wide.high) << 64 | u128::from(wide.low))
}

#[repr(C)]
struct Opaque {
    _nothing: [u8; 0],
}

#[allow(unsafe_code)]
unsafe extern "C" {
    fn shortflow_twin_layout(layout: *mut u64);
    fn shortflow_twin_wide(a: Wide, b: Wide, results: *mut Wide);
    fn shortflow_twin_new(
        plan: *const u8,
        sizes: *const u32,
        draw: extern "C" fn(*mut c_void) -> u64,
        of: *mut c_void,
        seeds: *const u64,
    ) -> *mut Opaque;
    fn shortflow_twin_drop(twin: *mut Opaque);
    fn shortflow_twin_reload(twin: *mut Opaque, plan: *const u8);
    fn shortflow_twin_arrive(
        twin: *mut Opaque,
        now: u64,
        arrival: *const Arrival,
        given_up: *mut u32,
        count: *mut u32,
    ) -> u32;
    fn shortflow_twin_serve(
        twin: *mut Opaque,
        now: u64,
        until: *mut u64,
        given_up: *mut u32,
        count: *mut u32,
    ) -> u32;
    fn shortflow_twin_reset(twin: *mut Opaque);
    fn shortflow_twin_machine(twin: *const Opaque) -> *const u8;
}

/// As many bits as a uniform number has.
extern "C" fn draw(of: *mut c_void) -> u64 {
    // SAFETY: it is the generator that `Twin` owns, and nobody else has it during a call.
    #[allow(unsafe_code)]
    let rng = unsafe { &mut *of.cast::<Rng>() };
    ((rng.uniform() * (1_u64 << 53) as f64) as u64) << 11
}

/// The discipline without a kernel.
pub(crate) struct Twin {
    there: *mut Opaque,
    _rng: Box<Rng>,
    /// The packets that wait, by their places.
    pub(crate) waiting: BTreeMap<u32, u32>,
    sizes: Sizes,
    /// Room for the places of packets that are pushed out.
    given_up: Vec<u32>,
}

#[allow(unsafe_code)]
impl Twin {
    pub(crate) fn new(plan: &QdiscPlan, rng: Rng) -> Twin {
        Twin::with_seeds(plan, rng, &[])
    }

    /// With the seeds of its hashes.
    pub(crate) fn with_seeds(plan: &QdiscPlan, rng: Rng, seeds: &[u64]) -> Twin {
        let mut all_seeds = [0; MAX_FQS];
        all_seeds[..seeds.len()].copy_from_slice(seeds);
        let mut layout = [0; LAYOUT.len()];
        // SAFETY: it writes as many numbers.
        unsafe { shortflow_twin_layout(layout.as_mut_ptr()) };
        assert_eq!(layout, LAYOUT.map(|at| at as u64), "both have one layout");
        assert_eq!(layout[0], plan.bytes().len() as u64);
        let mut rng = Box::new(rng);
        let of = (&raw mut *rng).cast();
        let Sizes { places, flows, ranked, flow_queues } = plan.sizes();
        let sizes = [places, flows, ranked, flow_queues];
        let (plan_bytes, seeds) = (plan.bytes().as_ptr(), all_seeds.as_ptr());
        // SAFETY: plan and seeds are as long as they must be and are copied; the generator lives as long as the twin.
        let there = unsafe { shortflow_twin_new(plan_bytes, sizes.as_ptr(), draw, of, seeds) };
        Twin {
            there,
            _rng: rng,
            waiting: BTreeMap::new(),
            sizes: plan.sizes(),
            given_up: vec![0; places as usize],
        }
    }

    pub(crate) fn reload(&mut self, plan: &QdiscPlan) {
        // SAFETY: the plan is as long as it must be and is copied.
        unsafe { shortflow_twin_reload(self.there, plan.bytes().as_ptr()) };
    }

    /// The packets that are dropped when this one comes.
    pub(crate) fn arrive(&mut self, now: Instant, packet: &Packet, queue: usize) -> Vec<u32> {
        self.arrive_at(now, packet, queue, false)
    }

    /// The same for a packet that cannot be read.
    pub(crate) fn arrive_unreadable(&mut self, now: Instant, packet: &Packet) -> Vec<u32> {
        self.arrive_at(now, packet, UNREADABLE, true)
    }

    fn arrive_at(
        &mut self,
        now: Instant,
        packet: &Packet,
        queue: usize,
        is_beside: bool,
    ) -> Vec<u32> {
        let number = number(packet);
        let arrival = Arrival {
            size: packet.size,
            length: packet.size,
            segments: 1,
            queue: queue as u32,
            is_beside: is_beside.into(),
            code_point: packet.dscp.value().into(),
            key: Key::new(&packet.key, queue),
        };
        let mut count = 0;
        // SAFETY: no more are given up than wait, each of which has a place.
        let place = unsafe {
            let given_up = self.given_up.as_mut_ptr();
            shortflow_twin_arrive(
                self.there,
                now.nanos(),
                &raw const arrival,
                given_up,
                &raw mut count,
            )
        };
        let mut dropped = self.given_up(count);
        if place == NONE {
            dropped.push(number);
        } else {
            let other = self.waiting.insert(place, number);
            assert_eq!(other, None, "the place was free");
        }
        dropped
    }

    fn given_up(&mut self, count: u32) -> Vec<u32> {
        let places = self.given_up[..count as usize].iter();
        places.map(|place| self.waiting.remove(place).expect("it waited")).collect()
    }

    /// The packet that leaves, or until when none does; none is dropped.
    pub(crate) fn serve(&mut self, now: Instant) -> Result<u32, u64> {
        let (served, dropped) = self.serve_or_drop(now);
        assert!(dropped.is_empty(), "{dropped:?}");
        served
    }

    /// The packet that leaves, or until when none does; and those that are dropped.
    pub(crate) fn serve_or_drop(&mut self, now: Instant) -> (Result<u32, u64>, Vec<u32>) {
        let (mut until, mut count) = (0, 0);
        // SAFETY: it writes two numbers, and no more places are given up than there are.
        let place = unsafe {
            let given_up = self.given_up.as_mut_ptr();
            shortflow_twin_serve(self.there, now.nanos(), &raw mut until, given_up, &raw mut count)
        };
        let dropped = self.given_up(count);
        if place == NONE {
            return (Err(until), dropped);
        }
        (Ok(self.waiting.remove(&place).expect("it waited")), dropped)
    }

    fn machine(&self, at: usize) -> u64 {
        // SAFETY: `at` is within the machine, which has whole numbers there.
        unsafe { shortflow_twin_machine(self.there).add(at).cast::<u64>().read() }
    }

    /// Whether it has never used more places and flows than there are.
    pub(crate) fn is_bounded(&self) -> bool {
        let Sizes { places, flows, .. } = self.sizes;
        self.machine(FRESH_PLACES) as u32 <= places && self.machine(FRESH_FLOWS) as u32 <= flows
    }

    /// The average with this number of the only RED; `None` while it has not fallen yet for idle time.
    pub(crate) fn average(&self, number: usize) -> Option<f64> {
        let at = REDS + LEVEL * number;
        let is_settled = self.machine(at + 24) == 0;
        is_settled.then(|| self.machine(at) as f64 / (1_u64 << 32) as f64)
    }

    /// The kernel empties the queue.
    pub(crate) fn reset(&mut self) {
        // SAFETY: it is there.
        unsafe { shortflow_twin_reset(self.there) };
        self.waiting.clear();
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        #[allow(unsafe_code)]
        unsafe {
            shortflow_twin_drop(self.there);
        }
    }
}

pub(crate) fn number(packet: &Packet) -> u32 {
    packet.bytes.expect("each has a number").number()
}
