//! The sending half: outstanding data, the next segment, and the retransmission timer.

use shortflow_packet::TcpFlags;
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::congestion::{Ack, Congestion, CongestionControl, Controller, Limit};
use crate::ecn::EcnState;
use crate::gate::{Delayed, OutputGate};
use crate::header::TcpHeader;
use crate::rates::Rates;
use crate::recovery::{LossPhase, LossRecovery};
use crate::rtt::RttEstimator;
use crate::timer_wheel::TimerWheel;
use crate::{Config, Stats};

/// The sending half of a connection, in stream offsets (see [`crate::seq`]).
#[derive(Debug)]
pub(crate) struct Sender {
    /// Maximum segment size, in bytes.
    pub(crate) mss: u16,
    /// The initial sequence number.
    pub(crate) initial: u32,
    /// The receive window that the peer offers, in bytes.
    pub(crate) peer_window: u32,
    /// The largest window that it ever offered (RFC 9293 §3.8.6.2.1).
    max_peer_window: u32,
    /// SND.WL1 and SND.WL2: the segment that set the window.
    window_sequence: u32,
    window_acknowledgement: u32,

    /// SND.UNA.
    pub(crate) una: u64,
    /// The next offset to send. Below `max` while everything is sent again after a timeout.
    pub(crate) next: u64,
    /// The end of all data sent so far: SND.NXT of RFC 9293.
    pub(crate) max: u64,
    /// The end of the data that the application wrote: the offset of the FIN.
    pub(crate) end: u64,
    ending: Ending,
    /// Another segment must be sent before the next data.
    pub(crate) urgent: Urgent,
    /// What delays the next segment.
    pub(crate) delayed: Delayed,

    pub(crate) recovery: LossRecovery,
    pub(crate) congestion: Controller,
    /// Delivery rates and pacing, if the congestion control or a setting requires them.
    pub(crate) rates: Option<Box<Rates>>,

    pub(crate) rtt: RttEstimator,
    /// The retransmission timer, or the persist timer while nothing is outstanding.
    pub(crate) timer: Instant,
    /// Timer expiries since the peer last acknowledged new data.
    pub(crate) expiries: u16,
    /// Probes since the peer's window closed, answered or not.
    probes: u8,
    last_sent: Instant,
    pub(crate) ecn: EcnState,
    pub(crate) stats: Stats,
}

/// Whether the application has closed, and how the FIN is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The application may write more.
    Open,
    /// The FIN is a separate segment, because all data could be sent before it.
    LoneFin,
    /// The FIN goes with the last data.
    FinWithData,
}

/// What is sent before the next data, whatever the windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgent {
    Nothing,
    /// The first unacknowledged segment, again.
    FirstSegment,
    /// A tail loss probe: new data, or the last segment again (RFC 8985 §7.3).
    TailProbe,
    /// A probe of a closed window.
    Probe,
    /// Nothing before the timer expires. An echo arrived when the window was one segment, so only waiting
    /// slows the sender further (RFC 3168 §6.1.2).
    Pause,
}

/// A range of the stream to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) payload: u16,
    pub(crate) fin: bool,
    pub(crate) kind: ChunkKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    New,
    Retransmission,
    Probe,
}

impl Sender {
    pub(crate) fn new(config: &Config) -> Self {
        let initial = u64::from(config.initial_window) * u64::from(config.mss);
        let congestion = config.congestion.controller(config, Bytes(initial));
        Sender {
            mss: config.mss,
            initial: 0,
            peer_window: 0,
            max_peer_window: 0,
            window_sequence: 0,
            window_acknowledgement: 0,
            una: 0,
            next: 0,
            max: 0,
            end: 1,
            ending: Ending::Open,
            urgent: Urgent::Nothing,
            delayed: Delayed::ByEnds,
            recovery: LossRecovery::new(config.recovery),
            rates: (config.pacing || congestion.is_rate_based()).then(Box::default),
            ecn: EcnState::new(congestion.echo()),
            congestion,
            rtt: RttEstimator::new(config),
            timer: Instant::NEVER,
            expiries: 0,
            probes: 0,
            last_sent: Instant::START,
            stats: Stats::default(),
        }
    }

