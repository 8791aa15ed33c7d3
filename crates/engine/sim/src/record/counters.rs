//! The counters of a port: enough to check that no packet was lost or created, and at reported ports
//! everything by code point.

use shortflow_elements::{Arrival, Backlog, DropReason};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Instant};

use crate::network::pool::Parcel;

/// The code points of a scenario, each with a dense number; all others share the last one.
#[derive(Debug, Clone)]
pub(crate) struct CodePoints {
    numbers: [u8; Dscp::COUNT],
    count: usize,
}

impl CodePoints {
    /// Numbers `used`, which contains each code point once.
    pub(crate) fn new(used: &[Dscp]) -> Self {
        let mut numbers = [used.len() as u8; Dscp::COUNT];
        for (number, dscp) in used.iter().enumerate() {
            numbers[usize::from(dscp.value())] = number as u8;
        }
        CodePoints { numbers, count: used.len() + 1 }
    }

    /// The dense number of the code point `dscp`.
    #[inline]
    pub(crate) fn number(&self, dscp: usize) -> usize {
        usize::from(self.numbers[dscp])
    }
}

/// Packets and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    fn plus(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// The counters of one code point at a reported port.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClassCounters {
    /// Arrived at the port.
    pub(crate) arrived: Count,
    /// Forwarded into the next node.
    pub(crate) forwarded: Count,
    /// Dropped, by reason.
    pub(crate) dropped: [Count; DropReason::ALL.len()],
}

/// The queueing at a reported port in the measured time: the integral of the queue over time, including
/// packets that still wait at the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    since: Instant,
    until: Instant,
    /// The time up to which the queue of a policy is integrated.
    added_until: Instant,
    /// Packets times nanoseconds.
    packet_nanos: u128,
    /// Bytes times nanoseconds.
    byte_nanos: u128,
    /// Packets that stopped waiting.
    pub(crate) ended: u64,
    /// The longest queueing time of packets that arrived in the measured time.
    pub(crate) longest: Duration,
}

impl Waits {
    fn between(since: Instant, until: Instant) -> Self {
        Waits {
            since,
            until,
            added_until: since,
            packet_nanos: 0,
            byte_nanos: 0,
            ended: 0,
            longest: Duration::ZERO,
        }
    }

    /// Packets times seconds.
    pub(crate) fn packet_seconds(&self) -> f64 {
        self.packet_nanos as f64 / 1e9
    }

    /// Bytes times seconds.
    pub(crate) fn byte_seconds(&self) -> f64 {
        self.byte_nanos as f64 / 1e9
    }

    fn add(&mut self, queue: Backlog, time: Duration) {
        self.packet_nanos += u128::from(queue.packets) * u128::from(time.nanos());
        self.byte_nanos += u128::from(queue.bytes.0) * u128::from(time.nanos());
    }

    fn end(&mut self, came: Instant, begins: Instant) {
        if begins <= self.until {
            self.ended += 1;
            if came >= self.since {
                self.longest = self.longest.max(begins.since(came));
            }
        }
    }
}

/// The counters of a port.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Includes the packets held when counting began.
    arrived: Count,
    forwarded: Count,
    dropped: Count,
    detail: Option<Box<Detail>>,
}

/// The counters of a reported port.
#[derive(Debug)]
struct Detail {
    code_points: CodePoints,
    classes: Box<[ClassCounters]>,
    waits: Waits,
    /// The packets held when counting began.
    held_before: Count,
    /// ECN marks when counting began.
    ecn_marks_before: u64,
}

impl Counters {
    /// Counters by these code points, or totals only.
    pub(crate) fn new(code_points: Option<&CodePoints>) -> Self {
        let detail = |code_points: &CodePoints| {
            let classes = vec![ClassCounters::default(); code_points.count].into();
            let waits = Waits::between(Instant::START, Instant::NEVER);
            let (code_points, held_before) = (code_points.clone(), Count::default());
            Box::new(Detail { code_points, classes, waits, held_before, ecn_marks_before: 0 })
        };
        Counters {
            arrived: Count::default(),
            forwarded: Count::default(),
            dropped: Count::default(),
            detail: code_points.map(detail),
        }
    }

    /// The counters by code point; empty at a port that is not reported.
    pub(crate) fn classes(&self) -> &[ClassCounters] {
        self.detail.as_ref().map_or(&[], |detail| &detail.classes)
    }

    /// Whether the port is reported.
    pub(crate) fn are_reported(&self) -> bool {
        self.detail.is_some()
    }

    /// Packets that arrived.
    pub(crate) fn all_arrived(&self) -> u64 {
        self.arrived.packets
    }

    /// Packets that were dropped.
    pub(crate) fn all_dropped(&self) -> u64 {
        self.dropped.packets
    }

