//! The scoreboard of RFC 6675 §3–4: the data that the peer has received beyond the cumulative
//! acknowledgement.
//!
//! Loss is detected from the top down, so everything below one edge that is not SACKed is lost. With that
//! edge, `pipe` costs a walk over at most DupThresh blocks, and visits no single byte.

use std::collections::VecDeque;

use crate::Config;

/// SACKed blocks, and the progress of retransmission.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    /// SACKed offsets: disjoint blocks with gaps between them, ascending.
    sacked: VecDeque<(u64, u64)>,
    /// The end of HighRxt: data below it that are not SACKed were retransmitted in this recovery.
    retransmitted_until: u64,
    /// Outstanding bytes below `retransmitted_until` that are not SACKed.
    retransmitted: u64,
    /// The last known SND.UNA.
    una: u64,
    /// After a timeout: everything below that is not SACKed counts as lost.
    timed_out_until: u64,
    /// Bytes SACKed at or above `timed_out_until` since that timeout.
    sacked_after_timeout: u64,
    /// The rescue retransmission of this recovery was used.
    rescued: bool,
}

impl Scoreboard {
    pub(crate) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// A fast recovery begins at SND.UNA.
    pub(crate) fn begin_recovery(&mut self, una: u64) {
        self.una = una;
        self.retransmitted_until = una;
        self.retransmitted = 0;
        self.rescued = false;
    }

    /// A timeout: all of `una..max` that is not SACKed is lost and sent again. The blocks are kept, because
    /// [`advance`](Self::advance) detects a peer that reneges (RFC 6675 §5.1).
    pub(crate) fn restart(&mut self, una: u64, max: u64) {
        self.begin_recovery(una);
        self.timed_out_until = max;
        self.sacked_after_timeout = 0;
        self.rescued = true;
    }

    /// Marks `from..to` as received. Returns whether any of it is new.
    pub(crate) fn insert(&mut self, from: u64, to: u64) -> bool {
        let first = self.sacked.partition_point(|block| block.1 < from);
        let touched = self.sacked.range(first..).take_while(|block| block.0 <= to).count();
        let fresh = |low: u64, high: u64| {
            let held: u64 = self
                .sacked
                .range(first..first + touched)
                .map(|block| overlap(*block, (low, high)))
                .sum();
            high.saturating_sub(low) - held
        };
        if fresh(from, to) == 0 {
            return false;
        }
        self.retransmitted -= fresh(from, to.min(self.retransmitted_until));
        if self.timed_out_until > 0 {
            self.sacked_after_timeout += fresh(from.max(self.timed_out_until), to);
        }
        if touched == 0 {
            self.sacked.insert(first, (from, to));
        } else {
            let last = self.sacked[first + touched - 1].1;
            let merged = (self.sacked[first].0.min(from), last.max(to));
            self.sacked[first] = merged;
            self.sacked.drain(first + 1..first + touched);
        }
        true
    }

    /// The cumulative acknowledgement has reached `una`.
    pub(crate) fn advance(&mut self, una: u64) {
        let gone = (self.una, una.min(self.retransmitted_until));
        let mut held = 0;
        while let Some(&block) = self.sacked.front()
            && block.1 <= una
        {
            held += overlap(block, gone);
            self.sacked.pop_front();
        }
        self.retransmitted -= gone.1.saturating_sub(gone.0) - held;
        self.una = una;
        if una >= self.timed_out_until {
            self.timed_out_until = 0;
        }
        // The peer would have acknowledged a block that it still holds. It has reneged (RFC 2018 §8), and
        // none of its blocks is reliable.
        if self.sacked.front().is_some_and(|block| block.0 <= una) {
            self.sacked.clear();
            self.sacked_after_timeout = 0;
            self.retransmitted = self.retransmitted_until.saturating_sub(una);
        }
    }

