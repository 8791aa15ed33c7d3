//! Opening a connection: SYN, SYN-ACK and unexpected segments.

use shortflow_packet::TcpFlags;
use shortflow_units::Instant;

use crate::connection::{Connection, Control};
use crate::header::{Stamps, TcpHeader};
use crate::receiver::AckDue;
use crate::seq::from_wire;
use crate::state::{Failure, State};

impl Connection {
    /// RFC 9293 §3.10.7.2.
    pub(crate) fn on_segment_in_listen(
        &mut self,
        sent_at: Instant,
        header: &TcpHeader,
        payload: u16,
    ) {
        if header.flags.has(TcpFlags::RST) {
            return;
        }
        if header.flags.has(TcpFlags::ACK) {
            self.reset_in_reply(header, payload);
        } else if header.flags.has(TcpFlags::SYN) {
            self.on_syn(sent_at, header);
        }
    }

    /// RFC 9293 §3.10.7.3.
    pub(crate) fn on_segment_in_syn_sent(
        &mut self,
        now: Instant,
        sent_at: Instant,
        header: &TcpHeader,
        payload: u16,
    ) {
        let has_ack = header.flags.has(TcpFlags::ACK);
        if has_ack && header.ack != self.sequence_of(1) {
            self.reset_in_reply(header, payload);
            return;
        }
        if header.flags.has(TcpFlags::RST) {
            if has_ack {
                self.fail(Failure::Reset);
            }
            return;
        }
        if !header.flags.has(TcpFlags::SYN) {
            return;
        }
        if !has_ack {
            self.on_syn(sent_at, header); // both ends opened at once
            return;
        }
        self.sender.ecn.on_syn_ack(header, self.config.ecn);
        self.receiver.on_syn(sent_at, header, &self.config);
        self.establish(now, header);
        // The peer is notified at once, before data, as in Linux and ns-2.
        self.receiver.demand_ack(AckDue::Bare);
    }

    /// Whether a SYN is repeated because the SYN-ACK may be lost. RFC 9293 §3.10.7.4 would answer with a pure
    /// acknowledgement, which a peer in SYN-SENT cannot use.
    pub(crate) fn is_repeated_syn(&self, header: &TcpHeader) -> bool {
        self.state == State::SynReceived
            && header.flags.has(TcpFlags::SYN)
            && !header.flags.has(TcpFlags::ACK)
            && header.seq == self.receiver.initial
    }

    /// Processes the acknowledgement of the SYN-ACK. Returns `false` if the segment is not one.
    pub(crate) fn on_segment_in_syn_received(&mut self, now: Instant, header: &TcpHeader) -> bool {
        if from_wire(self.sender.initial, 0, header.ack) == 1 {
            self.establish(now, header);
            true
        } else {
            false
        }
    }

    pub(crate) fn on_syn_timeout(&mut self) {
        self.sender.expiries = self.sender.expiries.saturating_add(1);
        if u32::from(self.sender.expiries) > self.graces() {
            self.sender.rtt.back_off(&self.config);
        }
        self.sender.timer = Instant::NEVER;
        self.repeat_syn();
    }

    /// The number of timeouts that neither double the next one nor count as retries.
    pub(crate) fn graces(&self) -> u32 {
        if self.state == State::SynSent { self.config.linear_syn_timeouts } else { 0 }
    }

    /// Sends the SYN or the SYN-ACK again.
    pub(crate) fn repeat_syn(&mut self) {
        self.control = if self.state == State::SynSent { Control::Syn } else { Control::SynAck };
    }

    fn on_syn(&mut self, sent_at: Instant, header: &TcpHeader) {
        self.sender.ecn.on_syn(header, self.config.ecn);
        self.receiver.on_syn(sent_at, header, &self.config);
        self.state = State::SynReceived;
        self.control = Control::SynAck;
    }

    fn establish(&mut self, now: Instant, header: &TcpHeader) {
        self.state = State::Established;
        let answers_first = !header.stamps.has(Stamps::ANSWERS_AGAIN);
        self.sender.on_established(now, answers_first, &self.config);
        let sequence = from_wire(self.receiver.initial, self.receiver.next, header.seq);
        self.sender.update_window(header.window, sequence, 1);
    }
}
