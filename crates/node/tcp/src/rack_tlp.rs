//! The sender's part of RACK-TLP (RFC 8985): loss detection by time, and tail loss probes.

use shortflow_packet::TcpFlags;
use shortflow_units::{Bytes, Duration, Instant};

use crate::Config;
use crate::congestion::{Ack, Congestion, CongestionControl, Limit};
use crate::gate::{Delayed, OutputGate};
use crate::header::TcpHeader;
use crate::recovery::LossPhase;
use crate::recovery::rack::{Awaits, Doubt, Judged, News, Probe, Rack, Reduction, TIMER_MARGIN};
use crate::sender::{Chunk, ChunkKind, Sender, Urgent};

// Not inlined, so that the code of other recoveries stays small.

impl Sender {
    fn rack(&mut self) -> &mut Rack {
        self.recovery.rack_mut().expect("RACK has a state")
    }

    /// A segment is sent.
    #[inline(never)]
    pub(crate) fn note_by_time(&mut self, now: Instant, from: u64, after: u64, kind: ChunkKind) {
        let (una, max) = (self.una, self.max);
        let is_in_recovery = self.recovery.phase() == LossPhase::Fast;
        let mss = u64::from(self.mss);
        let rack = self.rack();
        if kind == ChunkKind::New {
            rack.sent.on_send(now, from, after);
            rack.note_use(una, max);
        } else {
            rack.sent.on_retransmit(now, from, after);
            if let Some(doubt) = &mut rack.doubt {
                doubt.on_retransmit();
            }
        }
        if is_in_recovery {
            rack.reduction.on_send(mss);
        }
        if rack.sent.count() == 1 {
            rack.awaits = Awaits::Timeout;
        }
    }

    /// Lost segments first, then new data, as far as the window allows.
    #[inline(never)]
    pub(crate) fn poll_by_time(
        &mut self,
        now: Instant,
        config: &Config,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        let mss = u64::from(self.mss);
        let rack = self.rack();
        let in_flight = rack.sent.in_flight() * mss;
        let new_data_first = rack.doubt.is_some_and(|doubt| doubt.new_data_first);
        if !new_data_first && let Some((from, to)) = rack.sent.first_lost() {
            let window = self.recovery.inflated(self.congestion.window().0);
            self.delayed = Delayed::by_window(in_flight + mss > window);
            if self.delayed == Delayed::ByWindow {
                return None;
            }
            let to = self.join(from, to);
            if !self.may_repair(now, self.payload_between(from, to), gate) {
                return None;
            }
            return Some(self.send_again(now, from, to, config));
        }
        let chunk = self.poll_next(now, config, in_flight, gate)?;
        self.await_probe(now, config);
        Some(chunk)
    }

    /// Joins short segments that follow `from..to` to it before it is retransmitted. Returns its end.
    pub(crate) fn join(&mut self, from: u64, to: u64) -> u64 {
        let (mss, end) = (u64::from(self.mss), self.end);
        self.recovery.rack_mut().and_then(|rack| rack.sent.join(from, mss, end)).unwrap_or(to)
    }

    /// The timer covers the first outstanding segment. When that is retransmitted, it restarts.
    fn send_again(&mut self, now: Instant, from: u64, to: u64, config: &Config) -> Chunk {
        let rto = self.rtt.rto();
        if from == self.una && self.rack().awaits != Awaits::Reordering {
            self.rack().awaits = Awaits::Timeout;
            self.start_timer(now, rto, config);
        }
        self.retransmit(now, from, to, config)
    }

    /// New data were sent: the probe timeout restarts. It is at most the retransmission timeout of the first
    /// segment (RFC 8985 §7.2), if that is still in the future.
    #[inline]
    fn await_probe(&mut self, now: Instant, config: &Config) {
        let (phase, smoothed) = (self.recovery.phase(), self.rtt.smoothed());
        let rto = self.rtt.rto();
        let rack = self.rack();
        if rack.may_probe(phase, config)
            && let Some(first_sent_at) = rack.sent.first_sent_at()
        {
            let probe = rack.probe_timeout(smoothed, config);
            rack.awaits = Awaits::Probe;
            let timeout = (first_sent_at + rto).since(now);
            self.start_timer(
                now,
                if timeout.is_zero() { probe } else { probe.min(timeout) },
                config,
            );
        }
    }