    /// `from..to` was retransmitted. All data between it and the previous retransmission are SACKed.
    pub(crate) fn on_retransmit(&mut self, from: u64, to: u64) {
        self.retransmitted += to - from;
        self.retransmitted_until = to;
    }

    /// `IsLost`: all data below this offset that are not SACKed are lost.
    pub(crate) fn lost_until(&self, config: &Config) -> u64 {
        self.loss_edge(config).0.max(self.timed_out_until)
    }

    /// `SetPipe`: the estimated bytes of `una..max` in the network.
    pub(crate) fn pipe(&self, una: u64, max: u64, config: &Config) -> u64 {
        let (edge, sacked_above) = self.loss_edge(config);
        let not_lost = if edge >= self.timed_out_until {
            max - edge.max(una) - sacked_above
        } else {
            max - self.timed_out_until.max(una) - self.sacked_after_timeout
        };
        not_lost + self.retransmitted
    }

    /// The offset above which three blocks, or more than two segments of bytes, are SACKed; zero if there is
    /// none. Also returns the bytes SACKed above it.
    fn loss_edge(&self, config: &Config) -> (u64, u64) {
        let threshold = u64::from(config.duplicate_ack_threshold);
        let bytes_needed = threshold.saturating_sub(1) * u64::from(config.mss);
        let (mut blocks, mut bytes) = (0, 0);
        for &(from, to) in self.sacked.iter().rev() {
            blocks += 1;
            bytes += to - from;
            if blocks >= threshold || bytes > bytes_needed {
                return (from, bytes);
            }
        }
        (0, bytes)
    }

    /// The first range from `from` on that is not SACKed: `(start, end)` within `..max`.
    pub(crate) fn hole_from(&self, from: u64, max: u64) -> (u64, u64) {
        let index = self.sacked.partition_point(|block| block.1 <= from);
        match self.sacked.get(index) {
            Some(&(start, end)) if start <= from => {
                (end, self.sacked.get(index + 1).map_or(max, |block| block.0))
            }
            Some(&(start, _)) => (from, start),
            None => (from, max),
        }
    }

    /// The next lost hole that was not retransmitted yet.
    pub(crate) fn next_lost(&self, una: u64, max: u64, config: &Config) -> Option<(u64, u64)> {
        let (start, end) = self.hole_from(self.retransmitted_until.max(una), max);
        let edge = self.lost_until(config);
        (start < edge).then(|| (start, end.min(edge)))
    }

    /// The next hole below the highest SACKed byte that was not retransmitted yet.
    pub(crate) fn next_hole(&self, una: u64, max: u64) -> Option<(u64, u64)> {
        let highest = self.sacked.back()?.1;
        let (start, end) = self.hole_from(self.retransmitted_until.max(una), max);
        (start < highest).then_some((start, end))
    }

    /// The data above the highest SACKed byte, from `last_segment` on, once per recovery, unless they were
    /// retransmitted already.
    pub(crate) fn rescue(&self, una: u64, max: u64, last_segment: u64) -> Option<(u64, u64)> {
        let highest = self.sacked.back().map_or(una, |block| block.1);
        let low = self.retransmitted_until.max(highest).max(last_segment);
        if self.rescued || low >= max {
            return None;
        }
        Some((low, max))
    }

    /// It is sent.
    pub(crate) fn on_rescue(&mut self) {
        self.rescued = true;
    }
}

