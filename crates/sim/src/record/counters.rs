//! What a port counts: enough to check that no packet was lost or made, and, at the ports that are
//! reported, everything by code point.

use shortflow_elements::{DropReason, Dscp, Packet};
use shortflow_units::Duration;

use crate::network::pool::Parcel;

/// The code points that a scenario uses, each with a dense number; all others share the last.
#[derive(Debug, Clone)]
pub(crate) struct CodePoints {
    numbers: [u8; Dscp::COUNT],
    count: usize,
}

impl CodePoints {
    /// Numbers `used`, which should name each code point once.
    pub(crate) fn new(used: &[Dscp]) -> Self {
        let mut numbers = [used.len() as u8; Dscp::COUNT];
        for (number, dscp) in used.iter().enumerate() {
            numbers[usize::from(dscp.value())] = number as u8;
        }
        CodePoints { numbers, count: used.len() + 1 }
    }

    /// The dense number of the code point whose number in the header is `dscp`.
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
    /// Handed to the port.
    pub(crate) arrived: Count,
    /// Passed on into the next node.
    pub(crate) forwarded: Count,
    /// Ended here, by reason.
    pub(crate) dropped: [Count; DropReason::ALL.len()],
    /// Packets whose wait is known: those whose transmission was fixed.
    pub(crate) waited: u64,
    /// The sum of their waits, and the longest.
    pub(crate) wait: Duration,
    pub(crate) wait_max: Duration,
    /// The sum of size times wait, in byte seconds.
    pub(crate) byte_wait: f64,
}

/// The counters of a port.
#[derive(Debug)]
pub(crate) struct Counters {
    arrived: Count,
    forwarded: Count,
    /// Time for which the line was or will be sending.
    pub(crate) busy: Duration,
    dropped: Count,
    /// What was held when counting began.
    held_before: Count,
    detail: Option<Box<Detail>>,
}

/// What only a reported port counts.
#[derive(Debug)]
struct Detail {
    code_points: CodePoints,
    classes: Box<[ClassCounters]>,
}

impl Counters {
    /// Counters by these code points, or of totals only.
    pub(crate) fn new(code_points: Option<&CodePoints>) -> Self {
        let detail = |code_points: &CodePoints| {
            let classes = vec![ClassCounters::default(); code_points.count].into();
            Box::new(Detail { code_points: code_points.clone(), classes })
        };
        Counters {
            arrived: Count::default(),
            forwarded: Count::default(),
            busy: Duration::ZERO,
            dropped: Count::default(),
            held_before: Count::default(),
            detail: code_points.map(detail),
        }
    }

    /// The counters by code point; none at a port that is not reported.
    pub(crate) fn classes(&self) -> &[ClassCounters] {
        self.detail.as_ref().map_or(&[], |detail| &detail.classes)
    }

    /// Whether the port is reported.
    pub(crate) fn are_reported(&self) -> bool {
        self.detail.is_some()
    }

    /// Packets that ended here.
    pub(crate) fn all_dropped(&self) -> u64 {
        self.dropped.packets
    }

    #[inline]
    fn class(&mut self, dscp: usize) -> Option<&mut ClassCounters> {
        let detail = self.detail.as_mut()?;
        Some(&mut detail.classes[detail.code_points.number(dscp)])
    }

    #[inline]
    pub(crate) fn arrived(&mut self, parcel: &Parcel) {
        self.arrived.add(parcel.size());
        if let Some(class) = self.class(parcel.dscp()) {
            class.arrived.add(parcel.size());
        }
    }

    #[inline]
    pub(crate) fn forwarded(&mut self, parcel: &Parcel) {
        self.forwarded.add(parcel.size());
        if let Some(class) = self.class(parcel.dscp()) {
            class.forwarded.add(parcel.size());
        }
    }

    #[inline]
    pub(crate) fn waited(&mut self, parcel: &Parcel, wait: Duration) {
        let Some(class) = self.class(parcel.dscp()) else { return };
        class.waited += 1;
        if wait.is_zero() {
            return;
        }
        class.wait += wait;
        class.byte_wait += f64::from(parcel.size()) * wait.as_secs_f64();
        class.wait_max = class.wait_max.max(wait);
    }

    pub(crate) fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.dropped.add(packet.size);
        if let Some(class) = self.class(usize::from(packet.dscp.value())) {
            class.dropped[reason as usize].add(packet.size);
        }
    }

    /// Starts counting anew, with `held` in the port and the line still sending for `busy`.
    pub(crate) fn restart(&mut self, held: Count, busy: Duration) {
        self.arrived = Count::default();
        self.forwarded = Count::default();
        self.dropped = Count::default();
        self.busy = busy;
        self.held_before = held;
        if let Some(detail) = &mut self.detail {
            detail.classes.fill(ClassCounters::default());
        }
    }

    /// The law of conservation: what came in has left, was dropped, or is still `held`; and the
    /// counters by code point say the same as the totals.
    pub(crate) fn check(&self, held: Count) -> Result<(), String> {
        let came = self.held_before.plus(self.arrived);
        let went = held.plus(self.forwarded).plus(self.dropped);
        if came != went {
            return Err(format!(
                "{came:?} came in, but {went:?} left, were dropped or are still held"
            ));
        }
        let sum = |of: fn(&ClassCounters) -> Count| {
            self.classes().iter().map(of).fold(Count::default(), Count::plus)
        };
        let all_reasons =
            |class: &ClassCounters| class.dropped.iter().fold(Count::default(), |s, d| s.plus(*d));
        let by_class = (sum(|c| c.arrived), sum(|c| c.forwarded), sum(all_reasons));
        let totals = (self.arrived, self.forwarded, self.dropped);
        if self.detail.is_some() && by_class != totals {
            return Err(format!("by code point {by_class:?}, in all {totals:?}"));
        }
        Ok(())
    }
}