    pub(crate) fn set_congestion_control(
        &mut self,
        control: Box<dyn CongestionControl>,
        config: &Config,
    ) {
        self.rates = (config.pacing || control.is_rate_based()).then(Box::default);
        self.ecn = EcnState::new(control.echo());
        self.congestion = Controller::Other(Box::new(control));
    }

    /// Appends `bytes` of data. Has no effect after `close`.
    pub(crate) fn write(&mut self, bytes: u64) {
        if self.ending == Ending::Open {
            self.end = self.end.saturating_add(bytes);
        }
    }

    pub(crate) fn close(&mut self, config: &Config) {
        if self.ending == Ending::Open {
            let alone = config.lone_fin;
            self.ending = if alone { Ending::LoneFin } else { Ending::FinWithData };
        }
    }

    fn is_closing(&self) -> bool {
        self.ending != Ending::Open
    }

    /// Bytes of the application that the peer has acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.una.min(self.end).saturating_sub(1)
    }

    pub(crate) fn is_fin_acknowledged(&self) -> bool {
        self.is_closing() && self.una > self.end
    }

    /// The SYN was sent: the stream's offset 0.
    pub(crate) fn on_syn_sent(&mut self, now: Instant, config: &Config) {
        if self.max > 0 {
            self.rtt.on_retransmit();
            self.stats.syn_retransmissions += 1;
        }
        if self.stats.syn_retransmissions == 0 || config.lost_syns_forgiven > 0 {
            self.rtt.on_send(now, 1);
        }
        if self.max == 0 {
            self.last_sent = now; // the first one
        }
        self.next = 1;
        self.max = 1;
        self.start_timer(now, self.rtt.rto(), config);
    }

    /// The peer has acknowledged the SYN, perhaps the first one: data may be sent.
    pub(crate) fn on_established(&mut self, now: Instant, answers_first: bool, config: &Config) {
        self.una = 1;
        let has_lost_too_many = self.has_lost_too_many_syns(answers_first, config);
        self.expiries = 0;
        if self.is_closing() {
            self.ending = Ending::FinWithData; // what was written has waited
        }
        self.timer = Instant::NEVER;
        if answers_first && config.lost_syns_forgiven > 0 {
            self.rtt.on_retransmit();
            self.rtt.on_send(self.last_sent, 1); // RFC 7323 §4.1: of the one that is answered
            self.last_sent = now;
        }
        let rtt = self.rtt.on_ack(now, 1, config);
        if let (Some(rtt), Some(rack)) = (rtt, self.recovery.rack_mut()) {
            rack.on_handshake(rtt);
        }
        if has_lost_too_many {
            // RFC 5681 §3.1: after a lost SYN or SYN-ACK the initial window is one segment.
            self.congestion.cap_window(Bytes(u64::from(self.mss)));
            if rtt.is_none() {
                self.rtt.fall_back(config);
            }
        }
    }

    /// If some losses are allowed, SYN-ACKs count from the first timeout on. None counts if the
    /// acknowledgement `answers_first`, the first SYN-ACK, which therefore was not lost (Eifel, RFC 3522).
    fn has_lost_too_many_syns(&self, answers_first: bool, config: &Config) -> bool {
        self.stats.syn_retransmissions > config.lost_syns_forgiven
            && (config.lost_syns_forgiven == 0 || self.expiries > 0 && !answers_first)
    }

    /// The next range to send now, if there is one.
    #[inline(always)]
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        config: &Config,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        if self.urgent != Urgent::Nothing {
            return self.poll_urgent(now, config, gate);
        }
        if self.recovery.is_by_time() {
            return self.poll_by_time(now, config, gate);
        }
        if self.recovery.follows_scoreboard() {
            return self.poll_sack(now, config, gate);
        }
        self.poll_next(now, config, self.flight(), gate)
    }

    /// The data from `next` on, if `in_flight` and the peer leave room for a segment.
    #[inline(always)]
    pub(crate) fn poll_next(
        &mut self,
        now: Instant,
        config: &Config,
        in_flight: u64,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        self.delayed = Delayed::ByEnds;
        if self.next >= self.limit() {
            self.note_lack_of_data(in_flight);
            return None;
        }
        if self.next == self.una {
            self.on_first_of_flight(now, config);
        }
        let payload = u64::from(self.mss).min(self.end - self.next);
        let window = self.recovery.inflated(self.congestion.window().0);
        // RACK counts segments, as Linux does: a short segment or a FIN needs the room of a full one.
        let needed = if self.recovery.is_by_time() { u64::from(self.mss) } else { payload };
        if in_flight + needed > window {
            self.delayed = Delayed::ByWindow;
            return self.hold_back();
        }
        let ahead = self.next - self.una;
        let payload = if ahead + payload.max(1) > u64::from(self.peer_window) {
            self.fit_peer_window(now, config, payload)?
        } else {
            payload
        };
        // Nagle's algorithm (RFC 9293 §3.7.4). Retransmissions and the end of the stream do not wait.
        let is_short = payload < u64::from(self.mss) && !self.is_closing() && self.next == self.max;
        if config.nagle && is_short && ahead > 0 {
            return self.hold_back();
        }
        if self.rates.as_mut().is_some_and(|rates| !rates.may_send(now)) {
            self.delayed = Delayed::ByWindow;
            return self.hold_back();
        }
        if !gate.may_send(now, payload as u16) {
            return self.withhold();
        }
        self.follow_pace(now, payload, config);
        self.recovery.on_send(in_flight, payload, self.congestion.window().0);
        Some(self.emit(now, self.next, payload, config))
    }

    /// Data wait in the queue. A FIN then joins the last of them.
    #[inline]
    pub(crate) fn hold_back(&mut self) -> Option<Chunk> {
        if self.ending == Ending::LoneFin && self.next < self.end {
            self.ending = Ending::FinWithData;
        }
        None
    }

    /// A delivery rate sample that ends now underestimates the path.
    #[inline]
    fn note_lack_of_data(&mut self, in_flight: u64) {
        if let Some(rates) = &mut self.rates
            && in_flight + u64::from(self.mss) <= self.congestion.window().0
        {
            rates.on_app_limited();
        }
    }

    /// Spaces `payload` bytes, which are sent now, from the next ones.
    #[inline]
    fn follow_pace(&mut self, now: Instant, payload: u64, config: &Config) {
        let Some(rates) = &mut self.rates else { return };
        let usual = || config.pacing.then(|| usual_pace(&self.congestion, &self.rtt)).flatten();
        rates.on_send(now, payload, self.congestion.pacing_rate().or_else(usual));
    }

    /// Sends `payload` bytes from `offset`, and the FIN where they reach it.
    #[inline(always)]
    pub(crate) fn emit(
        &mut self,
        now: Instant,
        offset: u64,
        payload: u64,
        config: &Config,
    ) -> Chunk {
        let fin = offset + payload == self.end && self.has_fin(offset, payload);
        let after = offset + payload + u64::from(fin);
        let kind = if offset < self.max {
            self.stats.retransmitted_segments += 1;
            self.rtt.on_retransmit();
            ChunkKind::Retransmission
        } else {
            if self.recovery.phase() != LossPhase::Fast
                && self.rtt.on_send(now, after)
                && let Some(rates) = &mut self.rates
            {
                rates.on_timed_send(now, self.next == self.una);
            }
            ChunkKind::New
        };
        if self.next == self.una {
            // RFC 6298 §5.1; where the persist timer was running, this replaces it.
            self.start_timer(now, self.rtt.rto(), config);
        }
        self.next = self.next.max(after);
        self.max = self.max.max(after);
        self.last_sent = now;
        if self.recovery.is_by_time() {
            self.note_by_time(now, offset, after, kind);
        }
        Chunk { offset, payload: payload as u16, fin, kind }
    }

    /// Whether a segment of `payload` bytes from `offset` up to the end of the stream has the FIN. A
    /// retransmission has it if the original had it, or if a FIN that was sent alone joined it.
    #[inline]
    fn has_fin(&self, offset: u64, payload: u64) -> bool {
        match self.ending {
            Ending::Open => false,
            Ending::FinWithData => true,
            Ending::LoneFin if self.max > self.end => {
                let rack = self.recovery.rack();
                rack.is_none_or(|rack| rack.sent.reaches(offset, self.max))
            }
            Ending::LoneFin => payload == 0,
        }
    }

    /// Retransmits a segment from `from` up to at most `to`.
    pub(crate) fn retransmit(
        &mut self,
        now: Instant,
        from: u64,
        to: u64,
        config: &Config,
    ) -> Chunk {
        let chunk = self.emit_between(now, from, to, config);
        self.recovery.on_retransmit(chunk.offset, chunk.end());
        chunk
    }

    #[cold]
    pub(crate) fn emit_between(
        &mut self,
        now: Instant,
        from: u64,
        to: u64,
        config: &Config,
    ) -> Chunk {
        self.emit(now, from, self.payload_between(from, to), config)
    }

    /// The bytes of the first segment of this range.
    pub(crate) fn payload_between(&self, from: u64, to: u64) -> u64 {
        to.min(self.end).saturating_sub(from).min(u64::from(self.mss))
    }

    #[cold]
    fn poll_urgent(
        &mut self,
        now: Instant,
        config: &Config,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        match self.urgent {
            Urgent::Pause => return None,
            Urgent::Probe => return self.probe(now, config, gate),
            Urgent::TailProbe => return self.probe_tail(now, config, gate),
            Urgent::Nothing | Urgent::FirstSegment => {}
        }
        let (from, to) = self.recovery.first_hole(&self.outstanding());
        let to = self.join(from, to);
        if !self.may_repair(now, self.payload_between(from, to), gate) {
            return None;
        }
        self.urgent = Urgent::Nothing;
        Some(self.retransmit(now, from, to, config))
    }

    /// Sends one byte, or else the FIN, beyond the closed window (RFC 9293 §3.8.6.1). It does not count as
    /// outstanding: the persist timer repeats it, not the retransmission timer. A window that is only too
    /// small for a full segment is filled now (RFC 9293 §3.8.6.2.1, rule 4).
    fn probe(
        &mut self,
        now: Instant,
        config: &Config,
        gate: &mut impl OutputGate,
    ) -> Option<Chunk> {
        let fin = self.next == self.end;
        let end = self.next + u64::from(self.peer_window);
        let payload = match self.peer_window {
            0 => u64::from(!fin),
            _ => self.payload_between(self.next, end),
        };
        if !self.may_repair(now, payload, gate) {
            return None;
        }
        self.urgent = Urgent::Nothing;
        if self.peer_window > 0 {
            return Some(self.emit_between(now, self.next, end, config));
        }
        self.stats.window_probes += 1;
        Some(Chunk { offset: self.next, payload: u16::from(!fin), fin, kind: ChunkKind::Probe })
    }

    /// What to send if the peer's window has no room for `payload` bytes. If a part is worth sending (RFC
    /// 9293 §3.8.6.2.1: half of the largest window, or a retransmission), that part. Otherwise nothing, and
    /// if nothing is outstanding, the persist timer starts.
    #[cold]
    fn fit_peer_window(&mut self, now: Instant, config: &Config, payload: u64) -> Option<u64> {
        let room = u64::from(self.peer_window).saturating_sub(self.flight());
        let is_worthwhile = room >= u64::from(self.max_peer_window / 2) || self.next < self.max;
        if room > 0 && is_worthwhile {
            return Some(room.min(payload));
        }
        if self.flight() == 0 && self.timer == Instant::NEVER {
            self.probes = 0;
            self.start_timer(now, self.persist_interval(config), config);
        }
        self.hold_back();
        None
    }

    /// RFC 9293 §3.8.6.1: first after the retransmission timeout, then with exponential back-off.
    fn persist_interval(&self, config: &Config) -> Duration {
        (self.rtt.rto() * (1 << self.probes.min(20))).min(config.rto_max)
    }

    /// After an idle time the state of the path is unknown: RFC 5681 §4.1.
    #[inline]
    fn on_first_of_flight(&mut self, now: Instant, config: &Config) {
        if config.restart_after_idle && now.since(self.last_sent) > self.rtt.rto() {
            let initial = u64::from(config.initial_window) * u64::from(self.mss);
            self.congestion.cap_window(Bytes(initial));
        }
    }

    /// Processes the acknowledgement and the window of a segment. Returns `false` if it acknowledges data
    /// that were never sent.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        header: &TcpHeader,
        acknowledgement: u64,
        sequence: u64,
        is_bare: bool,
        config: &Config,
    ) -> bool {
        if acknowledgement > self.max && !self.acknowledges_probe(acknowledgement) {
            return false;
        }
        if self.recovery.is_by_time() {
            self.on_ack_by_time(now, header, acknowledgement, config);
        } else if acknowledgement > self.una {
            self.advance(now, header, acknowledgement, config);
        } else if acknowledgement == self.una {
            if self.flight() == 0 {
                self.expiries = 0; // RFC 9293 §3.8.6.1: a peer that answers probes is alive
            }
            if self.una < self.max {
                self.on_repeated_ack(now, header, is_bare, config);
            }
        }
        self.update_window(header.window, sequence, acknowledgement);
        true
    }

    /// The peer accepted the probe's byte.
    #[cold]
    fn acknowledges_probe(&mut self, acknowledgement: u64) -> bool {
        let taken = self.stats.window_probes > 0
            && self.next == self.una
            && acknowledgement == self.max + 1
            && acknowledgement <= self.limit();
        if taken {
            self.max = acknowledgement;
        }
        taken
    }

    /// SND.UNA advances.
    #[inline]
    fn advance(&mut self, now: Instant, header: &TcpHeader, una: u64, config: &Config) {
        let in_flight = self.flight();
        let acknowledged = una - self.una;
        self.una = una;
        self.next = self.next.max(una);
        self.expiries = 0;
        self.delayed = self.delayed.after_advance();
        let rtt = self.rtt.on_ack(now, una, config);
        let echo = header.flags.has(TcpFlags::ECE) && self.ecn.is_enabled();
        let ack = Ack {
            acknowledged: Bytes(acknowledged),
            marked: Bytes(if echo { acknowledged } else { 0 }),
            slow_start_increase: self.slow_start_increase(acknowledged, config),
            in_flight: Bytes(in_flight),
            phase: self.recovery.phase(),
            limit: if self.delayed == Delayed::ByWindow { Limit::Network } else { Limit::Ends },
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            delivery: (self.rates.as_mut())
                .and_then(|rates| rates.on_ack(now, acknowledged, rtt.is_some())),
        };
        self.congestion.on_ack(now, &ack);
        if echo {
            self.on_echo(now, in_flight);
        }
        if self.recovery.is_in_order(header) {
            self.recovery.on_in_order();
            self.restart_timer(now, config);
        } else {
            self.advance_in_recovery(now, header, acknowledged, config);
        }
    }

    /// RFC 3465 §2.2, and §2.3 after a timeout.
    #[inline]
    fn slow_start_increase(&self, acknowledged: u64, config: &Config) -> Bytes {
        let limit = if self.recovery.phase() == LossPhase::Loss {
            Some(1)
        } else {
            config.slow_start_limit
        };
        let segments = u64::from(limit.unwrap_or(u32::MAX));
        Bytes(acknowledged.min(segments * u64::from(self.mss)))
    }

    /// RFC 6298 §5.2 and §5.3.
    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Instant, config: &Config) {
        let is_idle = self.una == self.max && self.urgent != Urgent::Pause;
        if is_idle {
            self.timer = Instant::NEVER;
        } else {
            self.start_timer(now, self.rtt.rto(), config);
        }
    }

    /// Restarts the timer to expire after `wait`, at the next tick of the wheel.
    #[inline]
    pub(crate) fn start_timer(&mut self, now: Instant, wait: Duration, config: &Config) {
        self.timer = TimerWheel::new(config).expiry(now, wait);
    }

    #[cold]
    pub(crate) fn on_echo(&mut self, now: Instant, in_flight: u64) {
        if self.recovery.phase() == LossPhase::Open && self.una > self.ecn.reduced_until() {
            if self.congestion.window().0 <= u64::from(self.mss) {
                self.urge(Urgent::Pause);
            }
            self.congestion.on_congestion(now, Congestion::Ecn, Bytes(in_flight));
            self.ecn.on_reduction(self.max);
            self.recovery.trust_reduction();
            self.stats.ecn_reductions += 1;
        }
    }

    /// RFC 9293 §3.10.7.4: an older segment does not change the window.
    #[inline]
    pub(crate) fn update_window(&mut self, window: u32, sequence: u64, acknowledgement: u64) {
        // As on the wire, the lower 32 bits show which of two consecutive numbers is later.
        let (sequence, acknowledgement) = (sequence as u32, acknowledgement as u32);
        let later = |now: u32, before: u32| now.wrapping_sub(before).cast_signed();
        let by_sequence = later(sequence, self.window_sequence);
        let by_acknowledgement = later(acknowledgement, self.window_acknowledgement);
        if by_sequence > 0 || (by_sequence == 0 && by_acknowledgement >= 0) {
            self.window_sequence = sequence;
            self.window_acknowledgement = acknowledgement;
            self.peer_window = window;
            self.max_peer_window = self.max_peer_window.max(window);
        }
    }

    /// The timer expired: a retransmission if anything is outstanding, else the end of a pause or a window
    /// probe.
    pub(crate) fn on_timer(&mut self, now: Instant, config: &Config) {
        if self.flight() > 0 {
            self.on_timer_in_flight(now, config);
        } else if self.urgent == Urgent::Pause {
            self.urgent = Urgent::Nothing;
            self.timer = Instant::NEVER;
        } else if self.delayed == Delayed::ByGate {
            self.start_timer(now, self.persist_interval(config), config); // the last probe was never sent
        } else {
            self.expiries = self.expiries.saturating_add(1);
            self.probes = self.probes.saturating_add(1);
            self.urge(Urgent::Probe);
            self.start_timer(now, self.persist_interval(config), config);
        }
    }

    /// The earliest of its timers.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let wake = self.rates.as_ref().map_or(Instant::NEVER, |rates| rates.wake());
        self.timer.min(wake)
    }

    /// Whether new data wait for pacing.
    pub(crate) fn waits_for_pace(&self) -> bool {
        self.rates.as_ref().is_some_and(|rates| rates.wake() != Instant::NEVER)
    }

    /// Bytes between SND.UNA and the next offset to send.
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.next - self.una
    }

    /// The end of the data to send.
    #[inline]
    pub(crate) fn limit(&self) -> u64 {
        self.end + u64::from(self.is_closing())
    }
}

/// The pacing rate for controls without their own rate: faster than acknowledgements arrive, by as much as
/// the window may grow per round trip.
fn usual_pace(congestion: &Controller, rtt: &RttEstimator) -> Option<Rate> {
    let tenths = if congestion.is_slow_start() { 20 } else { 12 };
    let bits = u128::from(congestion.window().0) * 8 * 1_000_000_000 * tenths / 10;
    let bits_per_sec = bits / u128::from(rtt.smoothed()?.nanos());
    Some(Rate::from_bits_per_sec(u64::try_from(bits_per_sec).unwrap_or(u64::MAX)))
}

impl Chunk {
    /// The end offset.
    pub(crate) fn end(&self) -> u64 {
        self.offset + u64::from(self.payload) + u64::from(self.fin)
    }
}
