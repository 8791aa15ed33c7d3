//! Checks queues for flows and hosts.

use shortflow_elements::queue::{CoDelParams, Fairness, FlowQueueSettings};
use shortflow_elements::queue::{FqCodelParams, HostFairParams};
use shortflow_units::{Bytes, Duration, Length};

use super::Checker;
use super::queues::ecn;
use crate::file::{FairnessFile, FqCodelFile, HostFairFile};
use crate::model::QueuePlan;

impl Checker<'_> {
    pub(super) fn fq_codel(&mut self, path: &str, file: &FqCodelFile) -> Option<QueuePlan> {
        let settings = self.flow_queues(path, file)?;
        self.accept(path, FqCodelParams::new(settings)).map(QueuePlan::FqCodel)
    }

    pub(super) fn host_fair(&mut self, path: &str, file: &HostFairFile) -> Option<QueuePlan> {
        let HostFairFile { by, limit, queues, quantum, target, interval, mtu, ecn } = *file;
        let flows = FqCodelFile { limit, queues, quantum, target, interval, mtu, ecn };
        let settings = self.flow_queues(path, &flows)?;
        let fairness = match by {
            FairnessFile::Source => Fairness::Source,
            FairnessFile::Destination => Fairness::Destination,
            FairnessFile::Both => Fairness::Both,
        };
        self.accept(path, HostFairParams::new(settings, fairness)).map(QueuePlan::HostFair)
    }

    fn flow_queues(&mut self, path: &str, file: &FqCodelFile) -> Option<FlowQueueSettings> {
        let target = file.target.unwrap_or(DEFAULT_TARGET);
        let interval = file.interval.unwrap_or(DEFAULT_INTERVAL);
        let mtu = file.mtu.unwrap_or(DEFAULT_FRAME);
        let codel = self.accept(path, CoDelParams::new(target, interval, mtu))?;
        Some(FlowQueueSettings {
            limit: file.limit.unwrap_or(DEFAULT_LIMIT),
            queues: file.queues.unwrap_or(DEFAULT_QUEUES) as usize,
            quantum: file.quantum.unwrap_or(DEFAULT_FRAME),
            codel,
            ecn: ecn(file.ecn.unwrap_or(true)),
        })
    }
}

// RFC 8290 §5.2: the parameters and their defaults.
const DEFAULT_LIMIT: Length = Length::Packets(10_240);
const DEFAULT_QUEUES: u32 = 1024;
const DEFAULT_TARGET: Duration = Duration::from_millis(5);
const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);
/// The largest frame of an Ethernet link, which is both the quantum and CoDel's MTU.
const DEFAULT_FRAME: Bytes = Bytes(1514);