    /// An acknowledgement up to `una`.
    #[inline(never)]
    pub(crate) fn on_ack_by_time(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        una: u64,
        config: &Config,
    ) {
        if una < self.una {
            return;
        }
        if self.una == self.max {
            self.expiries = 0; // RFC 9293 §3.8.6.1: a peer that answers probes is alive
            self.on_late_report(header);
            return;
        }
        let mss = u64::from(self.mss);
        let in_flight = self.flight().min(self.rack().sent.in_flight() * mss);
        let advances = una > self.una;
        if advances {
            self.una = una;
            self.next = self.next.max(una);
            self.expiries = 0;
            self.delayed = self.delayed.after_advance();
        }
        let news = self.take_news(now, header, config);
        if self.rack().ends_probe(una, advances, &news) {
            let window = self.congestion.window();
            self.congestion.on_congestion(now, Congestion::Loss, window);
            self.recovery.trust_reduction();
        }
        let mut is_settled = false;
        if self.rack().doubt.is_some() {
            self.take_back_if_refuted(advances);
        }
        if self.recovery.phase() != LossPhase::Open {
            is_settled = self.rack().doubt.is_some() && self.settle_doubt(&news, advances);
            if self.recovery.phase() != LossPhase::Open && una >= self.recovery.recovers_until() {
                self.recovery.leave();
                self.rack().on_recovered();
            }
        }
        // Late segments and duplicates say nothing about others. As in Linux they are judged together with
        // those that do.
        let tells_nothing = !std::mem::take(&mut self.rack().has_advanced);
        let judged = match is_settled || tells_nothing {
            true => Judged::default(),
            false => self.judge(now, config),
        };
        if !is_settled {
            self.begin_if_lost(now, judged.lost_again);
        }
        if self.recovery.phase() == LossPhase::Fast {
            let twice = news.twice.map_or(0, |(from, to)| (to - from).div_ceil(mss));
            let delivered = u64::from(news.segments) + twice;
            if delivered > 0 {
                self.follow_reduction(delivered, advances && !judged.lost);
            }
        }
        if advances || (news.sacked && self.rack().reorders_beyond_threshold(mss, config)) {
            self.tell_congestion_control(now, header, &news, in_flight, config);
        }
        let restarts = advances || self.rack().tells_of_earlier(now, &news);
        if restarts || !tells_nothing {
            self.await_next(now, judged.wait, restarts, config);
        }
    }

    /// Nothing is outstanding. A report of duplicates may still undo a reduction.
    #[inline]
    fn on_late_report(&mut self, header: &TcpHeader) {
        if !header.sack.is_empty() {
            let sent = self.outstanding();
            self.rack().take_report(&sent, &header.sack);
            self.take_back_if_refuted(true);
        }
    }

    /// Reads segments and round trips from the acknowledgement.
    #[inline]
    fn take_news(&mut self, now: Instant, header: &TcpHeader, config: &Config) -> News {
        let sent = self.outstanding();
        let rack = self.recovery.rack_mut().expect("RACK has a state");
        let news = rack.on_ack(now, &sent, header);
        if let Some(rtt) = news.rtt {
            let deviation = &mut rack.deviation;
            self.rtt.sample_each(rtt, deviation, (sent.una, sent.max), config);
        }
        news
    }

