//! UDP headers (RFC 768).

use core::net::IpAddr;

use crate::IpProtocol;
use crate::bytes::{WireError, head, write};
use crate::checksum::Sum;

/// A UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpHeader {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Bytes of header and payload.
    pub length: u16,
    /// The checksum in the header, correct or not; 0 means no checksum.
    pub checksum: u16,
}

impl UdpHeader {
    /// Bytes of the header.
    pub const LENGTH: usize = 8;

    /// Parses the header at the start of `bytes`. Does not check the length field against `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let [s0, s1, d0, d1, l0, l1, c0, c1] = *head::<{ Self::LENGTH }>(bytes)?;
        Ok(UdpHeader {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            length: u16::from_be_bytes([l0, l1]),
            checksum: u16::from_be_bytes([c0, c1]),
        })
    }

    /// Writes the header at the start of `out` with its checksum as it is, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        write(
            out,
            &[
                &self.source_port.to_be_bytes(),
                &self.destination_port.to_be_bytes(),
                &self.length.to_be_bytes(),
                &self.checksum.to_be_bytes(),
            ],
        )
    }

    /// This header with a correct checksum, in a packet between these addresses. Bytes of the payload that
    /// are not given count as zeros; the length is that of the header.
    pub fn with_checksum(self, source: IpAddr, destination: IpAddr, payload: &[u8]) -> Self {
        let mut header = [0; Self::LENGTH];
        let blank = UdpHeader { checksum: 0, ..self };
        blank.emit(&mut header).expect("the array is as long as the header");
        let length = u32::from(self.length);
        let sum = Sum::pseudo_header(source, destination, IpProtocol::UDP, length);
        UdpHeader { checksum: sum.with(&header).with(payload).checksum_never_zero(), ..self }
    }
}
