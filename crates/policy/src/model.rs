//! A checked policy: parameters of elements that cannot be invalid, ready to be built.

use shortflow_elements::classifier::DscpTable;
use shortflow_elements::classifier::{Classifier, MultiField};
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::marker::{AdmissionParams, DstfParams, SrptParams, TcpStateParams};
use shortflow_elements::meter::TwoBucketsParams;
use shortflow_elements::meter::{FairMarkerParams, SrTcmParams, TokenBucketParams, TrTcmParams};
use shortflow_elements::meter::{Tsw3CmParams, TswParams};
use shortflow_elements::queue::{AboveMax, Averages, DropCurve, EcnMode, FifoParams, Spacing};
use shortflow_elements::queue::{FqCodelParams, HostFairParams};
use shortflow_elements::queue::{SharedPriorityParams, StfParams, WfqParams};
use shortflow_elements::scheduler::SourceParams;
use shortflow_elements::{Acknowledgements, Dscp, Label, Per};
use shortflow_text::Diagnostics;
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
    /// What is allowed in its text but hardly meant.
    pub warnings: Diagnostics,
    /// The labels that the roles mention, each once.
    pub(crate) labels: Vec<String>,
}

impl Policy {
    /// The labels of connections that some role mentions.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The number by which elements know the label of this name.
    pub fn label(&self, name: &str) -> Label {
        let place = self.labels.iter().position(|label| label == name);
        place.map_or(Label::NONE, |place| Label(place as u16 + 1))
    }

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
        let classes = self.roles.iter().flat_map(|role| &role.classes);
        let mut written = Vec::new();
        for class in classes {
            if let Some(marker) = &class.marker {
                written.extend(marker.code_points(self.code_points));
            }
            for action in class.police.iter().flatten() {
                if let PolicerAction::Remark(dscp) = action {
                    written.push(*dscp);
                }
            }
        }
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
    pub(crate) acks: Acknowledgements,
}

impl Role {
    /// Whether it conditions packets.
    pub fn conditions(&self) -> bool {
        !self.classes.is_empty() || self.acks == Acknowledgements::Echoed
    }

    /// Whether it asks for what only a connection's own host knows: then it stands nowhere else.
    pub fn reads_sender(&self) -> bool {
        let reads = |class: &Class| {
            let marker = class.marker.as_ref();
            class.rule.sender.is_some() || marker.is_some_and(MarkerPlan::reads_sender)
        };
        self.acks == Acknowledgements::Echoed || self.classes.iter().any(reads)
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
    Fixed(Dscp, Option<Metered<TokenBucketParams>>),
    TokenBucket(Metered<TokenBucketParams>),
    SrTcm(Metered<SrTcmParams>),
    TrTcm(Metered<TrTcmParams>),
    TwoBuckets(Metered<TwoBucketsParams>),
    Tsw2Cm(TswParams),
    Tsw3Cm(Tsw3CmParams),
    FairMarker(FairMarkerParams),
    Dstf(DstfParams),
    Srpt(SrptParams),
    TcpState(TcpStateParams),
    Admission(AdmissionParams),
}

/// A meter's parameters, and whose packets have a meter of their own; without that, all share one.
#[derive(Debug, Clone)]
pub(crate) struct Metered<P> {
    pub(crate) params: P,
    pub(crate) per: Option<Per>,
}

impl MarkerPlan {
    /// Whether it asks for what only a connection's own host knows.
    fn reads_sender(&self) -> bool {
        matches!(self, MarkerPlan::Srpt(_) | MarkerPlan::TcpState(_))
    }

    /// The code points that it may write, where `colors` are those of green, yellow and red.
    fn code_points(&self, colors: [Dscp; 3]) -> Vec<Dscp> {
        match self {
            MarkerPlan::Fixed(dscp, _) => vec![*dscp],
            MarkerPlan::Dstf(params) => params.levels().code_points().to_vec(),
            MarkerPlan::Srpt(params) => params.levels().code_points().to_vec(),
            MarkerPlan::Admission(params) => params.code_points().to_vec(),
            _ => colors.to_vec(),
        }
    }
}

/// The parameters of a queue.
#[derive(Debug, Clone)]
pub(crate) enum QueuePlan {
    Fifo(FifoParams),
    Red(RedPlan),
    StrictPriority { classifier: Classifier, bands: Vec<QueuePlan> },
    SharedPriority(SharedPriorityParams),
    Stf(StfParams),
    Wfq(WfqParams),
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