    /// Called before a reduction of the window: saves the state to restore if the reduction proves
    /// unnecessary. Of consecutive reductions the first counts. After a timeout in fast recovery only reports
    /// of duplicates can prove it.
    pub(crate) fn doubt_reduction(&mut self, now: Instant) {
        let (phase, una, max) = (self.recovery.phase(), self.una, self.max);
        let (window, threshold) = (self.congestion.window(), self.congestion.threshold());
        let reduced_until = self.ecn.reduced_until();
        let Some(rack) = self.recovery.rack_mut() else { return };
        match phase {
            LossPhase::Open => {
                let probes = rack.probe.is_some_and(|probe| probe.is_retransmission);
                let under_way = rack.sent.again_in_flight().max(probes.into());
                let since = rack.sent.first_repair_at().unwrap_or(now);
                rack.doubt = threshold.map(|threshold| Doubt {
                    window,
                    threshold,
                    since,
                    una,
                    max,
                    reduced_until,
                    new_data_first: false,
                    only_reports: false,
                    unreported: (under_way > 0).then_some(under_way),
                });
            }
            LossPhase::Fast => {
                if let Some(doubt) = &mut rack.doubt {
                    doubt.leave_to_reports();
                }
            }
            LossPhase::Loss => {
                if let Some(doubt) = &mut rack.doubt {
                    doubt.new_data_first = false;
                }
            }
        }
    }

    /// Undoes the reduction if the peer reports duplicates of all retransmissions (RFC 3708 §3), during or
    /// after the recovery; after a timeout only with an acknowledgement that advances. Other losses stay
    /// lost.
    fn take_back_if_refuted(&mut self, advances: bool) {
        let phase = self.recovery.phase();
        let rack = self.rack();
        let Some(doubt) = rack.doubt.filter(Doubt::is_refuted) else { return };
        if phase == LossPhase::Loss {
            if !advances {
                return;
            }
            rack.sent.forget_losses(true);
        }
        rack.tolerance.on_refuted();
        self.take_back(&doubt);
    }

    /// Restores the state before the reduction (RFC 4015).
    fn take_back(&mut self, doubt: &Doubt) {
        self.rack().doubt = None;
        self.congestion.restore(doubt.window, doubt.threshold);
        self.ecn.take_reduction_back(doubt.reduced_until);
        self.recovery.leave();
    }

    /// Checks whether the presumed losses were real. Returns true if the acknowledgement indicates no loss
    /// because it settles this question.
    ///
    /// Nothing was lost if an acknowledgement answers data that were sent before the first retransmission
    /// (Eifel, RFC 3522 §3.2). The state is then restored (RFC 4015); in fast recovery only when no
    /// retransmission is in flight any more, and until then nothing else is retransmitted. Nothing was lost
    /// either if data that were sent once, before a timeout, arrive after it (F-RTO with SACK, RFC 5682
    /// §3.1). To find out, the first acknowledgement that advances is answered with new data. If those arrive
    /// before the missing data, the loss was real.
    #[cold]
    fn settle_doubt(&mut self, news: &News, advances: bool) -> bool {
        let (una, max) = (self.una, self.max);
        let has_new_data = self.next < self.limit();
        let is_fast = self.recovery.phase() == LossPhase::Fast;
        let is_partial = una < self.recovery.recovers_until();
        let rack = self.rack();
        let is_under_way = is_fast && is_partial && rack.sent.again_in_flight() > 0;
        let Some(doubt) = rack.doubt.as_mut().filter(|doubt| !doubt.only_reports) else {
            return false;
        };
        doubt.new_data_first = false;
        let answers_first = news.answers_at.is_some_and(|at| at < doubt.since);
        let is_of_before = news.original.is_some_and(|end| end <= doubt.max);
        if answers_first && is_under_way {
            doubt.new_data_first = true;
            return true;
        }
        if answers_first || (!is_fast && is_of_before) {
            let doubt = *doubt;
            rack.sent.forget_losses(!is_fast);
            self.take_back(&doubt);
            return is_fast;
        }
        if !is_fast {
            if max == doubt.max && advances && una < doubt.max && has_new_data {
                doubt.new_data_first = true;
            } else if !advances || max == doubt.max {
                doubt.leave_to_reports();
            }
        }
        false
    }

    /// Detects losses.
    #[inline]
    fn judge(&mut self, now: Instant, config: &Config) -> Judged {
        let (phase, smoothed) = (self.recovery.phase(), self.rtt.smoothed().unwrap_or_default());
        self.rack().judge(now, phase, smoothed, config)
    }

