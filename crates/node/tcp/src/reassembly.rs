//! Out-of-order data, and the SACK blocks that report them.

use std::collections::VecDeque;

use crate::header::SackBlocks;
use crate::seq::to_wire;

/// Blocks held beyond the next expected offset.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// Disjoint blocks with gaps between them, ascending.
    blocks: VecDeque<(u64, u64)>,
    /// An offset inside each of the blocks that changed last, the latest first, each in a different block.
    recent: [Option<u64>; SackBlocks::MAX],
    /// Duplicate data since the last acknowledgement: from and to.
    duplicate: Option<(u64, u64)>,
}

impl Reassembly {
    /// Whether an acknowledgement has nothing to report.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.duplicate.is_none()
    }

    /// Adds `from..to`, and remembers it for SACK blocks if they are used.
    pub(crate) fn insert(&mut self, from: u64, to: u64, with_sack: bool) {
        let first = self.blocks.partition_point(|block| block.1 < from);
        let touched = self.blocks.range(first..).take_while(|block| block.0 <= to).count();
        let merged = if touched == 0 {
            self.blocks.insert(first, (from, to));
            (from, to)
        } else {
            let last = self.blocks[first + touched - 1].1;
            let merged = (self.blocks[first].0.min(from), last.max(to));
            self.blocks[first] = merged;
            self.blocks.drain(first + 1..first + touched);
            merged
        };
        if with_sack {
            self.note_recent(merged);
        }
    }

    /// Removes the data that continue the stream at `next`, and returns the new end.
    pub(crate) fn advance(&mut self, mut next: u64) -> u64 {
        while let Some(&(from, to)) = self.blocks.front()
            && from <= next
        {
            next = next.max(to);
            self.blocks.pop_front();
        }
        next
    }

    /// `from..to` arrived again. The next acknowledgement reports it.
    pub(crate) fn note_duplicate(&mut self, from: u64, to: u64) {
        self.duplicate = Some((from, to));
    }

    /// RFC 2018 §4: first the block of the segment that has just arrived, then the most recently reported
    /// ones. RFC 2883 §4: before them, once, the duplicate; if it lies in a block, that block is next.
    pub(crate) fn take_sack_blocks(&mut self, initial: u32) -> SackBlocks {
        let mut sack = SackBlocks::default();
        let mut push = |(from, to)| sack.push(to_wire(initial, from), to_wire(initial, to));
        let duplicate = self.duplicate.take();
        let around = duplicate.and_then(|(from, _)| self.block_with(from));
        duplicate.into_iter().chain(around).for_each(&mut push);
        let recent = self.recent.iter().flatten().filter_map(|&offset| self.block_with(offset));
        recent.filter(|&block| Some(block) != around).for_each(push);
        sack
    }

    fn note_recent(&mut self, block: (u64, u64)) {
        let mut others = self
            .recent
            .into_iter()
            .flatten()
            .filter(|&offset| self.block_with(offset).is_some_and(|other| other != block));
        let mut recent = [Some(block.0), None, None];
        for place in &mut recent[1..] {
            *place = others.next();
        }
        drop(others);
        self.recent = recent;
    }

    /// The block that contains `offset`, or ends there.
    pub(crate) fn block_with(&self, offset: u64) -> Option<(u64, u64)> {
        let index = self.blocks.partition_point(|block| block.1 <= offset);
        self.blocks.get(index).copied().filter(|block| block.0 <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(reassembly: &mut Reassembly) -> Vec<(u32, u32)> {
        reassembly.take_sack_blocks(0).as_slice().to_vec()
    }

    #[test]
    fn the_latest_block_comes_first_and_the_fourth_is_forgotten() {
        let mut held = Reassembly::default();
        for from in [10, 30, 50, 70] {
            held.insert(from, from + 10, true);
        }
        assert_eq!(blocks(&mut held), [(70, 80), (50, 60), (30, 40)]);
        held.insert(40, 45, true);
        assert_eq!(blocks(&mut held), [(30, 45), (70, 80), (50, 60)]);
    }

    #[test]
    fn a_filled_gap_joins_its_neighbours() {
        let mut held = Reassembly::default();
        held.insert(10, 20, true);
        held.insert(30, 40, true);
        held.insert(20, 30, true);
        assert_eq!(blocks(&mut held), [(10, 40)]);
        assert_eq!(held.advance(5), 5);
        assert_eq!(held.advance(10), 40);
        assert!(held.is_empty());
    }

    #[test]
    fn an_overlapping_segment_is_held_once() {
        let mut held = Reassembly::default();
        held.insert(10, 30, true);
        held.insert(20, 50, true);
        held.insert(15, 25, true);
        assert_eq!(blocks(&mut held), [(10, 50)]);
    }
}
