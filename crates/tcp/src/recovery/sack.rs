//! Selective acknowledgements: the scoreboard says what is lost and what is in flight (RFC 6675).

use shortflow_elements::TcpHeader;
use shortflow_units::Instant;

use crate::congestion::CongestionControl;
use crate::sender::{Chunk, Sender};
use crate::seq::from_wire;
use crate::{Config, Recovery};

const HAS_SCOREBOARD: &str = "recovery with SACK keeps a scoreboard";

impl Sender {
    /// Enters the SACK blocks of `header` (`Update()`). Whether they told anything new.
    pub(crate) fn take_blocks(&mut self, header: &TcpHeader) -> bool {
        if self.mechanism != Recovery::Sack || header.sack.is_empty() {
            return false;
        }
        let board = self.scoreboard.get_or_insert_default();
        let mut told = false;
        for &(from, to) in header.sack.as_slice() {
            let from = from_wire(self.initial, self.una, from).max(self.una);
            let to = from_wire(self.initial, self.una, to);
            // Blocks below SND.UNA or beyond what was sent tell nothing (RFC 2018 §4).
            if from < to && to <= self.max {
                told |= board.insert(from, to);
            }
        }
        told
    }

    /// `IsLost(HighACK + 1)`.
    pub(super) fn is_first_lost(&self, config: &Config) -> bool {
        self.scoreboard.as_ref().is_some_and(|board| board.lost_until(config) > self.una)
    }

    /// RFC 6675 §5, steps A and B.
    pub(super) fn advance_sack(&mut self, now: Instant) {
        self.restart_timer(now);
        if self.una >= self.recover {
            self.leave_recovery();
        }
    }

    /// `NextSeg()` with the pipe's leave (RFC 6675 §4 and §5, step C).
    #[cold]
    pub(crate) fn poll_sack(&mut self, now: Instant, config: &Config) -> Option<Chunk> {
        let mss = u64::from(self.mss);
        let board = self.scoreboard.as_mut().expect(HAS_SCOREBOARD);
        let pipe = board.pipe(self.una, self.max, config);
        self.window_limited = pipe + mss > self.congestion.window().0;
        if self.window_limited {
            return None;
        }
        // Rule 1: the first hole that is lost and not yet sent again.
        if let Some((from, to)) = board.next_lost(self.una, self.max, config) {
            return Some(self.retransmit_hole(now, from, to));
        }
        // Rule 2: new data.
        if let Some(chunk) = self.poll_next(now, config, pipe) {
            return Some(chunk);
        }
        if self.waits_for_pace() {
            return None;
        }
        // Rule 3: a hole that is not yet known to be lost.
        let board = self.scoreboard.as_mut().expect(HAS_SCOREBOARD);
        if let Some((from, to)) = board.next_hole(self.una, self.max) {
            return Some(self.retransmit_hole(now, from, to));
        }
        // Rule 4: once, the end of what is outstanding.
        let last_segment = self.max.min(self.end).saturating_sub(mss);
        let (from, to) = board.rescue(self.una, self.max, last_segment)?;
        Some(self.emit_between(now, from, to))
    }

    /// The timer watches the first outstanding segment: when that goes again, it starts anew.
    fn retransmit_hole(&mut self, now: Instant, from: u64, to: u64) -> Chunk {
        if from == self.una {
            self.timer = now + self.rtt.rto();
        }
        self.retransmit(now, from, to)
    }
}