    /// Begins fast recovery if anything is lost; after a timeout only if repairs are `lost_again`. As in Linux,
    /// that includes losses of the last recovery whose repairs are still in flight when it is over.
    #[inline]
    fn begin_if_lost(&mut self, now: Instant, lost_again: bool) {
        let begins = match self.recovery.phase() {
            LossPhase::Open => self.rack().sent.has_open_losses(),
            LossPhase::Loss => lost_again,
            LossPhase::Fast => false,
        };
        if begins {
            self.begin_recovery_by_time(now);
        }
    }

    /// RFC 5681 §3.2, steps 2 and 3, with a proportional rate reduction (RFC 9937). As in Linux the window is
    /// reduced, not the amount in flight.
    #[cold]
    fn begin_recovery_by_time(&mut self, now: Instant) {
        self.doubt_reduction(now);
        let before = self.congestion.window();
        let is_news = self.una >= self.ecn.reduced_until();
        if is_news || self.recovery.phase() == LossPhase::Loss {
            self.congestion.on_congestion(now, Congestion::Loss, before);
            self.ecn.on_reduction(self.max);
        }
        self.stats.fast_retransmits += 1;
        self.rtt.on_retransmit();
        let reduction = Reduction::new(before.0, self.congestion.window().0);
        self.recovery.begin_by_time(self.max, reduction);
    }

    /// This many segments were delivered during fast recovery. As in Linux, each counts as a full one.
    fn follow_reduction(&mut self, delivered: u64, is_safe: bool) {
        let mss = u64::from(self.mss);
        let rack = self.rack();
        let pipe = rack.sent.in_flight() * mss;
        let allowed = rack.reduction.on_ack(pipe, delivered * mss, is_safe, mss);
        self.recovery.allow(allowed, self.congestion.window().0);
    }

    /// Whether the window was reduced in this recovery. A timeout in it then does not reduce it further.
    pub(crate) fn is_reduced_by_time(&self) -> bool {
        self.recovery.is_by_time() && self.recovery.phase() == LossPhase::Fast
    }

    #[inline]
    fn tell_congestion_control(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        news: &News,
        in_flight: u64,
        config: &Config,
    ) {
        let una = self.una;
        let delivered = news.delivered;
        let echo = header.flags.has(TcpFlags::ECE) && self.ecn.is_enabled();
        let timed = self.rtt.end_timing(now, una).is_some();
        let limit = u64::from(config.slow_start_limit.unwrap_or(u32::MAX));
        let ack = Ack {
            acknowledged: Bytes(delivered),
            marked: Bytes(if echo { delivered } else { 0 }),
            slow_start_increase: Bytes(delivered.min(limit * u64::from(self.mss))),
            in_flight: Bytes(in_flight),
            phase: self.recovery.phase(),
            limit: if self.is_window_used() { Limit::Network } else { Limit::Ends },
            rtt: news.latest_rtt,
            smoothed_rtt: self.rtt.smoothed(),
            delivery: (self.rates.as_mut()).and_then(|rates| rates.on_ack(now, delivered, timed)),
        };
        self.congestion.on_ack(now, &ack);
        if echo {
            self.on_echo(now, in_flight);
        }
    }

    /// Whether the window may grow. It may if it limited the sender, or if more than half of it was used in
    /// slow start, so that a doubled flight fits (as in Linux; RFC 7661 §4.3 has the same half).
    #[inline]
    fn is_window_used(&self) -> bool {
        let most = self.recovery.rack().map_or(0, |rack| rack.max_in_flight.0);
        self.delayed == Delayed::ByWindow
            || (self.congestion.is_slow_start() && self.congestion.window().0 < 2 * most)
    }

