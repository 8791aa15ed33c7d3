//! Loss recovery: detects losses and decides the sender's reaction.
//!
//! The common part of all mechanisms is here; each mechanism has its own file. None of them handles segments,
//! timers or the congestion control: the sender provides what is [outstanding](Outstanding) and executes the
//! [requests](Asks).

mod newreno;
pub(crate) mod rack;
mod reno;
mod sack;
mod scoreboard;

use shortflow_units::Instant;

use crate::header::TcpHeader;
use crate::{Config, Recovery};

use rack::{Rack, Reduction};
use scoreboard::Scoreboard;

/// Limited transmit sends at most this many segments beyond the window (RFC 3042 §2).
const LIMITED_TRANSMIT: u32 = 2;

/// The phase of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossPhase {
    /// No loss is known.
    Open,
    /// Fast recovery.
    Fast,
    /// After a timeout, until all data sent before it are acknowledged.
    Loss,
}

/// The data that a sender has sent, in stream offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outstanding {
    /// Bytes of a full segment.
    pub(crate) mss: u32,
    /// The initial sequence number, which SACK blocks refer to.
    pub(crate) initial: u32,
    /// SND.UNA.
    pub(crate) una: u64,
    /// The next offset to send.
    pub(crate) next: u64,
    /// One past the highest offset ever sent.
    pub(crate) max: u64,
    /// The number of segments retransmitted so far.
    pub(crate) sent_again: u32,
}

impl Outstanding {
    fn flight(&self) -> u64 {
        self.next - self.una
    }
}

/// Requests to the sender, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub(crate) struct Asks {
    /// Lower the congestion window to this many bytes.
    pub(crate) cap_window: Option<u64>,
    /// Restart the retransmission timer.
    pub(crate) restart_timer: bool,
    /// Retransmit the first unacknowledged segment.
    pub(crate) retransmit_first: bool,
    /// Treat the loss as a sign of congestion, and [begin](LossRecovery::begin) fast recovery.
    pub(crate) enter: bool,
}

/// The state of loss recovery of one sender.
#[derive(Debug)]
pub(crate) struct LossRecovery {
    mechanism: Recovery,
    phase: LossPhase,
    dup_acks: u32,
    /// Reno and NewReno: the inflation of the congestion window by duplicate acknowledgements. Negative after
    /// a partial acknowledgement of much data (RFC 6582 §3.2).
    inflation: i32,
    /// Bytes of new data sent by limited transmit since the last new acknowledgement.
    limited: u32,
    /// A partial acknowledgement arrived in this recovery.
    partial_seen: bool,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: `max` when the recovery began.
    recover: u64,
    memory: Option<Box<Memory>>,
}

/// The state per segment or block, boxed so that a connection stays small.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is behind a pointer, and the smaller is short-lived"
)]
enum Memory {
    Blocks(Scoreboard),
    /// Exists as long as the connection.
    Times(Rack),
}

impl LossRecovery {
    pub(crate) fn new(mechanism: Recovery) -> Self {
        LossRecovery {
            mechanism,
            phase: LossPhase::Open,
            dup_acks: 0,
            inflation: 0,
            limited: 0,
            partial_seen: false,
            recover: 0,
            memory: (mechanism == Recovery::Rack).then(|| Box::new(Memory::Times(Rack::default()))),
        }
    }

    fn scoreboard(&self) -> Option<&Scoreboard> {
        match self.memory.as_deref() {
            Some(Memory::Blocks(board)) => Some(board),
            _ => None,
        }
    }

    fn scoreboard_mut(&mut self) -> Option<&mut Scoreboard> {
        match self.memory.as_deref_mut() {
            Some(Memory::Blocks(board)) => Some(board),
            _ => None,
        }
    }

    /// The scoreboard, created if it does not exist.
    fn made_scoreboard(&mut self) -> &mut Scoreboard {
        self.memory.get_or_insert_with(|| Box::new(Memory::Blocks(Scoreboard::default())));
        self.scoreboard_mut().expect("recovery with SACK keeps a scoreboard")
    }

    /// Whether losses are detected by time (RACK).
    #[inline]
    pub(crate) fn is_by_time(&self) -> bool {
        self.mechanism == Recovery::Rack
    }

