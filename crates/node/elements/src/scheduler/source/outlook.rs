//! When the first packet can leave, if none can now.

use shortflow_units::{Duration, Instant};

use super::LOW;
use super::regulator::Regulator;

/// A head that waits for tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) priority: usize,
    pub(super) rank: Rank,
    pub(super) remarked_at: Instant,
}

/// The class, then the size. Of the heads of a priority that no higher class blocks, the smallest rank gets
/// its tokens first.
pub(super) type Rank = (usize, u32);

/// The rank of a priority without heads.
const NONE: Rank = (usize::MAX, u32::MAX);

/// Computes over the instants at which heads are remarked. It reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    high: Vec<High>,
}

/// A head that is HIGH until it is remarked.
#[derive(Debug, Clone, Copy)]
struct High {
    until: Instant,
    rank: Rank,
    /// The smallest rank of those that stay HIGH as long, after sorting.
    min: Rank,
}

impl Outlook {
    /// Reserves memory for this many `heads`.
    pub(super) fn reserve(&mut self, heads: usize) {
        self.high.clear();
        self.high.reserve(heads);
    }

    /// The first instant from `now` on at which one of `heads` can leave. All are HIGH or MED and lack
    /// tokens. HIGH heads become MED when they are remarked, which may block and unblock others, and LOW
    /// after another `remark_after`. MED heads become LOW. LOW heads need no tokens.
    ///
    /// One step per head, and a sort of the HIGH ones if a head is remarked before tokens arrive.
    pub(super) fn first_leaves(
        &mut self,
        now: Instant,
        heads: impl Iterator<Item = Head>,
        remark_after: Duration,
        regulators: &[Regulator; LOW],
    ) -> Instant {
        self.high.clear();
        let (mut high, mut medium) = (NONE, NONE);
        let (mut remarked_at, mut low_at) = (Instant::NEVER, Instant::NEVER);
        for head in heads {
            if head.priority == 0 {
                self.high.push(High { until: head.remarked_at, rank: head.rank, min: NONE });
                high = high.min(head.rank);
                remarked_at = remarked_at.min(head.remarked_at);
                low_at = low_at.min(head.remarked_at + remark_after);
            } else {
                medium = medium.min(head.rank);
                low_at = low_at.min(head.remarked_at);
            }
        }
        let tokens_at = with_tokens(regulators, [high, medium]).max(now);
        if tokens_at < remarked_at.min(low_at) {
            return tokens_at;
        }
        self.sort();
        let mut high = &self.high[..];
        while let Some(&High { until: at, .. }) = high.first()
            && at < low_at
        {
            let (remarked, rest) = high.split_at(high.partition_point(|head| head.until == at));
            high = rest;
            medium = remarked.iter().map(|head| head.rank).fold(medium, Rank::min);
            let min = high.first().map_or(NONE, |head| head.min);
            let tokens_at = with_tokens(regulators, [min, medium]).max(at);
            if tokens_at < high.first().map_or(low_at, |head| head.until.min(low_at)) {
                return tokens_at;
            }
        }
        low_at
    }

    /// Sorts the HIGH heads by the time of their remark.
    fn sort(&mut self) {
        self.high.sort_unstable_by_key(|head| (head.until, head.rank));
        let mut min = NONE;
        for head in self.high.iter_mut().rev() {
            min = min.min(head.rank);
            head.min = min;
        }
    }
}

/// When the first of the smallest heads, one per priority, has its tokens.
fn with_tokens(regulators: &[Regulator; LOW], min: [Rank; LOW]) -> Instant {
    let there = min.into_iter().zip(regulators).filter(|(rank, _)| *rank != NONE);
    let instants = there.map(|((_, size), regulator)| regulator.admits_at(size));
    instants.min().unwrap_or(Instant::NEVER)
}
