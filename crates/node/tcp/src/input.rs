//! Incoming segments (RFC 9293 §3.10.7).

use shortflow_packet::{Ecn, TcpFlags};
use shortflow_units::Instant;

use crate::Segment;
use crate::connection::{Connection, Control};
use crate::header::{Stamps, TcpHeader};
use crate::receiver::{Acceptance, AckDue};
use crate::seq::from_wire;
use crate::state::{Failure, State};

impl Connection {
    /// A segment of this connection has arrived, with the ECN field of its IP header. The peer sent it at
    /// `sent_at`, which is its TSval.
    #[inline]
    pub fn on_segment(
        &mut self,
        now: Instant,
        sent_at: Instant,
        header: &TcpHeader,
        payload: u16,
        ecn: Ecn,
    ) {
        let start = from_wire(self.receiver.initial, self.receiver.next, header.seq);
        // The common case: no special state or flags, and the expected sequence number.
        if header.flags.only_acknowledge()
            && start == self.receiver.next
            && self.state == State::Established
            && !self.receiver.recent.rejects(now, sent_at)
        {
            if self.take_acknowledgement(now, sent_at, header, start, payload.into()) && payload > 0
            {
                self.take_data(now, header, start, payload, ecn);
            }
        } else {
            self.on_unusual_segment(now, sent_at, header, payload, ecn);
        }
    }

    #[cold]
    fn on_unusual_segment(
        &mut self,
        now: Instant,
        sent_at: Instant,
        header: &TcpHeader,
        payload: u16,
        ecn: Ecn,
    ) {
        match self.state {
            State::Closed => self.reset_in_reply(header, payload),
            State::Listen => self.on_segment_in_listen(sent_at, header, payload),
            State::SynSent => self.on_segment_in_syn_sent(now, sent_at, header, payload),
            _ => self.on_segment_when_known(now, sent_at, header, payload, ecn),
        }
    }

    /// RFC 9293 §3.10.7.4: both sequence numbers are known.
    fn on_segment_when_known(
        &mut self,
        now: Instant,
        sent_at: Instant,
        header: &TcpHeader,
        payload: u16,
        ecn: Ecn,
    ) {
        let flags = header.flags;
        let start = from_wire(self.receiver.initial, self.receiver.next, header.seq);
        let fin = flags.has(TcpFlags::FIN);
        let length = u64::from(payload) + u64::from(fin);
        let acceptance = self.receiver.accepts(start, length, &self.config);
        if flags.has(TcpFlags::RST) {
            self.on_reset(start, acceptance);
            return;
        }
        if self.is_repeated_syn(header) {
            self.repeat_syn();
            return;
        }
        // RFC 7323 §5.3, R1. An old acknowledgement without data is recognised by its numbers.
        if length > 0 && self.receiver.recent.rejects(now, sent_at) {
            self.discard(now, start, payload);
            return;
        }
        if flags.has(TcpFlags::SYN) || acceptance == Acceptance::Outside {
            self.receiver.demand_ack(AckDue::Bare);
            return;
        }
        if !flags.has(TcpFlags::ACK) {
            return;
        }
        if self.state == State::SynReceived && !self.on_segment_in_syn_received(now, header) {
            self.reset_in_reply(header, payload);
            return;
        }
        if acceptance == Acceptance::Old && length > 0 {
            self.discard(now, start, payload);
        }
        if self.on_acknowledgement(now, sent_at, header, start, length)
            && acceptance == Acceptance::Inside
            && length > 0
            && !self.receiver.is_finished()
        {
            self.take_data(now, header, start, payload, ecn);
        }
    }

    /// Discards data with an immediate acknowledgement, which reports duplicates (RFC 2883 §4).
    fn discard(&mut self, now: Instant, start: u64, payload: u16) {
        self.receiver.demand_ack(AckDue::Bare);
        let end = start.saturating_add(payload.into()).min(self.receiver.next);
        if start < end && self.config.reports_duplicates() {
            self.receiver.note_duplicate(start, end, &self.config);
        }
        if self.state == State::TimeWait {
            self.linger = now + self.config.time_wait;
        }
    }

    /// Accepts data that touch the window. They may fill the last gap before a FIN that arrived early.
    #[inline]
    fn take_data(&mut self, now: Instant, header: &TcpHeader, start: u64, payload: u16, ecn: Ecn) {
        let fin = header.flags.has(TcpFlags::FIN);
        let echo = self.sender.ecn.flags();
        let has_changed = self.sender.ecn.on_data(header, ecn);
        if has_changed && self.receiver.due == AckDue::Delayed {
            self.control = Control::Acknowledgement { ack: self.acknowledgement(), echo };
            self.receiver.on_ack_sent();
        }
        self.receiver.note_transmission(start, header.stamps.has(Stamps::AGAIN));
        self.receiver.on_data(now, start, payload, fin, (&self.config, &self.sender));
        self.receiver.on_carried_back(header.stamps, self.config.mss);
        if has_changed {
            self.receiver.demand_ack(AckDue::Now);
        }
        if self.receiver.is_finished() {
            self.enter(now, self.state.after_fin_received());
        }
    }

    /// Processes the acknowledgement field. Returns whether the rest of the segment may be processed.
    fn on_acknowledgement(
        &mut self,
        now: Instant,
        sent_at: Instant,
        header: &TcpHeader,
        start: u64,
        length: u64,
    ) -> bool {
        let taken = self.take_acknowledgement(now, sent_at, header, start, length);
        if taken && self.sender.is_fin_acknowledged() {
            self.enter(now, self.state.after_fin_acknowledged());
        }
        taken
    }

    #[inline]
    fn take_acknowledgement(
        &mut self,
        now: Instant,
        sent_at: Instant,
        header: &TcpHeader,
        start: u64,
        length: u64,
    ) -> bool {
        let acknowledgement = from_wire(self.sender.initial, self.sender.una, header.ack);
        let sender = &mut self.sender;
        let taken = sender.on_ack(now, header, acknowledgement, start, length == 0, &self.config);
        self.receiver.stamps = self.receiver.stamps.carrying(header.stamps);
        if taken {
            self.receiver.note_timestamp(now, sent_at, start, length);
        } else {
            // RFC 9293 §3.10.7.4: it acknowledges data that were never sent.
            self.receiver.demand_ack(AckDue::Bare);
        }
        taken
    }

    fn enter(&mut self, now: Instant, state: State) {
        if state == self.state {
            return;
        }
        self.state = state;
        match state {
            State::TimeWait if self.config.time_wait.is_zero() => self.finish(),
            State::TimeWait => self.linger = now + self.config.time_wait,
            State::Closed => self.finish(),
            _ => {}
        }
    }

    /// RFC 9293 §3.10.7.4, second: a reset is valid if its sequence number is exactly the next one.
    fn on_reset(&mut self, start: u64, acceptance: Acceptance) {
        if start != self.receiver.next {
            if acceptance == Acceptance::Inside {
                self.receiver.demand_ack(AckDue::Bare);
            }
            return;
        }
        if matches!(self.state, State::Closing | State::LastAck | State::TimeWait) {
            self.finish(); // both ends are done: no failure
        } else {
            self.fail(Failure::Reset);
        }
    }

    pub(crate) fn reset_in_reply(&mut self, header: &TcpHeader, payload: u16) {
        if let Some(reset) = Segment::reset_in_reply(header, payload) {
            let header = reset.header;
            let TcpHeader { seq, ack, flags, .. } = header;
            self.control = Control::Reset { seq, ack, flags };
        }
    }
}
