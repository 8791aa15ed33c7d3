//! Selective acknowledgements: the scoreboard determines what is lost and what is in flight (RFC 6675).

use super::scoreboard::Scoreboard;
use super::{Asks, LossRecovery, Outstanding};
use crate::header::TcpHeader;
use crate::seq::from_wire;
use crate::{Config, Recovery};

impl LossRecovery {
    /// Adds the SACK blocks of `header` (`Update()`). Returns whether they contain anything new.
    pub(super) fn take_blocks(&mut self, sent: &Outstanding, header: &TcpHeader) -> bool {
        if self.mechanism != Recovery::Sack || header.sack.is_empty() {
            return false;
        }
        let board = self.made_scoreboard();
        let mut reported = false;
        for &(from, to) in header.sack.as_slice() {
            let from = from_wire(sent.initial, sent.una, from).max(sent.una);
            let to = from_wire(sent.initial, sent.una, to);
            // Blocks below SND.UNA or above the data sent are ignored (RFC 2018 §4).
            if from < to && to <= sent.max {
                reported |= board.insert(from, to);
            }
        }
        reported
    }

    /// `IsLost(HighACK + 1)`.
    pub(super) fn is_first_lost(&self, sent: &Outstanding, config: &Config) -> bool {
        self.scoreboard().is_some_and(|board| board.lost_until(config) > sent.una)
    }

    /// RFC 6675 §5, steps A and B.
    pub(super) fn advance_sack(&mut self, sent: &Outstanding) -> Asks {
        if sent.una >= self.recover {
            self.leave();
        }
        Asks { restart_timer: true, ..Asks::default() }
    }

    /// `SetPipe()`: the estimated bytes in the network.
    pub(crate) fn pipe(&mut self, sent: &Outstanding, config: &Config) -> u64 {
        self.board().pipe(sent.una, sent.max, config)
    }

    /// `NextSeg()`, rule 1: the first lost hole that was not retransmitted yet.
    pub(crate) fn lost_hole(&mut self, sent: &Outstanding, config: &Config) -> Option<(u64, u64)> {
        self.board().next_lost(sent.una, sent.max, config)
    }

    /// The first range that is not known to have arrived.
    pub(crate) fn first_hole(&self, sent: &Outstanding) -> (u64, u64) {
        if let Some(first) = self.rack().and_then(|rack| rack.sent.first()) {
            return first;
        }
        match self.scoreboard() {
            Some(board) => board.hole_from(sent.una, sent.max),
            None => (sent.una, sent.max),
        }
    }

    /// Rule 3: a hole that is not known to be lost.
    pub(crate) fn next_hole(&mut self, sent: &Outstanding) -> Option<(u64, u64)> {
        self.board().next_hole(sent.una, sent.max)
    }

    /// Rule 4: once, the outstanding data from `last_segment` on.
    pub(crate) fn rescue(&mut self, sent: &Outstanding, last_segment: u64) -> Option<(u64, u64)> {
        self.board().rescue(sent.una, sent.max, last_segment)
    }

    /// It is sent.
    pub(crate) fn on_rescue(&mut self) {
        self.board().on_rescue();
    }

    /// `from..to` is retransmitted.
    pub(crate) fn on_retransmit(&mut self, from: u64, to: u64) {
        if let Some(board) = self.scoreboard_mut() {
            board.on_retransmit(from, to);
        }
    }

    fn board(&mut self) -> &mut Scoreboard {
        self.scoreboard_mut().expect("recovery with SACK keeps a scoreboard")
    }
}
