//! Early drops at a device's queues: the program that drops packets before they wait, by the true length of their queue.
//!
//! It is a filter at the root of the queues and runs under their lock, so no packet comes or leaves while it decides. Decisions
//! are those of the elements [`Red`](shortflow_elements::queue::Red) and [`Sima`](shortflow_elements::queue::Sima), in whole
//! numbers: averages and probabilities have at least 2⁻²⁸ of the element's precision, and a draw has 32 bits.

#[cfg(feature = "ebpf")]
mod device;
mod layout;
#[cfg(not(feature = "ebpf"))]
#[path = "program_unavailable.rs"]
mod program;
#[cfg(feature = "ebpf")]
mod program;

use shortflow_elements::queue::{Averages, RedParams, SimaQueueParams};
use shortflow_units::{Bytes, Length, Rate};

#[cfg(feature = "ebpf")]
pub use device::{EARLY_HANDLE, EARLY_PRIORITY, early_counters};
pub use program::EarlyProgram;

/// The most queues of one device.
pub const MAX_QUEUES: usize = 16;
/// The most levels of a queue.
pub const MAX_LEVELS: usize = 64;
/// The most levels that have an average each.
pub const MAX_AVERAGES: usize = 8;
/// The most packets that wait in a queue.
pub const MAX_WAITING: u64 = (1 << 14) - 1;
/// The largest mean packet.
const MAX_MEAN: Bytes = Bytes(65_535);
/// The least weight of a sample.
const MIN_WEIGHT: f64 = 1e-6;
/// The longest queue.
const MAX_LENGTH: u64 = 1 << 30;
/// The largest buffer of SIMA.
const MAX_BUFFER: Bytes = Bytes(1 << 29);

/// Where a queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    /// The handle of the discipline in which its packets wait.
    pub handle: u32,
    /// The rate at which they leave.
    pub rate: Rate,
    /// Bytes by which the kernel's count of a packet is above that of IP.
    pub header: i32,
    /// Bytes by which a packet's size on the line is above the kernel's count.
    pub overhead: i32,
}

/// The queues of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EarlyPlan {
    queues: Vec<layout::Queue>,
    /// Whether what is before packets of IP is a header of Ethernet.
    has_header: bool,
}

impl EarlyPlan {
    /// No queue yet, at a device whose packets have a header of Ethernet or none.
    pub fn new(has_header: bool) -> EarlyPlan {
        EarlyPlan { queues: Vec::new(), has_header }
    }

    /// Adds a queue about which the program does nothing.
    pub fn skip(&mut self) {
        self.queues.push(layout::Queue::default());
    }

    /// Adds a RED queue.
    pub fn add_red(&mut self, params: &RedParams, place: QueuePlace) {
        self.queues.push(layout::red(params, place));
    }

    /// Adds the buffers of SIMA: that of real-time traffic and the other, whose levels are the precedences.
    pub fn add_sima(&mut self, params: &SimaQueueParams, places: [QueuePlace; 2]) {
        let first = self.queues.len() as u32;
        self.queues.extend(layout::sima(params, places, first));
    }
}

/// Why the program does not take a RED queue; `None` if it does.
pub fn refuses_red(params: &RedParams) -> Option<String> {
    let settings = params.settings();
    let (weight, mean) = (settings.weight, settings.mean_packet.unwrap_or(Bytes(1)));
    let levels = params.curves().len();
    let longest = amount(settings.limit);
    let beyond = match settings.limit {
        Length::Packets(packets) if packets > MAX_WAITING => {
            Some(format!("a limit of at most {MAX_WAITING} pkt"))
        }
        _ if longest > MAX_LENGTH => Some(format!("a limit of at most {MAX_LENGTH} bytes")),
        _ if weight < MIN_WEIGHT => Some(format!("a weight of at least {MIN_WEIGHT}")),
        _ if mean > MAX_MEAN => Some(format!("a mean_packet of at most {MAX_MEAN}")),
        _ if params.averages() != Averages::Shared && levels > MAX_AVERAGES => {
            Some(format!("at most {MAX_AVERAGES} levels that have an average each"))
        }
        _ => None,
    };
    beyond.map(|supported| format!("the program for early drops supports {supported}"))
}

/// Why the program does not take the buffers of SIMA; `None` if it does.
pub fn refuses_sima(params: &SimaQueueParams) -> Option<String> {
    let buffers = [params.real_time(), params.non_real_time()];
    let supported = if buffers.iter().any(|buffer| buffer.limit() > MAX_BUFFER) {
        format!("buffers of at most {MAX_BUFFER}")
    } else if buffers.iter().any(|buffer| buffer.weight() < MIN_WEIGHT) {
        format!("a weight of at least {MIN_WEIGHT}")
    } else {
        return None;
    };
    Some(format!("the program for early drops supports {supported}"))
}

fn amount(length: Length) -> u64 {
    match length {
        Length::Packets(packets) => packets,
        Length::Bytes(bytes) => bytes.0,
    }
}

/// A packet that is shown to the program on a trial.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'t> {
    /// The packet, from the header of Ethernet on.
    pub packet: &'t [u8],
    /// Its queue, in the order in which they were added.
    pub queue: usize,
    /// Its level.
    pub level: usize,
    /// When it comes, in nanoseconds.
    pub now: u64,
    /// 32 random bits.
    pub draw: u32,
    /// Packets and bytes that wait in its queue, or in both buffers of SIMA.
    pub waiting: [[u32; 2]; 2],
    /// Its size as the kernel counts it.
    pub size: u32,
}

/// What has become of the packets of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlyCounter {
    /// Packets that went on.
    pub passed: u64,
    /// Those of them that were marked with ECN.
    pub marked: u64,
    /// Packets dropped by chance.
    pub early: u64,
    /// Packets dropped whatever the chance.
    pub forced: u64,
    /// Packets that found no room.
    pub overlimit: u64,
}

impl EarlyCounter {
    /// Packets that were dropped.
    pub fn dropped(&self) -> u64 {
        self.early + self.forced + self.overlimit
    }
}
