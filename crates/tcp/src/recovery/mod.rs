//! Loss recovery: what all mechanisms share. Each has a file of its own.

mod newreno;
mod reno;
mod sack;
mod scoreboard;

use shortflow_elements::TcpHeader;
use shortflow_units::{Bytes, Instant};

use crate::congestion::{Congestion, CongestionControl};
use crate::sender::{Sender, Urgent};
use crate::{Config, Recovery};

pub(crate) use scoreboard::Scoreboard;

/// Limited transmit sends at most this many segments beyond the window (RFC 3042 §2).
const LIMITED_TRANSMIT: u32 = 2;

/// Where a sender stands in repairing losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossPhase {
    /// No loss is known.
    Open,
    /// Fast recovery.
    Fast,
    /// After a timeout, until all that was sent before it is acknowledged.
    Loss,
}

impl Sender {
    /// New data acknowledged while losses are being repaired, or SACK blocks are held or come.
    #[cold]
    pub(crate) fn advance_in_recovery(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        acknowledged: u64,
        config: &Config,
    ) {
        if let Some(board) = &mut self.scoreboard {
            board.advance(self.una);
        }
        let told = self.take_blocks(header);
        match self.phase {
            LossPhase::Open => self.advance_in_order(now),
            LossPhase::Loss => {
                self.advance_in_order(now);
                if self.una >= self.recover {
                    self.leave_recovery();
                }
            }
            LossPhase::Fast => match self.mechanism {
                Recovery::Reno => self.advance_reno(now),
                Recovery::NewReno => self.advance_newreno(now, acknowledged),
                Recovery::Sack => self.advance_sack(now),
            },
        }
        if self.phase == LossPhase::Open {
            self.scoreboard.take_if(|board| board.is_empty());
        }
        if told {
            // RFC 6675 §2: a duplicate, though it moves the cumulative acknowledgement.
            self.on_duplicate(now, config);
        }
    }

    /// A duplicate acknowledgement.
    #[cold]
    pub(crate) fn on_duplicate(&mut self, now: Instant, config: &Config) {
        match self.phase {
            LossPhase::Loss => {}
            LossPhase::Fast if self.mechanism == Recovery::Sack => {}
            // RFC 5681 §3.2, step 4: a segment has left the network.
            LossPhase::Fast => self.inflation += i32::from(self.mss),
            LossPhase::Open => {
                self.dup_acks += 1;
                if !self.may_enter_recovery() {
                    return;
                }
                if self.dup_acks >= config.duplicate_ack_threshold || self.is_first_lost(config) {
                    self.enter_fast_recovery(now, config);
                } else if config.limited_transmit {
                    let beyond = self.dup_acks.min(LIMITED_TRANSMIT) * u32::from(self.mss);
                    self.inflation = beyond as i32;
                }
            }
        }
    }

    /// All losses of one window are one sign of congestion (RFC 5681 §4.3), and duplicates of what
    /// a timeout sent again are none: Reno and NewReno ask for an acknowledgement of more than
    /// `recover` (RFC 6582 §3.2, step 2), SACK for one of RecoveryPoint (RFC 6675 §5.1).
    fn may_enter_recovery(&self) -> bool {
        match self.mechanism {
            Recovery::Reno | Recovery::NewReno => self.una > self.recover,
            Recovery::Sack => self.una >= self.recover,
        }
    }

    /// RFC 5681 §3.2, steps 2 and 3.
    fn enter_fast_recovery(&mut self, now: Instant, config: &Config) {
        if self.una >= self.ecn.reduced_until() {
            let outstanding = self.flight().saturating_sub(u64::from(self.limited));
            self.congestion.on_congestion(now, Congestion::Loss, Bytes(outstanding));
            self.ecn.on_reduction(self.max);
        }
        self.rtt.on_retransmit();
        self.stats.fast_retransmits += 1;
        self.phase = LossPhase::Fast;
        self.partial_seen = false;
        self.urgent = Urgent::FirstSegment;
        self.timer = now + self.rtt.rto();
        let inflation = config.duplicate_ack_threshold * u32::from(self.mss);
        match self.mechanism {
            Recovery::Reno | Recovery::NewReno => {
                self.recover = self.max;
                self.inflation = inflation as i32;
            }
            Recovery::Sack => {
                self.recover = self.max;
                self.inflation = 0;
                self.scoreboard.get_or_insert_default().begin_recovery(self.una);
            }
        }
    }

    pub(crate) fn leave_recovery(&mut self) {
        self.phase = LossPhase::Open;
        self.dup_acks = 0;
        self.inflation = 0;
        self.limited = 0;
    }

    /// The retransmission timer expired: slow start from one segment, over everything outstanding
    /// (RFC 5681 §3.1, RFC 6298 §5.4–5.6).
    #[cold]
    pub(crate) fn on_timeout(&mut self, now: Instant, config: &Config) {
        // What the peer holds out of order is not in flight, though not acknowledged: in a long
        // recovery it is many times the window. RFC 5681 §3.1 sets an upper bound only.
        let in_flight = self.flight().min(self.congestion.window().0);
        let event =
            if self.expiries == 0 { Congestion::Timeout } else { Congestion::RepeatedTimeout };
        self.congestion.on_congestion(now, event, Bytes(in_flight));
        self.ecn.on_reduction(self.max);
        self.rtt.on_retransmit();
        self.rtt.back_off(config);
        self.stats.timeouts += 1;
        self.expiries = self.expiries.saturating_add(1);
        self.phase = LossPhase::Loss;
        self.recover = self.max;
        self.dup_acks = 0;
        self.inflation = 0;
        self.limited = 0;
        self.urgent = Urgent::Nothing;
        self.timer = now + self.rtt.rto();
        match self.mechanism {
            Recovery::Reno | Recovery::NewReno => self.next = self.una,
            Recovery::Sack => {
                self.scoreboard.get_or_insert_default().restart(self.una, self.max);
            }
        }
    }
}
