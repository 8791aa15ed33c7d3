//! The BPF queueing discipline at a device's root: its state, and what is to become of it.
//!
//! It is loaded once for each device, so that its maps are the device's own. Memo and record are in them: filters of tc
//! cannot stand at such a root.

use std::sync::Arc;

use shortflow_ebpf::qdisc::{
    MAX_QUEUES, QdiscAtDevice, QdiscCount, QdiscCounts, QdiscPlan, QdiscProgram,
};

use crate::commands::{Generation, NEIGHBOURS, OTHER, ROOT};
use crate::error::Error;
use crate::memo::Memo;
use crate::queue::Queue;
use crate::tree::Tree;

/// A discipline of ours at a device.
#[derive(Debug, Clone)]
pub(crate) struct QueueingSeen {
    /// Its maps; `None` if this process may not read them.
    pub(crate) program: Option<Arc<QdiscAtDevice>>,
    /// What its queues have done.
    counts: QdiscCounts,
}

/// How queues come to a device, or change there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueingWay {
    /// Nothing of ours stands at the root.
    Add,
    /// Something of ours stands there, and makes way.
    Replace,
    /// The program that stands there follows another plan: nothing is lost.
    Follow,
}

/// What the program of a device is to do from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queueing {
    /// The plan that it follows.
    pub(crate) plan: QdiscPlan,
    /// The memo that it keeps.
    pub(crate) memo: String,
    /// The record of the deployment that it keeps; `None` for the one that is there.
    pub(crate) record: Option<String>,
    /// How it comes there.
    pub way: QueueingWay,
}

impl QueueingSeen {
    /// The one of this kind, if it is one of ours.
    pub(crate) fn find(kind: &str) -> QueueingSeen {
        let program = QdiscAtDevice::find(kind).ok().flatten();
        let counts = program.as_ref().and_then(|there| there.counts(MAX_QUEUES).ok()?);
        QueueingSeen { program: program.map(Arc::new), counts: counts.unwrap_or_default() }
    }

    /// Memo and record, as far as they can be read.
    pub(crate) fn texts(&self) -> [String; 2] {
        let texts = self.program.as_ref().and_then(|program| program.texts().ok());
        texts.unwrap_or_default()
    }

    /// The queues of a memo, and those beside them.
    pub(crate) fn queues(&self, memo: &Memo) -> Vec<Queue> {
        let queue = |handle: u16, count: &QdiscCount| Queue {
            handle,
            kind: QdiscProgram::PREFIX.to_owned(),
            packets: count.packets,
            bytes: count.bytes,
            drops: count.drops(),
            marks: 0,
            waiting: count.waiting,
            waiting_bytes: count.waiting_bytes,
            delay_us: None,
            flows: count.flows,
            levels: Vec::new(),
        };
        let named = memo.queues.iter().zip(&self.counts.queues);
        let named = named.map(|((handle, _), count)| queue(*handle, count));
        let [neighbours, _, unreadable] = &self.counts.beside;
        let beside = [(NEIGHBOURS, neighbours), (OTHER, unreadable)];
        named.chain(beside.map(|(minor, count)| queue(ROOT + minor, count))).collect()
    }

    /// Packets of an earlier plan that still wait.
    pub(crate) fn left_over(&self) -> u64 {
        self.counts.beside[1].waiting
    }
}

impl Queueing {
    /// For the plan of a tree, at a device where this stands; `None` for a tree without a program.
    pub(crate) fn from_tree(
        tree: &Tree,
        is_ours: bool,
        seen: Option<&QueueingSeen>,
        has_found_place: bool,
    ) -> Option<Queueing> {
        let plan = tree.program.clone()?;
        let there = seen.and_then(|seen| seen.program.as_ref());
        let way = match there {
            Some(there) if there.can_follow(&plan) => QueueingWay::Follow,
            _ if is_ours => QueueingWay::Replace,
            _ => QueueingWay::Add,
        };
        let memo = Memo { has_found_place, ..Memo::from_tree(tree, Generation::First) };
        Some(Queueing { plan, memo: memo.text(), record: None, way })
    }

    /// Lets the program at a device follow the plan.
    pub(crate) fn follow(&self, seen: Option<&QueueingSeen>) -> Result<bool, Error> {
        let Some(there) = seen.and_then(|seen| seen.program.as_ref()) else { return Ok(false) };
        let kept = there.texts()?[1].clone();
        let record = self.record.as_ref().unwrap_or(&kept);
        there.follow(&self.plan, [&self.memo, record])?;
        Ok(true)
    }

    /// Gives the kernel the program, which a device takes by its kind.
    pub(crate) fn register(&self, seen: Option<&QueueingSeen>) -> Result<QdiscProgram, Error> {
        let kept = seen.map(QueueingSeen::texts).unwrap_or_default();
        let record = self.record.as_ref().unwrap_or(&kept[1]);
        Ok(QdiscProgram::register(&self.plan, [&self.memo, record])?)
    }
}
