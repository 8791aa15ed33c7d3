//! The papers' queues as a queueing discipline of the kernel: its plan, and the program that follows it at a device.
//!
//! The program holds the packets of a device and decides as the queues of `shortflow-elements` do, in whole numbers
//! (programs/qdisc). Tests compare both, packet by packet. It needs Linux 6.16 built with CONFIG_NET_SCH_BPF.

mod gates;
mod layout;
#[cfg(feature = "ebpf")]
mod program;
#[cfg(not(feature = "ebpf"))]
#[path = "program_unavailable.rs"]
mod program;

use std::fmt;

use shortflow_elements::classifier::{Classifier, MultiField};
use shortflow_elements::queue::{
    Fairness, FifoParams, FqCodelParams, HostFairParams, RedParams, ShaperParams, SimaQueueParams,
    StfParams, WfqParams,
};
use shortflow_units::{Bytes, Length};

pub use program::{QdiscAtDevice, QdiscProgram};

use crate::edge::{self, Rules};

/// What is known here of the program's structures, for tests to compare.
#[cfg(feature = "ebpf")]
#[doc(hidden)]
pub const LAYOUT: [usize; 9] = layout::LAYOUT;

/// The maximum number of queues.
pub const MAX_QUEUES: usize = 64;
/// The maximum number of queues with RED.
pub const MAX_REDS: usize = 8;
/// The maximum number of levels of such a queue.
pub const MAX_LEVELS: usize = 8;
/// The maximum number of queues that know flows.
pub const MAX_STFS: usize = 8;
/// The maximum number of queues that serve flows in turn.
pub const MAX_FQS: usize = 16;
/// The maximum number of queues of flows, of all of those.
pub const MAX_FLOW_QUEUES: usize = 1 << 14;
/// The maximum interval of CoDel in nanoseconds.
pub const MAX_INTERVAL: u64 = (1 << 42) - 1;
/// The maximum number of flows that all queues remember.
pub const MAX_FLOWS: u64 = 1 << 20;
/// The maximum number of entries of all rankings of flows.
pub const MAX_RANKED: u64 = 1 << 22;
/// The maximum number of queues with SIMA.
pub const MAX_SIMAS: usize = 16;
/// The maximum limit of a buffer of SIMA in bytes.
pub const MAX_SIMA_BYTES: u64 = 1 << 29;
/// The maximum number of waiting packets, with those of the plan before.
pub const MAX_PLACES: u64 = 1 << 17;
/// The maximum limit of a queue in bytes, and the maximum burst.
pub const MAX_BYTES: u64 = 1 << 30;
/// The smallest packet: an IPv4 header.
const SMALLEST: u64 = 20;
/// Packets beside the plan: of neighbour discovery, and unreadable ones.
const BESIDE: u64 = 2_000;

/// In which order queues are served.
#[derive(Debug, Clone)]
pub enum QdiscSchedule {
    /// The first one that has packets.
    Strict(Vec<QdiscQueue>),
    /// The same, with one buffer for all: an arrival pushes out packets of later queues.
    Shared {
        /// The limit of the buffer.
        limit: Length,
        /// The number of queues.
        queues: usize,
    },
    /// In turn, each up to its weight in packets.
    Weighted(Vec<(u32, QdiscQueue)>),
    /// In turn, each up to its quantum in bytes, which is at most
    /// [a gigabyte](shortflow_elements::scheduler::checked_quantum).
    Deficit(Vec<(Bytes, QdiscQueue)>),
    /// Weighted fair queueing, in which each class is a queue. Packets belong to the classes that the plan's classifier names.
    Fair(WfqParams),
}

/// The queue of a class.
#[derive(Debug, Clone)]
pub enum QdiscQueue {
    /// First in, first out.
    Fifo(FifoParams),
    /// Random early detection, at the rate of the line.
    Red(RedParams),
    /// Least attained service: the flow that has sent the fewest bytes first.
    Stf(StfParams),
    /// The core node of SIMA: two queues, real-time traffic first.
    Sima(Box<SimaQueueParams>),
    /// Flows in turn, each with CoDel.
    FqCodel(FqCodelParams),
    /// Hosts in turn, then their flows.
    HostFair(HostFairParams),
}

/// What the program has room for, which is fixed when it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Packets that wait.
    pub places: u32,
    /// Flows that are remembered.
    pub flows: u32,
    /// Flows with packets, in all rankings.
    pub ranked: u32,
    /// Queues of flows in turn.
    pub flow_queues: u32,
}

/// How packets of a device wait.
#[derive(Clone, PartialEq, Eq)]
pub struct QdiscPlan {
    /// `struct plan`.
    bytes: Vec<u8>,
    rules: Rules,
    otherwise: usize,
    sizes: Sizes,
    shape: u64,
    queues: usize,
    tells_hosts_apart: [bool; 2],
}

/// Why a plan is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unplannable {
    /// More of something than there is room for.
    #[error("the BPF queueing discipline has at most {max} {what}; found {found}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        max: u64,
    },
    /// A queue marks packets.
    #[error("a BPF queueing discipline cannot write ECN marks into packets")]
    Ecn,
    /// A class asks for the state of the sending host.
    #[error("the BPF queueing discipline does not ask the sockets of this host")]
    Sender,
    /// The rules have no tables.
    #[error(transparent)]
    Rules(#[from] edge::Unsupported),
}

