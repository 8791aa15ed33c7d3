//! The sender's reaction to losses: it asks the recovery, and executes its requests.

use shortflow_units::{Bytes, Instant};

use crate::Config;
use crate::congestion::{Congestion, CongestionControl};
use crate::gate::{Delayed, OutputGate};
use crate::header::TcpHeader;
use crate::recovery::{Asks, GoBack, Outstanding};
use crate::sender::{Chunk, Sender, Urgent};

impl Sender {
    pub(crate) fn outstanding(&self) -> Outstanding {
        let Sender { initial, una, next, max, .. } = *self;
        let sent_again = self.stats.retransmitted_segments;
        Outstanding { mss: u32::from(self.mss), initial, una, next, max, sent_again }
    }

    /// New data are acknowledged during recovery, or while there are SACK blocks.
    #[cold]
    pub(crate) fn advance_in_recovery(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        acknowledged: u64,
        config: &Config,
    ) {
        let sent = self.outstanding();
        let asks = self.recovery.on_advance(&sent, header, acknowledged, config);
        self.act(now, asks, config);
    }

    /// An acknowledgement of no new data.
    pub(crate) fn on_repeated_ack(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        is_bare: bool,
        config: &Config,
    ) {
        let (sent, window) = (self.outstanding(), self.peer_window);
        let asks = self.recovery.on_repeated_ack(&sent, header, is_bare, window, config);
        self.act(now, asks, config);
    }

    fn act(&mut self, now: Instant, asks: Asks, config: &Config) {
        if let Some(limit) = asks.cap_window {
            self.congestion.cap_window(Bytes(limit));
        }
        if asks.restart_timer {
            self.restart_timer(now, config);
        }
        if asks.retransmit_first {
            self.urge(Urgent::FirstSegment);
        }
        if asks.enter {
            self.enter_fast_recovery(now, config);
        }
    }

    /// RFC 5681 §3.2, steps 2 and 3.
    fn enter_fast_recovery(&mut self, now: Instant, config: &Config) {
        if self.una >= self.ecn.reduced_until() {
            let outstanding = self.flight().saturating_sub(self.recovery.limited());
            self.congestion.on_congestion(now, Congestion::Loss, Bytes(outstanding));
            self.ecn.on_reduction(self.max);
        }
        self.rtt.on_retransmit();
        self.stats.fast_retransmits += 1;
        self.recovery.begin(&self.outstanding(), config);
        self.urge(Urgent::FirstSegment);
        self.start_timer(now, self.rtt.rto(), config);
    }

    /// The retransmission timer expired: slow start from one segment, over everything outstanding
    /// (RFC 5681 §3.1, RFC 6298 §5.4–5.6).
    #[cold]
    pub(crate) fn on_timeout(&mut self, now: Instant, config: &Config) {
        if self.delayed == Delayed::ByGate {
            // A gate has kept back the last repair, so its loss is no sign of congestion.
            return self.start_timer(now, self.rtt.rto(), config);
        }
        // Data that the peer received out of order are not in flight, although they are not acknowledged. In
        // a long recovery they are many times the window. RFC 5681 §3.1 sets only an upper limit.
        let in_flight = self.flight().min(self.congestion.window().0);
        let event = if self.expiries == 0 && !self.is_reduced_by_time() {
            Congestion::Timeout
        } else {
            Congestion::RepeatedTimeout
        };
        self.doubt_reduction(now);
        self.congestion.on_congestion(now, event, Bytes(in_flight));
        self.ecn.on_reduction(self.max);
        self.rtt.on_retransmit();
        self.rtt.back_off(config);
        self.stats.timeouts += 1;
        self.expiries = self.expiries.saturating_add(1);
        self.urge(Urgent::Nothing);
        self.start_timer(now, self.rtt.rto(), config);
        match self.recovery.on_timeout(now, &self.outstanding()) {
            GoBack::ToFirst => self.next = self.una,
            GoBack::ByScoreboard => {}
            GoBack::ByTime => self.urge(Urgent::FirstSegment),
        }
    }

    /// `NextSeg()`, limited by the pipe (RFC 6675 §4 and §5, step C).
    #[cold]
    pub(crate) fn poll_sack(
        &mut self,
        now: Instant,
        config: &Config,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        let mss = u64::from(self.mss);
        let sent = self.outstanding();
        let pipe = self.recovery.pipe(&sent, config);
        self.delayed = Delayed::by_window(pipe + mss > self.congestion.window().0);
        if self.delayed == Delayed::ByWindow {
            return None;
        }
        if let Some((from, to)) = self.recovery.lost_hole(&sent, config) {
            return self.retransmit_hole(now, from, to, config, gate);
        }
        // Rule 2: new data.
        if let Some(chunk) = self.poll_next(now, config, pipe, gate) {
            return Some(chunk);
        }
        if self.waits_for_pace() {
            return None;
        }
        if let Some((from, to)) = self.recovery.next_hole(&sent) {
            return self.retransmit_hole(now, from, to, config, gate);
        }
        let last_segment = self.max.min(self.end).saturating_sub(mss);
        let (from, to) = self.recovery.rescue(&sent, last_segment)?;
        if !self.may_repair(now, self.payload_between(from, to), gate) {
            return None;
        }
        self.recovery.on_rescue();
        Some(self.emit_between(now, from, to, config))
    }

    /// The timer covers the first outstanding segment. When that is retransmitted, it restarts.
    fn retransmit_hole(
        &mut self,
        now: Instant,
        from: u64,
        to: u64,
        config: &Config,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        if !self.may_repair(now, self.payload_between(from, to), gate) {
            return None;
        }
        if from == self.una {
            self.start_timer(now, self.rtt.rto(), config);
        }
        Some(self.retransmit(now, from, to, config))
    }
}