    #[inline]
    fn class(&mut self, dscp: usize) -> Option<&mut ClassCounters> {
        let detail = self.detail.as_mut()?;
        Some(&mut detail.classes[detail.code_points.number(dscp)])
    }

    #[inline]
    pub(crate) fn arrived(&mut self, arrival: Arrival) {
        self.arrived.add(arrival.size);
        if let Some(class) = self.class(usize::from(arrival.class.dscp().value())) {
            class.arrived.add(arrival.size);
        }
    }

    #[inline]
    pub(crate) fn forwarded(&mut self, parcel: &Parcel) {
        self.forwarded.add(parcel.size());
        if let Some(class) = self.class(parcel.dscp()) {
            class.forwarded.add(parcel.size());
        }
    }

    /// A packet that arrived at `came` waits, or waited, until `begins`.
    #[inline]
    pub(crate) fn waits(&mut self, size: u32, came: Instant, begins: Instant) {
        self.waits_on(size, came, came, begins);
    }

    /// A packet that arrived at `came` moves into another queue at `now`, where it waits until `begins`.
    #[inline(always)]
    pub(crate) fn waits_on(&mut self, size: u32, came: Instant, now: Instant, begins: Instant) {
        let Some(detail) = &mut self.detail else { return };
        let waits = &mut detail.waits;
        let (from, to) = (now.max(waits.since), begins.min(waits.until));
        if to > from {
            waits.add(Backlog { packets: 1, bytes: Bytes(u64::from(size)) }, to.since(from));
        }
        waits.end(came, begins);
    }

    /// A policy's queue has had this length since the last call.
    #[inline]
    pub(crate) fn stood(&mut self, now: Instant, queue: impl FnOnce() -> Backlog) {
        let Some(detail) = &mut self.detail else { return };
        let waits = &mut detail.waits;
        let to = now.min(waits.until);
        if to > waits.added_until {
            waits.add(queue(), to.since(waits.added_until));
            waits.added_until = to;
        }
    }

    /// The transmission of a packet that arrived at a policy's queue at `came` begins.
    #[inline]
    pub(crate) fn wait_ended(&mut self, came: Instant, now: Instant) {
        if let Some(detail) = &mut self.detail {
            detail.waits.end(came, now);
        }
    }

    /// The queueing; `None` at a port that is not reported.
    pub(crate) fn all_waits(&self) -> Option<&Waits> {
        self.detail.as_ref().map(|detail| &detail.waits)
    }

    pub(crate) fn dropped(&mut self, parcel: &Parcel, reason: DropReason) {
        self.dropped.add(parcel.size());
        if let Some(class) = self.class(parcel.dscp()) {
            class.dropped[reason as usize].add(parcel.size());
        }
    }

    /// The part of all ECN marks that counts; 0 at a port that is not reported.
    pub(crate) fn ecn_marks_of(&self, all: u64) -> u64 {
        self.detail.as_ref().map_or(0, |detail| all - detail.ecn_marks_before)
    }

    /// Restarts counting, with `held` packets in the port and this many `ecn_marks` so far. Queueing times
    /// count from `now` to `until`.
    pub(crate) fn restart(&mut self, held: Count, ecn_marks: u64, now: Instant, until: Instant) {
        self.arrived = held;
        self.forwarded = Count::default();
        self.dropped = Count::default();
        if let Some(detail) = &mut self.detail {
            detail.classes.fill(ClassCounters::default());
            detail.waits = Waits::between(now, until);
            detail.held_before = held;
            detail.ecn_marks_before = ecn_marks;
        }
    }

    /// Checks conservation: arrived packets were forwarded, dropped, or are `held`. The counters by code
    /// point must agree with the totals.
    pub(crate) fn check(&self, held: Count) -> Result<(), String> {
        let came = self.arrived;
        let went = held.plus(self.forwarded).plus(self.dropped);
        if came != went {
            return Err(format!(
                "{came:?} arrived, but {went:?} were forwarded, dropped or are still held"
            ));
        }
        let sum = |of: fn(&ClassCounters) -> Count| {
            self.classes().iter().map(of).fold(Count::default(), Count::plus)
        };
        let all_reasons =
            |class: &ClassCounters| class.dropped.iter().fold(Count::default(), |s, d| s.plus(*d));
        let Some(detail) = &self.detail else { return Ok(()) };
        let arrived = detail.held_before.plus(sum(|c| c.arrived));
        let by_class = (arrived, sum(|c| c.forwarded), sum(all_reasons));
        let totals = (self.arrived, self.forwarded, self.dropped);
        if by_class != totals {
            return Err(format!("by code point {by_class:?}, in total {totals:?}"));
        }
        Ok(())
    }
}
