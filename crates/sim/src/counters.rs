//! What a port counts, by code point: enough to check that no packet was lost or made.

use shortflow_elements::{DropReason, Dscp, Packet};
use shortflow_units::Duration;

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

    /// The number of `dscp`.
    #[inline]
    pub(crate) fn number(&self, dscp: Dscp) -> usize {
        usize::from(self.numbers[usize::from(dscp.value())])
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
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }

    fn plus(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// The counters of one code point at one port.
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

impl ClassCounters {
    /// Packets that ended here.
    pub(crate) fn all_dropped(&self) -> u64 {
        self.dropped.iter().map(|count| count.packets).sum()
    }
}

/// The counters of a port.
#[derive(Debug, Clone)]
pub(crate) struct Counters {
    code_points: CodePoints,
    classes: Box<[ClassCounters]>,
    /// Time for which the line was or will be sending.
    pub(crate) busy: Duration,
    /// What was held when counting began.
    held_before: Count,
}

impl Counters {
    pub(crate) fn new(code_points: CodePoints) -> Self {
        Counters {
            classes: vec![ClassCounters::default(); code_points.count].into(),
            code_points,
            busy: Duration::ZERO,
            held_before: Count::default(),
        }
    }

    pub(crate) fn classes(&self) -> &[ClassCounters] {
        &self.classes
    }

    #[inline]
    fn class(&mut self, packet: &Packet) -> &mut ClassCounters {
        &mut self.classes[self.code_points.number(packet.dscp)]
    }

    #[inline]
    pub(crate) fn arrived(&mut self, packet: &Packet) {
        self.class(packet).arrived.add(packet);
    }

    #[inline]
    pub(crate) fn forwarded(&mut self, packet: &Packet) {
        self.class(packet).forwarded.add(packet);
    }

    #[inline]
    pub(crate) fn waited(&mut self, packet: &Packet, wait: Duration) {
        let class = self.class(packet);
        class.waited += 1;
        if wait.is_zero() {
            return;
        }
        class.wait += wait;
        class.byte_wait += f64::from(packet.size) * wait.as_secs_f64();
        class.wait_max = class.wait_max.max(wait);
    }

    pub(crate) fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.class(packet).dropped[reason as usize].add(packet);
    }

    /// Starts counting anew, with `held` in the port.
    pub(crate) fn restart(&mut self, held: Count) {
        self.classes.fill(ClassCounters::default());
        self.busy = Duration::ZERO;
        self.held_before = held;
    }

    /// The law of conservation: what came in has left, was dropped, or is still `held`.
    pub(crate) fn check(&self, held: Count) -> Result<(), String> {
        let mut came = self.held_before;
        let mut went = held;
        for class in &self.classes {
            came = came.plus(class.arrived);
            went = class.dropped.iter().fold(went.plus(class.forwarded), |sum, d| sum.plus(*d));
        }
        if came == went {
            return Ok(());
        }
        Err(format!("{came:?} came in, but {went:?} left, were dropped or are still held"))
    }
}
