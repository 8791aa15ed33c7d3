//! A checked policy: parameters of elements that cannot be invalid, ready to be built.

use shortflow_elements::Dscp;
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::classifier::{Classifier, MultiField};
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::meter::{FairMarkerParams, SrTcmParams, TokenBucketParams, TrTcmParams};
use shortflow_elements::meter::{Tsw3CmParams, TswParams};
use shortflow_elements::queue::{AboveMax, Averages, DropCurve, EcnMode, FifoParams, Spacing};
use shortflow_elements::queue::{FqCodelParams, HostFairParams};
use shortflow_elements::scheduler::SourceParams;
use shortflow_units::{Bytes, Length};

/// What nodes do to packets, as a set of named roles.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The name in results.
    pub name: String,
    /// What the policy does.
    pub description: String,
    pub(crate) code_points: [Dscp; 3],
    /// The roles, in the order of the text.
    pub roles: Vec<Role>,
}

impl Policy {
    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// What green, yellow and red are written as.
    pub fn code_points(&self) -> [Dscp; 3] {
        self.code_points
    }

    /// Every code point that some marker, or a queue that remarks, may write, each once.
    pub fn written_code_points(&self) -> Vec<Dscp> {
        let markers = self.roles.iter().flat_map(|role| &role.classes);
        let mut written: Vec<Dscp> = markers
            .filter_map(|class| class.marker.as_ref())
            .flat_map(|marker| match marker {
                MarkerPlan::Fixed(dscp) => vec![*dscp],
                _ => self.code_points.to_vec(),
            })
            .collect();
        let mut queues = self.roles.iter().filter_map(|role| role.queue.as_ref());
        if queues.any(QueuePlan::remarks) {
            written.extend(self.code_points);
        }
        written.sort_unstable();
        written.dedup();
        written
    }
}

/// What a node does to the packets of a port.
#[derive(Debug, Clone)]
pub struct Role {
    /// The name by which scenarios bind it.
    pub name: String,
    /// Conditioning, tried in order; the first class that fits takes the packet.
    pub classes: Vec<Class>,
    /// What green, yellow and red are written as.
    pub(crate) code_points: [Dscp; 3],
    pub(crate) queue: Option<QueuePlan>,
}

impl Role {
    /// Whether it conditions packets.
    pub fn conditions(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Whether it queues packets, which only an egress port can.
    pub fn queues(&self) -> bool {
        self.queue.is_some()
    }
}

/// Packets that are treated alike.
#[derive(Debug, Clone)]
pub struct Class {
    /// The name in results.
    pub name: String,
    /// Which packets belong to it.
    pub rule: MultiField,
    pub(crate) marker: Option<MarkerPlan>,
    pub(crate) police: Option<[PolicerAction; 3]>,
}

/// The parameters of a marker.
#[derive(Debug, Clone)]
pub(crate) enum MarkerPlan {
    Fixed(Dscp),
    TokenBucket(TokenBucketParams),
    SrTcm(SrTcmParams),
    TrTcm(TrTcmParams),
    Tsw2Cm(TswParams),
    Tsw3Cm(Tsw3CmParams),
    FairMarker(FairMarkerParams),
}

/// The parameters of a queue.
#[derive(Debug, Clone)]
pub(crate) enum QueuePlan {
    Fifo(FifoParams),
    Red(RedPlan),
    StrictPriority { classifier: Classifier, bands: Vec<QueuePlan> },
    Wrr { classifier: Classifier, classes: Vec<(u32, QueuePlan)> },
    Drr { classifier: Classifier, classes: Vec<(Bytes, QueuePlan)> },
    Source(Box<SourceParams>),
    FqCodel(FqCodelParams),
    HostFair(HostFairParams),
}

impl QueuePlan {
    /// Whether the queue, or one inside it, writes the code points of colours.
    fn remarks(&self) -> bool {
        match self {
            QueuePlan::Source(_) => true,
            QueuePlan::StrictPriority { bands, .. } => bands.iter().any(QueuePlan::remarks),
            QueuePlan::Wrr { classes, .. } => classes.iter().any(|(_, queue)| queue.remarks()),
            QueuePlan::Drr { classes, .. } => classes.iter().any(|(_, queue)| queue.remarks()),
            _ => false,
        }
    }
}

/// The parameters of a RED queue with one or several levels, but for the rate of its link.
#[derive(Debug, Clone)]
pub(crate) struct RedPlan {
    pub(crate) limit: Length,
    pub(crate) weight: f64,
    pub(crate) mean_packet: Bytes,
    pub(crate) byte_mode: bool,
    pub(crate) spacing: Spacing,
    pub(crate) ecn: EcnMode,
    pub(crate) spare_below: u64,
    pub(crate) curves: Vec<DropCurve>,
    pub(crate) level_of: DscpTable<u8>,
    pub(crate) averages: Averages,
}

/// What becomes of the probability above the greater threshold.
pub(crate) fn above_max(gentle: bool) -> AboveMax {
    if gentle { AboveMax::Gentle } else { AboveMax::Forced }
}
