//! Outgoing segments.

use shortflow_packet::{Ecn, TcpFlags};
use shortflow_units::Instant;

use crate::connection::{Connection, Control};
use crate::ecn::EcnState;
use crate::gate::{Open, OutputGate};
use crate::header::{SackBlocks, Stamps, TcpHeader};
use crate::receiver::{AckDue, window};
use crate::sender::{Chunk, ChunkKind};
use crate::seq::to_wire;
use crate::timestamps::Tsecr;
use crate::{EcnCapable, Segment};

impl Connection {
    /// The next segment to send now. Call it after every other call until it returns `None`.
    // Its caller is the simulator's loop, which is large, so that the compiler would not inline it.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.poll_through(now, &mut Open)
    }

    /// The same, if a profile of the host decides when segments may leave: it is asked about each of them. What
    /// `gate` withholds stays unsent, so it is neither in flight nor timed. Call it again when the gate allows
    /// this connection to send.
    pub fn poll_transmit_through(
        &mut self,
        now: Instant,
        gate: &mut impl OutputGate,
    ) -> Option<Segment> {
        let was_withheld = self.sender.take_withheld();
        let segment = self.poll_through(now, gate);
        let first = self.sequence_of(self.sender.una);
        let repairs = |sent: &Segment| sent.is_retransmission && sent.header.seq == first;
        if was_withheld && self.sender.awaits_timeout() && segment.as_ref().is_some_and(repairs) {
            // RFC 6298 §5: from when it is sent.
            self.sender.restart_timer(now, &self.config);
        }
        segment
    }

    #[inline(always)]
    fn poll_through(&mut self, now: Instant, gate: &mut impl OutputGate) -> Option<Segment> {
        let mut segment = self.next_segment(now, gate)?;
        let recent = self.receiver.recent;
        if recent.is_enabled() {
            segment.header.tsecr = Tsecr::echo(now, recent);
        }
        Some(segment)
    }

    #[inline(always)]
    fn next_segment(&mut self, now: Instant, gate: &mut impl OutputGate) -> Option<Segment> {
        if self.control != Control::Nothing {
            return gate.may_send(now, 0).then(|| self.control_segment(now));
        }
        if self.receiver.due != AckDue::Bare
            && self.state.may_transmit()
            && let Some(chunk) = self.sender.poll(now, &self.config, gate)
        {
            if chunk.payload > 0 {
                self.receiver.on_data_sent(now);
            }
            return Some(self.data_segment(&chunk));
        }
        if self.receiver.due >= AckDue::Now && gate.may_send(now, 0) {
            return Some(self.acknowledgement_segment());
        }
        None
    }

    #[inline(always)]
    fn data_segment(&mut self, chunk: &Chunk) -> Segment {
        let mut flags = TcpFlags::ACK.with(self.sender.ecn.flags());
        let mut ecn = Ecn::NotEct;
        if chunk.kind == ChunkKind::New && chunk.payload > 0 {
            let (reduced, mark) = self.sender.ecn.on_send_new_data();
            flags = flags.with(reduced);
            ecn = mark;
        } else if self.config.ecn_capable >= EcnCapable::Data {
            ecn = self.sender.ecn.mark();
        }
        if chunk.fin {
            flags = flags.with(TcpFlags::FIN);
            self.state = self.state.after_fin_sent();
        }
        let is_retransmission = chunk.kind == ChunkKind::Retransmission;
        let mut segment = self.segment(self.sequence_of(chunk.offset), flags);
        segment.header.stamps = segment.header.stamps.with(Stamps::AGAIN, is_retransmission);
        Segment { payload: chunk.payload, ecn, is_retransmission, ..segment }
    }

    #[inline(always)]
    fn acknowledgement_segment(&mut self) -> Segment {
        let flags = TcpFlags::ACK.with(self.sender.ecn.flags());
        let segment = self.segment(self.sequence_of(self.sender.max), flags);
        Segment { ecn: self.mark_without_data(), ..segment }
    }

    /// The ECN field of an acknowledgement or a SYN-ACK.
    #[inline]
    fn mark_without_data(&self) -> Ecn {
        match self.config.ecn_capable {
            EcnCapable::All => self.sender.ecn.mark(),
            EcnCapable::NewData | EcnCapable::Data => Ecn::NotEct,
        }
    }

    /// A segment without payload, with the acknowledgement that is due.
    #[inline]
    fn segment(&mut self, seq: u32, flags: TcpFlags) -> Segment {
        self.receiver.on_ack_sent();
        self.sender.stats.segments_sent += 1;
        let header = TcpHeader {
            seq,
            ack: self.acknowledgement(),
            window: window(&self.config),
            flags,
            stamps: self.receiver.stamps,
            tsecr: Tsecr::default(),
            sack: self.sack_blocks(),
        };
        Segment { header, payload: 0, ecn: Ecn::NotEct, is_retransmission: false }
    }

    #[inline]
    fn sack_blocks(&mut self) -> SackBlocks {
        match self.config.recovery.has_sack() {
            true => self.receiver.take_sack_blocks(),
            false => SackBlocks::default(),
        }
    }

    #[cold]
    fn control_segment(&mut self, now: Instant) -> Segment {
        let control = std::mem::replace(&mut self.control, Control::Nothing);
        if let Control::Acknowledgement { ack, echo } = control {
            return self.earlier_acknowledgement(ack, echo);
        }
        if let Control::Reset { seq, ack, flags } = control {
            self.sender.stats.segments_sent += 1;
            let flags = TcpFlags::RST.with(flags);
            let header = TcpHeader { seq, ack, flags, ..TcpHeader::default() };
            return Segment { header, payload: 0, ecn: Ecn::NotEct, is_retransmission: false };
        }
        let is_retransmission = self.sender.max > 0;
        self.sender.on_syn_sent(now, &self.config);
        let initial = self.sequence_of(0);
        let segment = if control == Control::Syn {
            let ecn = if self.config.ecn { EcnState::REQUEST } else { TcpFlags(0) };
            let mut segment = self.segment(initial, TcpFlags::SYN.with(ecn));
            segment.header.ack = 0;
            if self.config.ecn && self.config.ecn_capable == EcnCapable::All {
                segment.ecn = Ecn::Ect0;
            }
            segment
        } else {
            let ecn = if self.sender.ecn.is_enabled() { TcpFlags::ECE } else { TcpFlags(0) };
            let segment = self.segment(initial, TcpFlags::SYN.with(TcpFlags::ACK).with(ecn));
            Segment { ecn: self.mark_without_data(), ..segment }
        };
        let mut segment = Segment { is_retransmission, ..segment };
        segment.header.stamps = segment.header.stamps.with(Stamps::AGAIN, is_retransmission);
        segment
    }

    /// An acknowledgement up to `ack`, which is no longer current. Acknowledgement of later data stays due.
    fn earlier_acknowledgement(&mut self, ack: u32, echo: TcpFlags) -> Segment {
        self.sender.stats.segments_sent += 1;
        let header = TcpHeader {
            seq: self.sequence_of(self.sender.max),
            ack,
            window: window(&self.config),
            flags: TcpFlags::ACK.with(echo),
            ..TcpHeader::default()
        };
        Segment { header, payload: 0, ecn: Ecn::NotEct, is_retransmission: false }
    }

    /// The sequence number on the wire of a stream offset of this end.
    #[inline]
    pub(crate) fn sequence_of(&self, offset: u64) -> u32 {
        to_wire(self.sender.initial, offset)
    }

    /// RCV.NXT on the wire.
    #[inline]
    pub(crate) fn acknowledgement(&self) -> u32 {
        to_wire(self.receiver.initial, self.receiver.next)
    }
}
