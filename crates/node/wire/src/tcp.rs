//! TCP headers (RFC 9293 §3.1).

use core::net::IpAddr;

use crate::bytes::{OptionBytes, WireError, first, head, write};
use crate::checksum::Sum;
use crate::{IpProtocol, TcpOptions};

/// A TCP header with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHeader {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first byte.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Control bits.
    pub control: ControlBits,
    /// Receive window, before scaling.
    pub window: u16,
    /// The checksum in the header, correct or not.
    pub checksum: u16,
    /// The urgent pointer.
    pub urgent: u16,
    /// Options.
    pub options: TcpOptions,
}

/// The control bits and the reserved bits above them: 12 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ControlBits(u16);

impl ControlBits {
    /// No more data from the sender.
    pub const FIN: ControlBits = ControlBits(0x001);
    /// Synchronises sequence numbers.
    pub const SYN: ControlBits = ControlBits(0x002);
    /// The connection is reset.
    pub const RST: ControlBits = ControlBits(0x004);
    /// Push: deliver the data to the application.
    pub const PSH: ControlBits = ControlBits(0x008);
    /// The acknowledgement number is significant.
    pub const ACK: ControlBits = ControlBits(0x010);
    /// The urgent pointer is significant.
    pub const URG: ControlBits = ControlBits(0x020);
    /// ECN echo (RFC 3168).
    pub const ECE: ControlBits = ControlBits(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: ControlBits = ControlBits(0x080);
    /// Accurate ECN (RFC 9768); formerly the nonce sum (RFC 3540).
    pub const AE: ControlBits = ControlBits(0x100);

    /// The lower 12 bits.
    pub const fn new(bits: u16) -> Self {
        ControlBits(bits & 0x0fff)
    }

    /// All 12 bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: ControlBits) -> bool {
        self.0 & other.0 == other.0
    }
}

impl TcpHeader {
    /// Length of a header without options.
    pub const MIN_LENGTH: usize = 20;

    /// Parses the header at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let fixed = head::<{ Self::MIN_LENGTH }>(bytes)?;
        let length = usize::from(fixed[12] >> 4) * 4;
        if length < Self::MIN_LENGTH {
            return Err(WireError::Length { min: Self::MIN_LENGTH, found: length });
        }
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let options = OptionBytes::new(&first(bytes, length)?[Self::MIN_LENGTH..])?;
        Ok(TcpHeader {
            source_port: word(0),
            destination_port: word(2),
            sequence: long(4),
            acknowledgement: long(8),
            control: ControlBits::new(word(12)),
            window: word(14),
            checksum: word(16),
            urgent: word(18),
            options: TcpOptions::from(options),
        })
    }

    /// Writes the header at the start of `out` with its checksum as it is, and returns its length. Options
    /// are padded to a whole word.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let options = self.options.filled();
        write(out, &[&self.fixed(options.len()), options.as_slice()])
    }

    /// Bytes of the header with its options.
    pub fn length(&self) -> usize {
        Self::MIN_LENGTH + self.options.filled().len()
    }

    /// This header with a correct checksum, in a packet between these addresses. The payload has
    /// `payload_length` bytes; bytes that are not given count as zeros.
    pub fn with_checksum(
        self,
        source: IpAddr,
        destination: IpAddr,
        payload: &[u8],
        payload_length: u32,
    ) -> Self {
        let options = self.options.filled();
        let length = (self.length() as u32).saturating_add(payload_length);
        let fixed = TcpHeader { checksum: 0, ..self }.fixed(options.len());
        let sum = Sum::pseudo_header(source, destination, IpProtocol::TCP, length);
        let sum = sum.with(&fixed).with(options.as_slice()).with(payload);
        TcpHeader { checksum: sum.checksum(), ..self }
    }

    fn fixed(&self, options: usize) -> [u8; Self::MIN_LENGTH] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [n0, n1, n2, n3] = self.sequence.to_be_bytes();
        let [a0, a1, a2, a3] = self.acknowledgement.to_be_bytes();
        let words = ((Self::MIN_LENGTH + options) / 4) as u16;
        let [c0, c1] = (words << 12 | self.control.0).to_be_bytes();
        let [w0, w1] = self.window.to_be_bytes();
        let [k0, k1] = self.checksum.to_be_bytes();
        let [u0, u1] = self.urgent.to_be_bytes();
        [s0, s1, d0, d1, n0, n1, n2, n3, a0, a1, a2, a3, c0, c1, w0, w1, k0, k1, u0, u1]
    }
}

impl core::ops::BitOr for ControlBits {
    type Output = ControlBits;

    fn bitor(self, other: ControlBits) -> ControlBits {
        ControlBits(self.0 | other.0)
    }
}
