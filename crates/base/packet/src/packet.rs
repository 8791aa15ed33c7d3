//! The packet descriptor: fields of a real header, and nothing else.

use std::num::NonZeroU32;

use shortflow_units::Bytes;

use crate::{Dscp, Ecn, FlowKey, Protocol};

/// TCP's control bits (RFC 9293 §3.1, RFC 3168 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgement field is significant.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// ECN echo.
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced.
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// Whether all bits of `flags` are set.
    pub const fn has(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether they acknowledge, and do not open, close or reset a connection.
    #[inline]
    pub const fn only_acknowledge(self) -> bool {
        const CONTROL: u8 = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0;
        self.0 & (CONTROL | TcpFlags::ACK.0) == TcpFlags::ACK.0
    }

    /// These bits and those of `flags`.
    pub const fn with(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | flags.0)
    }
}

/// The owner's name for the bytes of a packet: an index into the host's ring or pool. Elements keep it but
/// never use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(NonZeroU32);

impl FrameId {
    /// The name with this number, which is below 2³² − 1.
    pub const fn new(number: u32) -> Option<FrameId> {
        match number.checked_add(1) {
            Some(above_zero) => match NonZeroU32::new(above_zero) {
                Some(name) => Some(FrameId(name)),
                None => None,
            },
            None => None,
        }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// A packet's descriptor. Not `Clone`: a packet exists once, and ends as delivered or as dropped.
///
/// A router fills in `size`, `key`, `dscp` and `ecn`. If an element needs them
/// ([`is_bare_acknowledgement`](Self::is_bare_acknowledgement), marking by TCP's state, counting of payload),
/// it also fills in TCP's flags and the length of the payload. All other fields keep their defaults:
///
/// ```
/// use shortflow_packet::{Dscp, FlowKey, FrameId, Packet, Protocol};
///
/// let [src, dst] = ["2001:db8::1".parse()?, "2001:db8::2".parse()?];
/// let packet = Packet {
///     size: 1500,
///     key: FlowKey::without_ports(src, dst, Protocol::ESP),
///     dscp: Dscp::EF,
///     bytes: FrameId::new(17),
///     ..Packet::default()
/// };
/// # let _ = packet;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default, PartialEq)]
#[must_use]
#[repr(C)]
pub struct Packet {
    /// Size in bytes on links and in queues: payload and headers.
    pub size: u32,
    /// The packet's bytes, if the host has them.
    pub bytes: Option<FrameId>,
    /// Bytes of payload.
    pub payload: u16,
    /// The DS field's code point.
    pub dscp: Dscp,
    /// The ECN field.
    pub ecn: Ecn,
    /// The control bits of TCP; zero for other protocols.
    pub flags: TcpFlags,
    /// The 5-tuple.
    pub key: FlowKey,
}

impl Packet {
    /// Whether this is a TCP segment that only acknowledges: no data, no SYN, FIN or RST.
    #[inline]
    pub fn is_bare_acknowledgement(&self) -> bool {
        self.key.protocol == Protocol::TCP && self.payload == 0 && self.flags.only_acknowledge()
    }

    /// The size as a quantity.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_acknowledgement_has_neither_data_nor_control() {
        let is_bare = |payload, flags| {
            Packet { payload, flags, ..Packet::default() }.is_bare_acknowledgement()
        };
        assert!(is_bare(0, TcpFlags::ACK) && is_bare(0, TcpFlags::ACK.with(TcpFlags::ECE)));
        assert!(!is_bare(1, TcpFlags::ACK) && !is_bare(0, TcpFlags(0)));
        for control in [TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST] {
            assert!(!is_bare(0, TcpFlags::ACK.with(control)));
        }
    }

    #[test]
    fn a_frame_has_the_number_that_it_was_given() {
        for number in [0, 1, u32::MAX - 1] {
            assert_eq!(FrameId::new(number).map(FrameId::number), Some(number));
        }
        assert_eq!(FrameId::new(u32::MAX), None);
        assert_eq!(size_of::<Option<FrameId>>(), 4);
    }
}