    /// Sets the timer: to `wait` for segments that may be reordered, else to the probe or retransmission
    /// timeout. It restarts if the acknowledgement `restarts` it. A timeout that follows another wait counts
    /// from when the first segment was sent, as in Linux.
    #[inline]
    fn await_next(&mut self, now: Instant, wait: Duration, restarts: bool, config: &Config) {
        let (phase, smoothed, rto) = (self.recovery.phase(), self.rtt.smoothed(), self.rtt.rto());
        if self.una == self.max || self.urgent == Urgent::Pause {
            self.rack().awaits = Awaits::Timeout;
            self.restart_timer(now, config);
        } else if !wait.is_zero() {
            self.rack().awaits = Awaits::Reordering;
            self.start_timer(now, wait + TIMER_MARGIN, config);
        } else if restarts {
            let rack = self.rack();
            if rack.may_probe(phase, config) {
                rack.awaits = Awaits::Probe;
                let wait = rack.probe_timeout(smoothed, config).min(rto);
                self.start_timer(now, wait, config);
            } else if rack.awaits == Awaits::Timeout {
                self.start_timer(now, rto, config);
            } else {
                self.await_timeout(now, config);
            }
        } else if self.rack().awaits == Awaits::Reordering {
            self.await_timeout(now, config);
        }
    }

    /// The retransmission timeout, counted from when the first segment was last sent.
    fn await_timeout(&mut self, now: Instant, config: &Config) {
        let rto = self.rtt.rto();
        let rack = self.rack();
        rack.awaits = Awaits::Timeout;
        let first_sent_at = rack.sent.first_sent_at().unwrap_or(now);
        self.start_timer(now, (first_sent_at + rto).since(now), config);
    }

    /// Whether the timer is the retransmission timer.
    pub(crate) fn awaits_timeout(&self) -> bool {
        self.recovery.rack().is_none_or(|rack| rack.awaits == Awaits::Timeout)
    }

    /// The timer expired while data are outstanding.
    #[cold]
    pub(crate) fn on_timer_in_flight(&mut self, now: Instant, config: &Config) {
        let Some(rack) = self.recovery.rack_mut() else { return self.on_timeout(now, config) };
        match std::mem::replace(&mut rack.awaits, Awaits::Timeout) {
            Awaits::Timeout => self.on_timeout(now, config),
            Awaits::Probe => {
                // One probe for a tail (RFC 8985 §7.3).
                if rack.probe.is_none() {
                    self.urge(Urgent::TailProbe);
                }
                self.await_timeout(now, config);
            }
            Awaits::Reordering => {
                let was_fast = self.recovery.phase() == LossPhase::Fast;
                let judged = self.judge(now, config);
                self.begin_if_lost(now, judged.lost_again);
                if !was_fast && self.recovery.phase() == LossPhase::Fast {
                    self.follow_reduction(1, false);
                }
                self.await_timeout(now, config);
            }
        }
    }

    /// RFC 8985 §7.3: sends new data if there are any and the peer has room, else the last segment again. The
    /// congestion window does not limit it. As in Linux the retransmission timer restarts. With the first
    /// segment's timer it would often expire before the probe can be answered.
    pub(crate) fn probe_tail(
        &mut self,
        now: Instant,
        config: &Config,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        let payload = u64::from(self.mss).min(self.end.saturating_sub(self.next));
        let room = u64::from(self.peer_window).saturating_sub(self.flight());
        let has_new_data = self.next < self.limit() && payload.max(1) <= room;
        let again = self.rack().sent.last().filter(|_| !has_new_data);
        let payload = again.map_or(payload, |(from, to)| self.payload_between(from, to));
        if again.is_none() && !has_new_data {
            self.urgent = Urgent::Nothing;
            return None;
        }
        if !self.may_repair(now, payload, gate) {
            return None;
        }
        self.urgent = Urgent::Nothing;
        let chunk = match again {
            Some((from, to)) => self.retransmit(now, from, to, config),
            None => self.emit(now, self.next, payload, config),
        };
        let is_retransmission = chunk.kind == ChunkKind::Retransmission;
        let end = self.max;
        self.start_timer(now, self.rtt.rto(), config);
        let rack = self.rack();
        rack.probe = Some(Probe { end, is_retransmission });
        rack.awaits = Awaits::Timeout;
        Some(chunk)
    }
}