impl QdiscPlan {
    /// Queues behind a shaper. `classifier` gives the queue of a packet; one that matches no rule is for the queue
    /// `otherwise`. The device puts `header` bytes before each IP packet.
    ///
    /// # Errors
    /// When the program has no room for it, or the kernel does not allow it.
    pub fn new(
        shaper: &ShaperParams,
        header: u64,
        schedule: &QdiscSchedule,
        classifier: &Classifier,
        otherwise: usize,
    ) -> Result<QdiscPlan, Unplannable> {
        let queue_of =
            |(rule, class): &(MultiField, usize)| (rule.clone(), schedule.first_queue(*class));
        let rules: Vec<_> = classifier.rules().iter().map(queue_of).collect();
        let rules = Rules::new(&rules, &[])?;
        if rules.asks_sockets() {
            return Err(Unplannable::Sender);
        }
        QdiscPlan::with_rules(shaper, header, schedule, rules, otherwise)
    }

    /// Other queues, with the same rules for packets.
    ///
    /// # Errors
    /// When the program has no room for them, or the kernel does not allow them.
    #[doc(hidden)]
    pub fn with_schedule(
        &self,
        shaper: &ShaperParams,
        schedule: &QdiscSchedule,
    ) -> Result<QdiscPlan, Unplannable> {
        QdiscPlan::with_rules(shaper, 0, schedule, self.rules.clone(), self.otherwise)
    }

    fn with_rules(
        shaper: &ShaperParams,
        header: u64,
        schedule: &QdiscSchedule,
        rules: Rules,
        otherwise: usize,
    ) -> Result<QdiscPlan, Unplannable> {
        let layout = layout::Layout::new(shaper, header, schedule)?;
        let shape = fnv(&format!("{:?} {} {otherwise}", layout.shape, rules.shape));
        Ok(QdiscPlan {
            bytes: layout.bytes(rules.asks, otherwise, shape),
            rules,
            otherwise,
            sizes: layout.sizes,
            shape,
            queues: schedule.queues(),
            tells_hosts_apart: schedule.tells_hosts_apart(),
        })
    }

    /// The number of queues.
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// Whether hosts that send share the line fairly, and whether those that receive do.
    pub fn tells_hosts_apart(&self) -> [bool; 2] {
        self.tells_hosts_apart
    }

    /// What it needs room for.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// What must be alike in two plans for packets to stay in their queues when one follows the other.
    pub fn shape(&self) -> u64 {
        self.shape
    }

    /// The plan as the program reads it.
    #[doc(hidden)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All of it in a number.
    pub fn number(&self) -> u64 {
        let text: String =
            self.bytes.iter().chain(&self.rules.bytes).map(|byte| char::from(*byte)).collect();
        fnv(&text)
    }
}

/// Its tables would fill a book.
impl fmt::Debug for QdiscPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QdiscPlan({} queues, {:016x})", self.queues, self.number())
    }
}

impl QdiscSchedule {
    /// The number of queues.
    pub fn queues(&self) -> usize {
        self.first_queue(self.classes())
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        match self {
            QdiscSchedule::Strict(queues) => queues.len(),
            QdiscSchedule::Shared { queues, .. } => *queues,
            QdiscSchedule::Weighted(queues) => queues.len(),
            QdiscSchedule::Deficit(queues) => queues.len(),
            QdiscSchedule::Fair(params) => params.classes().len(),
        }
    }

    /// What the packets of a class wait in; `None` where the schedule has all packets.
    pub fn queue(&self, class: usize) -> Option<&QdiscQueue> {
        match self {
            QdiscSchedule::Strict(queues) => queues.get(class),
            QdiscSchedule::Shared { .. } | QdiscSchedule::Fair(_) => None,
            QdiscSchedule::Weighted(queues) => queues.get(class).map(|(_, queue)| queue),
            QdiscSchedule::Deficit(queues) => queues.get(class).map(|(_, queue)| queue),
        }
    }

    fn tells_hosts_apart(&self) -> [bool; 2] {
        [Fairness::Destination, Fairness::Source].map(|other| {
            let mut queues = (0..self.classes()).filter_map(|class| self.queue(class));
            queues.any(|queue| match queue {
                QdiscQueue::HostFair(params) => params.fairness() != other,
                _ => false,
            })
        })
    }

    /// The number of the first queue of a class, where classes may have several.
    pub fn first_queue(&self, class: usize) -> usize {
        (0..class).map(|class| self.queue(class).map_or(1, QdiscQueue::queues)).sum()
    }
}

impl QdiscQueue {
    /// The number of queues that it counts as.
    pub fn queues(&self) -> usize {
        match self {
            QdiscQueue::Fifo(_)
            | QdiscQueue::Red(_)
            | QdiscQueue::Stf(_)
            | QdiscQueue::FqCodel(_)
            | QdiscQueue::HostFair(_) => 1,
            QdiscQueue::Sima(_) => 2,
        }
    }
}

/// The counters of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QdiscCount {
    /// Packets that have left it.
    pub packets: u64,
    /// Their bytes, as the kernel counts them.
    pub bytes: u64,
    /// Packets dropped because there was no room.
    pub overlimit: u64,
    /// Packets dropped early, by RED, CoDel or BLUE.
    pub early: u64,
    /// Packets dropped because the average of RED was too high.
    pub forced: u64,
    /// Packets pushed out by packets of an earlier queue.
    pub pushed_out: u64,
    /// Packets that wait.
    pub waiting: u64,
    /// Their bytes from IP on.
    pub waiting_bytes: u64,
    /// Flows with packets that wait, where it knows flows.
    pub flows: Option<u64>,
}

impl QdiscCount {
    /// Packets dropped, for whatever reason.
    pub fn drops(&self) -> u64 {
        self.overlimit + self.early + self.forced + self.pushed_out
    }
}

/// The counters of all queues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QdiscCounts {
    /// Of each queue of the plan.
    pub queues: Vec<QdiscCount>,
    /// Of neighbour discovery, of packets that an earlier plan left, and of unreadable packets.
    pub beside: [QdiscCount; 3],
}

/// Fowler, Noll and Vo's hash (FNV-1a).
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