    /// The state of RACK.
    #[inline]
    pub(crate) fn rack(&self) -> Option<&Rack> {
        match self.memory.as_deref() {
            Some(Memory::Times(rack)) => Some(rack),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn rack_mut(&mut self) -> Option<&mut Rack> {
        match self.memory.as_deref_mut() {
            Some(Memory::Times(rack)) => Some(rack),
            _ => None,
        }
    }

    /// `recover`.
    pub(crate) fn recovers_until(&self) -> u64 {
        self.recover
    }

    /// Begins a fast recovery of RACK, with this reduction of the window.
    pub(crate) fn begin_by_time(&mut self, max: u64, reduction: Reduction) {
        self.phase = LossPhase::Fast;
        self.recover = max;
        if let Some(rack) = self.rack_mut() {
            rack.reduction = reduction;
            rack.probe = None;
        }
    }

    /// The window was reduced for a sign that cannot be undone. No earlier state can be restored either.
    pub(crate) fn trust_reduction(&mut self) {
        if let Some(rack) = self.rack_mut() {
            rack.doubt = None;
        }
    }

    /// The amount that a reduction allows, instead of a congestion window of `window` bytes.
    pub(crate) fn allow(&mut self, allowed: u64, window: u64) {
        let more = i128::from(allowed) - i128::from(window);
        self.inflation = more.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32;
    }

    #[inline]
    pub(crate) fn phase(&self) -> LossPhase {
        self.phase
    }

    /// Whether the scoreboard decides what is sent next.
    #[inline]
    pub(crate) fn follows_scoreboard(&self) -> bool {
        self.phase != LossPhase::Open && self.mechanism == Recovery::Sack
    }

    /// What may be in flight with a congestion window of this many bytes.
    #[inline]
    pub(crate) fn inflated(&self, window: u64) -> u64 {
        window.saturating_add_signed(i64::from(self.inflation))
    }

    /// `payload` bytes of new data are sent, with `in_flight` bytes before them.
    #[inline]
    pub(crate) fn on_send(&mut self, in_flight: u64, payload: u64, window: u64) {
        if self.inflation > 0 && in_flight + payload > window {
            self.limited += payload as u32;
        }
    }

    /// Bytes that limited transmit has sent beyond the window.
    pub(crate) fn limited(&self) -> u64 {
        u64::from(self.limited)
    }

    /// Whether nothing is lost, and this acknowledgement reports nothing out of order.
    #[inline]
    pub(crate) fn is_in_order(&self, header: &TcpHeader) -> bool {
        self.phase == LossPhase::Open && self.memory.is_none() && header.sack.is_empty()
    }

    /// New data are acknowledged outside of fast recovery.
    #[inline]
    pub(crate) fn on_in_order(&mut self) {
        self.dup_acks = 0;
        self.inflation = 0;
        self.limited = 0;
    }

    /// `acknowledged` bytes of new data are acknowledged during recovery, or while there are SACK blocks.
    #[cold]
    pub(crate) fn on_advance(
        &mut self,
        sent: &Outstanding,
        header: &TcpHeader,
        acknowledged: u64,
        config: &Config,
    ) -> Asks {
        if let Some(board) = self.scoreboard_mut() {
            board.advance(sent.una);
        }
        let reported = self.take_blocks(sent, header);
        let mut asks = match self.phase {
            LossPhase::Open => self.on_advance_in_order(),
            LossPhase::Loss => {
                let asks = self.on_advance_in_order();
                if sent.una >= self.recover {
                    self.leave();
                }
                asks
            }
            LossPhase::Fast => match self.mechanism {
                Recovery::Reno => self.advance_reno(),
                Recovery::NewReno => self.advance_newreno(sent, acknowledged),
                Recovery::Sack | Recovery::Rack => self.advance_sack(sent),
            },
        };
        if self.phase == LossPhase::Open && self.scoreboard().is_some_and(Scoreboard::is_empty) {
            self.memory = None;
        }
        if reported {
            // RFC 6675 §2: a duplicate, although it moves the cumulative acknowledgement.
            asks.enter = self.on_duplicate(sent, config).enter;
        }
        asks
    }

    fn on_advance_in_order(&mut self) -> Asks {
        self.on_in_order();
        Asks { restart_timer: true, ..Asks::default() }
    }

    /// An acknowledgement of no new data. RFC 5681 §2: a duplicate has no data and an unchanged window. RFC
    /// 6675 §2: it has new SACK blocks, whatever else it contains.
    pub(crate) fn on_repeated_ack(
        &mut self,
        sent: &Outstanding,
        header: &TcpHeader,
        is_bare: bool,
        peer_window: u32,
        config: &Config,
    ) -> Asks {
        let is_duplicate = match self.mechanism {
            Recovery::Reno | Recovery::NewReno => is_bare && header.window == peer_window,
            Recovery::Sack | Recovery::Rack => self.take_blocks(sent, header),
        };
        if is_duplicate { self.on_duplicate(sent, config) } else { Asks::default() }
    }

    #[cold]
    fn on_duplicate(&mut self, sent: &Outstanding, config: &Config) -> Asks {
        match self.phase {
            LossPhase::Loss => {}
            LossPhase::Fast if self.mechanism == Recovery::Sack => {}
            // RFC 5681 §3.2, step 4: a segment has left the network.
            LossPhase::Fast => self.inflation = self.inflation.saturating_add_unsigned(sent.mss),
            LossPhase::Open => {
                self.dup_acks += 1;
                if !self.may_enter(sent) {
                    return Asks::default();
                }
                let enough = self.dup_acks >= config.duplicate_ack_threshold;
                if enough || self.is_first_lost(sent, config) {
                    return Asks { enter: true, ..Asks::default() };
                }
                if config.limited_transmit {
                    let beyond = self.dup_acks.min(LIMITED_TRANSMIT) * sent.mss;
                    self.inflation = beyond as i32;
                }
            }
        }
        Asks::default()
    }

    /// All losses of one window are one sign of congestion (RFC 5681 §4.3). Duplicates of what a timeout
    /// retransmitted are not a sign: Reno and NewReno require an acknowledgement above `recover` (RFC 6582
    /// §3.2, step 2), SACK one of RecoveryPoint (RFC 6675 §5.1).
    fn may_enter(&self, sent: &Outstanding) -> bool {
        match self.mechanism {
            Recovery::Reno | Recovery::NewReno => sent.una > self.recover,
            Recovery::Sack | Recovery::Rack => sent.una >= self.recover,
        }
    }

    /// RFC 5681 §3.2, step 3.
    pub(crate) fn begin(&mut self, sent: &Outstanding, config: &Config) {
        self.phase = LossPhase::Fast;
        self.partial_seen = false;
        self.recover = sent.max;
        match self.mechanism {
            Recovery::Reno | Recovery::NewReno => {
                let threshold = config.duplicate_ack_threshold;
                self.inflation = 0_i32.saturating_add_unsigned(threshold.saturating_mul(sent.mss));
            }
            Recovery::Sack | Recovery::Rack => {
                self.inflation = 0;
                self.made_scoreboard().begin_recovery(sent.una);
            }
        }
    }

    pub(crate) fn leave(&mut self) {
        self.phase = LossPhase::Open;
        self.on_in_order();
    }

    /// The retransmission timer expired: everything outstanding is sent again, from SND.UNA on if nothing is
    /// known about what arrived.
    pub(crate) fn on_timeout(&mut self, now: Instant, sent: &Outstanding) -> GoBack {
        self.phase = LossPhase::Loss;
        self.recover = sent.max;
        self.on_in_order();
        match self.mechanism {
            Recovery::Reno | Recovery::NewReno => GoBack::ToFirst,
            Recovery::Sack => {
                self.made_scoreboard().restart(sent.una, sent.max);
                GoBack::ByScoreboard
            }
            Recovery::Rack => {
                if let Some(rack) = self.rack_mut() {
                    rack.on_timeout(now);
                }
                GoBack::ByTime
            }
        }
    }
}

/// How everything outstanding is sent again after a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoBack {
    /// All of it, from the first unacknowledged segment on.
    ToFirst,
    /// Everything that the scoreboard does not show as received.
    ByScoreboard,
    /// Segments older than a round trip that are not known to have arrived; the first segment at once.
    ByTime,
}
