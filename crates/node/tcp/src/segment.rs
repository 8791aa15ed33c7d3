//! Outgoing segments.

use shortflow_packet::{Ecn, TcpFlags};

use crate::header::TcpHeader;

/// A segment to be sent. Its size on the wire is `payload` plus [`Config::header`](crate::Config).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The sequence fields.
    pub header: TcpHeader,
    /// Bytes of payload.
    pub payload: u16,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Whether it, or its first byte, is a retransmission.
    pub is_retransmission: bool,
}

/// The place of a segment in its stream, as a host shows it to a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Bytes of payload.
    pub payload: u16,
    /// Whether it, or its first byte, is a retransmission.
    pub is_retransmission: bool,
}

impl Segment {
    /// Its place in the stream.
    #[inline]
    pub fn extent(&self) -> Extent {
        let Segment { payload, is_retransmission, .. } = *self;
        Extent { seq: self.header.seq, payload, is_retransmission }
    }

    /// Whether it is a pure acknowledgement: no data, no SYN, FIN or RST.
    #[inline]
    pub fn is_bare_acknowledgement(&self) -> bool {
        self.payload == 0 && self.header.flags.only_acknowledge()
    }

    /// The reset with which a host answers a segment without a connection, or `None` if the segment is a
    /// reset itself (RFC 9293 §3.10.7.1).
    pub fn reset_in_reply(header: &TcpHeader, payload: u16) -> Option<Segment> {
        if header.flags.has(TcpFlags::RST) {
            return None;
        }
        let reset = if header.flags.has(TcpFlags::ACK) {
            TcpHeader { seq: header.ack, flags: TcpFlags::RST, ..TcpHeader::default() }
        } else {
            let control = [TcpFlags::SYN, TcpFlags::FIN];
            let controls = control.iter().filter(|flag| header.flags.has(**flag)).count() as u32;
            TcpHeader {
                ack: header.seq.wrapping_add(u32::from(payload) + controls),
                flags: TcpFlags::RST.with(TcpFlags::ACK),
                ..TcpHeader::default()
            }
        };
        Some(Segment { header: reset, payload: 0, ecn: Ecn::NotEct, is_retransmission: false })
    }
}