/// Bytes that two ranges share.
fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Era;

    const MSS: u64 = 4;

    fn config() -> Config {
        Config { mss: MSS as u16, ..Era::LinuxToday.config() }
    }

    /// RFC 6675 §3–4 octet by octet, as the text has it.
    #[derive(Debug, Default)]
    struct Octets {
        una: u64,
        max: u64,
        sacked: BTreeSet<u64>,
        /// One past HighRxt.
        retransmitted_until: u64,
        timed_out_until: u64,
    }

    impl Octets {
        fn is_lost(&self, octet: u64) -> bool {
            let above: Vec<u64> = self.sacked.range(octet + 1..).copied().collect();
            let runs = above.iter().filter(|s| !self.sacked.contains(&(*s - 1))).count();
            octet < self.timed_out_until || runs >= 3 || above.len() as u64 > 2 * MSS
        }

        fn holes(&self) -> impl Iterator<Item = u64> + '_ {
            (self.una..self.max).filter(|octet| !self.sacked.contains(octet))
        }

        fn pipe(&self) -> u64 {
            self.holes()
                .map(|s| u64::from(!self.is_lost(s)) + u64::from(s < self.retransmitted_until))
                .sum()
        }

        fn next_lost(&self) -> Option<u64> {
            self.holes().find(|&s| s >= self.retransmitted_until && self.is_lost(s))
        }

        fn next_hole(&self) -> Option<u64> {
            let highest = *self.sacked.last()?;
            self.holes().find(|&s| s >= self.retransmitted_until && s < highest)
        }
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Sack(u64, u64),
        Acknowledge(u64),
        Retransmit,
        SendNew(u64),
        BeginRecovery,
        Timeout,
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        let operation = prop_oneof![
            6 => (0u64..120, 1u64..12).prop_map(|(from, length)| Operation::Sack(from, length)),
            2 => (1u64..30).prop_map(Operation::Acknowledge),
            4 => Just(Operation::Retransmit),
            2 => (1u64..20).prop_map(Operation::SendNew),
            1 => Just(Operation::BeginRecovery),
            1 => Just(Operation::Timeout),
        ];
        prop::collection::vec(operation, 1..60)
    }

    fn apply(operation: Operation, octets: &mut Octets, board: &mut Scoreboard) {
        match operation {
            Operation::Sack(from, length) => {
                let (from, to) = (octets.una + 1 + from, octets.una + 1 + from + length);
                if to <= octets.max {
                    let news = (from..to).filter(|s| octets.sacked.insert(*s)).count();
                    assert_eq!(board.insert(from, to), news > 0);
                }
            }
            Operation::Acknowledge(bytes) => {
                // A peer that does not renege acknowledges all that it holds in order.
                let mut una = (octets.una + bytes).min(octets.max);
                while octets.sacked.contains(&una) {
                    una += 1;
                }
                octets.una = una;
                octets.sacked = octets.sacked.split_off(&una);
                if una >= octets.timed_out_until {
                    octets.timed_out_until = 0;
                }
                board.advance(una);
            }
            Operation::Retransmit => {
                let (una, max) = (octets.una, octets.max);
                let hole =
                    board.next_lost(una, max, &config()).or_else(|| board.next_hole(una, max));
                if let Some((from, to)) = hole {
                    let to = to.min(from + MSS);
                    board.on_retransmit(from, to);
                    octets.retransmitted_until = to;
                }
            }
            Operation::SendNew(bytes) => octets.max += bytes,
            Operation::BeginRecovery => {
                octets.retransmitted_until = octets.una;
                board.begin_recovery(octets.una);
            }
            Operation::Timeout => {
                octets.retransmitted_until = octets.una;
                octets.timed_out_until = octets.max;
                board.restart(octets.una, octets.max);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_edge_agrees_with_the_octets_of_the_rfc(operations in operations()) {
            let mut octets = Octets { max: 100, ..Octets::default() };
            let mut board = Scoreboard::default();
            board.begin_recovery(0);
            for operation in operations {
                apply(operation, &mut octets, &mut board);
                let (una, max) = (octets.una, octets.max);
                prop_assert_eq!(board.pipe(una, max, &config()), octets.pipe());
                let lost = board.next_lost(una, max, &config());
                prop_assert_eq!(lost.map(|hole| hole.0), octets.next_lost());
                let hole = board.next_hole(una, max);
                prop_assert_eq!(hole.map(|hole| hole.0), octets.next_hole());
            }
        }
    }
}
