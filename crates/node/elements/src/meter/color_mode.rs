//! Whether a meter respects the colour of arriving packets.

use shortflow_packet::Packet;

use crate::Color;
use crate::classifier::DscpTable;

/// The mode of a three-colour meter (RFC 2697 §1, RFC 2698 §1).
#[derive(Debug, Clone, PartialEq)]
pub enum ColorMode {
    /// All packets count as uncoloured, which equals green.
    Blind,
    /// An arriving packet has the colour of its code point, and never gets a better one.
    Aware(DscpTable<Color>),
}

impl ColorMode {
    /// The colour of the arriving `packet`.
    #[inline]
    pub(super) fn incoming(&self, packet: &Packet) -> Color {
        match self {
            ColorMode::Blind => Color::Green,
            ColorMode::Aware(colors) => colors.get(packet.dscp),
        }
    }
}
